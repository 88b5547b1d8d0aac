"""The media in which pages are tested, and the checks of each page, for all page tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

from browser.browsing import QUIET, find_chromium
from depth import IS_NIGHTLY

WIDE = {"width": 1280, "height": 900}
LIGHT: dict[str, Any] = {"viewport": WIDE, "color_scheme": "light"}
SETTINGS: dict[str, dict[str, Any]] = {
    "light": LIGHT,
    "dark": {**LIGHT, "color_scheme": "dark"},
    "narrow": {**LIGHT, "viewport": {"width": 320, "height": 640}},
}
# ZOOMED is a window of 1280 by 900 at 400 %, in CSS pixels. PAPER has the width of A4 without margins.
ZOOMED, PAPER = {"width": 320, "height": 225}, {"width": 718, "height": 1000}
MEDIA: dict[str, tuple[dict[str, int], dict[str, Any]]] = {
    "light": (WIDE, {"color_scheme": "light"}),
    "dark": (WIDE, {"color_scheme": "dark"}),
    "forced colours": (WIDE, {"forced_colors": "active"}),
    "narrow": (SETTINGS["narrow"]["viewport"], {}),
    "zoomed to 400 %": (ZOOMED, {}),
    "print": (PAPER, {"media": "print"}),
}
MEDIA_ON_PUSH = ("light", "narrow")
"""`make nightly` checks all media; on push, axe runs only in light."""
DEFAULT_MEDIA: dict[str, Any] = {
    "media": "screen",
    "color_scheme": "light",
    "forced_colors": "none",
}
# Rules that axe cannot decide. `test_pages.py` measures the contrast of words in pictures.
UNDECIDED = {"color-contrast"}
REPORTED = ["violations", "incomplete"]
WORDS_MIN_PX, TARGET_MIN_PX, STOPS_MAX = 12.0, 24.0, 600

FIND_WIDE = """(width) => [...document.querySelectorAll("main *")].filter((e) => e.getClientRects().length
    && !e.closest("svg, .scroll, .skip, .off") && e.getBoundingClientRect().right > width + 1)
    .map((e) => e.outerHTML.slice(0, 200))"""
FIND_SMALL_TEXT = """(minimum) => [...document.querySelectorAll("body *")].filter((e) =>
    !e.closest("svg, .off") && e.getClientRects().length
    && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())
    && parseFloat(getComputedStyle(e).fontSize) < minimum).map((e) => e.outerHTML.slice(0, 200))"""
FIND_LOW_TARGETS = """(minimum) => [...document.querySelectorAll("button, input, select, textarea, summary")]
    .filter((e) => e.type !== "hidden" && e.checkVisibility() && !e.closest(".off")
    && e.getBoundingClientRect().height < minimum && !e.closest("label"))
    .map((e) => e.outerHTML.slice(0, 200))"""
PREPARE_STOPS = """() => {
  window.stops = [];
  window.controls = [...document.querySelectorAll(
    "a[href], button, input, select, textarea, summary, [tabindex]"
    )].filter((e) => e.tabIndex >= 0 && !e.disabled && e.type !== "hidden" && e.checkVisibility());
  document.activeElement.blur();
  window.getSelection().removeAllRanges();
  window.scrollTo(0, 0);
  // With a fragment in the address, the order would begin after its target.
  const first = window.controls[0];
  first.focus();
  first.blur();
  window.stops.push(first);
}"""
CHECK_STOP = """() => {
  const e = document.activeElement, last = window.stops.at(-1);
  if (e === document.body || !e) return "left";
  if (e === last) return "";
  if (last && !(last.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING)) return "back";
  window.stops.push(e);
  const box = e.getClientRects()[0], style = getComputedStyle(e);
  if (!box) return "unseen: " + e.outerHTML.slice(0, 200);
  if (box.bottom < 1 || box.top > innerHeight - 1) return "out of sight: " + e.outerHTML.slice(0, 200);
  return parseFloat(style.outlineWidth) >= 2 && style.outlineStyle !== "none" ? ""
    : "unmarked: " + e.outerHTML.slice(0, 200);
}"""
FIND_MISSED = """() => window.controls.filter((e) => !window.stops.includes(e))
    .map((e) => e.outerHTML.slice(0, 200))"""


@contextmanager
def launch_browser() -> Iterator[Browser]:
    """Launch the browser; yield it."""
    path = find_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(QUIET))
        yield browser
        browser.close()


class Visitor:
    """A page in a separate context that opens one address after another.

    Each address must send no requests to other hosts and write no errors to the console.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self._address = ""
        self._requests: list[Request] = []
        self._errors: list[str] = []
        page.on("request", lambda request: self._requests.append(request))
        page.on("pageerror", lambda error: self._errors.append(str(error)))
        page.on("console", self._note)

    @contextmanager
    def visit(self, address: str, status: int) -> Iterator[Page]:
        """Open an address. Check the status at once, and requests and console at the end."""
        self._address = address
        self._requests.clear()
        self._errors.clear()
        answer = self.page.goto(address, wait_until="load")
        assert answer is not None
        assert answer.status == status
        yield self.page
        assert self._errors == []
        hosts = {request.url.split("/")[2] for request in self._requests}
        assert hosts == {address.split("/")[2]}

    def _note(self, message: ConsoleMessage) -> None:
        """Record errors and warnings. Chromium itself logs the status of an error page, which is ignored."""
        if message.type in ("error", "warning") and message.location.get("url") != self._address:
            self._errors.append(message.text)


