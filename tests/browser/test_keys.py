"""Keyboard shortcuts in a real browser: what each does, and where they are inactive."""

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
def open_address(page: Page, address: str) -> Iterator[Page]:
    """Open a page; check that its scripts raise no errors and request no other hosts."""
    errors: list[str] = []
    requests: list[Request] = []

    def note_error(error: Error) -> None:
        errors.append(str(error))

    def note_request(request: Request) -> None:
        requests.append(request)

    # The previous page may still send requests.
    page.goto("about:blank")
    page.on("pageerror", note_error)
    page.on("request", note_request)
    try:
        page.goto(address)
        yield page
        assert errors == []
        assert {request.url.split("/")[2] for request in requests} == {address.split("/")[2]}
    finally:
        page.remove_listener("pageerror", note_error)
        page.remove_listener("request", note_request)


@contextmanager
def new_page(browser: Browser, **settings: Any) -> Iterator[Page]:
    """Yield a page in a new context."""
    context = browser.new_context(**WIDE | settings)
    yield context.new_page()
    context.close()


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_two_letters_open_each_page_of_the_navigation(page: Page, library: Library) -> None:
    with open_address(page, f"{library.full}/"):
        for letter, name in PLACES.items():
            press(page, "g", letter)
            page.wait_for_url(f"{library.full}/{name}")


def test_slash_focuses_the_search_box_which_accepts_typed_text(
    page: Page, library: Library
) -> None:
    with open_address(page, f"{library.full}/pipeline"):
        press(page, "/")
        page.wait_for_url(f"{library.full}/search#q")
        box = page.get_by_label("Search", exact=True)
        expect(box).to_be_focused()
        press(page, *"?/jgo")
        expect(box).to_have_value("?/jgo")
        expect(page.get_by_role("dialog")).to_have_count(0)


def test_j_and_k_move_between_hits(page: Page, library: Library) -> None:
    with open_address(page, f"{library.full}/search?q=flood"):
        titles = page.locator("main li.hit").locator("a[href]:visible").all()
        assert len(titles) > 2
        focused = "document.activeElement.closest('li.hit') === document.querySelectorAll('main li.hit')[{}]"
        press(page, "j")
        assert page.evaluate(focused.format(0))
        press(page, "j", "j", "k")
        assert page.evaluate(focused.format(1))
        press(page, "Enter")
        page.wait_for_url("**/file/*")


def test_shortcuts_change_pages_of_lists_and_pdfs_and_show_changes(
    page: Page, library: Library
) -> None:
    with open_address(page, f"{library.full}/search?q=flood&collapse=no&size=2"):
        press(page, "]")
        page.wait_for_url("**page=2**")
        press(page, "[")
        page.wait_for_url(lambda url: "page=2" not in url)
    filled = library.reading
    with open_address(page, f"{library.read}/file/{filled.pdf}/pages/2"):
        press(page, "]")
        page.wait_for_url("**/pages/3")
    with open_address(page, f"{library.read}/file/{filled.versions[1]}"):
        press(page, "d")
        page.wait_for_url(f"**/file/{filled.versions[1]}/changes**")


def test_e_opens_the_export(page: Page, library: Library) -> None:
    with open_address(page, f"{library.full}/search?q=flood"):
        expect(page.locator(".exports a").first).to_be_hidden()
        press(page, "e")
        expect(page.locator(".exports a").first).to_be_visible()


def test_shortcuts_are_listed_and_can_be_disabled(browser: Browser, library: Library) -> None:
    with (
        new_page(browser, bypass_csp=True) as new,
        open_address(new, f"{library.full}/search?q=flood") as page,
    ):
        press(page, "?")
        dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
        for words in ("Go to search", "Overview", "Export all"):
            expect(dialog).to_contain_text(words)
        results = Axe().run(page, options={"rules": {"target-size": {"enabled": True}}})
        assert results.violations_count == 0, results.generate_report()
        page.get_by_label("Enable shortcuts").uncheck()
        press(page, "Escape")
        expect(dialog).to_have_count(0)
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


def test_modifiers_and_unknown_keys_do_nothing(page: Page, library: Library) -> None:
    with open_address(page, f"{library.full}/search?q=flood"):
        before = page.url
        press(page, "g", "z", "o", "Control+j", "Alt+k", "g", "Escape", "x")
        assert page.url == before
        assert page.evaluate("document.activeElement === document.body")


def test_without_scripts_pages_do_not_mention_shortcuts(browser: Browser, library: Library) -> None:
    with (
        new_page(browser, java_script_enabled=False) as new,
        open_address(new, f"{library.full}/") as page,
    ):
        expect(page.get_by_role("button", name="Keyboard shortcuts")).to_have_count(0)
