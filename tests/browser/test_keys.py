"""Keys of the pages in a real browser: what each does, and that none does anything where it must not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Error, Page, Request, expect

from browser.library import Library

expect.set_options(timeout=30_000)
pytestmark = pytest.mark.xdist_group("forms")

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


@contextmanager
def at(page: Page, address: str) -> Iterator[Page]:
    """A page whose scripts raise nothing and ask nobody else."""
    complaints: list[str] = []
    requests: list[Request] = []

    def note_error(error: Error) -> None:
        complaints.append(str(error))

    def note_request(request: Request) -> None:
        requests.append(request)

    # The page before may still be asking for something.
    page.goto("about:blank")
    page.on("pageerror", note_error)
    page.on("request", note_request)
    try:
        page.goto(address)
        yield page
        assert complaints == []
        assert {one.url.split("/")[2] for one in requests} == {address.split("/")[2]}
    finally:
        page.remove_listener("pageerror", note_error)
        page.remove_listener("request", note_request)


@contextmanager
def new_page(browser: Browser, **settings: Any) -> Iterator[Page]:
    """The page of a new visitor."""
    context = browser.new_context(**WIDE | settings)
    yield context.new_page()
    context.close()


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_two_letters_go_to_each_page_of_the_head(page: Page, library: Library) -> None:
    with at(page, f"{library.full}/"):
        for letter, name in PLACES.items():
            press(page, "g", letter)
            page.wait_for_url(f"{library.full}/{name}")


def test_the_box_is_reached_from_any_page_and_takes_what_is_typed(
    page: Page, library: Library
) -> None:
    with at(page, f"{library.full}/pipeline"):
        press(page, "/")
        page.wait_for_url(f"{library.full}/search#q")
        box = page.get_by_label("Search", exact=True)
        expect(box).to_be_focused()
        press(page, *"?/jgo")
        expect(box).to_have_value("?/jgo")
        expect(page.get_by_role("dialog")).to_have_count(0)


def test_rows_one_after_the_other_and_back(page: Page, library: Library) -> None:
    with at(page, f"{library.full}/search?q=flood"):
        titles = page.locator("main li.hit").locator("a[href]:visible").all()
        assert len(titles) > 2
        focused = "document.activeElement.closest('li.hit') === document.querySelectorAll('main li.hit')[{}]"
        press(page, "j")
        assert page.evaluate(focused.format(0))
        press(page, "j", "j", "k")
        assert page.evaluate(focused.format(1))
        press(page, "Enter")
        page.wait_for_url("**/file/*")


def test_pages_of_a_list_a_pdf_and_the_versions_of_a_story(page: Page, library: Library) -> None:
    with at(page, f"{library.full}/search?q=flood&collapse=no&size=2"):
        press(page, "]")
        page.wait_for_url("**page=2**")
        press(page, "[")
        page.wait_for_url(lambda url: "page=2" not in url)
    filled = library.reading
    with at(page, f"{library.read}/file/{filled.pdf}/pages/2"):
        press(page, "]")
        page.wait_for_url("**/pages/3")
    with at(page, f"{library.read}/file/{filled.versions[1]}"):
        press(page, "d")
        page.wait_for_url(f"**/file/{filled.versions[1]}/changes**")


def test_the_export_is_opened(page: Page, library: Library) -> None:
    with at(page, f"{library.full}/search?q=flood"):
        expect(page.locator(".exports a").first).to_be_hidden()
        press(page, "e")
        expect(page.locator(".exports a").first).to_be_visible()


def test_they_are_told_and_switched_off_for_good(browser: Browser, library: Library) -> None:
    with (
        new_page(browser, bypass_csp=True) as new,
        at(new, f"{library.full}/search?q=flood") as page,
    ):
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
        page.wait_for_url(f"{library.full}/failures")


def test_they_do_nothing_with_other_keys_held_or_when_unknown(page: Page, library: Library) -> None:
    with at(page, f"{library.full}/search?q=flood"):
        before = page.url
        press(page, "g", "z", "o", "Control+j", "Alt+k", "g", "Escape", "x")
        assert page.url == before
        assert page.evaluate("document.activeElement === document.body")


def test_without_scripts_no_page_speaks_of_them(browser: Browser, library: Library) -> None:
    with new_page(browser, java_script_enabled=False) as new, at(new, f"{library.full}/") as page:
        expect(page.get_by_role("button", name="Keyboard shortcuts")).to_have_count(0)
