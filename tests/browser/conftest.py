"""One browser and one served library for all browser tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from browser.library import Library, serve_library
from browser.matrix import launched
from browser.templates import RenderedTemplates, rendered_templates


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Closed after the last test of this folder: its event loop would be in the way of other tests."""
    with launched() as found:
        yield found


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
