"""Archived pages in a real browser are shown unchanged, without scripts and requests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from starlette.types import ASGIApp, Receive, Scope, Send

from browser.browsing import serve_app
from filled_home import open_home
from fonds.web.app import create_app
from fonds.web.replay import create_replay
from replayed_home import HOSTILE, PDF, TIMES, attack, fill

pytestmark = pytest.mark.xdist_group("library")

WAIT_MS = 1_500
"""Longer than the refresh delay of the hostile page, which is one second."""


@dataclass
class RecordingApp:
    """An application that records the requested paths."""

    app: ASGIApp
    requested_paths: list[str] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Record the path and call the application."""
        if scope["type"] == "http":
            self.requested_paths.append(scope["path"])
        await self.app(scope, receive, send)


@dataclass(frozen=True)
class Site:
    """The pages, the replay, and the browser."""

    browser: Browser
    pages: RecordingApp
    replayed: RecordingApp
    main: str
    replay: str


@pytest.fixture(scope="module")
def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with open_home(tmp_path_factory.mktemp("replayed")) as stores:
        pages, replayed = RecordingApp(create_app(stores)), RecordingApp(create_replay(stores))
        with serve_app(pages) as main, serve_app(replayed) as replay:
            fill(stores, main)
            yield Site(browser, pages, replayed, main, replay)


def trigger_attacks(page: Page) -> None:
    """Click on everything that could run a script or send a request, and wait."""
    for target in ("#js", "#popup", "#send"):
        if page.locator(target).count():
            page.locator(target).click(no_wait_after=True)
    page.wait_for_timeout(WAIT_MS)


def test_a_hostile_page_runs_no_scripts_and_sends_no_requests(site: Site) -> None:
    context = site.browser.new_context()
    context.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    page = context.new_page()
    site.pages.requested_paths.clear()
    site.replayed.requested_paths.clear()
    address = f"{site.replay}/web/{TIMES[0]}/{HOSTILE}"
    answer = page.goto(address, wait_until="load")
    assert answer is not None
    assert answer.status == 200
    trigger_attacks(page)
    assert page.title() == "attack"
    assert page.locator("p").inner_text() == "Shown as it was."
    assert page.locator("p").evaluate("e => getComputedStyle(e).color") == "rgb(1, 2, 3)"
    assert page.evaluate("window.origin") == "null"
    assert page.url == address
    assert len(context.pages) == 1
    assert site.pages.requested_paths == []
    assert context.cookies() == []
    assert site.replayed.requested_paths == [f"/web/{TIMES[0]}/{HOSTILE}"]
    context.close()


def test_without_the_policy_the_same_page_sends_requests(site: Site, tmp_path: Path) -> None:
    """The attack works without protection; otherwise the test above would prove nothing."""

    async def unguarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = [(b"content-type", b"text/html; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": attack(site.main)})

    site.pages.requested_paths.clear()
    context = site.browser.new_context()
    page = context.new_page()
    with serve_app(unguarded) as origin:
        page.goto(origin, wait_until="domcontentloaded")
        page.wait_for_timeout(WAIT_MS)
        context.close()
    reached = {
        path.rpartition("-")[2] for path in site.pages.requested_paths if "stolen-by" in path
    }
    assert {"fetch", "script", "style", "image", "frame", "refresh"} <= reached


def test_a_replayed_pdf_is_downloaded(site: Site, tmp_path: Path) -> None:
    context = site.browser.new_context(accept_downloads=True)
    page = context.new_page()
    with page.expect_download() as waiting:
        page.evaluate(f"location.href = '{site.replay}/web/{TIMES[0]}/{PDF}'")
    waiting.value.save_as(tmp_path / "body")
    assert (tmp_path / "body").read_bytes().startswith(b"%PDF-1.4")
    context.close()
