"""Archived pages in a real browser: shown as they were, running nothing, reaching nobody."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from starlette.types import ASGIApp, Receive, Scope, Send

from browser.browsing import running
from filled_home import open_home
from fonds.web.app import create_app
from fonds.web.replay import create_replay
from replayed_home import HOSTILE, PDF, TIMES, attack, fill

pytestmark = pytest.mark.xdist_group("library")

WAIT_MS = 1_500
"""Longer than the second after which the hostile page would refresh itself."""


@dataclass
class Listening:
    """An application that notes what it is asked for."""

    app: ASGIApp
    asked: list[str] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Note the path, and hand on."""
        if scope["type"] == "http":
            self.asked.append(scope["path"])
        await self.app(scope, receive, send)


@dataclass(frozen=True)
class Site:
    """The pages, what replays beside them, and the browser."""

    browser: Browser
    pages: Listening
    replayed: Listening
    main: str
    replay: str


@pytest.fixture(scope="module")
def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with open_home(tmp_path_factory.mktemp("replayed")) as stores:
        pages, replayed = Listening(create_app(stores)), Listening(create_replay(stores))
        with running(pages) as main, running(replayed) as replay:
            fill(stores, main)
            yield Site(browser, pages, replayed, main, replay)


def provoked(page: Page) -> None:
    """Click on everything that would run or send something, and wait."""
    for target in ("#js", "#popup", "#send"):
        if page.locator(target).count():
            page.locator(target).click(no_wait_after=True)
    page.wait_for_timeout(WAIT_MS)


def test_a_hostile_page_runs_nothing_and_reaches_nobody(site: Site) -> None:
    context = site.browser.new_context()
    context.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    page = context.new_page()
    site.pages.asked.clear()
    site.replayed.asked.clear()
    address = f"{site.replay}/web/{TIMES[0]}/{HOSTILE}"
    answer = page.goto(address, wait_until="load")
    assert answer is not None
    assert answer.status == 200
    provoked(page)
    assert page.title() == "attack"
    assert page.locator("p").inner_text() == "Shown as it was."
    assert page.locator("p").evaluate("e => getComputedStyle(e).color") == "rgb(1, 2, 3)"
    assert page.evaluate("window.origin") == "null"
    assert page.url == address
    assert len(context.pages) == 1
    assert site.pages.asked == []
    assert context.cookies() == []
    assert site.replayed.asked == [f"/web/{TIMES[0]}/{HOSTILE}"]
    context.close()


def test_without_the_policy_the_same_page_runs_and_reaches(site: Site, tmp_path: Path) -> None:
    """The attack works where nothing stands against it: else the test above would prove nothing."""

    async def unguarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = [(b"content-type", b"text/html; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": attack(site.main)})

    site.pages.asked.clear()
    context = site.browser.new_context()
    page = context.new_page()
    with running(unguarded) as origin:
        page.goto(origin, wait_until="domcontentloaded")
        page.wait_for_timeout(WAIT_MS)
        context.close()
    reached = {path.rpartition("-")[2] for path in site.pages.asked if "stolen-by" in path}
    assert {"fetch", "script", "style", "image", "frame", "refresh"} <= reached


def test_what_is_no_page_is_downloaded(site: Site, tmp_path: Path) -> None:
    context = site.browser.new_context(accept_downloads=True)
    page = context.new_page()
    with page.expect_download() as waiting:
        page.evaluate(f"location.href = '{site.replay}/web/{TIMES[0]}/{PDF}'")
    waiting.value.save_as(tmp_path / "body")
    assert (tmp_path / "body").read_bytes().startswith(b"%PDF-1.4")
    context.close()
