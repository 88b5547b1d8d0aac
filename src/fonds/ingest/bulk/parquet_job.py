"""Reads a WARC into records: what each of its captures holds, and how many records there were."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from fonds.ingest.bulk.extraction_manifest import MARK, ExtractionManifest
from fonds.ingest.bulk.extraction_rows import RESULTS, build_capture_row, build_file_row
from fonds.ingest.bulk.index_job import split_sha1_ranges
from fonds.ingest.bulk.parquet_files import ParquetFiles, open_result_files
from fonds.ingest.bulk.record_reading import (
    ReadingSteps,
    RecordState,
    decode_record,
    encode_record,
    identify,
    read_body,
)
from fonds.model.capture import Capture
from fonds.model.disposition import DONE, Disposition, Reason, drop
from fonds.model.entry import Entry
from fonds.model.rows import InputRow
from fonds.ports import Job, Source


@dataclass(frozen=True, slots=True)
class WarcReader:
    """The `read` of the job: a part is the row of a WARC."""

    source: Source
    open_reading: Callable[[], ReadingSteps]

    def __call__(self, part: InputRow) -> Iterator[bytes]:
        """A record for each capture, behind them the counts. Raises what is the fault of no record."""
        books = ExtractionManifest()
        reading = self.open_reading()
        with closing(reading):
            for found in self.source.iter_entries(part):
                if isinstance(found, Mapping):
                    for reason, count in found.items():
                        books.records[part.path] += count
                        books.note_end(part.path, drop(Reason(reason)), count)
                elif isinstance(found, Entry) and isinstance(found.item, Capture):
                    books.records[part.path] += 1
                    yield encode_record(identify(reading.steps, found.item))
        yield from books.iter_lines()


# Reads the bodies of a range, each once, and writes what came of them and how every capture ended.


@dataclass(frozen=True, slots=True)
class ParquetWriter:
    """The `write` of the job: Parquet below `folder`, a file of each sort for every range.

    `urls` are what WARCs are called that were fetched, by the paths they are read at.
    """

    open_reading: Callable[[], ReadingSteps]
    folder: Path
    urls: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, number: int, records: Iterator[bytes]) -> Iterator[bytes]:
        """The books of this range. Of captures of one body the earliest is read, the others are its
        duplicates."""
        books, before = ExtractionManifest(), ""
        with (
            closing(self.open_reading()) as reading,
            open_result_files(self.folder, RESULTS, number) as to,
        ):
            for record in records:
                if record.startswith(MARK):
                    books.add_line(record)
                    continue
                found = decode_record(record)
                shown = self._resolve_warc_url(found)
                ended = _write_record(reading, found, shown, before, to)
                to.add("captures", build_capture_row(shown, ended))
                books.note_end(shown.capture.place.path, ended)
                if found.ending == DONE and found.file is not None:
                    before = found.file.sha1
        yield from books.iter_lines()

    def _resolve_warc_url(self, record: RecordState) -> RecordState:
        """The capture with the URL of its WARC."""
        capture = record.capture
        url = self.urls.get(capture.place.path)
        if url is None:
            return record
        capture = replace(capture, place=replace(capture.place, path=url))
        return replace(record, identified=replace(record.identified, capture=capture))


def _write_record(
    reading: ReadingSteps,
    record: RecordState,
    displayed: RecordState,
    previous_body: str,
    files: ParquetFiles,
) -> Disposition:
    """How a capture ends; `previous_body` is the body that was read last, `displayed` what its row says."""
    file = record.file
    if file is None or record.ending != DONE:
        return record.ending
    if file.sha1 == previous_body:
        return drop(Reason.DUPLICATE, f"same bytes as {previous_body}, met before")
    learned = read_body(reading.steps, record, file)
    files.add("files", build_file_row(displayed, file, learned))
    return learned.ended


# The job of an extraction into Parquet, made of WARCs, of how they are read, and of a folder.


WARCS_MAX = 100_000
"""WARCs of one job: their books are held in memory together."""
RANGE_BYTES, RANGES_MAX = 64 * 2**20, 256


def build_extraction_job(
    parts: Sequence[InputRow],
    source: Source,
    open_reading: Callable[[], ReadingSteps],
    folder: Path,
    fingerprint: str,
    urls: Mapping[str, str],
) -> Job:
    """Return the job that extracts these WARCs. `fingerprint` stands for extractors, limits and folder,
    `urls` are those of fetched WARCs by path. Into how many ranges it is cut depends on the WARCs alone, so
    that every engine with any number of workers leaves the same files.

    Raises ValueError for more WARCs than one job takes.
    """
    if len(parts) > WARCS_MAX:
        raise ValueError(f"{len(parts):,} WARCs are more than {WARCS_MAX:,}; name fewer at once")
    sizes = [int(one.fingerprint.partition(":")[0]) for one in parts]
    count = max(1, min(sum(sizes) // RANGE_BYTES + 1, RANGES_MAX))
    told = repr(([one.input_id for one in parts], sorted(RESULTS), fingerprint))
    return Job(
        name=f"extract-{sha256(told.encode('utf-8', 'replace')).hexdigest()[:16]}",
        parts=tuple(parts),
        read=WarcReader(source, open_reading),
        ranges=split_sha1_ranges(count),
        write=ParquetWriter(open_reading, folder, urls),
    )