@contextmanager
def open_visitor(browser: Browser, **settings: Any) -> Iterator[Visitor]:
    """Yield a visitor in a context with these settings."""
    context = browser.new_context(**settings)
    try:
        yield Visitor(context.new_page())
    finally:
        context.close()


@contextmanager
def open_page(browser: Browser, address: str, status: int, **settings: Any) -> Iterator[Page]:
    """Open a page in a separate context; check its requests and its console."""
    with open_visitor(browser, **settings) as visitor, visitor.visit(address, status) as page:
        yield page


@contextmanager
def name_in_failures(name: str) -> Iterator[None]:
    """Name the page in a failure of a test that visits several."""
    try:
        yield
    except Exception as error:
        error.add_note(f"on the page “{name}”")
        raise


def check_usable(page: Page) -> None:
    """Check that an open page is accessible, fits, is legible and usable by keyboard only.

    On push, this is checked in light and narrow; `make nightly` checks all of MEDIA. The context needs
    `bypass_csp`, because the policy would block axe.
    """
    for name in MEDIA if IS_NIGHTLY else MEDIA_ON_PUSH:
        viewport, media = MEDIA[name]
        page.set_viewport_size(viewport)  # type: ignore[arg-type]
        page.emulate_media(**DEFAULT_MEDIA | media)
        check_legible(page, viewport["width"], name)
        assert name == "print" or page.evaluate(FIND_LOW_TARGETS, TARGET_MIN_PX) == [], name
        if viewport is not ZOOMED:
            if IS_NIGHTLY or name == "light":
                check_accessible(page, name)
        elif page.locator("main svg a").count() == 0:
            check_keyboard_order(page)
        if name == "print":
            navigation = page.locator("nav, .who, .pager, .skip").all()
            assert [element.inner_text() for element in navigation if element.is_visible()] == []
            assert page.locator("h1").is_visible()
    page.set_viewport_size(WIDE)  # type: ignore[arg-type]
    page.emulate_media(**DEFAULT_MEDIA)
    check_keyboard_order(page)


def check_accessible(page: Page, name: str = "") -> None:
    """Check that axe finds no violations and leaves only UNDECIDED rules open.

    Contrast is not checked with forced colours, because axe reads the colours of the style sheet.
    """
    measured = {"enabled": name != "forced colours"}
    rules = {"target-size": {"enabled": True}, "color-contrast": measured}
    results = Axe().run(page, options={"rules": rules, "resultTypes": REPORTED})
    assert results.violations_count == 0, f"{name}: {results.generate_report()}"
    assert {rule["id"] for rule in results.response["incomplete"]} <= UNDECIDED, name


def check_legible(page: Page, width: int, name: str = "") -> None:
    """Check that the page fits and no text is too small."""
    check_width(page, width, name)
    assert page.evaluate(FIND_SMALL_TEXT, WORDS_MIN_PX) == [], name


def check_width(page: Page, width: int, name: str = "") -> None:
    """Check that nothing is wider than the window of `width` CSS pixels."""
    assert page.evaluate("document.documentElement.scrollWidth") == width, name
    assert page.evaluate(FIND_WIDE, width) == [], name


def check_keyboard_order(page: Page) -> None:
    """Check that Tab reaches all controls in page order, each visible and marked, then leaves the page."""
    page.evaluate(PREPARE_STOPS)
    for _ in range(STOPS_MAX):
        page.keyboard.press("Tab")
        problem = page.evaluate(CHECK_STOP)
        if problem in ("left", "back"):
            break
        assert problem == "", problem
    assert page.evaluate(FIND_MISSED) == []
