"""Extraction into the stores: each WARC goes through the pipeline of the home; its books are the ledger's."""

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
    """The pipeline of a home at work in one process; `pipeline` is its name on the books."""

    @property
    def records(self) -> Records:
        """Where the books are read."""

    @property
    def pipeline(self) -> str:
        """The flavour's name."""

    def run_input(self, source: Source, row: InputRow) -> None:
        """Send all of one input through the pipeline, what is known of it too, and wait until it has ended.

        Raises what made the work end.
        """

    def close(self) -> None:
        """End what works, and close the stores."""


@dataclass(frozen=True, slots=True)
class SingleInputSource:
    """Implements Source with one of the inputs of another."""

    source: Source
    row: InputRow

    def iter_inputs(self) -> Iterator[InputRow]:
        """The one."""
        yield self.row

    def iter_entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        """As the other gives them."""
        yield from self.source.iter_entries(row)


@dataclass(frozen=True, slots=True)
class WarcIngester:
    """The `read` of the job: a part is the row of a WARC. Done again, entries and messages have the same ids,
    so that nothing counts twice."""

    source: Source
    open_working: Callable[[], RunningPipeline]

    def __call__(self, part: InputRow) -> Iterator[bytes]:
        """The books of the WARC as the ledger has them."""
        with closing(self.open_working()) as working:
            working.run_input(SingleInputSource(self.source, part), part)
            books = build_account(working.records, working.pipeline, part)
        yield from books.iter_lines()


def build_account(records: Records, pipeline: str, part: InputRow) -> ExtractionManifest:
    """Return what the books of a pipeline say of one input: what the intake counted, and how entries ended.
    A failure to read it to its end counts as one record."""
    books = ExtractionManifest()
    rows = records.get(InputRow, [(part.input_id, pipeline)])
    unread = records.get(InputRow, [(compute_unread_input_id(part.path), pipeline)])
    rows += [row for row in unread if row.error is not None]
    for row in rows:
        books.records[part.path] += row.entries + row.tally_count
        for reason, count in row.tally.items():
            books.note_end(part.path, drop(Reason(reason)), count)
    where = {"input_id": sorted(row.input_id for row in rows), "pipeline": pipeline}
    for (outcome, reason), count in records.count(EntryRow, ("outcome", "reason"), where).items():
        books.endings[part.path][outcome, reason or ""] += count
    return books


def build_ingest_job(
    parts: tuple[InputRow, ...],
    source: Source,
    open_working: Callable[[], RunningPipeline],
    fingerprint: str,
) -> Job:
    """`fingerprint` is new for each run that is not to go on where another was ended."""
    return Job(
        name=f"extract-into-{fingerprint}",
        parts=parts,
        read=WarcIngester(source, open_working),
        ranges=(),
        write=combine_results,
    )


def combine_results(number: int, records: Iterator[bytes]) -> Iterator[bytes]:
    """The books of all parts."""
    yield from sum_manifests(records).iter_lines()
