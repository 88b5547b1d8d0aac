"""Manifest of an extraction: for each WARC the number of records and how each of them ended.

It also reserves the output folder and writes the manifest next to the Parquet files.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from fonds.ingest.bulk.extraction_rows import RESULT_COLUMNS
from fonds.ingest.bulk.parquet_files import sweep
from fonds.model.disposition import PENDING, Disposition, Verdict
from fonds.model.errors import ConfigurationError, cause_of

MARK = b"~"
"""Prefix of a WARC's counts in the job's records; they sort after all other records."""
RECORDS = "records"
Ending = tuple[str, str]
"""Verdict and reason; '' for no reason."""


@dataclass(slots=True)
class ExtractionManifest:
    """Counts per WARC.

    `records` counts the records met while scanning, `endings` the endings as they were recorded.
    They come from different code, so each verifies the other.
    """

    records: Counter[str] = field(default_factory=Counter)
    endings: defaultdict[str, Counter[Ending]] = field(default_factory=lambda: defaultdict(Counter))

    def note_end(self, path: str, ending: Disposition, count: int = 1) -> None:
        """Count records of a WARC that ended this way."""
        self.endings[path][str(ending.verdict), str(ending.reason or "")] += count

    def iter_lines(self) -> Iterator[bytes]:
        """Yield the manifest as lines for `add_line`, in order."""
        for path, count in sorted(self.records.items()):
            yield MARK + msgspec.json.encode([path, RECORDS, "", count])
        for path, counts in sorted(self.endings.items()):
            for (verdict, reason), count in sorted(counts.items()):
                yield MARK + msgspec.json.encode([path, verdict, reason, count])

    def add_line(self, line: bytes) -> None:
        """Add the counts of a line."""
        path, word, reason, count = msgspec.json.decode(line.removeprefix(MARK))
        if word == RECORDS:
            self.records[path] += count
        else:
            self.endings[path][word, reason] += count

    @property
    def total(self) -> Counter[Ending]:
        """Return how the records of all WARCs ended."""
        return sum(self.endings.values(), Counter())

    @property
    def failures(self) -> int:
        """Return the number of records that should have been extracted but are quarantined or
        pending.
        """
        wrong = (Verdict.QUARANTINED, PENDING)
        return sum(count for (verdict, _), count in self.total.items() if verdict in wrong)

    @property
    def unbalanced_warcs(self) -> list[str]:
        """Return the WARCs whose numbers of records and endings differ."""
        paths = {*self.records, *self.endings}
        return sorted(path for path in paths if self.records[path] != self.endings[path].total())

    def build_account(self, path: str) -> Mapping[str, object]:
        """Return the manifest entry of one WARC as JSON."""
        return {
            "warc": path,
            RECORDS: self.records[path],
            "ended": encode_ending_counts(self.endings[path]),
        }


def encode_ending_counts(counts: Mapping[Ending, int]) -> Mapping[str, int]:
    """Return counts keyed by `verdict` or `verdict:reason`."""
    return {":".join(filter(None, ending)): count for ending, count in sorted(counts.items())}


def sum_manifests(results: Iterable[bytes]) -> ExtractionManifest:
    """Combine the results of a job into one manifest."""
    manifest = ExtractionManifest()
    for line in results:
        manifest.add_line(line)
    return manifest


OWNER, MANIFEST_FILE = "job.json", "books.jsonl"


def reserve_folder(folder: Path, job: str) -> None:
    """Reserve the folder for this job, or verify that it is reserved. A repeated job leaves the
    same files.

    Raises ConfigurationError for a folder that holds anything else or cannot be written.
    """
    owner = folder / OWNER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not owner.exists():
            if next(folder.iterdir(), None) is not None:
                raise ConfigurationError(f"{folder} is not empty. Choose an empty folder")
            owner.write_bytes(msgspec.json.encode({"job": job}))
        elif msgspec.json.decode(owner.read_bytes()) != {"job": job}:
            problem = "contains results of other WARCs or settings. Choose another folder"
            raise ConfigurationError(f"{folder} {problem}")
    except (OSError, msgspec.DecodeError) as error:
        raise ConfigurationError(f"cannot write to {folder}: {cause_of(error)}") from error


def write_manifest(folder: Path, manifest: ExtractionManifest) -> None:
    """Write the manifest, one JSON line per WARC, and remove files of killed writers. Raises
    OSError.
    """
    sweep(folder, RESULT_COLUMNS)
    partial = folder / f"{MANIFEST_FILE}.part"
    with partial.open("wb") as stream:
        stream.writelines(_iter_lines(manifest))
    partial.replace(folder / MANIFEST_FILE)


def _iter_lines(manifest: ExtractionManifest) -> Iterator[bytes]:
    for path in sorted({*manifest.records, *manifest.endings}):
        yield msgspec.json.encode(manifest.build_account(path)) + b"\n"
