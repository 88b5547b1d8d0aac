"""Every way a page is met in a browser, and what must hold of it in each: one place for all page tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

from browser.browsing import QUIET, chromium
from depth import IS_NIGHTLY

WIDE = {"width": 1280, "height": 900}
LIGHT: dict[str, Any] = {"viewport": WIDE, "color_scheme": "light"}
SETTINGS: dict[str, dict[str, Any]] = {
    "light": LIGHT,
    "dark": {**LIGHT, "color_scheme": "dark"},
    "narrow": {**LIGHT, "viewport": {"width": 320, "height": 640}},
}
# A window of 1280 by 900 at 400 % has this many CSS pixels; A4 less its margins is as wide as PAPER.
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
"""Every medium is checked in `make nightly`; axe reads a page on push in light only."""
AS_IS: dict[str, Any] = {"media": "screen", "color_scheme": "light", "forced_colors": "none"}
# What axe cannot decide by itself; the contrast of words in pictures is measured in test_pages.py.
UNDECIDED = {"color-contrast"}
REPORTED = ["violations", "incomplete"]
WORDS_MIN_PX, TARGET_MIN_PX, STOPS_MAX = 12.0, 24.0, 600

TOO_WIDE = """(width) => [...document.querySelectorAll("main *")].filter((e) => e.getClientRects().length
    && !e.closest("svg, .scroll, .skip, .off") && e.getBoundingClientRect().right > width + 1)
    .map((e) => e.outerHTML.slice(0, 200))"""
TOO_SMALL = """(least) => [...document.querySelectorAll("body *")].filter((e) => !e.closest("svg, .off")
    && e.getClientRects().length && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())
    && parseFloat(getComputedStyle(e).fontSize) < least).map((e) => e.outerHTML.slice(0, 200))"""
FLAT = """(least) => [...document.querySelectorAll("button, input, select, textarea, summary")].filter((e) =>
    e.type !== "hidden" && e.checkVisibility() && !e.closest(".off")
    && e.getBoundingClientRect().height < least && !e.closest("label"))
    .map((e) => e.outerHTML.slice(0, 200))"""
BEGIN = """() => {
  window.stops = [];
  window.wanted = [...document.querySelectorAll(
    "a[href], button, input, select, textarea, summary, [tabindex]"
    )].filter((e) => e.tabIndex >= 0 && !e.disabled && e.type !== "hidden" && e.checkVisibility());
  document.activeElement.blur();
  window.getSelection().removeAllRanges();
  window.scrollTo(0, 0);
  // An address with a fragment would begin behind it.
  const first = window.wanted[0];
  first.focus();
  first.blur();
  window.stops.push(first);
}"""
STOPPED = """() => {
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
PASSED_BY = """() => window.wanted.filter((e) => !window.stops.includes(e))
    .map((e) => e.outerHTML.slice(0, 200))"""


@contextmanager
def launched() -> Iterator[Browser]:
    """The browser."""
    path = chromium()
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=list(QUIET))
        yield found
        found.close()


class Visitor:
    """A page in a context of its own that opens one address after another.

    Each address must leave its requests and its console clean.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self._address = ""
        self._requests: list[Request] = []
        self._complaints: list[str] = []
        page.on("request", lambda request: self._requests.append(request))
        page.on("pageerror", lambda error: self._complaints.append(str(error)))
        page.on("console", self._note)

    @contextmanager
    def visit(self, address: str, status: int) -> Iterator[Page]:
        """Open an address. Check the status at once, and requests and console at the end."""
        self._address = address
        self._requests.clear()
        self._complaints.clear()
        answer = self.page.goto(address, wait_until="load")
        assert answer is not None
        assert answer.status == status
        yield self.page
        assert self._complaints == []
        assert {one.url.split("/")[2] for one in self._requests} == {address.split("/")[2]}

    def _note(self, message: ConsoleMessage) -> None:
        """Chromium logs the status of an error page itself; everything else is a complaint."""
        if message.type in ("error", "warning") and message.location.get("url") != self._address:
            self._complaints.append(message.text)


@contextmanager
def visiting(browser: Browser, **settings: Any) -> Iterator[Visitor]:
    """A visitor in a context with these settings."""
    context = browser.new_context(**settings)
    try:
        yield Visitor(context.new_page())
    finally:
        context.close()


@contextmanager
def looking(browser: Browser, address: str, status: int, **settings: Any) -> Iterator[Page]:
    """A page opened in a context of its own; its requests and its console must stay clean."""
    with visiting(browser, **settings) as visitor, visitor.visit(address, status) as page:
        yield page


@contextmanager
def named(name: str) -> Iterator[None]:
    """Name the page in a failure of a test that visits several."""
    try:
        yield
    except Exception as error:
        error.add_note(f"on the page “{name}”")
        raise


def is_usable(page: Page) -> None:
    """An open page is accessible, fits, can be read and can be used by keyboard alone.

    On push this is checked in light and narrow, in `make nightly` in every medium of MEDIA.
    The context has to have been made with `bypass_csp`: the policy would keep axe itself out.
    """
    for name in MEDIA if IS_NIGHTLY else MEDIA_ON_PUSH:
        viewport, media = MEDIA[name]
        page.set_viewport_size(viewport)  # type: ignore[arg-type]
        page.emulate_media(**AS_IS | media)
        is_legible(page, viewport["width"], name)
        assert name == "print" or page.evaluate(FLAT, TARGET_MIN_PX) == [], name
        if viewport is not ZOOMED:
            if IS_NIGHTLY or name == "light":
                is_accessible(page, name)
        elif page.locator("main svg a").count() == 0:
            is_walked_by_keyboard(page)
        if name == "print":
            navigation = page.locator("nav, .who, .pager, .skip").all()
            assert [one.inner_text() for one in navigation if one.is_visible()] == []
            assert page.locator("h1").is_visible()
    page.set_viewport_size(WIDE)  # type: ignore[arg-type]
    page.emulate_media(**AS_IS)
    is_walked_by_keyboard(page)


def is_accessible(page: Page, name: str = "") -> None:
    """Axe finds nothing, and leaves open only what it cannot decide.

    It reads the colours of the sheet, which forced colours replace: there their contrast is the system's.
    """
    measured = {"enabled": name != "forced colours"}
    rules = {"target-size": {"enabled": True}, "color-contrast": measured}
    found = Axe().run(page, options={"rules": rules, "resultTypes": REPORTED})
    assert found.violations_count == 0, f"{name}: {found.generate_report()}"
    assert {one["id"] for one in found.response["incomplete"]} <= UNDECIDED, name


def is_legible(page: Page, width: int, name: str = "") -> None:
    """The page fits, and no words are too small."""
    fits(page, width, name)
    assert page.evaluate(TOO_SMALL, WORDS_MIN_PX) == [], name


def fits(page: Page, width: int, name: str = "") -> None:
    """Nothing is wider than the window of `width` CSS pixels."""
    assert page.evaluate("document.documentElement.scrollWidth") == width, name
    assert page.evaluate(TOO_WIDE, width) == [], name


def is_walked_by_keyboard(page: Page) -> None:
    """Tab goes to all that can be used, in the order of the page, each in sight and marked, and out again."""
    page.evaluate(BEGIN)
    for _ in range(STOPS_MAX):
        page.keyboard.press("Tab")
        told = page.evaluate(STOPPED)
        if told in ("left", "back"):
            break
        assert told == "", told
    assert page.evaluate(PASSED_BY) == []
