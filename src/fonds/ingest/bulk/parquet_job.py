"""Extraction job: reads WARCs into records, extracts each body once, and writes Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from fonds.ingest.bulk.extraction_manifest import MARK, ExtractionManifest
from fonds.ingest.bulk.extraction_rows import RESULT_COLUMNS, build_capture_row, build_file_row
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
    """The `read` function of the job; a part is the input row of a WARC."""

    source: Source
    open_reading: Callable[[], ReadingSteps]

    def __call__(self, part: InputRow) -> Iterator[bytes]:
        """Yield a record for each capture, then the counts. Raises errors that no single record
        causes.
        """
        manifest = ExtractionManifest()
        reading = self.open_reading()
        with closing(reading):
            for entry in self.source.iter_entries(part):
                if isinstance(entry, Mapping):
                    for reason, count in entry.items():
                        manifest.records[part.path] += count
                        manifest.note_end(part.path, drop(Reason(reason)), count)
                elif isinstance(entry, Entry) and isinstance(entry.item, Capture):
                    manifest.records[part.path] += 1
                    yield encode_record(identify(reading.steps, entry.item))
        yield from manifest.iter_lines()


@dataclass(frozen=True, slots=True)
class ParquetWriter:
    """The `write` function of the job: Parquet files below `folder`, one per row type and range.

    `urls` are the URLs of fetched WARCs, by the paths they are read from.
    """

    open_reading: Callable[[], ReadingSteps]
    folder: Path
    urls: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, number: int, records: Iterator[bytes]) -> Iterator[bytes]:
        """Write a range and yield its manifest.

        Of several captures with one body the earliest is extracted; the others are its duplicates.
        """
        manifest, previous_body = ExtractionManifest(), ""
        with (
            closing(self.open_reading()) as reading,
            open_result_files(self.folder, RESULT_COLUMNS, number) as files,
        ):
            for record in records:
                if record.startswith(MARK):
                    manifest.add_line(record)
                    continue
                state = decode_record(record)
                displayed = self._resolve_warc_url(state)
                ending = _write_record(reading, state, displayed, previous_body, files)
                files.add("captures", build_capture_row(displayed, ending))
                manifest.note_end(displayed.capture.place.path, ending)
                if state.ending == DONE and state.file is not None:
                    previous_body = state.file.sha1
        yield from manifest.iter_lines()

    def _resolve_warc_url(self, record: RecordState) -> RecordState:
        """Return the capture with the URL of its WARC."""
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
    """Extract a capture's body if needed, and return how the capture ends.

    `previous_body` is the SHA-1 of the body extracted last; `displayed` is the capture as its row
    shows it.
    """
    file = record.file
    if file is None or record.ending != DONE:
        return record.ending
    if file.sha1 == previous_body:
        return drop(
            Reason.DUPLICATE, (f"same bytes as {previous_body}, which was extracted before")
        )
    result = read_body(reading.steps, record, file)
    files.add("files", build_file_row(displayed, file, result))
    return result.ended


WARCS_MAX = 100_000
"""Maximum WARCs of one job: their manifest is held in memory as a whole."""
RANGE_BYTES, RANGES_MAX = 64 * 2**20, 256


def build_extraction_job(
    parts: Sequence[InputRow],
    source: Source,
    open_reading: Callable[[], ReadingSteps],
    folder: Path,
    fingerprint: str,
    urls: Mapping[str, str],
) -> Job:
    """Build the job that extracts these WARCs.

    `fingerprint` identifies extractors, limits and folder. `urls` are those of fetched WARCs, by
    path. The number of ranges depends on the WARCs only, so every engine with any number of workers
    writes the same files.

    Raises ValueError for more than 100,000 WARCs.
    """
    if len(parts) > WARCS_MAX:
        raise ValueError(
            f"{len(parts):,} WARCs exceed the limit of {WARCS_MAX:,}. Give fewer at once"
        )
    sizes = [int(part.fingerprint.partition(":")[0]) for part in parts]
    count = max(1, min(sum(sizes) // RANGE_BYTES + 1, RANGES_MAX))
    identity = repr(([part.input_id for part in parts], sorted(RESULT_COLUMNS), fingerprint))
    return Job(
        name=f"extract-{sha256(identity.encode('utf-8', 'replace')).hexdigest()[:16]}",
        parts=tuple(parts),
        read=WarcReader(source, open_reading),
        ranges=split_sha1_ranges(count),
        write=ParquetWriter(open_reading, folder, urls),
    )
