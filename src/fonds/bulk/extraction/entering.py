"""Extraction into the stores: each WARC goes through the pipeline of the home; its books are the ledger's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

from fonds.bulk.extraction.books import Books, booked
from fonds.model.disposition import Reason, dropped
from fonds.model.entry import Entry, unread_input_id
from fonds.model.rows import EntryRow, InputRow
from fonds.ports import Job, Records, Source


class Working(Protocol):
    """The pipeline of a home at work in one process; `pipeline` is its name on the books."""

    @property
    def records(self) -> Records:
        """Where the books are read."""

    @property
    def pipeline(self) -> str:
        """The flavour's name."""

    def work_off(self, source: Source, row: InputRow) -> None:
        """Send all of one input through the pipeline, what is known of it too, and wait until it has ended.

        Raises what made the work end.
        """

    def close(self) -> None:
        """End what works, and close the stores."""


@dataclass(frozen=True, slots=True)
class OneInput:
    """Implements Source with one of the inputs of another."""

    source: Source
    row: InputRow

    def inputs(self) -> Iterator[InputRow]:
        """The one."""
        yield self.row

    def entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        """As the other gives them."""
        yield from self.source.entries(row)


@dataclass(frozen=True, slots=True)
class EnterWarcs:
    """The `read` of the job: a part is the row of a WARC. Done again, entries and messages have the same ids,
    so that nothing counts twice."""

    source: Source
    open_working: Callable[[], Working]

    def __call__(self, part: InputRow) -> Iterator[bytes]:
        """The books of the WARC as the ledger has them."""
        with closing(self.open_working()) as working:
            working.work_off(OneInput(self.source, part), part)
            books = account(working.records, working.pipeline, part)
        yield from books.lines()


def account(records: Records, pipeline: str, part: InputRow) -> Books:
    """Return what the books of a pipeline say of one input: what the intake counted, and how entries ended.
    A failure to read it to its end counts as one record."""
    books = Books()
    rows = records.get(InputRow, [(part.input_id, pipeline)])
    unread = records.get(InputRow, [(unread_input_id(part.path), pipeline)])
    rows += [row for row in unread if row.error is not None]
    for row in rows:
        books.records[part.path] += row.entries + row.tally_count
        for reason, count in row.tally.items():
            books.end(part.path, dropped(Reason(reason)), count)
    where = {"input_id": sorted(row.input_id for row in rows), "pipeline": pipeline}
    for (outcome, reason), count in records.count(EntryRow, ("outcome", "reason"), where).items():
        books.ended[part.path][outcome, reason or ""] += count
    return books


def entering_job(
    parts: tuple[InputRow, ...],
    source: Source,
    open_working: Callable[[], Working],
    fingerprint: str,
) -> Job:
    """`fingerprint` is new for each run that is not to go on where another was ended."""
    return Job(
        name=f"extract-into-{fingerprint}",
        parts=parts,
        read=EnterWarcs(source, open_working),
        ranges=(),
        write=added_up,
    )


def added_up(number: int, records: Iterator[bytes]) -> Iterator[bytes]:
    """The books of all parts."""
    yield from booked(records).lines()
