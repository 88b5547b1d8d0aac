"""The books of an extraction: for each WARC how many records it has, and how each of them ended."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from fonds.ingest.bulk.extraction_rows import RESULTS
from fonds.ingest.bulk.parquet_files import sweep
from fonds.model.disposition import PENDING, Disposition, Verdict
from fonds.model.errors import ConfigurationError, cause_of

MARK = b"~"
"""What the counts of a WARC begin with in the records of the job: they sort behind all that is read."""
RECORDS = "records"
Ending = tuple[str, str]
"""Verdict and reason, "" for none."""


@dataclass(slots=True)
class ExtractionManifest:
    """`records` were met in each WARC as it was walked, `endings` as their ends were written down: by
    different hands, so that each proves the other."""

    records: Counter[str] = field(default_factory=Counter)
    endings: defaultdict[str, Counter[Ending]] = field(default_factory=lambda: defaultdict(Counter))

    def note_end(self, path: str, ending: Disposition, count: int = 1) -> None:
        """Note how records of a WARC ended."""
        self.endings[path][str(ending.verdict), str(ending.reason or "")] += count

    def iter_lines(self) -> Iterator[bytes]:
        """As lines that `take` reads, in order."""
        for path, count in sorted(self.records.items()):
            yield MARK + msgspec.json.encode([path, RECORDS, "", count])
        for path, counts in sorted(self.endings.items()):
            for (verdict, reason), count in sorted(counts.items()):
                yield MARK + msgspec.json.encode([path, verdict, reason, count])

    def add_line(self, line: bytes) -> None:
        """Add what a line says."""
        path, word, reason, count = msgspec.json.decode(line.removeprefix(MARK))
        if word == RECORDS:
            self.records[path] += count
        else:
            self.endings[path][word, reason] += count

    @property
    def total(self) -> Counter[Ending]:
        """How the records of all WARCs ended."""
        return sum(self.endings.values(), Counter())

    @property
    def failures(self) -> int:
        """Records that should have been read and were not: set apart, or not ended yet."""
        wrong = (Verdict.QUARANTINED, PENDING)
        return sum(count for (verdict, _), count in self.total.items() if verdict in wrong)

    @property
    def unbalanced_warcs(self) -> list[str]:
        """The WARCs whose records and endings are not the same number."""
        paths = {*self.records, *self.endings}
        return sorted(one for one in paths if self.records[one] != self.endings[one].total())

    def build_account(self, path: str) -> Mapping[str, object]:
        """The account of one WARC as JSON."""
        return {
            "warc": path,
            RECORDS: self.records[path],
            "ended": encode_ending_counts(self.endings[path]),
        }


def encode_ending_counts(counts: Mapping[Ending, int]) -> Mapping[str, int]:
    """Counts by `verdict` or `verdict:reason`."""
    return {":".join(filter(None, ending)): count for ending, count in sorted(counts.items())}


def sum_manifests(results: Iterable[bytes]) -> ExtractionManifest:
    """The books of all results of a job."""
    books = ExtractionManifest()
    for one in results:
        books.add_line(one)
    return books


# The folder an extraction writes into: whose it is, and the books beside the Parquet files.


OWNER, MANIFEST_FILE = "job.json", "books.jsonl"


def reserve_folder(folder: Path, job: str) -> None:
    """Make the folder this job's, or find that it is. What a job leaves is the same when it runs again.

    Raises ConfigurationError for a folder that holds anything else, and one that cannot be written.
    """
    owner = folder / OWNER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not owner.exists():
            if next(folder.iterdir(), None) is not None:
                raise ConfigurationError(f"{folder} is not empty; name a folder of its own")
            owner.write_bytes(msgspec.json.encode({"job": job}))
        elif msgspec.json.decode(owner.read_bytes()) != {"job": job}:
            told = "holds what other WARCs or other settings gave; name another folder"
            raise ConfigurationError(f"{folder} {told}")
    except (OSError, msgspec.DecodeError) as error:
        raise ConfigurationError(f"{folder} cannot be written into: {cause_of(error)}") from error


def write_manifest(folder: Path, manifest: ExtractionManifest) -> None:
    """Write the books, a JSON line for each WARC, and remove what killed writers left. Raises OSError."""
    sweep(folder, RESULTS)
    partial = folder / f"{MANIFEST_FILE}.part"
    with partial.open("wb") as stream:
        stream.writelines(_iter_lines(manifest))
    partial.replace(folder / MANIFEST_FILE)


def _iter_lines(manifest: ExtractionManifest) -> Iterator[bytes]:
    for path in sorted({*manifest.records, *manifest.endings}):
        yield msgspec.json.encode(manifest.build_account(path)) + b"\n"
