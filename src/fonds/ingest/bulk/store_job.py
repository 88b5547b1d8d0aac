"""Extraction job that stores results in a library: each WARC runs through the library's pipeline.

The manifest of each WARC is computed from the ledger, the record of all entries and their
dispositions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

from fonds.ingest.bulk.extraction_manifest import ExtractionManifest, sum_manifests
from fonds.model.disposition import Reason, drop
from fonds.model.entry import Entry, compute_unread_input_id
from fonds.model.rows import EntryRow, InputRow
from fonds.ports import Job, Records, Source


class RunningPipeline(Protocol):
    """A pipeline of a library, running in this process."""

    @property
    def records(self) -> Records:
        """The records (SQL rows) of the library. They contain the ledger of entries and
        dispositions.
        """

    @property
    def pipeline(self) -> str:
        """Name of the pipeline's flavour, as in the ledger."""

    def run_input(self, source: Source, row: InputRow) -> None:
        """Send all entries of an input through the pipeline, also known entries. Wait until all
        have ended.

        Raises the error that stopped the pipeline before that.
        """

    def close(self) -> None:
        """Stop the workers and close the stores."""


@dataclass(frozen=True, slots=True)
class SingleInputSource:
    """A Source that yields only the input `row` of another source."""

    source: Source
    row: InputRow

    def iter_inputs(self) -> Iterator[InputRow]:
        """Yield the single input."""
        yield self.row

    def iter_entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        """Yield the entries of the single input."""
        yield from self.source.iter_entries(row)


@dataclass(frozen=True, slots=True)
class WarcIngester:
    """The `read` function of an ingest job. A part of the job is the input row of one WARC.

    A repeated run creates the same ids of entries and messages, so nothing is counted twice.
    """

    source: Source
    open_working: Callable[[], RunningPipeline]

    def __call__(self, part: InputRow) -> Iterator[bytes]:
        """Ingest one WARC, then yield the lines of its manifest, computed from the ledger."""
        with closing(self.open_working()) as pipeline:
            pipeline.run_input(SingleInputSource(self.source, part), part)
            manifest = build_account(pipeline.records, pipeline.pipeline, part)
        yield from manifest.iter_lines()


def build_account(records: Records, pipeline: str, part: InputRow) -> ExtractionManifest:
    """Build the manifest of one input from the ledger: the number of entries, and how each entry
    ended.

    If the input could not be read to its end, that failure counts as one more record.
    """
    manifest = ExtractionManifest()
    rows = records.get(InputRow, [(part.input_id, pipeline)])
    unread = records.get(InputRow, [(compute_unread_input_id(part.path), pipeline)])
    rows += [row for row in unread if row.error is not None]
    for row in rows:
        manifest.records[part.path] += row.entries + row.tally_count
        for reason, count in row.tally.items():
            manifest.note_end(part.path, drop(Reason(reason)), count)
    where = {"input_id": sorted(row.input_id for row in rows), "pipeline": pipeline}
    for (outcome, reason), count in records.count(EntryRow, ("outcome", "reason"), where).items():
        manifest.endings[part.path][outcome, reason or ""] += count
    return manifest


def build_ingest_job(
    parts: tuple[InputRow, ...],
    source: Source,
    open_working: Callable[[], RunningPipeline],
    fingerprint: str,
) -> Job:
    """Build the job that ingests these WARCs into a library.

    `fingerprint` identifies the job. A job with the fingerprint of an interrupted job resumes it.
    """
    return Job(
        name=f"extract-into-{fingerprint}",
        parts=parts,
        read=WarcIngester(source, open_working),
        ranges=(),
        write=combine_results,
    )


def combine_results(number: int, records: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines of one manifest that sums up the manifest lines in `records`."""
    yield from sum_manifests(records).iter_lines()
