"""Hide rows about embargoed files from readers, and subtract those rows from the row counts.

This module alone decides what readers see. It replaces each table with a query, so that rows, pages
and counts look as if the hidden rows did not exist. While no file is under embargo the tables are
used directly, which takes a third of the time.
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
from fonds.stores.records.column_types import HexBytes, HexText, build_constant
from fonds.stores.records.counters import (
    COUNTED,
    list_disposition_countings,
    list_entry_countings,
)
from fonds.stores.records.tables import get_table

ALWAYS: Sequence[type[Row]] = (EmbargoRow, TakedownRow)
"""Row types that are never hidden: embargoes and takedowns, which say that a file is hidden."""
_BY_CAPTURE: Mapping[type[Row], str] = {
    EntryRow: "entry_id",
    DispositionRow: "entry_id",
    DecisionRow: "entry_id",
    FetchedPageRow: "capture_id",
    TdmrepAnswerRow: "capture_id",
}
_BY_FILE: Mapping[type[Row], str] = {FaultRow: "subject"}


def visible_now(connection: Connection, kind: type[Row]) -> FromClause:
    """Return the table of a row type, or, if any file is under embargo now, a query without the
    rows about such files.

    `connection` must be in a transaction whose statements share one snapshot.
    """
    source, table = visible_rows(kind), get_table(kind)
    if source is table or connection.execute(_select_any_hidden()).first() is None:
        return table
    return source


@cache
def _select_any_hidden() -> Select[Any]:
    return _select_files().limit(1)


@cache
def visible_rows(kind: type[Row]) -> FromClause:
    """Return a query for the rows of a row type that readers may see, with the columns of its
    table.

    Rows about files under embargo are left out. If the table never has such rows, the table itself
    is returned.
    """
    table = get_table(kind)
    if kind is TallyRow:
        return _select_tallies().subquery(table.name)
    hidden_condition = _build_hidden_condition(kind)
    if hidden_condition is None:
        return table
    return sa.select(table).where(sa.not_(hidden_condition)).subquery(table.name)


def _build_hidden_condition(kind: type[Row]) -> ColumnElement[bool] | None:
    """Return the SQL condition that selects the rows of a row type about files under embargo.

    The condition is true or false, never NULL. Returns None if readers may see all rows of the
    type.
    """
    columns = get_table(kind).c
    if kind in ALWAYS:
        return None
    if kind in _BY_CAPTURE:
        return _build_membership(columns[_BY_CAPTURE[kind]], _select_captures())
    if kind in (InputRow, RefusedLinkRow):
        return _build_membership(columns.input_id, _select_inputs())
    name = _BY_FILE.get(kind, "sha1hex")
    if name not in columns:
        return None
    column = columns[name]
    sha1hex = HexText(column) if isinstance(column.type, HexBytes) else column
    return _build_membership(sha1hex, _select_files())


def _build_membership(column: ColumnElement[Any], subquery: Any) -> ColumnElement[bool]:
    return sa.and_(column.is_not(None), column.in_(subquery))


def _select_files() -> Select[Any]:
    """Build a query for the SHA-1s of files under embargo."""
    rows = get_table(EmbargoRow).alias()
    return sa.select(rows.c.sha1hex).where(rows.c.lifting.is_(None))


def _select_captures() -> Select[Any]:
    """Build a query for the ids of all captures of files under embargo.

    The ids come from three tables: captures in WARC files, first captures of files, and messages
    about the files.
    """
    selects = [
        sa.select(table.c[id_]).where(table.c[file].in_(_select_files()))
        for table, id_, file in (
            (get_table(CdxRow).alias(), "capture_id", "sha1hex"),
            (get_table(FileMetaRow).alias(), "capture_id", "sha1hex"),
            (get_table(DispositionRow).alias(), "entry_id", "about"),
        )
    ]
    captures = sa.union(*selects).subquery()
    return sa.select(captures.c[0])


def _select_inputs() -> Select[Any]:
    """Build a query for the ids of inputs that contain only captures of files under embargo.

    These inputs are hidden, because the path of such an input could reveal the file.
    """
    entry, other_entry = get_table(EntryRow).alias(), get_table(EntryRow).alias()
    has_other_entry = sa.exists().where(
        other_entry.c.input_id == entry.c.input_id,
        other_entry.c.entry_id.not_in(_select_captures()),
    )
    return sa.select(entry.c.input_id).where(
        entry.c.entry_id.in_(_select_captures()), sa.not_(has_other_entry)
    )


def _select_tallies() -> Select[Any]:
    """Build a query for the stored row counts, minus the rows about files under embargo.

    Counts of an input without entry rows are unchanged, because they do not refer to files.
    """
    table = get_table(TallyRow)
    hidden_counts = sa.union_all(*_list_hidden_counts()).subquery()
    is_same_tally = sa.and_(*(table.c[name] == hidden_counts.c[name] for name in TallyRow.KEY))
    visible_count = table.c.count - sa.func.coalesce(hidden_counts.c.count, 0)
    key_columns = [table.c[name] for name in TallyRow.KEY]
    return sa.select(*key_columns, visible_count.label("count")).select_from(
        table.outerjoin(hidden_counts, is_same_tally)
    )


def _list_hidden_counts() -> list[Select[Any]]:
    """Build queries that count the rows about files under embargo, with the same groups as the
    stored row counts.
    """
    entry, dispositions = get_table(EntryRow).c, get_table(DispositionRow).c
    is_final = entry.outcome != build_constant("pending")
    by_outcome = (
        entry.outcome,
        sa.case((is_final, entry.reason), else_=None),
        sa.case((is_final, entry.step), else_=None),
    )
    failure_columns = (entry.failure_group, entry.step, entry.reason)
    file_counts = [
        _count(kind, kind.TABLE, None, [get_table(kind).c[name] for name in column_names])
        for kind, column_names in COUNTED.items()
    ]
    return [
        *file_counts,
        _count(EntryRow, EntryRow.TABLE, entry.pipeline, by_outcome),
        _count(
            EntryRow, COUNTED_AS, entry.pipeline, failure_columns, entry.failure_group.is_not(None)
        ),
        _count(
            DispositionRow,
            DispositionRow.TABLE,
            dispositions.pipeline,
            (dispositions.step, dispositions.verdict),
        ),
        *(
            _count(kind, counter, column_names[0], column_names[1:], *where)
            for kind, countings in (
                (EntryRow, list_entry_countings()),
                (DispositionRow, list_disposition_countings()),
            )
            for counter, column_names, where in countings
        ),
    ]


def _count(
    kind: type[Row],
    counter: str,
    pipeline: ColumnElement[str] | None,
    values: Sequence[ColumnElement[Any]],
    *conditions: ColumnElement[bool],
) -> Select[Any]:
    hidden_condition = _build_hidden_condition(kind)
    empty_text = build_constant("")
    texts = [sa.func.coalesce(expression, empty_text) for expression in values] + [empty_text] * (
        3 - len(values)
    )
    group = [build_constant(counter), empty_text if pipeline is None else pipeline, *texts]
    labels = [expression.label(name) for expression, name in zip(group, TallyRow.KEY, strict=True)]
    group_columns = [*([] if pipeline is None else [pipeline]), *texts[: len(values)]]
    where = [*conditions, *([] if hidden_condition is None else [hidden_condition])]
    return sa.select(*labels, sa.func.count().label("count")).where(*where).group_by(*group_columns)
