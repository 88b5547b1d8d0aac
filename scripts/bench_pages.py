"""Compare page extraction with other extractors: text by the measures of each source, dates, and CPU.

python scripts/bench_pages.py    # labelled pages of the corpus; installs the peers into a temporary folder
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

from fonds.extract.charset import decode_page
from fonds.extract.page import parse_page, warm_up
from page_gold import Marked, compute_shingle_score, compute_snippet_score, read_marked_pages
from page_peers import install_peers

ROUNDS = 3
CAPTURED_AT = datetime(2026, 11, 1, tzinfo=UTC)
FONDS = "Fonds, all fields"


def measure_extractors(
    pages: list[Marked], extractors: dict[str, Callable[[Marked], str]]
) -> tuple[dict[str, list[str]], dict[str, float]]:
    """Return the text of each page by each extractor, and the minimum CPU seconds per round.

    The extractors take turns on each page.
    """
    texts: dict[str, list[str]] = {name: [] for name in extractors}
    cpu_s: dict[str, float] = dict.fromkeys(extractors, float("inf"))
    for round_ in range(ROUNDS):
        round_s = dict.fromkeys(extractors, 0.0)
        for page in pages:
            for name, extract in extractors.items():
                began = time.process_time()
                text = extract(page)
                round_s[name] += time.process_time() - began
                if round_ == 0:
                    texts[name].append(text)
        cpu_s = {name: min(cpu_s[name], round_s[name]) for name in extractors}
    return texts, cpu_s


def extract_text(page: Marked) -> str:
    read = parse_page(page.body, page.url, None, CAPTURED_AT, True)
    return read.content.text_content or ""


def print_texts(pages: list[Marked]) -> None:
    with install_peers() as peer_extractors:
        extractors: dict[str, Callable[[Marked], str]] = {FONDS: extract_text}
        for name, extract in peer_extractors.items():
            extractors[name] = lambda page, extract=extract: extract(
                decode_page(page.body, None)[0]
            )  # type: ignore[misc]
        texts, cpu_s = measure_extractors(pages, extractors)
    print("| extractor | snippets F1 (P, R) | shingles F1 (P, R) | ms CPU a page | of plain |")
    print("|---|---|---|---|---|")
    for name, page_texts in texts.items():
        pairs = list(zip(pages, page_texts, strict=True))
        snippets = compute_snippet_score(
            (page.gold, text) for page, text in pairs if page.has_snippets
        )
        shingles = compute_shingle_score(
            (page.full_text or "", text) for page, text in pairs if not page.has_snippets
        )
        print(
            f"| {name} | {snippets.f1:.4f} ({snippets.precision:.3f}, {snippets.recall:.3f}) "
            f"| {shingles.f1:.4f} ({shingles.precision:.3f}, {shingles.recall:.3f}) "
            f"| {1000 * cpu_s[name] / len(pages):.1f} | {cpu_s[name] / cpu_s['trafilatura']:.2f} |"
        )


def print_dates(pages: list[Marked]) -> None:
    import htmldate

    def date_with_htmldate(page: Marked, *, extensive: bool) -> str | None:
        markup, _ = decode_page(page.body, None)
        try:
            return htmldate.find_date(
                markup, url=page.url, original_date=True, extensive_search=extensive
            )
        except Exception:  # noqa: BLE001 The failure of a peer counts as no date.
            return None

    readers: dict[str, Callable[[Marked], str | None]] = {
        FONDS: lambda page: (
            parse_page(page.body, page.url, None, CAPTURED_AT, True).content.publication_date
        ),
        "htmldate fast": lambda page: date_with_htmldate(page, extensive=False),
        "htmldate extensive": lambda page: date_with_htmldate(page, extensive=True),
    }
    print("\n| dates | right | wrong | none |\n|---|---|---|---|")
    for name, read in readers.items():
        dates = [read(page) for page in pages]
        right = sum(day == get_labelled_date(page) for page, day in zip(pages, dates, strict=True))
        missing = sum(
            day is None and get_labelled_date(page) is not None
            for page, day in zip(pages, dates, strict=True)
        )
        print(f"| {name} | {right} | {len(pages) - right - missing} | {missing} |")


def get_labelled_date(page: Marked) -> str | None:
    """Return the labelled date of a page, or None."""
    label = page.gold["date"]
    return label[:10] if isinstance(label, str) else None


def main() -> None:
    warm_up()
    pages = list(read_marked_pages())
    benchmark = "article-extraction-benchmark"
    print_texts([page for page in pages if page.has_snippets or page.source == benchmark])
    print_dates([page for page in pages if page.source == "htmldate-eval"])


if __name__ == "__main__":
    main()
