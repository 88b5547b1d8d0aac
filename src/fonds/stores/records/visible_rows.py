"""What readers are shown: each table without the rows that tell of a file under embargo, and the tallies
without what these count.

Decided here alone, as a query in the place of each table, so that whatever is asked for - rows, pages of
rows, counts - is answered as a database without these rows would. While nothing is under embargo the
tables stand for themselves: asking them costs a third.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, FromClause, Select

from fonds.model.rows import (
    CdxRow,
    DecisionRow,
    DispositionRow,
    EmbargoRow,
    EntryRow,
    FaultRow,
    FetchedPageRow,
    FileMetaRow,
    InputRow,
    RefusedLinkRow,
    Row,
    TakedownRow,
    TallyRow,
    TdmrepAnswerRow,
)
from fonds.model.tallies import COUNTED_AS
from fonds.stores.records import tallies
from fonds.stores.records.tables import get_table
from fonds.stores.records.tallies import COUNTED

ALWAYS: Sequence[type[Row]] = (EmbargoRow, TakedownRow)
"""What says that a file is hidden is not hidden itself."""
_BY_CAPTURE: Mapping[type[Row], str] = {
    EntryRow: "entry_id",
    DispositionRow: "entry_id",
    DecisionRow: "entry_id",
    FetchedPageRow: "capture_id",
    TdmrepAnswerRow: "capture_id",
}
_BY_FILE: Mapping[type[Row], str] = {FaultRow: "subject"}


def visible_now(connection: Connection, kind: type[Row]) -> FromClause:
    """What stands in the place of a table in the transaction of `connection`, which sees one moment."""
    source, table = visible_rows(kind), get_table(kind)
    if source is table or connection.execute(_select_any_hidden()).first() is None:
        return table
    return source


@cache
def _select_any_hidden() -> Select[Any]:
    return _select_files().limit(1)


@cache
def visible_rows(kind: type[Row]) -> FromClause:
    """What stands in the place of a table: its columns, and no row about a file under embargo."""
    table = get_table(kind)
    if kind is TallyRow:
        return _select_tallies().subquery(table.name)
    hidden = _build_hidden_condition(kind)
    if hidden is None:
        return table
    return sa.select(table).where(sa.not_(hidden)).subquery(table.name)


def _build_hidden_condition(kind: type[Row]) -> ColumnElement[bool] | None:
    """The condition of the rows that are not shown, never unknown; None where all are."""
    columns = get_table(kind).c
    if kind in ALWAYS:
        return None
    if kind in _BY_CAPTURE:
        return _build_among(columns[_BY_CAPTURE[kind]], _select_captures())
    if kind in (InputRow, RefusedLinkRow):
        return _build_among(columns.input_id, _select_inputs())
    name = _BY_FILE.get(kind, "sha1hex")
    return _build_among(columns[name], _select_files()) if name in columns else None


def _build_among(column: ColumnElement[Any], found: Any) -> ColumnElement[bool]:
    return sa.and_(column.is_not(None), column.in_(found))


def _select_files() -> Select[Any]:
    """The SHA-1s of what is under embargo."""
    rows = get_table(EmbargoRow).alias()
    return sa.select(rows.c.sha1hex).where(rows.c.lifting.is_(None))


def _select_captures() -> Select[Any]:
    """The ids of captures of these files: of those in WARCs, of those that own them, and of all whose
    messages were about them."""
    found = [
        sa.select(table.c[id_]).where(table.c[file].in_(_select_files()))
        for table, id_, file in (
            (get_table(CdxRow).alias(), "capture_id", "sha1hex"),
            (get_table(FileMetaRow).alias(), "capture_id", "sha1hex"),
            (get_table(DispositionRow).alias(), "entry_id", "about"),
        )
    ]
    every = sa.union(*found).subquery()
    return sa.select(every.c[0])


def _select_inputs() -> Select[Any]:
    """Inputs that brought such captures and no other: a loose file's path tells of it."""
    entry, other = get_table(EntryRow).alias(), get_table(EntryRow).alias()
    others = sa.exists().where(
        other.c.input_id == entry.c.input_id, other.c.entry_id.not_in(_select_captures())
    )
    return sa.select(entry.c.input_id).where(
        entry.c.entry_id.in_(_select_captures()), sa.not_(others)
    )


def _select_tallies() -> Select[Any]:
    """The tallies less what is hidden. Inputs' stay: what they count was never a file."""
    table = get_table(TallyRow)
    less = sa.union_all(*_list_hidden_counts()).subquery()
    same = sa.and_(*(table.c[name] == less.c[name] for name in TallyRow.KEY))
    left = table.c.count - sa.func.coalesce(less.c.count, 0)
    named = [table.c[name] for name in TallyRow.KEY]
    return sa.select(*named, left.label("count")).select_from(table.outerjoin(less, same))


def _list_hidden_counts() -> list[Select[Any]]:
    """How many rows are hidden, counted as tallies are kept (`accounting/tallies.py`)."""
    entry, ended = get_table(EntryRow).c, get_table(DispositionRow).c
    over = entry.outcome != _build_constant("pending")
    by_outcome = (
        entry.outcome,
        sa.case((over, entry.reason), else_=None),
        sa.case((over, entry.step), else_=None),
    )
    failed = (entry.failure_group, entry.step, entry.reason)
    of_files = [
        _count(kind, kind.TABLE, None, [get_table(kind).c[name] for name in by])
        for kind, by in COUNTED.items()
    ]
    return [
        *of_files,
        _count(EntryRow, EntryRow.TABLE, entry.pipeline, by_outcome),
        _count(EntryRow, COUNTED_AS, entry.pipeline, failed, entry.failure_group.is_not(None)),
        _count(DispositionRow, DispositionRow.TABLE, ended.pipeline, (ended.step, ended.verdict)),
        *(
            _count(kind, counted, by[0], by[1:], *where)
            for kind, some in (
                (EntryRow, [*tallies.list_entry_countings(), tallies.build_entry_counting()]),
                (DispositionRow, tallies.list_disposition_countings()),
            )
            for counted, by, where in some
        ),
    ]


def _count(
    kind: type[Row],
    counter: str,
    pipeline: ColumnElement[str] | None,
    values: Sequence[ColumnElement[Any]],
    *continues_soon: ColumnElement[bool],
) -> Select[Any]:
    hidden = _build_hidden_condition(kind)
    nothing = _build_constant("")
    said = [sa.func.coalesce(one, nothing) for one in values] + [nothing] * (3 - len(values))
    group = [_build_constant(counter), nothing if pipeline is None else pipeline, *said]
    named = [one.label(name) for one, name in zip(group, TallyRow.KEY, strict=True)]
    by = [*([] if pipeline is None else [pipeline]), *said[: len(values)]]
    where = [*continues_soon, *([] if hidden is None else [hidden])]
    return sa.select(*named, sa.func.count().label("count")).where(*where).group_by(*by)


def _build_constant(text: str) -> ColumnElement[str]:
    """A word of ours in the statement itself: what is grouped by must be said alike in both places, and two
    parameters of a statement are never alike to PostgreSQL."""
    return sa.literal_column(f"'{text}'", sa.Text)
