"""The corpus's marked pages, and what their own authors measure on them.

Source: trafilatura's evaluation (snippets that must or must not be found as they stand); the script of
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
    """A page with all that is known of it. `site` groups pages that may share markup."""

    path: str
    body: bytes
    gold: dict[str, Any]

    @property
    def source(self) -> str:
        """The collection the page is from."""
        return str(self.gold.get("source", ""))

    @property
    def url(self) -> str:
        """The page's address; one made of its file's name where it has none."""
        url = str(self.gold.get("url") or "")
        return url if url.startswith("http") else f"file:///{self.path}"

    @property
    def site(self) -> str:
        """What pages of one site share: its domain, or the beginning of the file's name."""
        host = urlsplit(self.url).hostname or Path(self.path).name
        labels = host.removeprefix("www.").split(".")
        return ".".join(labels[:2] if self.url.startswith("file:") else labels[-2:])

    @property
    def full_text(self) -> str | None:
        """The whole text as somebody marked it, None where there is none."""
        is_full = str(self.gold.get("text_kind", "")).startswith("full")
        return str(self.gold["text"]) if is_full and self.gold.get("text") else None

    @property
    def has_snippets(self) -> bool:
        """Whether pieces of text are marked as wanted and unwanted."""
        return "must_contain" in self.gold


def marked_pages() -> Iterator[Marked]:
    """Every page the corpus's gold knows, once, with all rows about it in one."""
    rows: dict[str, dict[str, Any]] = {}
    for line in (CORPUS / "gold" / "html.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        rows.setdefault(row["path"], {}).update(row)
    for path, gold in rows.items():
        body = (CORPUS / path).read_bytes()
        yield Marked(path, gzip.decompress(body) if path.endswith(".gz") else body, gold)


@dataclass(frozen=True, slots=True)
class Score:
    """Precision and recall of many pages together."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """Their harmonic mean."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def snippet_score(pages: Iterable[tuple[dict[str, Any], str]]) -> Score:
    """Of (gold, text): how many wanted snippets are found as they stand, and how many unwanted ones."""
    found = missed = unwanted = 0
    for gold, text in pages:
        hits = sum(snippet in text for snippet in gold["must_contain"])
        found += hits
        missed += len(gold["must_contain"]) - hits
        unwanted += sum(snippet in text for snippet in gold["must_not_contain"])
    return Score(found / max(found + unwanted, 1), found / max(found + missed, 1))


def shingle_score(pages: Iterable[tuple[str, str]]) -> Score:
    """Of (wanted, text): the mean precision and recall over shingles of four words."""
    precisions, recalls = [], []
    for wanted, text in pages:
        theirs, ours = _shingles(wanted), _shingles(text)
        shared = sum((theirs & ours).values())
        if ours:
            precisions.append(shared / sum(ours.values()))
        if theirs:
            recalls.append(shared / sum(theirs.values()))
    return Score(sum(precisions) / len(precisions), sum(recalls) / len(recalls))


def _shingles(text: str) -> Counter[tuple[str, ...]]:
    words = _WORD.findall(text)
    rows = (tuple(words[i : i + 4]) for i in range(max(1, len(words) - 3)))
    return Counter(row for row in rows if row)
