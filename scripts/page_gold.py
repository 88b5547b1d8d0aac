"""Labelled pages of the corpus, and the measures of their authors.

Source: trafilatura's evaluation (snippets that must or must not occur in the text); the script of
scrapinghub's article-extraction-benchmark (shingles of four words, each page of equal weight).
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

CORPUS = Path(__file__).parents[2] / "shared" / "corpus"
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Marked:
    """A page with its labels."""

    path: str
    body: bytes
    gold: dict[str, Any]

    @property
    def source(self) -> str:
        """The data set of the page."""
        return str(self.gold.get("source", ""))

    @property
    def url(self) -> str:
        """The URL of the page, or a file URL if it has none."""
        url = str(self.gold.get("url") or "")
        return url if url.startswith("http") else f"file:///{self.path}"

    @property
    def site(self) -> str:
        """The domain, or the start of the file name. Pages of one site may share markup."""
        host = urlsplit(self.url).hostname or Path(self.path).name
        labels = host.removeprefix("www.").split(".")
        return ".".join(labels[:2] if self.url.startswith("file:") else labels[-2:])

    @property
    def full_text(self) -> str | None:
        """The labelled full text, or None."""
        is_full = str(self.gold.get("text_kind", "")).startswith("full")
        return str(self.gold["text"]) if is_full and self.gold.get("text") else None

    @property
    def has_snippets(self) -> bool:
        """Whether snippets of text are labelled as wanted or unwanted."""
        return "must_contain" in self.gold


def read_marked_pages() -> Iterator[Marked]:
    """Yield each labelled page of the corpus once, with its rows merged."""
    rows: dict[str, dict[str, Any]] = {}
    for line in (CORPUS / "gold" / "html.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        rows.setdefault(row["path"], {}).update(row)
    for path, gold in rows.items():
        body = (CORPUS / path).read_bytes()
        yield Marked(path, gzip.decompress(body) if path.endswith(".gz") else body, gold)


@dataclass(frozen=True, slots=True)
class Score:
    """Precision and recall over many pages."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def compute_snippet_score(pages: Iterable[tuple[dict[str, Any], str]]) -> Score:
    """Score (labels, text) pairs by the wanted and unwanted snippets in the text."""
    hit_count = missed_count = unwanted_count = 0
    for gold, text in pages:
        page_hits = sum(snippet in text for snippet in gold["must_contain"])
        hit_count += page_hits
        missed_count += len(gold["must_contain"]) - page_hits
        unwanted_count += sum(snippet in text for snippet in gold["must_not_contain"])
    return Score(
        hit_count / max(hit_count + unwanted_count, 1), hit_count / max(hit_count + missed_count, 1)
    )


def compute_shingle_score(pages: Iterable[tuple[str, str]]) -> Score:
    """Score (expected text, text) pairs by mean precision and recall of shingles of four words."""
    precisions, recalls = [], []
    for expected, text in pages:
        expected_shingles, shingles = _count_shingles(expected), _count_shingles(text)
        shared = sum((expected_shingles & shingles).values())
        if shingles:
            precisions.append(shared / sum(shingles.values()))
        if expected_shingles:
            recalls.append(shared / sum(expected_shingles.values()))
    return Score(sum(precisions) / len(precisions), sum(recalls) / len(recalls))


def _count_shingles(text: str) -> Counter[tuple[str, ...]]:
    words = _WORD.findall(text)
    rows = (tuple(words[i : i + 4]) for i in range(max(1, len(words) - 3)))
    return Counter(row for row in rows if row)
