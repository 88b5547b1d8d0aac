"""One browser and one served library for all browser tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from browser.library import Library, serve_library
from browser.matrix import DEFAULT_MEDIA, LIGHT, WIDE, launch_browser
from browser.templates import RenderedTemplates, record_templates


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Closed after the last test of this folder, because its event loop would disturb other tests."""
    with launch_browser() as chromium:
        yield chromium


@pytest.fixture(scope="package")
def shared_page(browser: Browser) -> Iterator[Page]:
    """A page shared by tests, because a new context costs 0.5 s of CPU."""
    context = browser.new_context(**LIGHT)
    yield context.new_page()
    context.close()


@pytest.fixture
def page(shared_page: Page) -> Page:
    """A page for tests that store nothing in the browser and first open an address."""
    shared_page.set_viewport_size(WIDE)  # type: ignore[arg-type]
    shared_page.emulate_media(**DEFAULT_MEDIA)
    shared_page.mouse.move(0, 0)
    return shared_page


@pytest.fixture(scope="package")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A served library; tests must not change it."""
    folders = [tmp_path_factory.mktemp(name) for name in ("full", "empty", "read")]
    with serve_library(*folders) as served_library:
        yield served_library


@pytest.fixture(scope="package")
def templates() -> Iterator[RenderedTemplates]:
    with record_templates() as recorded:
        yield recorded
