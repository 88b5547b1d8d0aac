"""Interfaces of the records (SQL rows that people query) and of the ledger.

The ledger records everything that entered a pipeline and how each message ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from fonds.model.ledger_difference import LedgerDifference
    from fonds.model.row_change import RowChange
    from fonds.model.rows import DispositionRow, EntryRow, InputRow, Row

R = TypeVar("R", bound="Row")


class ReadableRecords(Protocol):
    """Interface for reading the records, the rows of the SQL store."""

    def get(self, kind: type[R], keys: Sequence[object]) -> list[R]:
        """Return the rows of one table with these primary keys, in the order of the keys; missing
        rows are left out.

        `kind`: row type, which names the table. A key is a value, or a tuple for a composite key.
        """

    def find_missing(self, kind: type[Row], keys: Sequence[object]) -> list[object]:
        """Return those of the primary keys, as in `get`, for which one table has no row, each
        once.
        """

    def find(
        self,
        kind: type[R],
        where: Mapping[str, object] | None = None,
        *,
        order: Sequence[str] = (),
        after: Mapping[str, object] | None = None,
        count_max: int | None = None,
    ) -> Iterator[R]:
        """Yield the rows of one table whose columns equal `where`; streamed, for results of any
        size.

        `kind`: row type, which names the table. `where` maps columns to values: a list matches any
            of its values, `None` a missing value, `Prefix` all texts with that prefix, `TimeRange`
            all times in a range, and `InTable` and `NotInTable` the values that another table has
            or lacks. `order` names columns, `-name` for descending. The default is the primary key,
            which also breaks ties. `after` holds the values of the `order` columns in the row after
            which to start.
        """

    def count(
        self,
        kind: type[Row],
        columns: Sequence[str] = (),
        where: Mapping[str, object] | None = None,
        *,
        count_max: int | None = None,
    ) -> dict[tuple[Any, ...], int]:
        """Count the rows of one table that match `where`, per combination of the values of
        `columns`.

        Return {(): n} if `columns` is empty. `kind`: row type, which names the table. `where`:
        required values by column, as in `find`. Counting stops at `count_max` rows; which rows are
        counted is then undefined.
        """

    def first_of_each(
        self, kind: type[R], filters: Sequence[Mapping[str, object]], order: Sequence[str]
    ) -> list[R | None]:
        """Return, for each of `filters`, the first matching row of one table, or None if no row
        matches.

        Each filter is a `where`, and `order` names columns, both as in `find`. The cost depends on
        the rows returned, not on the rows after them. It takes few SQL statements for any number of
        filters.
        """


class Records(ReadableRecords, Protocol):
    """Interface of the records: SQL rows that people query and join.

    Each row is one frozen value of a type in `model/rows`.
    """

    def put(self, rows: Sequence[Row], *, replace: bool = True) -> None:
        """Insert or replace rows by primary key in one transaction; rows of several tables may be
        mixed.

        Of several rows with one key the last wins. Without `replace`, existing rows stay unchanged
        and the first of several rows with one key wins. NUL and lone surrogates are removed from
        texts.
        """

    def change(
        self,
        kind: type[Row],
        keys: Sequence[object],
        values: Mapping[str, object],
        where: Mapping[str, object] | None = None,
    ) -> int:
        """Set columns to `values` in the rows with these keys that still match `where` (required
        values by column).

        Return the number of changed rows; missing rows are no error. It is one transaction: if
        several callers change the same row with the same `where`, one succeeds.
        """

    def change_each(self, kind: type[Row], changes: Sequence[RowChange]) -> list[bool]:
        """Apply several row changes in one transaction, each only if its row still matches the
        condition.

        Return for each change whether it was applied. If several processes change one row with the
        same condition, one succeeds.
        """

    def delete(self, kind: type[Row], keys: Sequence[object]) -> None:
        """Delete the rows of one table with these primary keys; missing rows are no error."""


class UnfilteredRecords(Records, Protocol):
    """Interface of the SQL rows, including rows about files under embargo, which readers may not
    see.
    """

    def for_readers(self) -> UnfilteredRecords:
        """Return the records as readers may see them.

        The rows of a file under embargo are left out, and so are its entries, inputs and counts.
        Each later call checks the embargoes in force at that time. Writes go to the same database.
        """


class Ledger(Protocol):
    """Interface of the ledger: what entered a pipeline, and how each message made from it ended.

    Each call is one transaction. All pipelines share the ledger. An entry's outcome (`EntryRow`)
    and the counts (`TallyRow`) are updated in the same transaction. Outcomes, counts and
    dispositions are read through Records.
    """

    def enter(
        self, inputs: Sequence[InputRow], entries: Sequence[EntryRow], steps: Sequence[str]
    ) -> set[str]:
        """Record the read positions of inputs, and their entries with a pending message for each of
        `steps`.

        Entries that are already recorded stay unchanged. Return the ids of the entries whose
        message has not ended in every step. The caller must send the messages of these entries, or
        send them again.
        """

    def write(self, rows: Sequence[DispositionRow]) -> None:
        """Record how messages ended, and which are pending (verdict `pending`). Repeating it
        changes nothing.

        A pending row never replaces the end of a message, in either order of arrival. If a message
        ends twice, the last end wins.
        """

    def recount(self, *, repair: bool = False) -> list[LedgerDifference]:
        """Compare the stored outcomes and counts of entries with the dispositions of their
        messages.

        Return the differences, at most 1,000. With `repair`, outcomes and counts are corrected.
        """

    def accept_rows(self, kind: type[Row]) -> None:
        """Accept the rows of a sealed table as they are now, although another program changed them.

        Later recounts return no difference for these changes.
        """


class RecordsWithLedger(Records, Protocol):
    """Interface of an SQL database that holds both the rows that people query and the ledger."""

    @property
    def ledger(self) -> Ledger:
        """Ledger of this database: what entered a pipeline, and how each message made from it
        ended.
        """
