"""Extraction job: identify the captures of WARCs, extract each distinct body once, and write
Parquet files.
"""

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
    """Function object that reads the captures of one WARC. It is the `read` function of an
    extraction job.

    It is called with the input row of the WARC.

    - `source`: yields the captures of the WARC.
    - `open_reading`: returns the extraction steps, ready to use.
    """

    source: Source
    open_reading: Callable[[], ReadingSteps]

    def __call__(self, part: InputRow) -> Iterator[bytes]:
        """Read one WARC and yield each capture, encoded for sorting, then the manifest of the WARC
        as lines.

        If reading a capture fails because of the capture, the capture ends with this failure. All
        other errors are raised, such as an unavailable store.
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
    """Function object that writes the Parquet files of one range of captures, one file per row
    type.

    It is the `write` function of an extraction job.

    - `open_reading`: returns the extraction steps, ready to use.
    - `folder`: output folder.
    - `urls`: URL of each WARC that was fetched, by the path of its local copy.
    """

    open_reading: Callable[[], ReadingSteps]
    folder: Path
    urls: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, number: int, records: Iterator[bytes]) -> Iterator[bytes]:
        """Extract the captures of range `number`, write their Parquet rows, then yield the range's
        manifest (captures counted by how they ended) as lines.

        `records` are the encoded captures of the range, sorted by SHA-1, and manifest lines of the
        WARCs. Of several captures with the same body, only the earliest is extracted. All later
        ones end as duplicates.
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
                displayed_record = self._resolve_warc_url(state)
                ending = _write_record(reading, state, displayed_record, previous_body, files)
                files.add("captures", build_capture_row(displayed_record, ending))
                manifest.note_end(displayed_record.capture.place.path, ending)
                if state.ending == DONE and state.file is not None:
                    previous_body = state.file.sha1
        yield from manifest.iter_lines()

    def _resolve_warc_url(self, record: RecordState) -> RecordState:
        """Replace the local path of a fetched WARC by its URL in the location of a capture."""
        capture = record.capture
        url = self.urls.get(capture.place.path)
        if url is None:
            return record
        capture = replace(capture, place=replace(capture.place, path=url))
        return replace(record, identified=replace(record.identified, capture=capture))


def _write_record(
    reading: ReadingSteps,
    record: RecordState,
    displayed_record: RecordState,
    previous_body: str,
    files: ParquetFiles,
) -> Disposition:
    """Extract the body of a capture, write its row to the Parquet file of type `files`, and return
    how the capture ended.

    Nothing is extracted or written if the capture has no body to extract, or if its body is that of
    the previous call.

    - `record`: the capture, with the location to read the body from.
    - `displayed_record`: the same capture, with the location to write to the row.
    - `previous_body`: SHA-1 of the body that was extracted last.
    """
    file = record.file
    if file is None or record.ending != DONE:
        return record.ending
    if file.sha1 == previous_body:
        return drop(
            Reason.DUPLICATE, (f"same bytes as {previous_body}, which was extracted before")
        )
    result = read_body(reading.steps, record, file)
    files.add("files", build_file_row(displayed_record, file, result))
    return result.disposition


WARCS_MAX = 100_000
"""Maximum number of WARCs in one job, because the whole manifest is held in memory."""
RANGE_BYTES, RANGES_MAX = 64 * 2**20, 256


def build_extraction_job(
    parts: Sequence[InputRow],
    source: Source,
    open_reading: Callable[[], ReadingSteps],
    folder: Path,
    fingerprint: str,
    urls: Mapping[str, str],
) -> Job:
    """Build the job that extracts these WARCs to Parquet files.

    - `parts`: input rows of the WARCs.
    - `source`: yields the captures of a WARC.
    - `open_reading`: starts the extraction steps.
    - `folder`: output folder.
    - `fingerprint`: identifies extractor versions, limits and output folder.
    - `urls`: URL of each WARC that was fetched, by the path of its local copy.

    The number of SHA-1 ranges depends only on the sizes of the WARCs, so every engine writes the
    same files with any number of workers. Raises ValueError for more than 100,000 WARCs.
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
