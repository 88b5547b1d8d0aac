"""A generated crawl of some hundred records: pages, PDFs, repeats and damage, in every
container."""

from __future__ import annotations

import zipfile
from pathlib import Path

from fixtures.warcs import gzip_records, http_response
from sample import write_sample

PAGES = 120
THEMES = ("harbour", "library", "orchard", "railway", "observatory")


def page(number: int) -> bytes:
    """Generate a unique page: every sentence contains the number."""
    theme = THEMES[number % len(THEMES)]
    sentences = " ".join(
        f"On day {number} the {theme} council heard report {number * 7 + line} about the {theme}."
        for line in range(12)
    )
    title = f"The {theme} report, part {number}"
    return (
        f"<!doctype html><html lang=en><head><meta charset=utf-8><title>{title}</title></head>"
        f"<body><nav>Home News Contact</nav><article><h1>{title}</h1><p>{sentences}</p>"
        f"<p>{sentences[::-1][:40]} A closing word on {theme} {number}.</p></article></body></html>"
    ).encode()


def write_crawl(folder: Path) -> None:
    """Write the sample crawl, a longer WARC with repeats, and a ZIP of pages."""
    write_sample(folder / "sample")
    records = [
        http_response(page(number if number % 10 else 0), url=f"http://news.example/{number}")
        for number in range(PAGES)
    ]
    (folder / "long.warc.gz").write_bytes(gzip_records(records))
    with zipfile.ZipFile(folder / "pages.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(1000, 1020):
            archive.writestr(f"pages/{number}.html", page(number))
