"""Input of the filled home: WARC files and an index of generated pages and PDFs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape
from pathlib import Path

from fixtures.pdfs import text_pdf
from fixtures.warcs import gzip_records, http_response, list_offsets, revisit, warc_record, warcinfo
from home_rows import NOW
from ingesting import stamp
from story_pages import page_markup

HOSTILE_TITLE = "<script>alert('title')</script> & \"quotes\""
HOSTILE_URL = "http://news.example/?q=<img src=x onerror=alert('url')>&a=\"b\""
HOSTILE_TEXT = " ".join(
    ["Flood <script>alert('text')</script> waters </mark><b>rose</b> on Monday."] * 40
)
SCRIPT_URL = "javascript:alert('capture')"
FRONT_URL = "http://daily.example/front"
MISSING_URL = "http://daily.example/missing/{}"
STORIES = 30
LOST_PDF = b"%PDF-1.7 gone before it was read"
MIRRORS, REVISITS, REFUSED, PENDING, REQUESTS, BAD_LINES = 12, 3, 21, 4, 29, 2
BROKEN_PDFS, TIMEOUTS, TRUNCATED, MISSING, LOST, BAD_LINKS = 3, 2, 1, 1, 1, 2
FAILED = BROKEN_PDFS + TIMEOUTS + TRUNCATED + MISSING + LOST + BAD_LINES + BAD_LINKS
"""Number of failures. Bad links are counted by their list; all others are entries."""
DUPLICATES = MIRRORS + 1
"""The hostile page was captured a second time, at `SCRIPT_URL`."""
NOT_CAPTURES = REQUESTS + 4
"""The requests, and the warcinfo record of each WARC."""
SUBJECTS = (
    (
        "River floods the old town after a week of rain",
        "en",
        "The flood came over the wall at night. ",
    ),
    (
        "Council votes on the new bridge",
        "en",
        "After the flood of last year the old bridge was closed. ",
    ),
    (
        "Hochwasser: Pegel steigt weiter",
        "de",
        "Das Hochwasser steigt seit dem Morgen, sagte der Sprecher. ",
    ),
    (
        "La bibliothèque rouvre ses portes",
        "fr",
        "La bibliothèque municipale rouvre après des travaux. ",
    ),
    (
        "Harvest report: a dry summer",
        "en",
        "No flood this year, but a drought that farmers remember. ",
    ),
)
REPORTS = (
    ("Annual report of the river authority", 14),
    ("On the measurement of water levels", 9),
    ("Minutes of the archive committee", 3),
    ("A field guide to sediment", 212),
)


def story_pages() -> list[tuple[str, datetime, bytes]]:
    """Return URL, time of capture and HTML of each story.

    The hostile page and the two front pages are last.
    """
    pages = []
    for number in range(STORIES):
        title, language, sentence = SUBJECTS[number % len(SUBJECTS)]
        host = "daily" if number % 2 else "weekly"
        url = f"http://{host}.example/{number}/{title.split()[0].lower()}"
        text = f"{title}. {sentence}Report number {number}. " + sentence * (number % 7)
        published = f"{2016 + number % 9}-{1 + number % 12:02}-{1 + number % 28:02}"
        stated_date = None if number % 10 == 9 else published
        pages.append((url, page_markup(title, text, (), stated_date, language)))
    hostile = escape(HOSTILE_TEXT)
    page = page_markup(escape(HOSTILE_TITLE), hostile, (), "2024-02-29", "en")
    pages.append((HOSTILE_URL, page.replace(b"</body>", b"<script>alert(1)</script></body>")))
    # Two versions of one page: the same URL, different bytes.
    for number in (31, 32):
        title = f"Front page {number}"
        text = f"{title} of the daily paper, with all that happened."
        pages.append((FRONT_URL, page_markup(title, text, (), None, "en")))
    return [(url, _get_capture_time(number), body) for number, (url, body) in enumerate(pages)]


def report_pdfs() -> list[bytes]:
    """Return PDFs with their own title, author and date, the longest last."""
    return [_build_report(title, pages) for title, pages in REPORTS]


def broken_pdfs() -> list[bytes]:
    """Return PDFs with nothing after the header."""
    return [b"%%PDF-1.7\n%% broken %d" % number for number in range(BROKEN_PDFS)]


def waiting_pdfs() -> list[bytes]:
    """Return PDFs that stay unprocessed.

    The last is a loose file, the others lie in a WARC.
    """
    return [text_pdf((f"New paper {number}",)) for number in range(PENDING)]


@dataclass(frozen=True, slots=True)
class Crawl:
    """Files to ingest.

    Reading `slow` takes a while, `index` refers to a WARC next to it, `missing` does not exist, and
    no line of `links` is a link.
    """

    daily: Path
    reports: Path
    slow: Path
    damaged: Path
    missing: Path
    lost: Path
    index: Path
    loose: Path
    links: Path


def write_crawl(folder: Path) -> Crawl:
    """Write all files into a new folder."""
    for new_folder in (folder, folder / "new", folder / "scans"):
        new_folder.mkdir(parents=True)
    return Crawl(
        daily=_write_daily(folder),
        reports=_write_reports(folder),
        slow=_write_slow(folder),
        damaged=_write_damaged(folder),
        missing=folder / "missing-<2025>.warc.gz",
        lost=_write_file(folder / "scans" / "lost.pdf", LOST_PDF),
        index=_write_index(folder / "new"),
        loose=_write_file(folder / "scans" / "new.pdf", waiting_pdfs()[-1]),
        links=_write_file(folder / "links.txt", b'"no address\n' * BAD_LINKS),
    )


def _write_file(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def _write_daily(folder: Path) -> Path:
    """Write the WARC of the stories, their duplicates, rejected responses and other records."""
    pages = story_pages()
    records = [
        warcinfo(),
        *[warc_record(b"GET / HTTP/1.1\r\n\r\n", record_type="request")] * REQUESTS,
    ]
    records += [_build_response(*page) for page in pages]
    records.append(_build_response(SCRIPT_URL, NOW, pages[STORIES][2]))
    first = pages[0][2]
    records += [_build_response(f"http://mirror.example/{n}", NOW, first) for n in range(MIRRORS)]
    records += [revisit(f"http://daily.example/same/{n}") for n in range(REVISITS)]
    records += [_build_rejected(n) for n in range(REFUSED)]
    return _write_warc(folder / "daily-2026.warc.gz", records)


def _write_reports(folder: Path) -> Path:
    """Write the WARC of the PDFs, valid and broken; the first record is of a local file."""
    reports = [
        _build_pdf_response(
            f"http://library.example/reports/{n}.pdf", _get_capture_time(100 + n), body
        )
        for n, body in enumerate(report_pdfs())
    ]
    reports[0] = warc_record(
        report_pdfs()[0],
        url="file:///scans/0.pdf",
        date=stamp(_get_capture_time(100)),
        content_type="application/pdf",
    )
    broken = [
        _build_pdf_response(
            f"http://library.example/broken/{n}.pdf", _get_capture_time(500 + n), body
        )
        for n, body in enumerate(broken_pdfs())
    ]
    return _write_warc(folder / "reports-2026.warc.gz", [warcinfo(), *reports, *broken])


def _write_slow(folder: Path) -> Path:
    """Write the WARC of pages so long that parsing one takes a while."""
    text = "Word after word after word. \n" * 60_000
    pages = [page_markup(f"Slow {n}", text, (), None, "en") for n in range(TIMEOUTS)]
    records = [
        _build_response(f"http://slow.example/{n}", NOW, page) for n, page in enumerate(pages)
    ]
    return _write_warc(folder / "slow-2026.warc.gz", [warcinfo(), *records])


def _write_index(folder: Path) -> Path:
    """Write a WARC of PDFs and an index of it that contains invalid lines."""
    bodies = waiting_pdfs()[:-1]
    urls = [f"http://library.example/new/{n}.pdf" for n in range(len(bodies))]
    records = [
        _build_pdf_response(url, _get_capture_time(700 + n), body)
        for n, (url, body) in enumerate(zip(urls, bodies, strict=True))
    ]
    warc = _write_warc(folder / "new-2026.warc.gz", records)
    members = [gzip_records([record]) for record in records]
    lines = []
    for n, (url, offset, member) in enumerate(
        zip(urls, list_offsets(members), members, strict=True)
    ):
        fields = {
            "url": url,
            "mime": "application/pdf",
            "status": "200",
            "length": str(len(member)),
            "offset": str(offset),
            "filename": warc.name,
        }
        stamp = f"{_get_capture_time(700 + n):%Y%m%d%H%M%S}"
        lines.append(f"example,library)/new/{n}.pdf {stamp} {json.dumps(fields)}\n")
    lines += ["no line of an index\n"] * BAD_LINES
    return _write_file(folder / "new-2026.cdxj", "".join(lines).encode())


def _write_damaged(folder: Path) -> Path:
    """Write a WARC that ends in the middle of its second record."""
    content = gzip_records(
        [warcinfo(), _build_response("http://daily.example/cut", NOW, b"cut" * 999)]
    )
    return _write_file(folder / "damaged-<2025>.warc.gz", content[:-20])


def _get_capture_time(number: int) -> datetime:
    return NOW - timedelta(days=number, hours=number)


def _build_response(url: str, at: datetime, body: bytes, status: str = "200 OK") -> bytes:
    return http_response(body, url=url, date=stamp(at), status_line=f"HTTP/1.1 {status}")


def _build_pdf_response(url: str, at: datetime, body: bytes) -> bytes:
    kind = (("Content-Type", "application/pdf"),)
    return http_response(body, url=url, date=stamp(at), headers=kind)


def _build_rejected(number: int) -> bytes:
    """Build an error response, a picture, or a page without text, in turn."""
    url, at = MISSING_URL.format(number), NOW - timedelta(hours=number)
    match number % 3:
        case 0:
            return _build_response(url, at, b"not here, %d" % number, "404 Not Found")
        case 1:
            picture = b"\x89PNG\r\n\x1a\n" + bytes([number]) * 20
            kind = (("Content-Type", "image/png"),)
            return http_response(picture, url=url, date=stamp(at), headers=kind)
        case _:
            return _build_response(url, at, b"<html><body><p>%d</p></body></html>" % number)


def _build_report(title: str, pages: int) -> bytes:
    sentence = SUBJECTS[0][2]
    texts = [
        "\n".join((f"{title}, page {n}.", "", *[(sentence * 2).strip()] * 15))
        for n in range(1, pages + 1)
    ]
    info = {
        "Title": title,
        "Author": "The River Authority",
        "Producer": "LaTeX",
        "CreationDate": "D:20190401120000Z",
    }
    return text_pdf(texts, info=info)


def _write_warc(path: Path, records: Sequence[bytes]) -> Path:
    return _write_file(path, gzip_records(records))
