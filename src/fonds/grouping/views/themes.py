"""The documents of a theme by what people write behind `theme:`, out of the clusterings that are served.

A theme is named by its label, in any case of letters, by its id, which stays over rebuilds, or by the name a
person gave it, which several of a collection may have: it stands for all of them. Before it may stand its
collection, `NAMESPACE/KEY/`. Read when it is asked for: what a rebuild, a change or a deletion
leaves is what the next search finds.

Bound: 200 collections, 20,000 clusters a level of each, themes of up to 50,000 documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from fonds.grouping.clustering import list_served_configurations, list_stored_clusterings
from fonds.grouping.document import build_member_column
from fonds.grouping.names import DEFAULT, CollectionName, build_level_conf
from fonds.grouping.stored.keys import build_clustering_prefix
from fonds.grouping.tables import (
    CLUSTERS,
    DOCUMENTS,
    MEMBERS,
    Tables,
    decode_int,
    decode_text,
    iter_collection_rows,
)
from fonds.grouping.views.clusterings import find_served_timestamp
from fonds.grouping.views.clusters import CLUSTERS_MAX
from fonds.grouping.views.curation import load_label_names, load_theme_names
from fonds.model.suggestions import format_unknown_name

COLLECTIONS_MAX = 200
MEMBERS_MAX = 50_000
_PAGE = 5_000
_TRIES = 3


@dataclass(frozen=True, slots=True)
class ThemeView:
    """A cluster of a clustering that is served: its row, label, id and how many documents it has, and what a
    person called it, '' where nobody did."""

    name: CollectionName
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


def list_theme_documents(tables: Tables, name: str) -> list[str]:
    """The ids of a theme's documents, or of those of one collection that a person called so. Raises
    ValueError with a sentence for people: for a theme there is not, one of several collections, and what has
    over 50,000 documents."""
    for _ in range(_TRIES):
        some = find_themes(tables, name)
        size = sum(theme.size for theme in some)
        if size > MEMBERS_MAX:
            raise ValueError(
                f"this theme has {size:,} documents; a search takes themes of up to"
                f" {MEMBERS_MAX:,}, maybe one within it."
            )
        ids = [id_ for theme in some for id_ in islice(_iter_members(tables, theme), MEMBERS_MAX)]
        # A clustering that was removed meanwhile had another one served before.
        if all(tables.get_row(CLUSTERS, theme.row, ["main:label"]) is not None for theme in some):
            return ids
    raise ValueError("this theme is being built anew; try again.")


def find_themes(tables: Tables, requested_name: str) -> list[ThemeView]:
    """The theme of this label or id, coarser levels first; or those of one collection that a person called
    so. Raises ValueError."""
    folded = requested_name.casefold()
    found: dict[CollectionName, list[ThemeView]] = {}
    labels: dict[str, None] = {}
    names = _list_collections(tables)
    for name in names:
        head = f"{name}/".casefold()
        words = {folded, folded[len(head) :] if folded.startswith(head) else folded}
        there = list(iter_served_themes(tables, name))
        some = [one for one in there if any(map(one.is_labelled, words))][:1]
        some = some or [one for one in there if any(map(one.is_named, words))]
        if some:
            found[name] = some
        labels |= dict.fromkeys(said for one in there for said in (one.called, one.label) if said)
    if not found:
        raise ValueError(_format_unknown(requested_name, list(labels), len(names)))
    if len(found) > 1:
        ways = " or ".join(f'theme:"{name}/{some[0].label}"' for name, some in found.items())
        raise ValueError(f"{len(found)} collections have such a theme; say which: {ways}.")
    return next(iter(found.values()))


def iter_served_themes(tables: Tables, name: CollectionName) -> Iterator[ThemeView]:
    """The themes of the clustering by `DEFAULT` a collection serves, level by level."""
    served = find_served_timestamp(tables, name)
    levels = next(
        (
            one.levels
            for one in list_stored_clusterings(tables, name)
            if one.timestamp == served and one.conf == DEFAULT
        ),
        0,
    )
    names = load_theme_names(tables, name, DEFAULT) if levels else {}
    for level in range(levels):
        prefix = build_clustering_prefix(
            name.namespace, name.key, build_level_conf(DEFAULT, level), served or 0
        )
        rows = tables.iter_rows(CLUSTERS, prefix, ["main:id", "main:label", "main:size"])
        for row, cells in islice(rows, CLUSTERS_MAX):
            label, id_ = decode_text(cells, "main:label"), decode_text(cells, "main:id")
            yield ThemeView(
                name, row, label, id_, decode_int(cells, "main:size"), names.get(id_, "")
            )  # fmt: skip


def iter_themes(tables: Tables) -> Iterator[ThemeView]:
    """The themes of the collections that are looked in, by the names of the collections; streamed."""
    for name in _list_collections(tables):
        yield from iter_served_themes(tables, name)


def _list_collections(tables: Tables) -> list[CollectionName]:
    """The first collections by name that have themes."""
    if not tables.exist():
        return []
    every = iter_collection_rows(tables)
    served = (name for name, cells in every if DEFAULT in list_served_configurations(cells))
    return list(islice(served, COLLECTIONS_MAX))


def _iter_members(tables: Tables, theme: ThemeView) -> Iterator[str]:
    rows = tables.iter_rows(MEMBERS, theme.row, ["main:id"], page_rows=_PAGE)
    return (decode_text(cells, "main:id") for _, cells in rows)


def _format_unknown(name: str, labels: list[str], searched_count: int) -> str:
    if not searched_count:
        return "no collection has themes as yet; fonds group makes them."
    bound = (
        f" in the first {searched_count} collections" if searched_count == COLLECTIONS_MAX else ""
    )
    told = format_unknown_name("theme", name, labels)
    return f"{told[:-1] if told.endswith('?') else told}{bound}" + (
        "?" if told.endswith("?") else "."
    )


# The clusters documents carry as tags: those of the configuration `DEFAULT`, as their own rows say.


@dataclass(frozen=True, slots=True)
class Tag:
    """A document is in the cluster of this label; `called`: the name a person gave that, '' where nobody
    did."""

    name: CollectionName
    label: str
    called: str = ""


def find_tags(
    tables: Tables, names: Sequence[CollectionName], document_ids: Sequence[str]
) -> Mapping[str, list[Tag]]:
    """The tags of documents in these collections, by their id, collections in the order given; who has
    none is absent. Read at once: as many rows as names times ids, whose number the caller bounds."""
    asked = {name.build_document_row(id_): (name, id_) for id_ in document_ids for name in names}
    column = build_member_column(DEFAULT)
    rows = tables.get_rows(DOCUMENTS, list(asked), [column])
    found: dict[str, list[Tag]] = {}
    for row, (name, id_) in asked.items():
        if label := decode_text(rows.get(row), column):
            found.setdefault(id_, []).append(Tag(name, label))
    return _add_names(tables, found)


def _add_names(tables: Tables, tags: Mapping[str, list[Tag]]) -> dict[str, list[Tag]]:
    """The same with the names themes were given."""
    labels: dict[CollectionName, set[str]] = {}
    for tag in (one for some in tags.values() for one in some):
        labels.setdefault(tag.name, set()).add(tag.label)
    names = {
        name: load_label_names(
            tables, name, DEFAULT, find_served_timestamp(tables, name) or 0, some
        )
        for name, some in labels.items()
    }
    return {
        id_: [replace(one, called=names[one.name].get(one.label, "")) for one in some]
        for id_, some in tags.items()
    }
