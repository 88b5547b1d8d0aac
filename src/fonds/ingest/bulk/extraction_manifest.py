"""Manifest of an extraction: for each WARC, how many records it has and how many of them ended in
each way.

A record ends as done, dropped or quarantined, usually with a reason. The module also reserves the
output folder and writes the manifest next to the Parquet files.
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
"""Prefix of manifest lines among the records that a job sorts. Manifest lines sort after captures.
"""
RECORDS = "records"
Ending = tuple[str, str]
"""How a WARC record ended: its verdict, and its reason or '' if there is none."""


@dataclass(slots=True)
class ExtractionManifest:
    """Numbers of records of each WARC, by WARC path.

    - `records`: number of records found while the WARC was scanned.
    - `endings`: number of records by verdict (done, dropped, quarantined or pending) and reason,
      counted when the processing of a record ended.

    Different code counts `records` and `endings`, so equal totals show that no record was lost.
    """

    records: Counter[str] = field(default_factory=Counter)
    endings: defaultdict[str, Counter[Ending]] = field(default_factory=lambda: defaultdict(Counter))

    def note_end(self, path: str, ending: Disposition, count: int = 1) -> None:
        """Count `count` records of the WARC at `path` whose processing ended with the verdict and
        reason of `ending`.
        """
        self.endings[path][str(ending.verdict), str(ending.reason or "")] += count

    def iter_lines(self) -> Iterator[bytes]:
        """Yield the numbers of the manifest as lines of bytes, which `add_line` reads.

        Each line is `~` (`MARK`) and a JSON array: WARC path, `records` or verdict, reason, number.
        Lines with numbers of records come first; both groups are sorted by WARC path.
        """
        for path, count in sorted(self.records.items()):
            yield MARK + msgspec.json.encode([path, RECORDS, "", count])
        for path, counts in sorted(self.endings.items()):
            for (verdict, reason), count in sorted(counts.items()):
                yield MARK + msgspec.json.encode([path, verdict, reason, count])

    def add_line(self, line: bytes) -> None:
        """Add the number of records in one line that `iter_lines` yielded to this manifest."""
        path, word, reason, count = msgspec.json.decode(line.removeprefix(MARK))
        if word == RECORDS:
            self.records[path] += count
        else:
            self.endings[path][word, reason] += count

    @property
    def total(self) -> Counter[Ending]:
        """Return the number of records by verdict and reason, summed over all WARCs."""
        return sum(self.endings.values(), Counter())

    @property
    def failures(self) -> int:
        """Return the number of records, over all WARCs, that ended as quarantined or are still
        pending.
        """
        wrong = (Verdict.QUARANTINED, PENDING)
        return sum(count for (verdict, _), count in self.total.items() if verdict in wrong)

    @property
    def unbalanced_warcs(self) -> list[str]:
        """Return the sorted paths of those WARCs for which not every record is counted as ended
        exactly once.

        These are the WARCs with different numbers of records and of endings.
        """
        paths = {*self.records, *self.endings}
        return sorted(path for path in paths if self.records[path] != self.endings[path].total())

    def build_account(self, path: str) -> Mapping[str, object]:
        """Return the counts of one WARC as a JSON object: its path, number of records, and records
        by verdict and reason.
        """
        return {
            "warc": path,
            RECORDS: self.records[path],
            "ended": encode_ending_counts(self.endings[path]),
        }


def encode_ending_counts(counts: Mapping[Ending, int]) -> Mapping[str, int]:
    """Convert numbers of records by verdict and reason to a JSON object with keys `verdict` or
    `verdict:reason`.
    """
    return {":".join(filter(None, ending)): count for ending, count in sorted(counts.items())}


def sum_manifests(results: Iterable[bytes]) -> ExtractionManifest:
    """Combine manifest lines of all parts of a job into one manifest."""
    manifest = ExtractionManifest()
    for line in results:
        manifest.add_line(line)
    return manifest


OWNER, MANIFEST_FILE = "job.json", "books.jsonl"


def reserve_folder(folder: Path, job: str) -> None:
    """Reserve the output folder for a job, or check that the same job has reserved it before.

    `job` is an id of the WARCs and settings. The reservation is a file with this id in the folder.
    Raises ConfigurationError if the folder is reserved by another job, contains files without a
    reservation, or cannot be written.
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
    """Write the manifest to the output folder, one JSON line per WARC.

    Also remove the temporary Parquet files that killed processes left in the folder. Raises OSError
    if the folder cannot be written.
    """
    sweep(folder, RESULT_COLUMNS)
    partial = folder / f"{MANIFEST_FILE}.part"
    with partial.open("wb") as stream:
        stream.writelines(_iter_lines(manifest))
    partial.replace(folder / MANIFEST_FILE)


def _iter_lines(manifest: ExtractionManifest) -> Iterator[bytes]:
    for path in sorted({*manifest.records, *manifest.endings}):
        yield msgspec.json.encode(manifest.build_account(path)) + b"\n"
