"""What people decided about the themes of a collection: names and pins by theme, exclusions by document.

A theme is known by the id it keeps over rebuilds, of the first level: those of other levels have none that
stay. Who asks a home of before these rows were thought of is told of none. Bound: 1,000 themes of a
configuration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from fonds.grouping.clustering import StoredClustering
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
    decode_int,
    decode_text,
)
from fonds.model.encoding import prepare_type
from fonds.model.errors import ConfigurationError

CURATED_MAX = 1_000
BATCH_SIZE = 500
FROM = "main:from:"
"""An excluded document's row has a column for each theme: this, the configuration, a colon, its id."""


@dataclass(frozen=True, slots=True)
class CuratedTheme:
    """A theme somebody decided about: its id, the label it had then, the name it was given, '' for none,
    when, and since when it is pinned; None for never. Times in seconds since 1970."""

    id: str
    label: str
    name: str
    named: int | None
    pinned: int | None


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A document that does not belong into a theme: since when, what the theme was labelled then; and where
    the document was in the clustering `timestamp`, as (configuration of the level, label, score, original),
    last put by the change `sequence`."""

    at: int
    label: str
    timestamp: int
    sequence: int
    places: tuple[tuple[str, str, str, str], ...]


def list_curated_themes(tables: Tables, name: CollectionName, conf: str) -> dict[str, CuratedTheme]:
    """The themes of a configuration that were named or pinned, by their ids."""
    prefix = build_themes_prefix(name.namespace, name.key, conf)
    try:
        rows = tables.get_page(THEMES, prefix, ["main:"], count_max=CURATED_MAX)
    except ConfigurationError:
        return {}
    return {one.id: one for one in (_parse_curated_theme(cells) for _, cells in rows)}


def load_theme_names(tables: Tables, name: CollectionName, conf: str) -> dict[str, str]:
    """The names themes were given, by their ids."""
    return {
        one.id: one.name for one in list_curated_themes(tables, name, conf).values() if one.name
    }


def load_label_names(
    tables: Tables, name: CollectionName, conf: str, timestamp: int, labels: Iterable[str]
) -> dict[str, str]:
    """The names of those of these themes of a clustering that were given one, by label."""
    names = load_theme_names(tables, name, conf)
    if not names:
        return {}
    rows = {
        build_cluster_row(name.namespace, name.key, conf, timestamp, one): one for one in labels
    }
    found = tables.get_rows(CLUSTERS, list(rows), ["main:id"])
    ids = {rows[row]: decode_text(cells, "main:id") for row, cells in found.items()}
    return {label: names[id_] for label, id_ in ids.items() if id_ in names}


def load_exclusions(
    tables: Tables, name: CollectionName, ids: Sequence[str]
) -> dict[str, dict[tuple[str, str], Exclusion]]:
    """What documents are excluded from, by id and by (configuration, theme's id); who is from nothing is
    absent."""
    rows = {name.build_document_row(id_): id_ for id_ in ids}
    try:
        found = tables.get_rows(EXCLUSIONS, list(rows), ["main:"])
    except ConfigurationError:
        return {}
    return {rows[row]: parse_exclusions(cells) for row, cells in found.items()}


def parse_exclusions(cells: Cells) -> dict[tuple[str, str], Exclusion]:
    """What the row of an excluded document says, by (configuration, theme's id)."""
    found = {}
    for column, value in cells.items():
        if column.startswith(FROM):
            conf, _, theme_id = column.removeprefix(FROM).partition(":")
            found[conf, theme_id] = msgspec.json.decode(value, type=prepare_type(Exclusion))
    return found


def find_excluded_labels(
    tables: Tables, clustering: StoredClustering, ids: Sequence[str]
) -> dict[str, set[str]]:
    """The labels a clustering has of the themes documents are excluded from, by id; who is from none of its
    themes is absent."""
    excluded = {
        id_: {theme_id for conf, theme_id in some if conf == clustering.conf}
        for id_, some in load_exclusions(tables, clustering.name, ids).items()
    }
    wanted = set().union(*excluded.values()) if excluded else set()
    if not wanted:
        return {}
    labels = find_labels_by_id(tables, clustering, wanted)
    found = {
        id_: {labels[each] for each in some if each in labels} for id_, some in excluded.items()
    }
    return {id_: some for id_, some in found.items() if some}


def find_labels_by_id(
    tables: Tables, clustering: StoredClustering, theme_ids: set[str]
) -> Mapping[str, str]:
    """The labels of those of these themes a clustering has on its first level, by id. Reads the ids of its
    clusters."""
    prefix = build_clustering_prefix(
        clustering.name.namespace, clustering.name.key, clustering.conf, clustering.timestamp
    )
    rows = tables.iter_rows(CLUSTERS, prefix, ["main:id", "main:label"])
    return {
        id_: decode_text(cells, "main:label")
        for _, cells in rows
        if (id_ := decode_text(cells, "main:id")) in theme_ids
    }


def _parse_curated_theme(cells: Cells) -> CuratedTheme:
    def time(column: str) -> int | None:
        return decode_int(cells, column) if cells.get(column) else None

    return CuratedTheme(
        decode_text(cells, "main:id"),
        decode_text(cells, "main:label"),
        decode_text(cells, "main:name"),
        time("main:named"),
        time("main:pinned"),
    )


def iter_misplaced_ids(tables: Tables, clustering: StoredClustering) -> Iterator[list[str]]:
    """The documents a clustering has in a theme they are excluded from, some at a time."""
    if not has_exclusions(tables, clustering.name):
        return
    for page in tables.iter_pages(EXCLUSIONS, clustering.name.row, ["main:"], page_rows=BATCH_SIZE):
        ids = [decode_text(cells, "main:id") for _, cells in page]
        barred = find_excluded_labels(tables, clustering, ids)
        rows = {
            build_assignment_row(clustering.name, clustering.conf, clustering.timestamp, id_): id_
            for id_ in barred
        }
        found = tables.get_rows(ASSIGNMENTS, list(rows), ["main:label"])
        wrong = [
            rows[row]
            for row, cells in found.items()
            if decode_text(cells, "main:label") in barred[rows[row]]
        ]
        if wrong:
            yield wrong


def list_exclusions(
    tables: Tables, name: CollectionName, after: bytes | None, count: int
) -> tuple[list[tuple[str, dict[tuple[str, str], Exclusion]]], bytes | None]:
    """Excluded documents in the order of their ids, with what each is excluded from; the row the page ends
    with, None behind the last. Raises ValueError for an `after` that is of another list."""
    if after is not None and not after.startswith(name.row):
        raise ValueError("this page is of another collection; begin with the first")
    try:
        rows = tables.get_page(EXCLUSIONS, name.row, ["main:"], after=after, count_max=count + 1)
    except ConfigurationError:
        return [], None
    last = rows[count - 1][0] if len(rows) > count else None
    return [
        (decode_text(cells, "main:id"), parse_exclusions(cells)) for _, cells in rows[:count]
    ], last


def list_theme_ids(tables: Tables, name: CollectionName, conf: str, timestamp: int) -> set[str]:
    """The ids of the themes a clustering has on its first level."""
    prefix = build_clustering_prefix(name.namespace, name.key, conf, timestamp)
    return {
        decode_text(cells, "main:id")
        for _, cells in tables.iter_rows(CLUSTERS, prefix, ["main:id"])
    }


def has_exclusions(tables: Tables, name: CollectionName) -> bool:
    """Whether any document of a collection is excluded from a theme."""
    try:
        return bool(tables.get_page(EXCLUSIONS, name.row, ["main:id"], count_max=1))
    except ConfigurationError:
        return False
