"""Compare our extraction with mcmetadata's own results, on the pages of its tests.

python scripts/page_baseline.py [FOLDER OF PAGES] [CSV OF ITS RESULTS]
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from fonds.extract.page import parse_page
from fonds.extract.page_extraction import PageExtraction, PageStatus

SHARED = Path(__file__).parents[1].parent / "shared"
FIXTURES = SHARED / "corpus/html/mediacloud+metadata-lib/mcmetadata/test/fixtures"
RESULTS = SHARED / "reference/mcmetadata-fixture-baseline.csv"
CAPTURED_AT = datetime(2024, 6, 1, tzinfo=UTC)
"""The pages were saved before the summer of 2024."""

LENGTH_SPREAD = 0.25


@dataclass(frozen=True, slots=True)
class PageComparison:
    """One page: the result of mcmetadata, None if it refused the page, and our extraction."""

    name: str
    baseline: dict[str, str] | None
    refused_for: str
    extraction: PageExtraction

    @property
    def is_story(self) -> bool:
        """Whether our extraction treats the page as a story."""
        return self.extraction.status is PageStatus.SUCCESS

    @property
    def chars(self) -> int:
        """Length of our text."""
        return len(self.extraction.content.text_content or "")

    @property
    def same_title(self) -> bool:
        """Whether the titles are equal without whitespace and case."""
        baseline_title = (self.baseline or {})["title"]
        return _normalize(baseline_title) == _normalize(self.extraction.content.article_title or "")

    @property
    def same_language(self) -> bool:
        """Whether the language codes are equal."""
        return (self.baseline or {})["lang"] == (self.extraction.content.language or "")

    @property
    def dates(self) -> tuple[date | None, date | None]:
        """The dates of mcmetadata and of our extraction."""
        baseline_date = (self.baseline or {})["date"][:10]
        own_date = self.extraction.content.publication_date
        return (
            date.fromisoformat(baseline_date) if baseline_date else None,
            date.fromisoformat(own_date) if own_date else None,
        )

    @property
    def close_dates(self) -> bool:
        """Whether the dates differ by at most a day; time zones cause this."""
        baseline_date, own_date = self.dates
        if baseline_date is None or own_date is None:
            return baseline_date is own_date
        return abs(baseline_date - own_date) <= timedelta(days=1)

    @property
    def same_length(self) -> bool:
        """Whether the lengths differ by at most a quarter."""
        baseline_chars = int((self.baseline or {})["nchars"])
        return abs(self.chars - baseline_chars) <= LENGTH_SPREAD * max(self.chars, baseline_chars)


def _normalize(text: str) -> str:
    return " ".join(text.split()).casefold()


def compare_pages(folder: Path = FIXTURES, results: Path = RESULTS) -> list[PageComparison]:
    """Return the pages of the results that are in the folder, sorted by name."""
    with results.open(encoding="utf-8", newline="") as stream:
        rows = {row["fixture"]: row for row in csv.DictReader(stream)}
    pages = []
    for name, row in sorted(rows.items()):
        path = folder / name
        if not path.is_file():
            continue
        url = f"https://pages.example/{name}"
        page = parse_page(path.read_bytes(), url, None, CAPTURED_AT, True)
        refusal = row["result"] if row["result"].startswith("EXC:") else ""
        pages.append(PageComparison(name, None if refusal else row, refusal, page))
    return pages


def main() -> None:
    """Print counts, then each page where the two differ."""
    pages = compare_pages(*map(Path, sys.argv[1:3]))
    stories = [page for page in pages if page.baseline and page.is_story]
    sides: Sequence[tuple[str, int]] = (
        ("both a story", len(stories)),
        ("story only for Fonds", sum(page.is_story and not page.baseline for page in pages)),
        (
            "story only for mcmetadata",
            sum(bool(page.baseline) and not page.is_story for page in pages),
        ),
        ("neither", sum(not page.baseline and not page.is_story for page in pages)),
        ("of both: same title", sum(page.same_title for page in stories)),
        ("of both: same language", sum(page.same_language for page in stories)),
        ("of both: same date, or a day apart", sum(page.close_dates for page in stories)),
        ("of both: length of text within a quarter", sum(page.same_length for page in stories)),
    )
    print(f"{len(pages)} pages")
    for name, count in sides:
        print(f"{name:<45} {count:>4}")
    for page in pages:
        if (page.baseline is None) != (not page.is_story) or not page.is_story:
            print(
                f"{page.refused_for or 'story'} / {page.extraction.status} {page.chars}: {page.name}"
            )
    for page in stories:
        baseline = page.baseline or {}
        content = page.extraction.content
        if not page.same_title:
            print(f"title {baseline['title']!r} / {content.article_title!r}: {page.name}")
        if not page.same_language:
            print(f"language {baseline['lang']} / {content.language}: {page.name}")
        if not page.close_dates:
            print(f"date {page.dates[0]} / {page.dates[1]}: {page.name}")
        if not page.same_length:
            print(f"characters {baseline['nchars']} / {page.chars}: {page.name}")


if __name__ == "__main__":
    main()
