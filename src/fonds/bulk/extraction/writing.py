"""Reads the bodies of a range, each once, and writes what came of them and how every capture ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from fonds.bulk.extraction.books import MARK, Books
from fonds.bulk.extraction.carrying import Reading, learn
from fonds.bulk.extraction.found import Found, from_record
from fonds.bulk.extraction.parquet import ResultFiles, result_files
from fonds.bulk.extraction.rows import RESULTS, capture_row, file_row
from fonds.model.disposition import DONE, Disposition, Reason, dropped


@dataclass(frozen=True, slots=True)
class WriteParquet:
    """The `write` of the job: Parquet below `folder`, a file of each sort for every range."""

    open_reading: Callable[[], Reading]
    folder: Path

    def __call__(self, number: int, records: Iterator[bytes]) -> Iterator[bytes]:
        """The books of this range. Of captures of one body the earliest is read, the others are its
        duplicates."""
        books, before = Books(), ""
        with (
            closing(self.open_reading()) as reading,
            result_files(self.folder, RESULTS, number) as to,
        ):
            for record in records:
                if record.startswith(MARK):
                    books.take(record)
                    continue
                found = from_record(record)
                ended = _written(reading, found, before, to)
                to.add("captures", capture_row(found, ended))
                books.end(found.capture.place.path, ended)
                if found.ended == DONE and found.file is not None:
                    before = found.file.sha1
        yield from books.lines()


def _written(reading: Reading, found: Found, before: str, to: ResultFiles) -> Disposition:
    """How a capture ends; `before` is the body that was read last."""
    file = found.file
    if file is None or found.ended != DONE:
        return found.ended
    if file.sha1 == before:
        return dropped(Reason.DUPLICATE, f"same bytes as {before}, met before")
    learned = learn(reading.steps, found, file)
    to.add("files", file_row(found, file, learned))
    return learned.ended
