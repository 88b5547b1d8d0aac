"""One browser and one served library for all browser tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from browser.library import Library, serve_library
from browser.matrix import AS_IS, LIGHT, WIDE, launched
from browser.templates import RenderedTemplates, rendered_templates


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Closed after the last test of this folder: its event loop would be in the way of other tests."""
    with launched() as found:
        yield found


@pytest.fixture(scope="package")
def shared_page(browser: Browser) -> Iterator[Page]:
    """A new context costs 0.5 s of CPU."""
    context = browser.new_context(**LIGHT)
    yield context.new_page()
    context.close()


@pytest.fixture
def page(shared_page: Page) -> Page:
    """The page of tests that store nothing in the browser; they open an address first."""
    shared_page.set_viewport_size(WIDE)  # type: ignore[arg-type]
    shared_page.emulate_media(**AS_IS)
    shared_page.mouse.move(0, 0)
    return shared_page


@pytest.fixture(scope="package")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """Tests only read it."""
    folders = [tmp_path_factory.mktemp(name) for name in ("full", "empty", "read")]
    with serve_library(*folders) as found:
        yield found


@pytest.fixture(scope="package")
def templates() -> Iterator[RenderedTemplates]:
    with rendered_templates() as found:
        yield found
