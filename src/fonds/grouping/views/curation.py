"""Read what people curated: names and pins of themes, and exclusions of documents from themes.

A theme is identified by its id, which persists over rebuilds on the first level only. A library
from an older version of Fonds may lack the tables `themes` and `exclusions`; then there are no
results. Limits: 1,000 named or pinned themes per configuration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fonds.grouping.clustering import StoredClustering
from fonds.grouping.columns import MAIN_FAMILY, Column
from fonds.grouping.names import CollectionName
from fonds.grouping.stored.keys import (
    build_cluster_row,
    build_clustering_prefix,
    build_themes_prefix,
)
from fonds.grouping.tables import (
    ASSIGNMENTS,
    CLUSTERS,
    EXCLUSIONS,
    THEMES,
    Cells,
    Tables,
    build_assignment_row,
    decode_cell,
    decode_int,
    decode_text,
)
from fonds.model.errors import ConfigurationError

CURATED_MAX = 1_000
BATCH_SIZE = 500


@dataclass(frozen=True, slots=True)
class CuratedTheme:
    """Theme that a person named or pinned. Times are in seconds since 1970.

    `id`: id of the theme, which persists over rebuilds.
    `label`: label of the theme when it was last named or pinned.
    `name`: the given name, '' if none.
    `named`, `pinned`: when the theme was named and pinned; None if it is not.
    """

    id: str
    label: str
    name: str
    named: int | None
    pinned: int | None


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Exclusion of a document from a theme by a person.

    `at`: when the document was excluded, in seconds since 1970.
    `label`: label of the theme at that time.
    `timestamp`: time of the clustering that was served then.
    `sequence`: sequence number of the change of the collection that last wrote the document.
    `places`: clusters of the document in that clustering, one for each level of granularity, as
        (configuration of the level, label, score, original of a near-duplicate).
    """

    at: int
    label: str
    timestamp: int
    sequence: int
    places: tuple[tuple[str, str, str, str], ...]


def list_curated_themes(tables: Tables, name: CollectionName, conf: str) -> dict[str, CuratedTheme]:
    """Return the themes of a configuration that people named or pinned, by theme id."""
    prefix = build_themes_prefix(name.namespace, name.key, conf)
    try:
        rows = tables.get_page(THEMES, prefix, [MAIN_FAMILY], count_max=CURATED_MAX)
    except ConfigurationError:
        return {}
    return {theme.id: theme for theme in (_parse_curated_theme(cells) for _, cells in rows)}


def load_theme_names(tables: Tables, name: CollectionName, conf: str) -> dict[str, str]:
    """Return the names that people gave the themes of a configuration, by theme id."""
    return {
        theme.id: theme.name
        for theme in list_curated_themes(tables, name, conf).values()
        if theme.name
    }


def load_label_names(
    tables: Tables, name: CollectionName, conf: str, timestamp: int, labels: Iterable[str]
) -> dict[str, str]:
    """Return the names that people gave the themes of a clustering, by the label of the theme.

    `labels`: labels of the themes to look up. Unnamed themes are left out.
    """
    names = load_theme_names(tables, name, conf)
    if not names:
        return {}
    rows = {
        build_cluster_row(name.namespace, name.key, conf, timestamp, theme_label): theme_label
        for theme_label in labels
    }
    cells_by_row = tables.get_rows(CLUSTERS, list(rows), [Column.ID])
    ids = {rows[row]: decode_text(cells, Column.ID) for row, cells in cells_by_row.items()}
    return {label: names[id_] for label, id_ in ids.items() if id_ in names}


def load_exclusions(
    tables: Tables, name: CollectionName, ids: Sequence[str]
) -> dict[str, dict[tuple[str, str], Exclusion]]:
    """Return the exclusions of documents, by document id and then by (configuration, theme id).

    Documents without exclusions are left out.
    """
    rows = {name.build_document_row(id_): id_ for id_ in ids}
    try:
        exclusion_rows = tables.get_rows(EXCLUSIONS, list(rows), [MAIN_FAMILY])
    except ConfigurationError:
        return {}
    return {rows[row]: parse_exclusions(cells) for row, cells in exclusion_rows.items()}


def parse_exclusions(cells: Cells) -> dict[tuple[str, str], Exclusion]:
    """Return the exclusions in one row of the table `exclusions`, by (configuration, theme id)."""
    exclusions = {}
    for column, value in cells.items():
        if column.startswith(Column.EXCLUDED_FROM_PREFIX):
            conf, _, theme_id = column.removeprefix(Column.EXCLUDED_FROM_PREFIX).partition(":")
            exclusions[conf, theme_id] = decode_cell(value, column, Exclusion)
    return exclusions


