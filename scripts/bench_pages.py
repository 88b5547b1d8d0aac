"""Pages beside other extractors: text by their sources' own measures, dates, and CPU, all in one run.

python scripts/bench_pages.py    # the corpus's marked pages; peers go into a folder that is thrown away
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

from fonds.extract.charset import decode_page
from fonds.extract.page import parse_page, warm_up
from page_gold import Marked, marked_pages, shingle_score, snippet_score
from page_peers import peers

ROUNDS = 3
CAPTURED_AT = datetime(2026, 11, 1, tzinfo=UTC)
OURS = "Fonds, with all it tells of a page"


def texts_and_cpu(
    pages: list[Marked], extractors: dict[str, Callable[[Marked], str]]
) -> tuple[dict[str, list[str]], dict[str, float]]:
    """Text of each page by each, and CPU seconds for all pages: page by page in turn, least of the rounds."""
    texts: dict[str, list[str]] = {name: [] for name in extractors}
    least: dict[str, float] = dict.fromkeys(extractors, float("inf"))
    for round_ in range(ROUNDS):
        spent = dict.fromkeys(extractors, 0.0)
        for page in pages:
            for name, extract in extractors.items():
                began = time.process_time()
                text = extract(page)
                spent[name] += time.process_time() - began
                if round_ == 0:
                    texts[name].append(text)
        least = {name: min(least[name], spent[name]) for name in extractors}
    return texts, least


def ours(page: Marked) -> str:
    read = parse_page(page.body, page.url, None, CAPTURED_AT, True)
    return read.content.text_content or ""


def print_texts(pages: list[Marked]) -> None:
    with peers() as others:
        extractors: dict[str, Callable[[Marked], str]] = {OURS: ours}
        for name, extract in others.items():
            extractors[name] = lambda page, extract=extract: extract(
                decode_page(page.body, None)[0]
            )  # type: ignore[misc]
        texts, cpu_s = texts_and_cpu(pages, extractors)
    print("| extractor | snippets F1 (P, R) | shingles F1 (P, R) | ms CPU a page | of plain |")
    print("|---|---|---|---|---|")
    for name, found in texts.items():
        pairs = list(zip(pages, found, strict=True))
        snippets = snippet_score((page.gold, text) for page, text in pairs if page.has_snippets)
        shingles = shingle_score(
            (page.full_text or "", text) for page, text in pairs if not page.has_snippets
        )
        print(
            f"| {name} | {snippets.f1:.4f} ({snippets.precision:.3f}, {snippets.recall:.3f}) "
            f"| {shingles.f1:.4f} ({shingles.precision:.3f}, {shingles.recall:.3f}) "
            f"| {1000 * cpu_s[name] / len(pages):.1f} | {cpu_s[name] / cpu_s['trafilatura']:.2f} |"
        )


def print_dates(pages: list[Marked]) -> None:
    import htmldate

    def by_htmldate(page: Marked, *, extensive: bool) -> str | None:
        markup, _ = decode_page(page.body, None)
        try:
            return htmldate.find_date(
                markup, url=page.url, original_date=True, extensive_search=extensive
            )
        except Exception:  # noqa: BLE001 A peer that fails on a page finds nothing there.
            return None

    readers: dict[str, Callable[[Marked], str | None]] = {
        OURS: lambda page: (
            parse_page(page.body, page.url, None, CAPTURED_AT, True).content.publication_date
        ),
        "htmldate fast": lambda page: by_htmldate(page, extensive=False),
        "htmldate extensive": lambda page: by_htmldate(page, extensive=True),
    }
    print("\n| dates | right | wrong | none |\n|---|---|---|---|")
    for name, read in readers.items():
        found = [read(page) for page in pages]
        right = sum(day == wanted(page) for page, day in zip(pages, found, strict=True))
        none = sum(
            day is None and wanted(page) is not None for page, day in zip(pages, found, strict=True)
        )
        print(f"| {name} | {right} | {len(pages) - right - none} | {none} |")


def wanted(page: Marked) -> str | None:
    """The day somebody marked; None for a page that has none."""
    said = page.gold["date"]
    return said[:10] if isinstance(said, str) else None


def main() -> None:
    warm_up()
    pages = list(marked_pages())
    benchmark = "article-extraction-benchmark"
    print_texts([page for page in pages if page.has_snippets or page.source == benchmark])
    print_dates([page for page in pages if page.source == "htmldate-eval"])


if __name__ == "__main__":
    main()
