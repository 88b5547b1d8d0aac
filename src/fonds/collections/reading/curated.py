"""What people decided about the themes of a collection: names and pins by theme, exclusions by document.

A theme is known by the id it keeps over rebuilds, of the first level: those of other levels have none that
stay. Who asks a home of before these rows were thought of is told of none. Bound: 1,000 themes of a
configuration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from fonds.collections.clusterings import Known
from fonds.collections.names import Name
from fonds.collections.tables import (
    ASSIGNMENTS,
    CLUSTERS,
    EXCLUSIONS,
    THEMES,
    Cells,
    Tables,
    assignment_row,
    number,
    text,
)
from fonds.formats.grouping.keys import cluster_row, clustering_prefix, themes_prefix
from fonds.model.errors import ConfigurationError
from fonds.model.prepared import prepared

CURATED_MAX = 1_000
AT_ONCE = 500
FROM = "main:from:"
"""An excluded document's row has a column for each theme: this, the configuration, a colon, its id."""


@dataclass(frozen=True, slots=True)
class Curated:
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


def curated(tables: Tables, name: Name, conf: str) -> dict[str, Curated]:
    """The themes of a configuration that were named or pinned, by their ids."""
    prefix = themes_prefix(name.namespace, name.key, conf)
    try:
        rows = tables.page(THEMES, prefix, ["main:"], count_max=CURATED_MAX)
    except ConfigurationError:
        return {}
    return {one.id: one for one in (_curated(cells) for _, cells in rows)}


def names_of(tables: Tables, name: Name, conf: str) -> dict[str, str]:
    """The names themes were given, by their ids."""
    return {one.id: one.name for one in curated(tables, name, conf).values() if one.name}


def names_of_labels(
    tables: Tables, name: Name, conf: str, timestamp: int, labels: Iterable[str]
) -> dict[str, str]:
    """The names of those of these themes of a clustering that were given one, by label."""
    names = names_of(tables, name, conf)
    if not names:
        return {}
    rows = {cluster_row(name.namespace, name.key, conf, timestamp, one): one for one in labels}
    found = tables.rows(CLUSTERS, list(rows), ["main:id"])
    ids = {rows[row]: text(cells, "main:id") for row, cells in found.items()}
    return {label: names[id_] for label, id_ in ids.items() if id_ in names}


def exclusions_of(
    tables: Tables, name: Name, ids: Sequence[str]
) -> dict[str, dict[tuple[str, str], Exclusion]]:
    """What documents are excluded from, by id and by (configuration, theme's id); who is from nothing is
    absent."""
    rows = {name.document(id_): id_ for id_ in ids}
    try:
        found = tables.rows(EXCLUSIONS, list(rows), ["main:"])
    except ConfigurationError:
        return {}
    return {rows[row]: exclusions_in(cells) for row, cells in found.items()}


def exclusions_in(cells: Cells) -> dict[tuple[str, str], Exclusion]:
    """What the row of an excluded document says, by (configuration, theme's id)."""
    found = {}
    for column, value in cells.items():
        if column.startswith(FROM):
            conf, _, theme_id = column.removeprefix(FROM).partition(":")
            found[conf, theme_id] = msgspec.json.decode(value, type=prepared(Exclusion))
    return found


def barred_of(tables: Tables, one: Known, ids: Sequence[str]) -> dict[str, set[str]]:
    """The labels a clustering has of the themes documents are excluded from, by id; who is from none of its
    themes is absent."""
    excluded = {
        id_: {theme_id for conf, theme_id in some if conf == one.conf}
        for id_, some in exclusions_of(tables, one.name, ids).items()
    }
    wanted = set().union(*excluded.values()) if excluded else set()
    if not wanted:
        return {}
    labels = labels_of_ids(tables, one, wanted)
    found = {
        id_: {labels[each] for each in some if each in labels} for id_, some in excluded.items()
    }
    return {id_: some for id_, some in found.items() if some}


def labels_of_ids(tables: Tables, one: Known, wanted: set[str]) -> Mapping[str, str]:
    """The labels of those of these themes a clustering has on its first level, by id. Reads the ids of its
    clusters."""
    prefix = clustering_prefix(one.name.namespace, one.name.key, one.conf, one.timestamp)
    rows = tables.scan(CLUSTERS, prefix, ["main:id", "main:label"])
    return {
        id_: text(cells, "main:label")
        for _, cells in rows
        if (id_ := text(cells, "main:id")) in wanted
    }


def _curated(cells: Cells) -> Curated:
    def time(column: str) -> int | None:
        return number(cells, column) if cells.get(column) else None

    return Curated(
        text(cells, "main:id"),
        text(cells, "main:label"),
        text(cells, "main:name"),
        time("main:named"),
        time("main:pinned"),
    )


def excluded_ids(tables: Tables, one: Known) -> Iterator[list[str]]:
    """The documents a clustering has in a theme they are excluded from, some at a time."""
    if not there_are_exclusions(tables, one.name):
        return
    for page in tables.pages(EXCLUSIONS, one.name.row, ["main:"], page_rows=AT_ONCE):
        ids = [text(cells, "main:id") for _, cells in page]
        barred = barred_of(tables, one, ids)
        rows = {assignment_row(one.name, one.conf, one.timestamp, id_): id_ for id_ in barred}
        found = tables.rows(ASSIGNMENTS, list(rows), ["main:label"])
        wrong = [
            rows[row]
            for row, cells in found.items()
            if text(cells, "main:label") in barred[rows[row]]
        ]
        if wrong:
            yield wrong


def exclusions_page(
    tables: Tables, name: Name, after: bytes | None, count: int
) -> tuple[list[tuple[str, dict[tuple[str, str], Exclusion]]], bytes | None]:
    """Excluded documents in the order of their ids, with what each is excluded from; the row the page ends
    with, None behind the last. Raises ValueError for an `after` that is of another list."""
    if after is not None and not after.startswith(name.row):
        raise ValueError("this page is of another collection; begin with the first")
    try:
        rows = tables.page(EXCLUSIONS, name.row, ["main:"], after=after, count_max=count + 1)
    except ConfigurationError:
        return [], None
    last = rows[count - 1][0] if len(rows) > count else None
    return [(text(cells, "main:id"), exclusions_in(cells)) for _, cells in rows[:count]], last


def ids_there(tables: Tables, name: Name, conf: str, timestamp: int) -> set[str]:
    """The ids of the themes a clustering has on its first level."""
    prefix = clustering_prefix(name.namespace, name.key, conf, timestamp)
    return {text(cells, "main:id") for _, cells in tables.scan(CLUSTERS, prefix, ["main:id"])}


def there_are_exclusions(tables: Tables, name: Name) -> bool:
    """Whether any document of a collection is excluded from a theme."""
    try:
        return bool(tables.page(EXCLUSIONS, name.row, ["main:id"], count_max=1))
    except ConfigurationError:
        return False