def find_excluded_labels(
    tables: Tables, clustering: StoredClustering, ids: Sequence[str]
) -> dict[str, set[str]]:
    """Return the labels of the themes of a clustering that documents are excluded from, by document
    id.

    Documents without exclusions in this clustering are left out.
    """
    excluded_themes = {
        id_: {theme_id for conf, theme_id in exclusions if conf == clustering.conf}
        for id_, exclusions in load_exclusions(tables, clustering.name, ids).items()
    }
    all_theme_ids = set().union(*excluded_themes.values()) if excluded_themes else set()
    if not all_theme_ids:
        return {}
    labels = find_labels_by_id(tables, clustering, all_theme_ids)
    excluded_labels = {
        id_: {labels[theme] for theme in exclusions if theme in labels}
        for id_, exclusions in excluded_themes.items()
    }
    return {id_: exclusions for id_, exclusions in excluded_labels.items() if exclusions}


def find_labels_by_id(
    tables: Tables, clustering: StoredClustering, theme_ids: set[str]
) -> Mapping[str, str]:
    """Return the labels of first-level themes of a clustering, by theme id.

    Themes that the clustering lacks are left out. Reads the ids of all first-level clusters.
    """
    prefix = build_clustering_prefix(
        clustering.name.namespace, clustering.name.key, clustering.conf, clustering.timestamp
    )
    rows = tables.iter_rows(CLUSTERS, prefix, [Column.ID, Column.LABEL])
    return {
        id_: decode_text(cells, Column.LABEL)
        for _, cells in rows
        if (id_ := decode_text(cells, Column.ID)) in theme_ids
    }


def _parse_curated_theme(cells: Cells) -> CuratedTheme:
    def time(column: str) -> int | None:
        return decode_int(cells, column) if cells.get(column) else None

    return CuratedTheme(
        decode_text(cells, Column.ID),
        decode_text(cells, Column.LABEL),
        decode_text(cells, Column.NAME),
        time(Column.NAMED),
        time(Column.PINNED),
    )


def iter_misplaced_ids(tables: Tables, clustering: StoredClustering) -> Iterator[list[str]]:
    """Iterate over the ids of documents that are in a theme they are excluded from, in batches."""
    if not has_exclusions(tables, clustering.name):
        return
    for page in tables.iter_pages(
        EXCLUSIONS, clustering.name.row, [MAIN_FAMILY], page_rows=BATCH_SIZE
    ):
        ids = [decode_text(cells, Column.ID) for _, cells in page]
        excluded_labels = find_excluded_labels(tables, clustering, ids)
        rows = {
            build_assignment_row(clustering.name, clustering.conf, clustering.timestamp, id_): id_
            for id_ in excluded_labels
        }
        assigned_rows = tables.get_rows(ASSIGNMENTS, list(rows), [Column.LABEL])
        misplaced_ids = [
            rows[row]
            for row, cells in assigned_rows.items()
            if decode_text(cells, Column.LABEL) in excluded_labels[rows[row]]
        ]
        if misplaced_ids:
            yield misplaced_ids


def list_exclusions(
    tables: Tables, name: CollectionName, after: bytes | None, count: int
) -> tuple[list[tuple[str, dict[tuple[str, str], Exclusion]]], bytes | None]:
    """Return a page of the excluded documents of a collection, and the token for the next page.

    Each document is a pair of its id and its exclusions by (configuration, theme id). The token is
    None on the last page. Raises ValueError for an `after` token of another collection.
    """
    if after is not None and not after.startswith(name.row):
        raise ValueError("this page token belongs to another collection. Start with the first page")
    try:
        rows = tables.get_page(
            EXCLUSIONS, name.row, [MAIN_FAMILY], after=after, count_max=count + 1
        )
    except ConfigurationError:
        return [], None
    last_row = rows[count - 1][0] if len(rows) > count else None
    return [
        (decode_text(cells, Column.ID), parse_exclusions(cells)) for _, cells in rows[:count]
    ], last_row


def list_theme_ids(tables: Tables, name: CollectionName, conf: str, timestamp: int) -> set[str]:
    """Return the ids of the themes on the first level of a clustering."""
    prefix = build_clustering_prefix(name.namespace, name.key, conf, timestamp)
    return {
        decode_text(cells, Column.ID)
        for _, cells in tables.iter_rows(CLUSTERS, prefix, [Column.ID])
    }


def has_exclusions(tables: Tables, name: CollectionName) -> bool:
    """Return whether any document of a collection is excluded from a theme."""
    try:
        return bool(tables.get_page(EXCLUSIONS, name.row, [Column.ID], count_max=1))
    except ConfigurationError:
        return False
