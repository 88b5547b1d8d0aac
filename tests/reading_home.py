"""A home with what is read in the browser: a PDF of three pages, a locked one, versions of a story."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from filled_pdfs import import_pdf
from fixtures.pdfs import text_pdf
from fonds.extract.pdf.pages.drawing.view import renderer, view_page_of
from fonds.library.reading.page_views import PageViews
from fonds.model.page_view import PageView, ViewLimits
from fonds.model.rows import Row
from fonds.ports import Stores
from home_rows import NOW, Body, archived, enter, kept, write
from story_pages import import_page, page_markup

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
class Reading:
    """SHA-1s of what lies in the home; `versions` the oldest first."""

    pdf: str
    broken: str
    versions: tuple[str, ...]
    hebrew: str


def drawing_here() -> PageViews:
    """Pages drawn in this process: what they are drawn of is made by the tests."""

    def draw(body: bytes, number: int) -> PageView:
        return view_page_of(body, number, VIEW)

    return PageViews(draw, renderer(VIEW))


def fill_reading(stores: Stores) -> Reading:
    """Put it all into empty stores."""
    pdf = Body(1, PDF_URL, NOW, "application/pdf", text_pdf(PAGES, info=INFO))
    broken = Body(
        2, "http://reports.example/broken.pdf", NOW, "application/pdf", b"%PDF-1.7 no more"
    )
    stories = [_story(10 + n, STORY_URL, one) for n, one in enumerate(VERSIONS)]
    hebrew = Version(9, HEBREW, "\n".join([HEBREW] * 3), language="he", published=None, authors=())
    right = _story(20, "http://daily.example/he", hebrew)
    bodies = archived(stores, [pdf, broken, *stories, right])
    pdf, broken, *rest = bodies
    rows: list[Row] = [
        *_pdf(stores, pdf),
        *kept(broken, ("extract_pdf", "persist_pdf_text")),
    ]
    enter(stores, bodies)
    for body in rest:
        rows += _version(stores, body)
    write(stores, rows)
    stores.archive.finish()
    return Reading(
        pdf.sha1hex, broken.sha1hex, tuple(one.sha1hex for one in rest[:-1]), rest[-1].sha1hex
    )


def _pdf(stores: Stores, body: Body) -> list[Row]:
    """Read the PDF and write down what was read, as the steps do; the rows of its file and messages."""
    import_pdf(stores, body, "reports")
    return kept(body, ("extract_pdf", "persist_pdf_text"))


def _story(number: int, url: str, version: Version) -> Body:
    markup = page_markup(
        version.title, version.text, version.authors, version.published, version.language
    )
    content = markup + version.html.encode()
    return Body(number, url, NOW - timedelta(days=30 - version.day), "text/html", content)


def _version(stores: Stores, body: Body) -> list[Row]:
    """Read the page and import its story, as the steps do. Return the rows of its file and messages."""
    import_page(stores, body)
    return kept(body, ("parse_story", "import_story"))
