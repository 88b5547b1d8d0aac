"""Interfaces of the records (rows that people query) and of the ledger (how every entry ended)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from fonds.model.row_change import RowChange
from fonds.model.rows import DispositionRow, EntryRow, InputRow, Row

R = TypeVar("R", bound=Row)


class ReadableRecords(Protocol):
    """Read access to the records."""

    def get(self, kind: type[R], keys: Sequence[object]) -> list[R]:
        """Return the rows with these keys (a value, or a tuple for a composite key), in no order."""

    def find(
        self,
        kind: type[R],
        where: Mapping[str, object] | None = None,
        *,
        order: Sequence[str] = (),
        after: Mapping[str, object] | None = None,
        count_max: int | None = None,
    ) -> Iterator[R]:
        """Yield rows whose columns equal `where`; streamed, for results of any size.

        A list in `where` matches any of its values, `None` a missing value, `Prefix` all texts with
        that prefix, `TimeRange` all times in a range. `order` names columns, `-name` for descending.
        The default is the primary key, which also breaks ties. `after` holds the values of the
        `order` columns in the row after which to start.
        """

    def count(
        self,
        kind: type[Row],
        columns: Sequence[str] = (),
        where: Mapping[str, object] | None = None,
        *,
        count_max: int | None = None,
    ) -> dict[tuple[Any, ...], int]:
        """Count rows per combination of the values of `columns`; {(): n} if `columns` is empty.

        Counting stops at `count_max` rows; which rows are counted is then undefined.
        """

    def first_of_each(
        self, kind: type[R], filters: Sequence[Mapping[str, object]], order: Sequence[str]
    ) -> list[R | None]:
        """Return the first row for each of `filters` in this order (both as in `find`), None if
        none matches.

        The cost depends on the rows returned, not on the rows after them. It takes few statements
        for any number of filters.
        """


class Records(ReadableRecords, Protocol):
    """SQL rows that people query and join; one frozen value per row (`model/rows`)."""

    def put(self, rows: Sequence[Row], *, replace: bool = True) -> None:
        """Upsert rows by primary key in one transaction; rows of several tables may be mixed.

        The last of several rows with one key wins. Without `replace`, existing rows stay unchanged
        and the first of several rows with one key wins. NUL and lone surrogates are removed from
        texts here.
        """

    def change(
        self,
        kind: type[Row],
        keys: Sequence[object],
        values: Mapping[str, object],
        where: Mapping[str, object] | None = None,
    ) -> int:
        """Set these columns of the rows with these keys that still match `where` (as in `find`).

        Returns the number of changed rows; missing rows are no error. It is one transaction: if
        several callers change the same row with the same `where`, one succeeds.
        """

    def change_each(self, kind: type[Row], changes: Sequence[RowChange]) -> list[bool]:
        """Apply each change to its row if the row still is as the change says, in one transaction.

        Return for each change whether it was applied. Of several processes that change one row away from
        the same `where`, one succeeds.
        """

    def delete(self, kind: type[Row], keys: Sequence[object]) -> None:
        """Delete rows by key; missing rows are no error."""


class UnfilteredRecords(Records, Protocol):
    """Records that include rows hidden from readers."""

    def for_readers(self) -> UnfilteredRecords:
        """Return these records with hidden rows filtered out.

        Rows of a file under embargo are hidden, and its entries, inputs and counts. Each call
        checks the embargoes of that time. Writes go to the same records.
        """


class Ledger(Protocol):
    """Ledger of what entered, and of how each message made from it ended.

    Each call is one transaction. All pipelines share the ledger. An entry's outcome (`EntryRow`)
    and the counts (`TallyRow`) are updated in the same transaction. Outcomes, counts and
    dispositions are read through Records.
    """

    def enter(
        self, inputs: Sequence[InputRow], entries: Sequence[EntryRow], steps: Sequence[str]
    ) -> set[str]:
        """Record read positions of inputs and their entries, with a pending message for each of
        `steps`.

        Known entries stay unchanged. Returns the ids of the entries whose message has not ended in
        every step and must be sent (again).
        """

    def write(self, rows: Sequence[DispositionRow]) -> None:
        """Record how messages ended, and which messages are pending (verdict `pending`).

        A pending row never replaces an ending, in either order of arrival. The last of two endings
        wins. Idempotent.
        """

    def recount(self, *, repair: bool = False) -> list[str]:
        """Compare outcomes and counts with the dispositions.

        Return one sentence per difference, at most 1,000. With `repair`, outcomes and counts are
        corrected.
        """


class RecordsWithLedger(Records, Protocol):
    """Records together with the ledger of the same database."""

    @property
    def ledger(self) -> Ledger:
        """Ledger of the same database."""
