"""Extraction into the stores: each WARC runs through the home's pipeline; its manifest comes from
the ledger.
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
    """The running pipeline of a home in one process."""

    @property
    def records(self) -> Records:
        """The records of the home, with the ledger."""

    @property
    def pipeline(self) -> str:
        """The flavour's name, as recorded in the ledger."""

    def run_input(self, source: Source, row: InputRow) -> None:
        """Send a whole input through the pipeline, including known entries, and wait until it has
        ended.

        Raises the error that stopped the work.
        """

    def close(self) -> None:
        """Stop the workers and close the stores."""


@dataclass(frozen=True, slots=True)
class SingleInputSource:
    """A Source with only one of another source's inputs."""

    source: Source
    row: InputRow

    def iter_inputs(self) -> Iterator[InputRow]:
        """Yield the input."""
        yield self.row

    def iter_entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        """Yield the entries of the other source."""
        yield from self.source.iter_entries(row)


@dataclass(frozen=True, slots=True)
class WarcIngester:
    """The `read` function of the job; a part is the input row of a WARC.

    A repeated run creates the same ids of entries and messages, so nothing counts twice.
    """

    source: Source
    open_working: Callable[[], RunningPipeline]

    def __call__(self, part: InputRow) -> Iterator[bytes]:
        """Ingest the WARC, and yield its manifest from the ledger."""
        with closing(self.open_working()) as pipeline:
            pipeline.run_input(SingleInputSource(self.source, part), part)
            manifest = build_account(pipeline.records, pipeline.pipeline, part)
        yield from manifest.iter_lines()


def build_account(records: Records, pipeline: str, part: InputRow) -> ExtractionManifest:
    """Build the manifest of one input from the ledger: the intake's counts, and how entries ended.

    A failure to read the input to its end counts as one record.
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
    """Build the job that ingests these WARCs. A run that must not resume an earlier one has a new
    `fingerprint`.
    """
    return Job(
        name=f"extract-into-{fingerprint}",
        parts=parts,
        read=WarcIngester(source, open_working),
        ranges=(),
        write=combine_results,
    )


def combine_results(number: int, records: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the combined manifest of all parts."""
    yield from sum_manifests(records).iter_lines()
