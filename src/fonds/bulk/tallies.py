"""Counts of outcomes in a bulk job (how often each result or reason occurred), with a few examples.

The counts are encoded as records of the job, and sort after all its other records.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import msgspec
from msgspec import Meta

MARK = b"~"
"""First byte of the job records that encode counts. All other records of a job sort before them."""
EXAMPLES_MAX = 3
EXAMPLE_CHARS = 300


@dataclass(slots=True)
class ExampleCounts:
    """Number of occurrences of each word, such as a result or reason, with up to three examples per
    word.

    The examples are the first in text order, so the result does not depend on the order of
    counting.
    """

    counts: Counter[str] = field(default_factory=Counter)
    examples: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def count_one(self, word: str, example: str = "") -> None:
        """Count one more occurrence of `word`, such as a result or reason, with an optional
        example.
        """
        self.counts[word] += 1
        if example:
            self._add_examples(word, [example[:EXAMPLE_CHARS]])

    def add(self, word: str, count: int, examples: Iterable[str] = ()) -> None:
        """Add `count` to the count of `word`, with optional examples."""
        self.counts[word] += count
        self._add_examples(word, examples)

    def iter_records(self) -> Iterator[bytes]:
        """Yield the counts and examples, encoded as records of a bulk job, one record per word."""
        for word, count in sorted(self.counts.items()):
            yield MARK + msgspec.json.encode([word, count, self.examples.get(word, [])])

    def add_record(self, record: bytes) -> None:
        """Add the count and examples of a record that `iter_records` encoded."""
        word, count, examples = msgspec.json.decode(record.removeprefix(MARK))
        self.add(word, count, examples)

    def _add_examples(self, word: str, examples: Iterable[str]) -> None:
        all_examples = {*self.examples[word], *examples}
        self.examples[word] = heapq.nsmallest(EXAMPLES_MAX, all_examples)


def sum_tallies(results: Iterable[bytes]) -> ExampleCounts:
    """Sum the counts in all result records of a bulk job; return the total counts with examples."""
    total = ExampleCounts()
    for record in results:
        total.add_record(record)
    return total


class TallyReport(msgspec.Struct, frozen=True):
    """Number of occurrences of each result of a bulk job, with a few examples per result.

    Results without examples are missing in `examples`.
    """

    counts: Annotated[Mapping[str, int], Meta(description="counts by result")]
    examples: Annotated[Mapping[str, Sequence[str]], Meta(description="a few examples, by result")]


def build_report(tallies: ExampleCounts) -> TallyReport:
    """Build the report of a bulk job: the number of occurrences of each word, with examples.

    Words are in alphabetical order. Words without examples are missing in the examples.
    """
    examples = {word: texts for word, texts in sorted(tallies.examples.items()) if texts}
    return TallyReport(dict(sorted(tallies.counts.items())), examples)
