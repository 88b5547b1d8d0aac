"""What is counted on the way, as records behind all others: by reason, with a few examples each."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

MARK = b"~"
"""What their records begin with: no key does, and all keys sort before it."""
EXAMPLES_MAX = 3
EXAMPLE_CHARS = 300


@dataclass(slots=True)
class ExampleCounts:
    """Counts by word, and the first examples in the order of their texts: the same whoever counted first."""

    counts: Counter[str] = field(default_factory=Counter)
    examples: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def count_one(self, word: str, example: str = "") -> None:
        """Count one more."""
        self.counts[word] += 1
        if example:
            self._add_examples(word, [example[:EXAMPLE_CHARS]])

    def add(self, word: str, count: int, examples: Iterable[str] = ()) -> None:
        """Count more of them."""
        self.counts[word] += count
        self._add_examples(word, examples)

    def iter_records(self) -> Iterator[bytes]:
        """As records, one a word."""
        for word, count in sorted(self.counts.items()):
            yield MARK + msgspec.json.encode([word, count, self.examples.get(word, [])])

    def add_record(self, record: bytes) -> None:
        """Add what a record says."""
        word, count, examples = msgspec.json.decode(record.removeprefix(MARK))
        self.add(word, count, examples)

    def _add_examples(self, word: str, examples: Iterable[str]) -> None:
        both = {*self.examples[word], *examples}
        self.examples[word] = heapq.nsmallest(EXAMPLES_MAX, both)


def sum_tallies(results: Iterable[bytes]) -> ExampleCounts:
    """The tallies of all results of a job."""
    total = ExampleCounts()
    for one in results:
        total.add_record(one)
    return total


def build_json(tallies: ExampleCounts) -> Mapping[str, object]:
    """Counts and examples for whoever asked in JSON."""
    named = {word: texts for word, texts in sorted(tallies.examples.items()) if texts}
    return {"counts": dict(sorted(tallies.counts.items())), "examples": named}
