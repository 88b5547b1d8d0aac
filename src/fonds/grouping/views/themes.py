"""Find the documents of a theme for `theme:` in searches, from the served clusterings.

A search names a theme by its label in any case, by its id, which persists over rebuilds, or by the
name that a person gave it. Several themes of a collection may have one given name, which then means
all of them. The collection may precede the name, as `NAMESPACE/KEY/`. Themes are read at each
search, so rebuilds, changes and deletions take effect at once.

Limits: 200 collections, 20,000 clusters per level, themes of up to 50,000 documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from fonds.grouping.clustering import list_served_configurations, list_stored_clusterings
from fonds.grouping.columns import Column
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
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class ThemeView:
    """Theme: a cluster of a served clustering, of any level.

    `name`: name of the collection.
    `row`: row key of the cluster.
    `size`: number of documents.
    `given_name`: name that a person gave the theme, '' if none.
    """

    name: CollectionName
    row: bytes
    label: str
    id: str
    size: int
    given_name: str = ""

    def is_labelled(self, folded_name: str) -> bool:
        """Return whether a case-folded text is the label or the id of the theme."""
        return folded_name in (self.label.casefold(), self.id.casefold())

    def is_named(self, folded_name: str) -> bool:
        """Return whether a case-folded text is the name that a person gave the theme."""
        return bool(folded_name) and folded_name == self.given_name.casefold()


def list_theme_documents(tables: Tables, name: str) -> list[str]:
    """Return the ids of the documents of a theme, or of all themes with one given name.

    `name`: label, id or given name, in any case, optionally after `NAMESPACE/KEY/`.

    Raises ValueError for an unknown theme, a theme name found in several collections, over 50,000
    documents, and a theme that rebuilds replaced in three attempts.
    """
    for _ in range(_ATTEMPTS):
        themes = find_themes(tables, name)
        size = sum(theme.size for theme in themes)
        if size > MEMBERS_MAX:
            raise ValueError(
                f"this theme has {size:,} documents; a search supports themes of up to "
                f"{MEMBERS_MAX:,}. Choose a smaller theme within it."
            )
        ids = [id_ for theme in themes for id_ in islice(_iter_members(tables, theme), MEMBERS_MAX)]
        # If a clustering was removed meanwhile, another one has replaced it.
        if all(tables.get_row(CLUSTERS, theme.row, [Column.LABEL]) is not None for theme in themes):
            return ids
    raise ValueError("this theme is being rebuilt. Try again.")


def find_themes(tables: Tables, requested_name: str) -> list[ThemeView]:
    """Return the themes with this label, id or given name.

    `requested_name`: label, id or given name, in any case, optionally after `NAMESPACE/KEY/`.

    A label or id gives one theme, from the first level that has it. A given name gives all themes
    of one collection with that name. Raises ValueError for an unknown theme, or a theme name found
    in several collections.
    """
    folded_name = requested_name.casefold()
    themes_by_collection: dict[CollectionName, list[ThemeView]] = {}
    labels: dict[str, None] = {}
    names = _list_collections(tables)
    for name in names:
        collection_prefix = f"{name}/".casefold()
        candidate_names = {
            folded_name,
            folded_name[len(collection_prefix) :]
            if folded_name.startswith(collection_prefix)
            else folded_name,
        }
        collection_themes = list(iter_served_themes(tables, name))
        matches = [
            theme for theme in collection_themes if any(map(theme.is_labelled, candidate_names))
        ][:1]
        matches = matches or [
            theme for theme in collection_themes if any(map(theme.is_named, candidate_names))
        ]
        if matches:
            themes_by_collection[name] = matches
        labels |= dict.fromkeys(
            known_name
            for theme in collection_themes
            for known_name in (theme.given_name, theme.label)
            if known_name
        )
    if not themes_by_collection:
        raise ValueError(_format_unknown(requested_name, list(labels), len(names)))
    if len(themes_by_collection) > 1:
        choices = " or ".join(
            f'theme:"{name}/{matches[0].label}"' for name, matches in themes_by_collection.items()
        )
        raise ValueError(
            f"{len(themes_by_collection)} collections have this theme. Name one: {choices}."
        )
    return next(iter(themes_by_collection.values()))


def iter_served_themes(tables: Tables, name: CollectionName) -> Iterator[ThemeView]:
    """Iterate over the themes of a collection, level by level.

    Themes are the clusters of the served clustering by the configuration `DEFAULT`, at most 20,000
    per level. Without such a clustering there are none.
    """
    served_timestamp = find_served_timestamp(tables, name)
    levels = next(
        (
            clustering.levels
            for clustering in list_stored_clusterings(tables, name)
            if clustering.timestamp == served_timestamp and clustering.conf == DEFAULT
        ),
        0,
    )
    names = load_theme_names(tables, name, DEFAULT) if levels else {}
    for level in range(levels):
        prefix = build_clustering_prefix(
            name.namespace, name.key, build_level_conf(DEFAULT, level), served_timestamp or 0
        )
        rows = tables.iter_rows(CLUSTERS, prefix, [Column.ID, Column.LABEL, Column.SIZE])
        for row, cells in islice(rows, CLUSTERS_MAX):
            label, id_ = decode_text(cells, Column.LABEL), decode_text(cells, Column.ID)
            yield ThemeView(
                name, row, label, id_, decode_int(cells, Column.SIZE), names.get(id_, "")
            )  # fmt: skip


def iter_themes(tables: Tables) -> Iterator[ThemeView]:
    """Iterate over the themes of the first 200 collections with themes, one collection at a time.

    Themes are read as the iteration proceeds.
    """
    for name in _list_collections(tables):
        yield from iter_served_themes(tables, name)


def _list_collections(tables: Tables) -> list[CollectionName]:
    """Return the names of the first 200 collections that have themes, in order of name."""
    if not tables.exist():
        return []
    collection_rows = iter_collection_rows(tables)
    served_names = (
        name for name, cells in collection_rows if DEFAULT in list_served_configurations(cells)
    )
    return list(islice(served_names, COLLECTIONS_MAX))


def _iter_members(tables: Tables, theme: ThemeView) -> Iterator[str]:
    rows = tables.iter_rows(MEMBERS, theme.row, [Column.ID], page_rows=_PAGE)
    return (decode_text(cells, Column.ID) for _, cells in rows)


def _format_unknown(name: str, labels: list[str], searched_count: int) -> str:
    if not searched_count:
        return "no collection has themes yet. Run fonds group to find them."
    message = format_unknown_name("theme", name, labels)
    end = "" if message.endswith("?") else "."
    if searched_count == COLLECTIONS_MAX:
        return f"{message}{end} Only the first {searched_count} collections were searched."
    return f"{message}{end}"


# Tags of documents: their clusters by the configuration `DEFAULT`, from the documents' rows.


@dataclass(frozen=True, slots=True)
class Tag:
    """Tag of a document: the first-level theme that the document is in.

    `name`: name of the collection that has the theme.
    `label`: label of the theme.
    `given_name`: name that a person gave the theme; '' if none.
    """

    name: CollectionName
    label: str
    given_name: str = ""


def find_tags(
    tables: Tables, names: Sequence[CollectionName], document_ids: Sequence[str]
) -> Mapping[str, list[Tag]]:
    """Return the themes of documents in several collections, by document id.

    The themes of a document are in the order of the collections. Documents without themes are left
    out. One request reads a row per collection and document, so the caller must limit their number.
    """
    document_keys = {
        name.build_document_row(id_): (name, id_) for id_ in document_ids for name in names
    }
    column = build_member_column(DEFAULT)
    rows = tables.get_rows(DOCUMENTS, list(document_keys), [column])
    tags_by_id: dict[str, list[Tag]] = {}
    for row, (name, id_) in document_keys.items():
        if label := decode_text(rows.get(row), column):
            tags_by_id.setdefault(id_, []).append(Tag(name, label))
    return _add_names(tables, tags_by_id)


def _add_names(tables: Tables, tags: Mapping[str, list[Tag]]) -> dict[str, list[Tag]]:
    """Return the tags of documents, by document id, with the names that people gave the themes."""
    labels: dict[CollectionName, set[str]] = {}
    for tag in (single_tag for tag_group in tags.values() for single_tag in tag_group):
        labels.setdefault(tag.name, set()).add(tag.label)
    names = {
        name: load_label_names(
            tables, name, DEFAULT, find_served_timestamp(tables, name) or 0, tag_group
        )
        for name, tag_group in labels.items()
    }
    return {
        id_: [
            replace(single_tag, given_name=names[single_tag.name].get(single_tag.label, ""))
            for single_tag in tag_group
        ]
        for id_, tag_group in tags.items()
    }
