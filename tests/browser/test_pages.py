"""The pages in a real browser: light, dark, narrow, printed and without scripts, read as people read them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from browser.browsing import running
from browser.matrix import LIGHT, SETTINGS, is_usable, launched, looking
from failed_home import body, fail
from filled_crawl import DUPLICATES, FAILED
from filled_home import Filled, fill_home, opened
from followed_home import GOOD, fill_sources
from followed_home import HOSTILE as HOSTILE_SOURCE
from fonds.grouping.views.clusters import load_clusters
from fonds.web.app import create_app
from fonds.web.pages.theme_links import (
    link_to_assignment,
    link_to_collection,
    link_to_exclusions,
    link_to_reason,
    link_to_theme,
)
from reading_home import Reading, drawing_here, fill_reading
from themed_home import FIVE, HOSTILE, STRAY, fill_themes

TEXT_MIN_PX, CONTRAST_MIN = 10.0, 4.5

SVG_TEXTS = """() => {
  const luminance = (css) => {
    const parts = css.match(/[\\d.]+/g).slice(0, 3).map((n) => n / 255)
      .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const paper = luminance(getComputedStyle(document.documentElement).backgroundColor);
  return [...document.querySelectorAll("svg text")].filter((t) => t.getClientRects().length).map((t) => {
    const ink = luminance(getComputedStyle(t).fill);
    const box = t.getBoundingClientRect();
    return {
      words: t.textContent,
      px: parseFloat(getComputedStyle(t).fontSize) * t.getScreenCTM().d,
      contrast: (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05),
      box: [box.left, box.top, box.right, box.bottom],
    };
  });
}"""

AS_OF = "q=flood&day=2026-03-14&became=unchanged"
NOTHING_READ = Reading("", "", ("", "", ""), "")


@dataclass(frozen=True, slots=True)
class Site:
    """A filled and an empty library, both served, and the browser to look at them."""

    browser: Browser
    filled: Filled
    full: str
    empty: str
    theme: str = ""
    read: str = ""
    reading: Reading = NOTHING_READ
    chosen: str = ""

    def pages(self) -> dict[str, tuple[str, int]]:
        """Name -> (address, status) of every kind of page in every state."""
        story = f"{self.read}/file/{self.reading.versions[2]}"
        return {
            "overview": (f"{self.full}/", 200),
            "overview, empty": (f"{self.empty}/", 200),
            "records": (f"{self.full}/records?weight=set-aside", 200),
            "records, none": (f"{self.full}/records?reason=bomb", 200),
            "files": (f"{self.full}/files", 200),
            "search": (f"{self.full}/search?q=flood", 200),
            "search, filtered": (f"{self.full}/search?q=flood&kind=pdf&from=2019-01-01", 200),
            "search, by day added": (f"{self.full}/search?q=flood&dates=added&sort=newest", 200),
            "search, nothing": (f"{self.full}/search?q=flood&kind=pdf&language=de", 200),
            "search, as of a day": (f"{self.full}/search/as-of?{AS_OF}", 200),
            "search, as of no day": (f"{self.full}/search/as-of?q=flood", 200),
            "search, as of tomorrow": (f"{self.full}/search/as-of?q=flood&day=2999-01-01", 400),
            "search, error": (f"{self.full}/search?q=kind:sculpture", 400),
            "search, empty": (f"{self.empty}/search", 200),
            "file, PDF": (f"{self.full}/file/{self.filled.long}", 200),
            "file, hostile": (f"{self.full}/file/{self.filled.hostile}", 200),
            "file, broken": (f"{self.full}/file/{self.filled.broken}", 200),
            "file, pending": (f"{self.full}/file/{self.filled.pending}", 200),
            "file, unknown": (f"{self.full}/file/{'0' * 40}", 404),
            "look up": (f"{self.full}/show?key={self.filled.twice_url}", 200),
            "failures": (f"{self.full}/failures", 200),
            "failures, none": (f"{self.empty}/failures", 200),
            "page of a PDF": (f"{self.read}/file/{self.reading.pdf}/pages/3?q=flood", 200),
            "page of a PDF, not drawn": (f"{self.read}/file/{self.reading.broken}/pages/1", 200),
            "story with versions": (story, 200),
            "story with words marked": (f"{story}?find=bridge#hit-1", 200),
            "story from right to left": (f"{self.read}/file/{self.reading.hebrew}", 200),
            "what changed": (f"{story}/changes", 200),
            "failures, many groups": (f"{self.full}/failures?step=extract_pdf", 200),
            "failures, asked": (f"{self.full}/failures/retry?{self.chosen}", 200),
            "failures, final?": (f"{self.full}/failures/accept?{self.chosen}", 200),
            "pipeline": (f"{self.full}/pipeline", 200),
            "pipeline, nothing waits": (f"{self.empty}/pipeline", 200),
            "verify a result": (f"{self.full}/verify", 200),
            "look up, sources": (f"{self.full}/show?key={GOOD.url}/2026/1", 404),
            "how a page is cited": (f"{self.read}/file/{self.reading.pdf}/cite?page=2", 200),
            "how words are cited": (f"{self.read}/file/{self.reading.pdf}/cite?quote=flood", 200),
            "words it does not say": (f"{self.read}/file/{self.reading.pdf}/cite?quote=ebb", 404),
            "bytes of a file": (f"{self.read}/file/{self.reading.pdf}/raw", 200),
            "silent edits": (f"{self.read}/changes", 200),
            "API": (f"{self.full}/docs", 200),
            "collections": (f"{self.full}/themes", 200),
            "collections, none": (f"{self.empty}/themes", 200),
            "collection": (f"{self.full}{link_to_collection(FIVE)}", 200),
            "collection, hostile": (f"{self.full}{link_to_collection(HOSTILE)}", 200),
            "collection, not grouped": (f"{self.full}/themes/made/waiting", 200),
            "collection, unknown": (f"{self.full}/themes/made/fife", 404),
            "themes over time": (f"{self.full}{link_to_collection(FIVE)}/over-time", 200),
            "documents of a theme": (
                f"{self.full}{link_to_reason(FIVE, 'outlier')}/documents",
                200,
            ),
            "theme": (f"{self.full}{self.theme}", 200),
            "documents taken out": (f"{self.full}{link_to_exclusions(FIVE)}", 200),
            "theme, in none": (f"{self.full}{link_to_reason(FIVE)}", 200),
            "theme, outliers": (f"{self.full}{link_to_reason(FIVE, 'outlier')}", 200),
            "sources": (f"{self.full}/sources", 200),
            "sources, none": (f"{self.empty}/sources", 200),
            "source": (f"{self.full}/sources/{GOOD.source_id}", 200),
            "source, failing": (f"{self.full}/sources/{HOSTILE_SOURCE.source_id}", 200),
            "source, links": (f"{self.full}/sources/{GOOD.source_id}/links", 200),
            "document": (f"{self.full}{link_to_assignment(FIVE, 'd1')}", 200),
            "document, outlier": (f"{self.full}{link_to_assignment(FIVE, STRAY)}", 200),
        }

    @contextmanager
    def looking(self, address: str, status: int, **settings: Any) -> Iterator[Page]:
        """A page opened in a context of its own; its requests and its console must stay clean."""
        with looking(self.browser, address, status, **settings) as page:
            yield page


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("full")
    read = tmp_path_factory.mktemp("read")
    filled, reading = fill_home(folder), fill_reading(read)
    with (
        opened(folder) as stores,
        opened(tmp_path_factory.mktemp("empty")) as nothing,
        opened(read) as readable,
        launched() as browser,
    ):
        fill_sources(stores)
        clusters = load_clusters(fill_themes(stores).tables, FIVE)
        assert clusters is not None
        theme = link_to_theme(FIVE, clusters.clusters[0].id)
        fail(stores, 900, 903)
        chosen = f"pipeline=library&entry={body(900).capture_id}"
        pages = create_app(readable, views=drawing_here())
        with (
            running(create_app(stores)) as full,
            running(create_app(nothing)) as empty,
            running(pages) as read,
        ):
            yield Site(browser, filled, full, empty, theme, read, reading, chosen)


NAMES = list(Site(None, Filled(), "", "").pages())  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_usable_and_reads_the_same_without_scripts(site: Site, name: str) -> None:
    """No page sends a request to another host, whatever is checked of it."""
    address, status = site.pages()[name]
    with site.looking(address, status, bypass_csp=True, **LIGHT) as page:
        with_scripts = page.locator("main").inner_text()
        is_usable(page)
    with site.looking(address, status, java_script_enabled=False, **LIGHT) as page:
        assert page.locator("h1").count() == 1
        assert page.locator("main").inner_text() == with_scripts


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", ["search", "collection", "theme"])
def test_words_in_pictures_can_be_read_and_do_not_overlap(
    site: Site, name: str, setting: str
) -> None:
    address, status = site.pages()[name]
    with site.looking(address, status, **SETTINGS[setting]) as page:
        texts = page.evaluate(SVG_TEXTS)
    assert bool(texts) is (name == "collection"), "histograms have their words in HTML"
    for one in texts:
        assert one["px"] >= TEXT_MIN_PX, one
        assert one["contrast"] >= CONTRAST_MIN, one
    for number, one in enumerate(texts):
        for text in texts[:number]:
            assert not _overlap(one["box"], text["box"]), (one, text)


def _overlap(one: list[float], other: list[float]) -> bool:
    return (
        one[0] < other[2] - 1
        and other[0] < one[2] - 1
        and one[1] < other[3] - 4
        and other[1] < one[3] - 4
    )


def test_searching_filtering_and_opening_a_file_needs_no_scripts(site: Site) -> None:
    with site.looking(f"{site.full}/search", 200, java_script_enabled=False, **LIGHT) as page:
        page.get_by_label("Search", exact=True).fill("flood -council")
        page.get_by_role("button", name="Search").click()
        page.locator("#facets").get_by_role("link", name="PDF 4").click()
        page.wait_for_selector(".chips")
        assert page.url == f"{site.full}/search?q=flood+-council&kind=pdf"
        heading = "4 documents found for “flood -council” with these filters"
        assert page.locator("h1").inner_text() == heading
        page.locator(".hits").get_by_role("link").first.click()
        page.wait_for_selector("#history")
        assert page.locator("#history li").count() == 7
        page.go_back()
        assert page.url.endswith("kind=pdf")


def test_themes_are_walked_from_the_map_to_a_document_without_scripts(site: Site) -> None:
    address = f"{site.full}{link_to_collection(FIVE)}"
    with site.looking(address, 200, java_script_enabled=False, **LIGHT) as page:
        circle = page.locator("svg.map a").first
        label = (circle.locator("title").text_content() or "").partition(":")[0]
        circle.locator("circle").click()
        assert page.locator("h1").inner_text() == label
        page.get_by_role("link", name="Why is this here?").first.click()
        assert page.locator("h1").inner_text() == f"Why it is in “{label}”"
        page.get_by_role("main").get_by_role("link", name=label, exact=True).click()
        assert page.locator("h1").inner_text() == label
        page.get_by_role("link", name="Next →").click()
        assert "after=" in page.url
        assert page.locator(".hits li").count() > 0


def test_failures_are_tried_again_after_a_question_without_scripts(site: Site) -> None:
    address = f"{site.full}/failures?reason=timeout&step=extract_pdf"
    with site.looking(address, 200, java_script_enabled=False, **LIGHT) as page:
        page.get_by_role("link", name="Retry all 2").click()
        assert page.locator("h1").inner_text() == "Try 2 failures again?"
        page.get_by_role("button", name="Retry failures").click()
        assert page.locator("h1").inner_text() == "2 failures were put back to work"
        page.go_back()
        page.get_by_role("button", name="Retry failures").click()
        assert page.locator("h1").inner_text() == "2 failures were put back to work"
        page.get_by_role("link", name="All failures").click()
        assert page.locator("h1").inner_text().startswith(f"{FAILED} failed records")


def test_every_number_of_the_overview_can_be_clicked(site: Site) -> None:
    with site.looking(f"{site.full}/", 200, **LIGHT) as page:
        failed = page.locator(".sum .failed .figure").inner_text()
        page.locator(".sum .failed a").click()
        assert page.locator("h1").inner_text().startswith(f"{failed} records failed")
        page.go_back()
        page.get_by_text("Show all reasons").click()
        page.locator(".ledger").get_by_role("link", name=str(DUPLICATES), exact=True).click()
        assert page.locator("h1").inner_text() == f"{DUPLICATES} records skipped as duplicate"


def test_the_first_stop_of_the_keyboard_leads_past_the_navigation(site: Site) -> None:
    with site.looking(f"{site.full}/", 200, **LIGHT) as page:
        page.keyboard.press("Tab")
        skip = page.locator(":focus")
        assert skip.inner_text() == "Skip to content"
        assert skip.bounding_box()["y"] >= 0  # type: ignore[index]
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"


def test_a_phone_shows_how_much_is_in_quarantine(site: Site) -> None:
    """Without scrolling sideways; the other columns of the pipeline may lie beyond the edge."""
    width = 390
    address, status = site.pages()["pipeline"]
    with site.looking(address, status, viewport={"width": width, "height": 844}) as page:
        heads = page.get_by_role("columnheader", name="In quarantine")
        assert heads.count() > 0
        for number in range(heads.count()):
            box = heads.nth(number).bounding_box()
            assert box is not None
            assert box["x"] + box["width"] <= width


def test_pictures_hold_the_keyboard_up_nowhere(site: Site) -> None:
    with site.looking(f"{site.full}/search?q=flood", 200, **LIGHT) as page:
        assert page.locator("svg a").count() > 5
        assert page.locator("svg a:not([tabindex='-1'])").count() == 0


def test_printed_pages_leave_the_navigation_out_and_the_tables_in(site: Site) -> None:
    with site.looking(f"{site.full}/", 200, **LIGHT) as page:
        navigation = page.get_by_role("navigation", include_hidden=True)
        assert all(one.is_visible() for one in navigation.all())
        page.emulate_media(media="print")
        assert not any(one.is_visible() for one in navigation.all())
        for table in page.locator(".ledger table").all():
            assert table.bounding_box()["height"] > 100  # type: ignore[index]


def test_archived_html_is_downloaded_and_never_shown(site: Site, tmp_path: Path) -> None:
    with site.looking(f"{site.full}/file/{site.filled.hostile}", 200, **LIGHT) as page:
        with page.expect_download() as waiting:
            page.get_by_role("link", name="Download file").click()
        waiting.value.save_as(tmp_path / "body")
        assert waiting.value.suggested_filename == f"{site.filled.hostile}.bin"
    assert b"<script>" in (tmp_path / "body").read_bytes()


def test_opening_a_file_never_runs_what_it_holds(site: Site) -> None:
    for path in ("", "/text"):
        address = f"{site.full}/file/{site.filled.hostile}{path}"
        with site.looking(address, 200, **LIGHT) as page:
            page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
            assert page.locator("body script").count() == 0
