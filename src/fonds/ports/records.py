"""What the records and the ledger promise: rows that people query, and how every entry ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from fonds.model.row_change import RowChange
from fonds.model.rows import DispositionRow, EntryRow, InputRow, Row

R = TypeVar("R", bound=Row)


class ReadableRecords(Protocol):
    """What is asked of the records."""

    def get(self, kind: type[R], keys: Sequence[object]) -> list[R]:
        """The rows with these keys (a value, or a tuple for a composed key), in no order."""

    def find(
        self,
        kind: type[R],
        where: Mapping[str, object] | None = None,
        *,
        order: Sequence[str] = (),
        after: Mapping[str, object] | None = None,
        count_max: int | None = None,
    ) -> Iterator[R]:
        """Rows whose columns equal `where`, streamed, any size.

        A list means any of its values, `None` an absent one, `Prefix` all texts that begin so, `Within` all
        times of a stretch. `order` names columns, `-name` for descending; the default is the primary key,
        which decides among equal rows in any case. `after` has the values of these columns in the row behind
        which to begin.
        """

    def count(
        self,
        kind: type[Row],
        columns: Sequence[str] = (),
        where: Mapping[str, object] | None = None,
        *,
        count_max: int | None = None,
    ) -> dict[tuple[Any, ...], int]:
        """How many rows there are for each combination of the columns `columns`; {(): n} for `columns`
        empty. Of more than `count_max` rows so many are counted, no matter which."""

    def first_of_each(
        self, kind: type[R], filters: Sequence[Mapping[str, object]], order: Sequence[str]
    ) -> list[R | None]:
        """The first row of each `where` in this order (both as in `find`), None where none fits.

        It costs what those rows cost, not what lies behind them, and few statements however many are asked.
        """


class Records(ReadableRecords, Protocol):
    """SQL rows that people query and join; one frozen value per row (`model/rows.py`)."""

    def put(self, rows: Sequence[Row], *, replace: bool = True) -> None:
        """Upsert by primary key, all rows in one transaction; rows of several tables may be mixed.

        The last of several rows with one key wins. Without `replace`, rows whose key exists stay as they
        were, and the first of several wins. NUL and lone surrogates in texts are removed here.
        """

    def change(
        self,
        kind: type[Row],
        keys: Sequence[object],
        values: Mapping[str, object],
        where: Mapping[str, object] | None = None,
    ) -> int:
        """Set these columns of the rows with these keys that still are as `where` says (as in `find`).

        How many rows were changed; absent ones are no error. One transaction: of several who would
        change the same row away from the same `where`, one does.
        """

    def change_each(self, kind: type[Row], changes: Sequence[RowChange]) -> list[bool]:
        """Apply each change to its row if the row still is as the change says, in one transaction.

        Return for each change whether it was applied. Of several processes that change one row away from
        the same `where`, one succeeds.
        """

    def delete(self, kind: type[Row], keys: Sequence[object]) -> None:
        """Remove rows by key; absent ones are no error."""


class UnfilteredRecords(Records, Protocol):
    """Records that hold also what nobody is shown."""

    def for_readers(self) -> UnfilteredRecords:
        """The same records as readers are shown them: no row of a file under embargo, no entry, input or
        count of one, as of this moment each time. What is written goes to the same place."""


class Ledger(Protocol):
    """What entered, and how each message made of it ended; one transaction a call, shared by all pipelines.

    An entry's outcome (`EntryRow`) and the counts (`TallyRow`) follow in the same transaction; both, and
    the dispositions, are read through Records.
    """

    def enter(
        self, inputs: Sequence[InputRow], entries: Sequence[EntryRow], steps: Sequence[str]
    ) -> set[str]:
        """Write down how far inputs were read and what was found in them, promising each entry's message to
        each of `steps`. Entries that are known stay as they are. Returns the ids of those whose message
        has not ended everywhere, so that it is to be sent (again)."""

    def write(self, rows: Sequence[DispositionRow]) -> None:
        """Write how messages ended, and what was promised (verdict `pending`) of them.

        A promise never replaces an ending, whichever of the two comes first; of two endings the last
        one written stands. Idempotent.
        """

    def recount(self, *, repair: bool = False) -> list[str]:
        """What the outcomes and counts say that the dispositions do not, a sentence each, a thousand at most;
        with `repair` they are made to agree."""


class RecordsWithLedger(Records, Protocol):
    """Records that give the ledger of the same database."""

    @property
    def ledger(self) -> Ledger:
        """The ledger."""
