"""The documents of a theme by what people write behind `theme:`, out of the clusterings that are served.

A theme is named by its label, in any case of letters, by its id, which stays over rebuilds, or by the name a
person gave it, which several of a collection may have: it stands for all of them. Before it may stand its
collection, `NAMESPACE/KEY/`. Read when it is asked for: what a rebuild, a change or a deletion
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
from fonds.collections.reading.curated import names_of
from fonds.collections.tables import CLUSTERS, MEMBERS, Tables, collections_there, number, text
from fonds.formats.grouping.keys import clustering_prefix
from fonds.model.names import no_such

COLLECTIONS_MAX = 200
MEMBERS_MAX = 50_000
_PAGE = 5_000
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Theme:
    """A cluster of a clustering that is served: its row, label, id and how many documents it has, and what a
    person called it, '' where nobody did."""

    name: Name
    row: bytes
    label: str
    id: str
    size: int
    called: str = ""

    def is_labelled(self, folded: str) -> bool:
        """Whether this is its label or its id."""
        return folded in (self.label.casefold(), self.id.casefold())

    def is_named(self, folded: str) -> bool:
        """Whether a person called it so."""
        return bool(folded) and folded == self.called.casefold()


def documents_of_theme(tables: Tables, asked: str) -> list[str]:
    """The ids of a theme's documents, or of those of one collection that a person called so. Raises
    ValueError with a sentence for people: for a theme there is not, one of several collections, and what has
    over 50,000 documents."""
    for _ in range(_TRIES):
        some = themes_called(tables, asked)
        size = sum(theme.size for theme in some)
        if size > MEMBERS_MAX:
            raise ValueError(
                f"this theme has {size:,} documents; a search takes themes of up to"
                f" {MEMBERS_MAX:,}, maybe one within it."
            )
        ids = [id_ for theme in some for id_ in islice(_members(tables, theme), MEMBERS_MAX)]
        # A clustering that was removed meanwhile had another one served before.
        if all(tables.row(CLUSTERS, theme.row, ["main:label"]) is not None for theme in some):
            return ids
    raise ValueError("this theme is being built anew; try again.")


def themes_called(tables: Tables, asked: str) -> list[Theme]:
    """The theme of this label or id, coarser levels first; or those of one collection that a person called
    so. Raises ValueError."""
    folded = asked.casefold()
    found: dict[Name, list[Theme]] = {}
    labels: dict[str, None] = {}
    names = _collections(tables)
    for name in names:
        head = f"{name}/".casefold()
        words = {folded, folded[len(head) :] if folded.startswith(head) else folded}
        there = list(served_themes(tables, name))
        some = [one for one in there if any(map(one.is_labelled, words))][:1]
        some = some or [one for one in there if any(map(one.is_named, words))]
        if some:
            found[name] = some
        labels |= dict.fromkeys(said for one in there for said in (one.called, one.label) if said)
    if not found:
        raise ValueError(_none(asked, list(labels), len(names)))
    if len(found) > 1:
        ways = " or ".join(f'theme:"{name}/{some[0].label}"' for name, some in found.items())
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
    names = names_of(tables, name, DEFAULT) if levels else {}
    for level in range(levels):
        prefix = clustering_prefix(
            name.namespace, name.key, level_conf(DEFAULT, level), served or 0
        )
        rows = tables.scan(CLUSTERS, prefix, ["main:id", "main:label", "main:size"])
        for row, cells in islice(rows, CLUSTERS_MAX):
            label, id_ = text(cells, "main:label"), text(cells, "main:id")
            yield Theme(
                name, row, label, id_, number(cells, "main:size"), names.get(id_, "")
            )  # fmt: skip


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
