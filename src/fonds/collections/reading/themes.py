"""The documents of a theme by what people write behind `theme:`, out of the clusterings that are served.

A theme is named by its label, in any case of letters, or by its id, which stays over rebuilds; before it may
stand its collection, `NAMESPACE/KEY/`. Read when it is asked for: what a rebuild, a change or a deletion
leaves is what the next search finds.

Bound: 200 collections, 20,000 clusters a level of each, themes of up to 50,000 documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from fonds.collections.clusterings import configurations_of, known
from fonds.collections.names import DEFAULT, Name, level_conf
from fonds.collections.reading.clusterings import served_timestamp
from fonds.collections.reading.clusters import CLUSTERS_MAX
from fonds.collections.tables import CLUSTERS, MEMBERS, Tables, collections_there, number, text
from fonds.formats.grouping.keys import clustering_prefix
from fonds.model.names import no_such

COLLECTIONS_MAX = 200
MEMBERS_MAX = 50_000
_PAGE = 5_000
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Theme:
    """A cluster of a clustering that is served: its row, label, id and how many documents it has."""

    name: Name
    row: bytes
    label: str
    id: str
    size: int

    def is_called(self, folded: str) -> bool:
        """Whether this is its label or its id."""
        return folded in (self.label.casefold(), self.id.casefold())


def documents_of_theme(tables: Tables, asked: str) -> list[str]:
    """The ids of a theme's documents. Raises ValueError with a sentence for people: for a theme there is
    not, one of several of that name, and one that has over 50,000 documents."""
    for _ in range(_TRIES):
        theme = theme_called(tables, asked)
        if theme.size > MEMBERS_MAX:
            raise ValueError(
                f"this theme has {theme.size:,} documents; a search takes themes of up to"
                f" {MEMBERS_MAX:,}, maybe one within it."
            )
        ids = list(islice(_members(tables, theme), MEMBERS_MAX))
        # A clustering that was removed meanwhile had another one served before.
        if tables.row(CLUSTERS, theme.row, ["main:label"]) is not None:
            return ids
    raise ValueError("this theme is being built anew; try again.")


def theme_called(tables: Tables, asked: str) -> Theme:
    """The theme that is meant, coarser levels first. Raises ValueError."""
    folded = asked.casefold()
    found: dict[Name, Theme] = {}
    labels: dict[str, None] = {}
    names = _collections(tables)
    for name in names:
        head = f"{name}/".casefold()
        for theme in served_themes(tables, name):
            if theme.is_called(folded) or (
                folded.startswith(head) and theme.is_called(folded[len(head) :])
            ):
                found.setdefault(name, theme)
            labels.setdefault(theme.label)
    if not found:
        raise ValueError(_none(asked, list(labels), len(names)))
    if len(found) > 1:
        ways = " or ".join(f'theme:"{name}/{theme.label}"' for name, theme in found.items())
        raise ValueError(f"{len(found)} collections have such a theme; say which: {ways}.")
    return next(iter(found.values()))


def served_themes(tables: Tables, name: Name) -> Iterator[Theme]:
    """The themes of the clustering by `DEFAULT` a collection serves, level by level."""
    served = served_timestamp(tables, name)
    levels = next(
        (
            one.levels
            for one in known(tables, name)
            if one.timestamp == served and one.conf == DEFAULT
        ),
        0,
    )
    for level in range(levels):
        prefix = clustering_prefix(
            name.namespace, name.key, level_conf(DEFAULT, level), served or 0
        )
        rows = tables.scan(CLUSTERS, prefix, ["main:id", "main:label", "main:size"])
        for row, cells in islice(rows, CLUSTERS_MAX):
            label, id_ = text(cells, "main:label"), text(cells, "main:id")
            yield Theme(name, row, label, id_, number(cells, "main:size"))


def every_theme(tables: Tables) -> Iterator[Theme]:
    """The themes of the collections that are looked in, by the names of the collections; streamed."""
    for name in _collections(tables):
        yield from served_themes(tables, name)


def _collections(tables: Tables) -> list[Name]:
    """The first collections by name that have themes."""
    if not tables.are_there():
        return []
    every = collections_there(tables)
    served = (name for name, cells in every if DEFAULT in configurations_of(cells))
    return list(islice(served, COLLECTIONS_MAX))


def _members(tables: Tables, theme: Theme) -> Iterator[str]:
    rows = tables.scan(MEMBERS, theme.row, ["main:id"], page_rows=_PAGE)
    return (text(cells, "main:id") for _, cells in rows)


def _none(asked: str, labels: list[str], looked_in: int) -> str:
    if not looked_in:
        return "no collection has themes as yet; fonds group makes them."
    bound = f" in the first {looked_in} collections" if looked_in == COLLECTIONS_MAX else ""
    told = no_such("theme", asked, labels)
    return f"{told[:-1] if told.endswith('?') else told}{bound}" + (
        "?" if told.endswith("?") else "."
    )
