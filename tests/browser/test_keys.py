"""Keys of the pages in a real browser: what each does, and that none does anything where it must not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Request, expect, sync_playwright

from browser.browsing import QUIET, chromium, running
from filled_home import fill_home, opened
from fonds.web.app import create_app
from reading_home import Reading, drawing_here, fill_reading

expect.set_options(timeout=30_000)

WIDE: dict[str, Any] = {"viewport": {"width": 1280, "height": 900}}
PLACES = {
    "s": "search",
    "t": "themes",
    "r": "sources",
    "p": "pipeline",
    "f": "failures",
    "l": "show",
    "o": "",
}
LETTERS = ("/", "?", "j", "k", "e", "d", "[", "]", "g", "o", "g", "s", "g", "f")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = chromium()
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=list(QUIET))
        yield found
        found.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("full")
    fill_home(folder)
    with opened(folder) as stores, running(create_app(stores)) as found:
        yield found


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Reading]]:
    folder = tmp_path_factory.mktemp("read")
    filled = fill_reading(folder)
    with (
        opened(folder) as stores,
        running(create_app(stores, views=drawing_here())) as found,
    ):
        yield found, filled


@contextmanager
def at(browser: Browser, address: str, **settings: Any) -> Iterator[Page]:
    """A page of a new visitor; its scripts raise nothing and ask nobody else."""
    context = browser.new_context(**WIDE | settings)
    page = context.new_page()
    complaints: list[str] = []
    requests: list[Request] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request))
    try:
        page.goto(address)
        yield page
        assert complaints == []
        assert {one.url.split("/")[2] for one in requests} == {address.split("/")[2]}
    finally:
        context.close()


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_two_letters_go_to_each_page_of_the_head(browser: Browser, site: str) -> None:
    with at(browser, f"{site}/") as page:
        for letter, name in PLACES.items():
            press(page, "g", letter)
            page.wait_for_url(f"{site}/{name}")


def test_the_box_is_reached_from_any_page_and_takes_what_is_typed(
    browser: Browser, site: str
) -> None:
    with at(browser, f"{site}/pipeline") as page:
        press(page, "/")
        page.wait_for_url(f"{site}/search#q")
        box = page.get_by_label("Search", exact=True)
        expect(box).to_be_focused()
        press(page, *"?/jgo")
        expect(box).to_have_value("?/jgo")
        expect(page.get_by_role("dialog")).to_have_count(0)


def test_rows_one_after_the_other_and_back(browser: Browser, site: str) -> None:
    with at(browser, f"{site}/search?q=flood") as page:
        titles = page.locator("main li.hit").locator("a[href]:visible").all()
        assert len(titles) > 2
        focused = "document.activeElement.closest('li.hit') === document.querySelectorAll('main li.hit')[{}]"
        press(page, "j")
        assert page.evaluate(focused.format(0))
        press(page, "j", "j", "k")
        assert page.evaluate(focused.format(1))
        press(page, "Enter")
        page.wait_for_url("**/file/*")


def test_pages_of_a_list_a_pdf_and_the_versions_of_a_story(
    browser: Browser, site: str, reading: tuple[str, Reading]
) -> None:
    with at(browser, f"{site}/search?q=flood&collapse=no&size=2") as page:
        press(page, "]")
        page.wait_for_url("**page=2**")
        press(page, "[")
        page.wait_for_url(lambda url: "page=2" not in url)
    origin, filled = reading
    with at(browser, f"{origin}/file/{filled.pdf}/pages/2") as page:
        press(page, "]")
        page.wait_for_url("**/pages/3")
    with at(browser, f"{origin}/file/{filled.versions[1]}") as page:
        press(page, "d")
        page.wait_for_url(f"**/file/{filled.versions[1]}/changes**")


def test_the_export_is_opened(browser: Browser, site: str) -> None:
    with at(browser, f"{site}/search?q=flood") as page:
        expect(page.locator(".exports a").first).to_be_hidden()
        press(page, "e")
        expect(page.locator(".exports a").first).to_be_visible()


def test_they_are_told_and_switched_off_for_good(browser: Browser, site: str) -> None:
    with at(browser, f"{site}/search?q=flood", bypass_csp=True) as page:
        press(page, "?")
        told = page.get_by_role("dialog", name="Keyboard shortcuts")
        for words in ("Go to search", "Overview", "Export all"):
            expect(told).to_contain_text(words)
        found = Axe().run(page, options={"rules": {"target-size": {"enabled": True}}})
        assert found.violations_count == 0, found.generate_report()
        page.get_by_label("Enable shortcuts").uncheck()
        press(page, "Escape")
        expect(told).to_have_count(0)
        before = page.url
        for _ in range(2):
            press(page, *LETTERS)
            assert page.url == before
            expect(page.get_by_role("dialog")).to_have_count(0)
            assert page.evaluate("document.activeElement === document.body")
            page.reload()
        page.get_by_role("button", name="Keyboard shortcuts").click()
        page.get_by_label("Enable shortcuts").check()
        page.get_by_role("button", name="Close").click()
        press(page, "g", "f")
        page.wait_for_url(f"{site}/failures")


def test_they_do_nothing_with_other_keys_held_or_when_unknown(browser: Browser, site: str) -> None:
    with at(browser, f"{site}/search?q=flood") as page:
        before = page.url
        press(page, "g", "z", "o", "Control+j", "Alt+k", "g", "Escape", "x")
        assert page.url == before
        assert page.evaluate("document.activeElement === document.body")


def test_without_scripts_no_page_speaks_of_them(browser: Browser, site: str) -> None:
    with at(browser, f"{site}/", java_script_enabled=False) as page:
        expect(page.get_by_role("button", name="Keyboard shortcuts")).to_have_count(0)
