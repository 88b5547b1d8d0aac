"""A home with files for the reading pages: a three-page PDF, a broken one, versions of a story."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha1
from pathlib import Path

from filled_home import CRAWL, build_once, open_home
from fixtures.pdfs import text_pdf
from fixtures.warcs import gzip_records, http_response
from fonds.config import Settings
from fonds.extract.pdf.page_view import draw_page_view_from_bytes, name_renderer
from fonds.model.pdf import PageView, ViewLimits
from fonds.viewer.pdf_pages import PageViews
from home_rows import NOW
from ingesting import ingest, stamp
from story_pages import page_markup

PAGES = (
    "The flood of March\nreached the bridge",
    "Nothing but numbers",
    "Floods end; a flood recedes",
)
TITLE = "Flood report: “März” & <b>after</b>"
PDF_URL = "http://reports.example/2024/Flood%20report%20M%C3%A4rz.pdf?download=1"
INFO = {"Title": TITLE, "Author": "The River Authority", "CreationDate": "D:20190401120000Z"}
STORY_URL = "http://daily.example/bridge"
VIEW = ViewLimits(width_max=600, height_max=900)
HEBREW = "הגשר הישן נסגר"


@dataclass(frozen=True, slots=True)
class Version:
    """One version of the story at `STORY_URL`."""

    day: int
    title: str
    text: str
    authors: tuple[str, ...] = ("Ada Reporter",)
    published: str | None = "2026-01-05"
    language: str = "en"
    html: str = ""


VERSIONS = (
    Version(5, "Bridge closed", "The old bridge was closed on Monday.\nNobody was hurt."),
    Version(
        6,
        "Bridge closed",
        "The old bridge was closed on Monday.\nNobody was hurt.",
        html="<!-- another day -->",
    ),
    Version(
        7,
        "Old bridge closed for good",
        "The old bridge was closed on Tuesday.\nNobody was hurt.\nTraffic goes round by the ferry.",
        authors=("Ada Reporter", "Ben Writer"),
    ),
)


@dataclass(frozen=True, slots=True)
class ReadingHome:
    """SHA-1s of the files in the home; `versions` starts with the oldest."""

    pdf: str
    broken: str
    versions: tuple[str, ...]
    hebrew: str


def create_local_page_views() -> PageViews:
    """Create page views that are drawn in this process; the tests generate all input."""

    def draw(body: bytes, number: int) -> PageView:
        return draw_page_view_from_bytes(body, number, VIEW)

    return PageViews(draw, name_renderer(VIEW))


@build_once
def fill_reading(home: Path) -> ReadingHome:
    """Put all files into the embedded stores of a home."""
    crawl = home / CRAWL
    crawl.mkdir(parents=True)
    readable_pdf, broken_pdf = text_pdf(PAGES, info=INFO), b"%PDF-1.7 no more"
    hebrew_version = Version(
        9, HEBREW, "\n".join([HEBREW] * 3), language="he", published=None, authors=()
    )
    versions = [_build_markup(version) for version in VERSIONS]
    papers = [
        _build_paper_response(PDF_URL, readable_pdf),
        _build_paper_response("http://reports.example/broken.pdf", broken_pdf),
    ]
    pages = [_build_page_response(STORY_URL, version) for version in VERSIONS]
    pages.append(_build_page_response("http://daily.example/he", hebrew_version))
    reports, stories = crawl / "reports.warc.gz", crawl / "stories.warc.gz"
    reports.write_bytes(gzip_records(papers))
    stories.write_bytes(gzip_records(pages))
    settings = Settings().replace_values(warc_copy_bodies=True)
    with open_home(home) as stores:
        ingest(stores, home, [reports], settings.replace_values(collection="reports"))
        ingest(stores, home, [stories], settings)
    pdf_sha1, broken_sha1, hebrew_sha1, *version_sha1s = (
        sha1(body).hexdigest()
        for body in (readable_pdf, broken_pdf, _build_markup(hebrew_version), *versions)
    )
    return ReadingHome(pdf_sha1, broken_sha1, tuple(version_sha1s), hebrew_sha1)


def _build_markup(version: Version) -> bytes:
    markup = page_markup(
        version.title, version.text, version.authors, version.published, version.language
    )
    return markup + version.html.encode()


def _build_page_response(url: str, version: Version) -> bytes:
    at = NOW - timedelta(days=30 - version.day)
    return http_response(_build_markup(version), url=url, date=stamp(at))


def _build_paper_response(url: str, body: bytes) -> bytes:
    headers = (("Content-Type", "application/pdf"),)
    return http_response(body, url=url, date=stamp(NOW), headers=headers)
