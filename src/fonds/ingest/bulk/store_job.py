"""Extraction job that stores results in a library: each WARC runs through the library's pipeline.

The manifest of each WARC (how many of its records ended in each way) is computed from the ledger.
The ledger is the record of all entries of a library and how each ended.
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
    """Interface of a library's pipeline whose workers run in this process."""

    @property
    def records(self) -> Records:
        """SQL rows of the library. They contain the ledger: all entries and how each ended."""

    @property
    def pipeline(self) -> str:
        """Name of the pipeline in the ledger."""

    def run_input(self, source: Source, row: InputRow) -> None:
        """Send all entries of an input through the pipeline, even entries that are already known.

        Returns when the processing of all entries has ended. If an error stops the pipeline before
        that, it is raised.
        """

    def close(self) -> None:
        """Stop the workers and close the stores."""


@dataclass(frozen=True, slots=True)
class SingleInputSource:
    """Source of entries that is limited to one input of another source.

    - `source`: the other source.
    - `row`: the input's row of `inputs`.
    """

    source: Source
    row: InputRow

    def iter_inputs(self) -> Iterator[InputRow]:
        """Yield the single input."""
        yield self.row

    def iter_entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        """Yield the entries of the single input, with positions and counts as the other source
        yields them.
        """
        yield from self.source.iter_entries(row)


@dataclass(frozen=True, slots=True)
class WarcIngester:
    """Function object that ingests one WARC into a library. It is the `read` function of an ingest
    job.

    It is called with the input row of the WARC.

    - `source`: yields the entries of the WARC.
    - `open_working`: starts the pipeline of the library.

    A repeated run creates the same ids of entries and messages, so nothing is counted twice.
    """

    source: Source
    open_working: Callable[[], RunningPipeline]

    def __call__(self, part: InputRow) -> Iterator[bytes]:
        """Ingest one WARC into the library, then yield its manifest as lines.

        The manifest says how many records ended in each way. It is computed from the ledger.
        """
        with closing(self.open_working()) as pipeline:
            pipeline.run_input(SingleInputSource(self.source, part), part)
            manifest = build_account(pipeline.records, pipeline.pipeline, part)
        yield from manifest.iter_lines()


def build_account(records: Records, pipeline: str, part: InputRow) -> ExtractionManifest:
    """Build the manifest of one input from the ledger: how many entries it has, and how many ended
    in each way.

    If the input could not be read to its end, that failure counts as one more record.
    """
    manifest = ExtractionManifest()
    rows = records.get(InputRow, [(part.input_id, pipeline)])
    unread_rows = records.get(InputRow, [(compute_unread_input_id(part.path), pipeline)])
    rows += [row for row in unread_rows if row.error is not None]
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
    """Add up manifest lines of several WARCs, and yield the lines of the one resulting manifest.

    It is the `write` function of an ingest job; `number` is not used.
    """
    yield from sum_manifests(records).iter_lines()
