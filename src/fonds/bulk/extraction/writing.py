"""Reads the bodies of a range, each once, and writes what came of them and how every capture ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from fonds.bulk.extraction.books import MARK, Books
from fonds.bulk.extraction.carrying import Reading, learn
from fonds.bulk.extraction.found import Found, from_record
from fonds.bulk.extraction.parquet import ResultFiles, result_files
from fonds.bulk.extraction.rows import RESULTS, capture_row, file_row
from fonds.model.disposition import DONE, Disposition, Reason, dropped


@dataclass(frozen=True, slots=True)
class WriteParquet:
    """The `write` of the job: Parquet below `folder`, a file of each sort for every range.

    `urls` are what WARCs are called that were fetched, by the paths they are read at.
    """

    open_reading: Callable[[], Reading]
    folder: Path
    urls: Mapping[str, str] = field(default_factory=dict)

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
                shown = self._shown(found)
                ended = _written(reading, found, shown, before, to)
                to.add("captures", capture_row(shown, ended))
                books.end(shown.capture.place.path, ended)
                if found.ended == DONE and found.file is not None:
                    before = found.file.sha1
        yield from books.lines()

    def _shown(self, found: Found) -> Found:
        """The capture with the URL of its WARC."""
        capture = found.capture
        url = self.urls.get(capture.place.path)
        if url is None:
            return found
        capture = replace(capture, place=replace(capture.place, path=url))
        return replace(found, identified=replace(found.identified, capture=capture))


def _written(
    reading: Reading, found: Found, shown: Found, before: str, to: ResultFiles
) -> Disposition:
    """How a capture ends; `before` is the body that was read last, `shown` what its row says."""
    file = found.file
    if file is None or found.ended != DONE:
        return found.ended
    if file.sha1 == before:
        return dropped(Reason.DUPLICATE, f"same bytes as {before}, met before")
    learned = learn(reading.steps, found, file)
    to.add("files", file_row(shown, file, learned))
    return learned.ended
