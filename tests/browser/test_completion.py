"""Completion of the search box in a real browser: by keyboard and mouse, and for screen readers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Error, Locator, Page, Request, expect

from browser.library import Library
from browser.matrix import DEFAULT_MEDIA, check_accessible
from depth import IS_NIGHTLY

expect.set_options(timeout=30_000)
pytestmark = pytest.mark.xdist_group("forms")

WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 320, "height": 640}


@contextmanager
def open_box(page: Page, address: str) -> Iterator[Locator]:
    """Yield the search box of a page; check that scripts raise no errors and request no other hosts."""
    errors: list[str] = []
    requests: list[Request] = []

    def note_error(error: Error) -> None:
        errors.append(str(error))

    def note_message(message: ConsoleMessage) -> None:
        _note(message.text, errors)

    def note_request(request: Request) -> None:
        requests.append(request)

    # The previous page may still send requests.
    page.goto("about:blank")
    page.on("pageerror", note_error)
    page.on("console", note_message)
    page.on("request", note_request)
    try:
        page.goto(address)
        yield page.get_by_label("Search", exact=True)
        assert errors == []
        assert {request.url.split("/")[2] for request in requests} == {address.split("/")[2]}
    finally:
        page.remove_listener("pageerror", note_error)
        page.remove_listener("console", note_message)
        page.remove_listener("request", note_request)


@contextmanager
def new_page(browser: Browser, **settings: Any) -> Iterator[Page]:
    """Yield a page in a new context."""
    context = browser.new_context(**{"viewport": WIDE, **settings})
    yield context.new_page()
    context.close()


def _note(text: str, errors: list[str]) -> None:
    """Record a message. Chromium itself logs the status of a refused search, which is ignored."""
    if "responded with a status of 400" not in text:
        errors.append(text)


def options(page: Page) -> Locator:
    return page.get_by_role("option")


def get_cursor(box: Locator) -> int:
    position: int = box.evaluate("(input) => input.selectionStart")
    return position


@pytest.mark.parametrize("path", ["/search", "/"])
def test_a_field_and_its_value_are_completed_by_keyboard(
    page: Page, library: Library, path: str
) -> None:
    with open_box(page, f"{library.full}{path}") as box:
        expect(box).to_have_attribute("aria-expanded", "false")
        box.press_sequentially("flood si")
        expect(options(page)).to_have_count(1)
        expect(box).to_have_attribute("aria-expanded", "true")
        expect(page.get_by_role("status")).to_have_text("1 completion")
        box.press("ArrowDown")
        expect(box).to_have_attribute("aria-activedescendant", "offered-0")
        expect(options(page).first).to_have_attribute("aria-selected", "true")
        box.press("Enter")
        expect(box).to_have_value("flood site:")
        expect(options(page).nth(1)).to_be_visible()
        box.press_sequentially("dai")
        expect(options(page)).to_have_count(1)
        box.press("ArrowDown")
        box.press("Enter")
        expect(box).to_have_value("flood site:daily.example")
        expect(options(page)).to_have_count(0)
        box.press("Enter")
        page.wait_for_url("**/search?q=flood+site%3Adaily.example")
        assert page.locator("h1").inner_text().endswith("found for “flood site:daily.example”")


def test_a_completion_inside_a_search_keeps_the_rest(page: Page, library: Library) -> None:
    with open_box(page, f"{library.full}/search") as box:
        box.fill("\U0001f600 site:dai river")
        box.evaluate("(input) => input.setSelectionRange(11, 11)")
        box.press("ArrowDown")
        expect(options(page)).to_have_count(1)
        options(page).first.click()
        expect(box).to_have_value("\U0001f600 site:daily.example river")
        assert get_cursor(box) == len("\U0001f600 site:daily.example") + 1
        expect(box).to_be_focused()


def test_escape_closes_the_list_and_enter_searches_the_typed_text(
    page: Page, library: Library
) -> None:
    with open_box(page, f"{library.full}/search") as box:
        box.press_sequentially("kind:")
        expect(options(page)).to_have_count(3)
        expect(options(page).first).to_contain_text("News page")
        box.press("ArrowUp")
        expect(box).to_have_attribute("aria-activedescendant", "offered-2")
        box.press("Escape")
        expect(options(page)).to_have_count(0)
        expect(box).to_have_value("kind:")
        box.press("ArrowDown")
        expect(options(page)).to_have_count(3)
        box.press_sequentially("pdf")
        expect(options(page)).to_have_count(0)
        box.press("Enter")
        page.wait_for_url("**/search?q=kind%3Apdf")


def test_a_late_completion_does_not_overwrite_typed_text(page: Page, library: Library) -> None:
    with open_box(page, f"{library.full}/search") as box:
        box.press_sequentially("site:")
        expect(options(page).nth(1)).to_be_visible()
        after = box.evaluate(
            """(input) => {
                input.value = "site:no";
                input.dispatchEvent(new InputEvent("input"));
                input.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", cancelable: true }));
                document.getElementById("offered-0").click();
                return [input.value, input.hasAttribute("aria-activedescendant")];
            }"""
        )
        assert after == ["site:no", False]
        expect(options(page)).to_have_count(1)
        box.press("ArrowLeft")
        expect(options(page)).to_have_count(0)


def test_the_format_of_a_field_without_values_is_shown(page: Page, library: Library) -> None:
    with open_box(page, f"{library.full}/search") as box:
        box.press_sequentially("words:")
        expect(page.get_by_role("status")).to_contain_text("e.g. words:>500")
        expect(page.locator(".form")).to_be_visible()
        box.blur()
        expect(page.locator(".form")).to_be_hidden()


def test_hostile_names_stay_text(page: Page, library: Library) -> None:
    with open_box(page, f"{library.full}/search") as box:
        box.press_sequentially("theme:")
        expect(options(page).first).to_be_visible()
        assert page.locator(".offered script, .offered b").count() == 0


def test_the_open_list_is_accessible_and_fits_a_phone(browser: Browser, library: Library) -> None:
    with (
        new_page(browser, bypass_csp=True) as page,
        open_box(page, f"{library.full}/search") as box,
    ):
        for size in (WIDE, NARROW):
            page.set_viewport_size({"width": size["width"], "height": size["height"]})
            box.fill("")
            box.press_sequentially("theme:")
            expect(options(page).nth(7)).to_be_visible()
            box.press("ArrowDown")
            assert page.evaluate("document.documentElement.scrollWidth") == size["width"]
            for scheme in ("light", "dark"):
                if IS_NIGHTLY or (size, scheme) == (WIDE, "light"):
                    page.emulate_media(**DEFAULT_MEDIA | {"color_scheme": scheme})
                    check_accessible(page, scheme)


def test_without_scripts_completions_are_links(browser: Browser, library: Library) -> None:
    with (
        new_page(browser, java_script_enabled=False) as page,
        open_box(page, f"{library.full}/search?q=words") as box,
    ):
        box.fill("flood site:")
        page.get_by_role("button", name="Search").click()
        section = page.get_by_role("region", name="Values of site:")
        section.get_by_role("link", name="daily.example").click()
        assert page.get_by_label("Search", exact=True).input_value() == "flood site:daily.example"
        assert "found for" in page.locator("h1").inner_text()


def test_a_late_response_does_not_cancel_the_request_for_later_typing(
    page: Page, library: Library
) -> None:
    with open_box(page, f"{library.full}/search") as box:
        page.evaluate(
            """() => {
                const fetchNow = window.fetch;
                window.fetch = () => new Promise((resolve) => {
                    window.fetch = fetchNow;
                    window.respond = () => resolve(new Response('{"completions": []}'));
                });
            }"""
        )
        box.press_sequentially("word")
        page.wait_for_function("() => window.respond !== undefined")
        box.evaluate(
            """(input) => {
                input.value = "words:";
                input.setSelectionRange(6, 6);
                input.dispatchEvent(new InputEvent("input"));
                window.respond();
            }"""
        )
        expect(page.get_by_role("status")).to_contain_text("e.g. words:>500")
