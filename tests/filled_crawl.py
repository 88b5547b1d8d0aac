"""What is brought into the filled home: WARC files and an index of made pages and PDFs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape
from pathlib import Path

from fixtures.pdfs import text_pdf
from fixtures.warcs import gzipped, http_response, offsets, revisit, warc_record, warcinfo
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
"""What failed: the bad links are counted by their list, all else are entries."""
DUPLICATES = MIRRORS + 1
"""The hostile page was captured once more, at `SCRIPT_URL`."""
NOT_CAPTURES = REQUESTS + 4
"""The requests, and the head of each WARC that is read."""
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
    """URL, time of capture and HTML of each story. The hostile one and both front pages are last."""
    pages = []
    for number in range(STORIES):
        title, language, sentence = SUBJECTS[number % len(SUBJECTS)]
        host = "daily" if number % 2 else "weekly"
        url = f"http://{host}.example/{number}/{title.split()[0].lower()}"
        text = f"{title}. {sentence}Report number {number}. " + sentence * (number % 7)
        published = f"{2016 + number % 9}-{1 + number % 12:02}-{1 + number % 28:02}"
        stated = None if number % 10 == 9 else published
        pages.append((url, page_markup(title, text, (), stated, language)))
    hostile = escape(HOSTILE_TEXT)
    page = page_markup(escape(HOSTILE_TITLE), hostile, (), "2024-02-29", "en")
    pages.append((HOSTILE_URL, page.replace(b"</body>", b"<script>alert(1)</script></body>")))
    # The same page of two days with different bytes: one URL, two files.
    for number in (31, 32):
        title = f"Front page {number}"
        text = f"{title} of the daily paper, with all that happened."
        pages.append((FRONT_URL, page_markup(title, text, (), None, "en")))
    return [(url, _captured(number), body) for number, (url, body) in enumerate(pages)]


def report_pdfs() -> list[bytes]:
    """PDFs with a title, an author and a date of their own, the longest last."""
    return [_report(title, pages) for title, pages in REPORTS]


def broken_pdfs() -> list[bytes]:
    """PDFs that hold nothing behind their first line."""
    return [b"%%PDF-1.7\n%% broken %d" % number for number in range(BROKEN_PDFS)]


def waiting_pdfs() -> list[bytes]:
    """PDFs that nobody reads. The last is a file, the others lie in a WARC."""
    return [text_pdf((f"New paper {number}",)) for number in range(PENDING)]


@dataclass(frozen=True, slots=True)
class Crawl:
    """The files that are brought in. `slow` takes a while to be read, `index` names a WARC beside it,
    `missing` is not there, and `links` lists no link."""

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
    """Write it all into a new folder."""
    for one in (folder, folder / "new", folder / "scans"):
        one.mkdir(parents=True)
    return Crawl(
        daily=_daily(folder),
        reports=_reports(folder),
        slow=_slow(folder),
        damaged=_damaged(folder),
        missing=folder / "missing-<2025>.warc.gz",
        lost=_file(folder / "scans" / "lost.pdf", LOST_PDF),
        index=_index(folder / "new"),
        loose=_file(folder / "scans" / "new.pdf", waiting_pdfs()[-1]),
        links=_file(folder / "links.txt", b'"no address\n' * BAD_LINKS),
    )


def _file(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def _daily(folder: Path) -> Path:
    """Write the WARC of the stories, their duplicates, and all that is refused or no capture."""
    pages = story_pages()
    records = [
        warcinfo(),
        *[warc_record(b"GET / HTTP/1.1\r\n\r\n", record_type="request")] * REQUESTS,
    ]
    records += [_response(*page) for page in pages]
    records.append(_response(SCRIPT_URL, NOW, pages[STORIES][2]))
    first = pages[0][2]
    records += [_response(f"http://mirror.example/{n}", NOW, first) for n in range(MIRRORS)]
    records += [revisit(f"http://daily.example/same/{n}") for n in range(REVISITS)]
    records += [_refused(n) for n in range(REFUSED)]
    return _written(folder / "daily-2026.warc.gz", records)


def _reports(folder: Path) -> Path:
    """Write the WARC of the PDFs, whole and broken; the first was a file."""
    whole = [
        _pdf(f"http://library.example/reports/{n}.pdf", _captured(100 + n), body)
        for n, body in enumerate(report_pdfs())
    ]
    whole[0] = warc_record(
        report_pdfs()[0],
        url="file:///scans/0.pdf",
        date=stamp(_captured(100)),
        content_type="application/pdf",
    )
    broken = [
        _pdf(f"http://library.example/broken/{n}.pdf", _captured(500 + n), body)
        for n, body in enumerate(broken_pdfs())
    ]
    return _written(folder / "reports-2026.warc.gz", [warcinfo(), *whole, *broken])


def _slow(folder: Path) -> Path:
    """Write the WARC of pages so long that reading one takes a while."""
    text = "Word after word after word. \n" * 60_000
    pages = [page_markup(f"Slow {n}", text, (), None, "en") for n in range(TIMEOUTS)]
    records = [_response(f"http://slow.example/{n}", NOW, page) for n, page in enumerate(pages)]
    return _written(folder / "slow-2026.warc.gz", [warcinfo(), *records])


def _index(folder: Path) -> Path:
    """Write a WARC of PDFs and the index that names them, with lines that are none."""
    bodies = waiting_pdfs()[:-1]
    urls = [f"http://library.example/new/{n}.pdf" for n in range(len(bodies))]
    records = [
        _pdf(url, _captured(700 + n), body)
        for n, (url, body) in enumerate(zip(urls, bodies, strict=True))
    ]
    warc = _written(folder / "new-2026.warc.gz", records)
    packed = [gzipped([record]) for record in records]
    lines = []
    for n, (url, offset, piece) in enumerate(zip(urls, offsets(packed), packed, strict=True)):
        fields = {
            "url": url,
            "mime": "application/pdf",
            "status": "200",
            "length": str(len(piece)),
            "offset": str(offset),
            "filename": warc.name,
        }
        stamp = f"{_captured(700 + n):%Y%m%d%H%M%S}"
        lines.append(f"example,library)/new/{n}.pdf {stamp} {json.dumps(fields)}\n")
    lines += ["no line of an index\n"] * BAD_LINES
    return _file(folder / "new-2026.cdxj", "".join(lines).encode())


def _damaged(folder: Path) -> Path:
    """Write a WARC that ends in the middle of its second record."""
    whole = gzipped([warcinfo(), _response("http://daily.example/cut", NOW, b"cut" * 999)])
    return _file(folder / "damaged-<2025>.warc.gz", whole[:-20])


def _captured(number: int) -> datetime:
    return NOW - timedelta(days=number, hours=number)


def _response(url: str, at: datetime, body: bytes, status: str = "200 OK") -> bytes:
    return http_response(body, url=url, date=stamp(at), status_line=f"HTTP/1.1 {status}")


def _pdf(url: str, at: datetime, body: bytes) -> bytes:
    kind = (("Content-Type", "application/pdf"),)
    return http_response(body, url=url, date=stamp(at), headers=kind)


def _refused(number: int) -> bytes:
    """An answer that is an error, a picture, or a page without text, in turn."""
    url, at = MISSING_URL.format(number), NOW - timedelta(hours=number)
    match number % 3:
        case 0:
            return _response(url, at, b"not here, %d" % number, "404 Not Found")
        case 1:
            picture = b"\x89PNG\r\n\x1a\n" + bytes([number]) * 20
            kind = (("Content-Type", "image/png"),)
            return http_response(picture, url=url, date=stamp(at), headers=kind)
        case _:
            return _response(url, at, b"<html><body><p>%d</p></body></html>" % number)


def _report(title: str, pages: int) -> bytes:
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


def _written(path: Path, records: Sequence[bytes]) -> Path:
    return _file(path, gzipped(records))
