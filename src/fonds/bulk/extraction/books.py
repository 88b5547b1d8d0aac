"""The books of an extraction: for each WARC how many records it has, and how each of them ended."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from fonds.model.disposition import PENDING, Disposition, Verdict

MARK = b"~"
"""What the counts of a WARC begin with in the records of the job: they sort behind all that is read."""
RECORDS = "records"
Ending = tuple[str, str]
"""Verdict and reason, "" for none."""


@dataclass(slots=True)
class Books:
    """`records` were met in each WARC as it was walked, `ended` as their ends were written down: by
    different hands, so that each proves the other."""

    records: Counter[str] = field(default_factory=Counter)
    ended: defaultdict[str, Counter[Ending]] = field(default_factory=lambda: defaultdict(Counter))

    def end(self, path: str, how: Disposition, count: int = 1) -> None:
        """Note how records of a WARC ended."""
        self.ended[path][str(how.verdict), str(how.reason or "")] += count

    def lines(self) -> Iterator[bytes]:
        """As lines that `take` reads, in order."""
        for path, count in sorted(self.records.items()):
            yield MARK + msgspec.json.encode([path, RECORDS, "", count])
        for path, counts in sorted(self.ended.items()):
            for (verdict, reason), count in sorted(counts.items()):
                yield MARK + msgspec.json.encode([path, verdict, reason, count])

    def take(self, line: bytes) -> None:
        """Add what a line says."""
        path, word, reason, count = msgspec.json.decode(line.removeprefix(MARK))
        if word == RECORDS:
            self.records[path] += count
        else:
            self.ended[path][word, reason] += count

    @property
    def total(self) -> Counter[Ending]:
        """How the records of all WARCs ended."""
        return sum(self.ended.values(), Counter())

    @property
    def failures(self) -> int:
        """Records that should have been read and were not: set apart, or not ended yet."""
        wrong = (Verdict.QUARANTINED, PENDING)
        return sum(count for (verdict, _), count in self.total.items() if verdict in wrong)

    @property
    def wrong(self) -> list[str]:
        """The WARCs whose records and endings are not the same number."""
        paths = {*self.records, *self.ended}
        return sorted(one for one in paths if self.records[one] != self.ended[one].total())

    def of(self, path: str) -> Mapping[str, object]:
        """The account of one WARC as JSON."""
        return {
            "warc": path,
            RECORDS: self.records[path],
            "ended": as_json(self.ended[path]),
        }


def as_json(counts: Mapping[Ending, int]) -> Mapping[str, int]:
    """Counts by `verdict` or `verdict:reason`."""
    return {":".join(filter(None, ending)): count for ending, count in sorted(counts.items())}


def booked(results: Iterable[bytes]) -> Books:
    """The books of all results of a job."""
    books = Books()
    for one in results:
        books.take(one)
    return books
