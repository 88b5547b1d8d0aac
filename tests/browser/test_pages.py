"""The pages in a real browser: light, dark, narrow, printed and without scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from browser.browsing import serve_app
from browser.library import FAILED_BODIES, PAGES, Library
from browser.matrix import (
    LIGHT,
    SETTINGS,
    Visitor,
    check_legible,
    check_usable,
    name_in_failures,
    open_page,
    open_visitor,
)
from browser.templates import REPRESENTATIVES, RenderedTemplates
from failed_home import fail
from filled_crawl import DUPLICATES, FAILED
from filled_home import fill_home, open_home
from fonds.web.app import create_app
from fonds.web.pages.theme_links import link_to_collection
from themed_home import FIVE

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

ON_PUSH = [name for name in REPRESENTATIVES.values() if name in PAGES]
PICTURED = {"search": False, "collection": True, "theme": False}
"""Whether a page has text in pictures. Histograms have their text in HTML."""

pytestmark = pytest.mark.xdist_group("library")


def test_a_page_of_each_template_is_usable_and_equal_without_scripts(
    browser: Browser, library: Library
) -> None:
    """No page sends a request to another host."""
    with (
        open_visitor(browser, bypass_csp=True, **LIGHT) as visitor,
        open_visitor(browser, java_script_enabled=False, **LIGHT) as plain,
    ):
        for name in ON_PUSH:
            with name_in_failures(name):
                _check_with_and_without_scripts(library, name, visitor, plain)


@pytest.mark.nightly
@pytest.mark.parametrize("name", [name for name in PAGES if name not in ON_PUSH])
def test_every_page_is_usable_and_equal_without_scripts(
    browser: Browser, library: Library, name: str
) -> None:
    with (
        open_visitor(browser, bypass_csp=True, **LIGHT) as visitor,
        open_visitor(browser, java_script_enabled=False, **LIGHT) as plain,
    ):
        _check_with_and_without_scripts(library, name, visitor, plain)


def _check_with_and_without_scripts(
    library: Library, name: str, visitor: Visitor, plain: Visitor
) -> None:
    address, _, status = library.list_pages()[name]
    with visitor.visit(address, status) as page:
        with_scripts = page.locator("main").inner_text()
        check_usable(page)
    with plain.visit(address, status) as page:
        assert page.locator("h1").count() == 1
        assert page.locator("main").inner_text() == with_scripts


def test_every_page_has_its_template_and_fits_a_phone(
    browser: Browser, library: Library, templates: RenderedTemplates
) -> None:
    """No page sends a request to another host or logs an error."""
    narrow = SETTINGS["narrow"]
    with open_visitor(browser, **narrow) as visitor:
        for name, (address, template, status) in library.list_pages().items():
            with (
                name_in_failures(name),
                templates.expect(template),
                visitor.visit(address, status) as page,
            ):
                assert page.locator("h1").count() == 1
                check_legible(page, narrow["viewport"]["width"])


def test_text_in_pictures_is_legible_and_does_not_overlap(
    browser: Browser, library: Library
) -> None:
    with open_visitor(browser, **LIGHT) as visitor:
        for name, is_pictured in PICTURED.items():
            address, _, status = library.list_pages()[name]
            with name_in_failures(name), visitor.visit(address, status) as page:
                for setting, medium in SETTINGS.items():
                    page.set_viewport_size(medium["viewport"])
                    page.emulate_media(color_scheme=medium["color_scheme"])
                    texts: list[dict[str, Any]] = page.evaluate(SVG_TEXTS)
                    assert bool(texts) is is_pictured, setting
                    _check_texts(texts, setting)


def _check_texts(texts: list[dict[str, Any]], setting: str) -> None:
    for number, text in enumerate(texts):
        assert text["px"] >= TEXT_MIN_PX, (setting, text)
        assert text["contrast"] >= CONTRAST_MIN, (setting, text)
        for other in texts[:number]:
            assert not _overlap(text["box"], other["box"]), (setting, text, other)


def _overlap(first: list[float], second: list[float]) -> bool:
    return (
        first[0] < second[2] - 1
        and second[0] < first[2] - 1
        and first[1] < second[3] - 4
        and second[1] < first[3] - 4
    )


def test_search_filters_and_files_work_without_scripts(browser: Browser, library: Library) -> None:
    with open_page(
        browser, f"{library.full}/search", 200, java_script_enabled=False, **LIGHT
    ) as page:
        page.get_by_label("Search", exact=True).fill("flood -council")
        page.get_by_role("button", name="Search").click()
        page.locator("#facets").get_by_role("link", name="PDF 4").click()
        page.wait_for_selector(".chips")
        assert page.url == f"{library.full}/search?q=flood+-council&kind=pdf"
        heading = "4 documents found for “flood -council” with these filters"
        assert page.locator("h1").inner_text() == heading
        page.locator(".hits").get_by_role("link").first.click()
        page.wait_for_selector("#history")
        assert page.locator("#history li").count() == 7
        page.go_back()
        assert page.url.endswith("kind=pdf")


def test_themes_link_from_the_map_to_documents_without_scripts(
    browser: Browser, library: Library
) -> None:
    address = f"{library.full}{link_to_collection(FIVE)}"
    with open_page(browser, address, 200, java_script_enabled=False, **LIGHT) as page:
        circle = page.locator("svg.map a").first
        label = (circle.locator("title").text_content() or "").partition(":")[0]
        circle.locator("circle").click()
        assert page.locator("h1").inner_text() == label
        page.get_by_role("link", name="Why is this here?").first.click()
        assert page.locator("h1").inner_text() == f"Why this document is in “{label}”"
        page.get_by_role("main").get_by_role("link", name=label, exact=True).click()
        assert page.locator("h1").inner_text() == label
        page.get_by_role("link", name="Next →").click()
        assert "after=" in page.url
        assert page.locator(".hits li").count() > 0


def test_failures_are_retried_after_confirmation_without_scripts(
    browser: Browser, tmp_path: Path
) -> None:
    fill_home(tmp_path)
    with (
        open_home(tmp_path) as stores,
        serve_app(create_app(stores)) as origin,
        open_visitor(browser, java_script_enabled=False, **LIGHT) as visitor,
    ):
        fail(stores, *FAILED_BODIES)
        address = f"{origin}/failures?reason=timeout&step=extract_pdf"
        with visitor.visit(address, 200) as page:
            page.get_by_role("link", name="Retry all 2").click()
            assert page.locator("h1").inner_text() == "Retry 2 failures?"
            page.get_by_role("button", name="Retry failures").click()
            assert page.locator("h1").inner_text() == "2 failures were sent back to their step"
            page.go_back()
            page.get_by_role("button", name="Retry failures").click()
            assert page.locator("h1").inner_text() == "2 failures were sent back to their step"
            page.get_by_role("link", name="All failures").click()
            assert page.locator("h1").inner_text().startswith(f"{FAILED} failed records")


def test_numbers_of_the_overview_link_to_their_records(browser: Browser, library: Library) -> None:
    with open_page(browser, f"{library.full}/", 200, **LIGHT) as page:
        failed = page.locator(".sum .failed .figure").inner_text()
        page.locator(".sum .failed a").click()
        assert page.locator("h1").inner_text().startswith(f"{failed} records failed")
        page.go_back()
        page.get_by_text("Show all reasons").click()
        page.locator(".ledger").get_by_role("link", name=str(DUPLICATES), exact=True).click()
        assert page.locator("h1").inner_text() == f"{DUPLICATES} records skipped as duplicate"


def test_the_first_tab_stop_skips_the_navigation(browser: Browser, library: Library) -> None:
    with open_page(browser, f"{library.full}/", 200, **LIGHT) as page:
        page.keyboard.press("Tab")
        skip = page.locator(":focus")
        assert skip.inner_text() == "Skip to content"
        assert skip.bounding_box()["y"] >= 0  # type: ignore[index]
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"


def test_a_phone_shows_the_quarantine_column(browser: Browser, library: Library) -> None:
    """The column is visible without scrolling; other columns of the pipeline may need it."""
    width = 390
    address, _, status = library.list_pages()["pipeline"]
    with open_page(browser, address, status, viewport={"width": width, "height": 844}) as page:
        heads = page.get_by_role("columnheader", name="In quarantine")
        assert heads.count() > 0
        for number in range(heads.count()):
            box = heads.nth(number).bounding_box()
            assert box is not None
            assert box["x"] + box["width"] <= width


def test_pictures_have_no_tab_stops(browser: Browser, library: Library) -> None:
    with open_page(browser, f"{library.full}/search?q=flood", 200, **LIGHT) as page:
        assert page.locator("svg a").count() > 5
        assert page.locator("svg a:not([tabindex='-1'])").count() == 0


def test_printed_pages_omit_the_navigation_and_show_tables(
    browser: Browser, library: Library
) -> None:
    with open_page(browser, f"{library.full}/", 200, **LIGHT) as page:
        navigation = page.get_by_role("navigation", include_hidden=True)
        assert all(element.is_visible() for element in navigation.all())
        page.emulate_media(media="print")
        assert not any(element.is_visible() for element in navigation.all())
        for table in page.locator(".ledger table").all():
            assert table.bounding_box()["height"] > 100  # type: ignore[index]


def test_archived_html_is_downloaded_instead_of_shown(
    browser: Browser, library: Library, tmp_path: Path
) -> None:
    with open_page(browser, f"{library.full}/file/{library.filled.hostile}", 200, **LIGHT) as page:
        with page.expect_download() as waiting:
            page.get_by_role("link", name="Download file").click()
        waiting.value.save_as(tmp_path / "body")
        assert waiting.value.suggested_filename == f"{library.filled.hostile}.bin"
    assert b"<script>" in (tmp_path / "body").read_bytes()


def test_opening_a_file_runs_none_of_its_scripts(browser: Browser, library: Library) -> None:
    for path in ("", "/text"):
        address = f"{library.full}/file/{library.filled.hostile}{path}"
        with open_page(browser, address, 200, **LIGHT) as page:
            page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
            assert page.locator("body script").count() == 0
