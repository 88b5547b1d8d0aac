"""Pages of mcmetadata's tests read by us, beside what mcmetadata itself made of them.

python scripts/page_baseline.py [FOLDER OF PAGES] [CSV OF ITS RESULTS]
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from fonds.extract.page import PageExtraction, PageStatus, parse_page

SHARED = Path(__file__).parents[1].parent / "shared"
FIXTURES = SHARED / "corpus/html/mediacloud+metadata-lib/mcmetadata/test/fixtures"
RESULTS = SHARED / "reference/mcmetadata-fixture-baseline.csv"
CAPTURED_AT = datetime(2024, 6, 1, tzinfo=UTC)
"""The pages were kept until the spring of 2024."""

LENGTH_SPREAD = 0.25


@dataclass(frozen=True, slots=True)
class Beside:
    """One page: what they made of it, None where they refused it, and what we did."""

    name: str
    theirs: dict[str, str] | None
    refused_for: str
    ours: PageExtraction

    @property
    def is_story(self) -> bool:
        """Whether we take it for a story."""
        return self.ours.status is PageStatus.SUCCESS

    @property
    def chars(self) -> int:
        """Of our text."""
        return len(self.ours.content.text_content or "")

    @property
    def same_title(self) -> bool:
        """But for blanks and letter case."""
        theirs = (self.theirs or {})["title"]
        return _bare(theirs) == _bare(self.ours.content.article_title or "")

    @property
    def same_language(self) -> bool:
        """By its two letters."""
        return (self.theirs or {})["lang"] == (self.ours.content.language or "")

    @property
    def dates(self) -> tuple[date | None, date | None]:
        """Theirs and ours."""
        theirs = (self.theirs or {})["date"][:10]
        ours = self.ours.content.publication_date
        return (
            date.fromisoformat(theirs) if theirs else None,
            date.fromisoformat(ours) if ours else None,
        )

    @property
    def close_dates(self) -> bool:
        """The same, or a day apart, as time zones make them."""
        theirs, ours = self.dates
        if theirs is None or ours is None:
            return theirs is ours
        return abs(theirs - ours) <= timedelta(days=1)

    @property
    def same_length(self) -> bool:
        """Within a quarter."""
        theirs = int((self.theirs or {})["nchars"])
        return abs(self.chars - theirs) <= LENGTH_SPREAD * max(self.chars, theirs)


def _bare(text: str) -> str:
    return " ".join(text.split()).casefold()


def compared(folder: Path = FIXTURES, results: Path = RESULTS) -> list[Beside]:
    """Those pages of the results that are in the folder, in the order of their names."""
    with results.open(encoding="utf-8", newline="") as stream:
        rows = {row["fixture"]: row for row in csv.DictReader(stream)}
    found = []
    for name, row in sorted(rows.items()):
        path = folder / name
        if not path.is_file():
            continue
        url = f"https://pages.example/{name}"
        page = parse_page(path.read_bytes(), url, None, CAPTURED_AT, True)
        refused = row["result"] if row["result"].startswith("EXC:") else ""
        found.append(Beside(name, None if refused else row, refused, page))
    return found


def main() -> None:
    """The counts, then each page on which the two differ."""
    given = [Path(one) for one in sys.argv[1:3]]
    found = compared(*given)
    both = [one for one in found if one.theirs and one.is_story]
    sides: Sequence[tuple[str, int]] = (
        ("both a story", len(both)),
        ("story with us alone", sum(one.is_story and not one.theirs for one in found)),
        ("story with them alone", sum(bool(one.theirs) and not one.is_story for one in found)),
        ("neither", sum(not one.theirs and not one.is_story for one in found)),
        ("of both: same title", sum(one.same_title for one in both)),
        ("of both: same language", sum(one.same_language for one in both)),
        ("of both: same date, or a day apart", sum(one.close_dates for one in both)),
        ("of both: length of text within a quarter", sum(one.same_length for one in both)),
    )
    print(f"{len(found)} pages")
    for what, count in sides:
        print(f"{what:<45} {count:>4}")
    for one in found:
        if (one.theirs is None) != (not one.is_story) or not one.is_story:
            print(f"{one.refused_for or 'story'} / {one.ours.status} {one.chars}: {one.name}")
    for one in both:
        theirs = one.theirs or {}
        content = one.ours.content
        if not one.same_title:
            print(f"title {theirs['title']!r} / {content.article_title!r}: {one.name}")
        if not one.same_language:
            print(f"language {theirs['lang']} / {content.language}: {one.name}")
        if not one.close_dates:
            print(f"date {one.dates[0]} / {one.dates[1]}: {one.name}")
        if not one.same_length:
            print(f"characters {theirs['nchars']} / {one.chars}: {one.name}")


if __name__ == "__main__":
    main()
