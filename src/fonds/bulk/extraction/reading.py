"""Reads a WARC into records: what each of its captures holds, and how many records there were."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass

from fonds.bulk.extraction.books import Books
from fonds.bulk.extraction.carrying import Reading, identify
from fonds.bulk.extraction.found import to_record
from fonds.model.capture import Capture
from fonds.model.disposition import Reason, dropped
from fonds.model.entry import Entry
from fonds.model.rows import InputRow
from fonds.ports import Source


@dataclass(frozen=True, slots=True)
class ReadWarcs:
    """The `read` of the job: a part is the row of a WARC."""

    source: Source
    open_reading: Callable[[], Reading]

    def __call__(self, part: InputRow) -> Iterator[bytes]:
        """A record for each capture, behind them the counts. Raises what is the fault of no record."""
        books = Books()
        reading = self.open_reading()
        with closing(reading):
            for found in self.source.entries(part):
                if isinstance(found, Mapping):
                    for reason, count in found.items():
                        books.records[part.path] += count
                        books.end(part.path, dropped(Reason(reason)), count)
                elif isinstance(found, Entry) and isinstance(found.item, Capture):
                    books.records[part.path] += 1
                    yield to_record(identify(reading.steps, found.item))
        yield from books.lines()
