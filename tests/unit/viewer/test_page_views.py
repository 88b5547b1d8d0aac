"""Pictures of PDF pages: drawn once, cached in a limited number of slots, with limited concurrency."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fonds.model.archive import Blob
from fonds.model.disposition import Reason
from fonds.model.errors import (
    ChildError,
    ConfigurationError,
    PermanentError,
    TransientError,
)
from fonds.model.pdf import PageView, PlacedWord
from fonds.stores.blobs import FolderBlobs
from fonds.viewer import pdf_pages
from fonds.viewer.pdf_pages import PageViews, build_view_key, load_stored_view

SHA1 = "ab" * 20
VIEW = PageView(b"webp", 10, 20, (PlacedWord("word", False, 1, 2, 3, 4),), 5)


class Renderer:
    """Renderer that records its calls and waits for permission."""

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.allowed = threading.Event()
        self.started = threading.Semaphore(0)
        self.error: Exception | None = None

    def __call__(self, body: bytes, number: int) -> PageView:
        self.calls.append(number)
        self.started.release()
        assert self.allowed.wait(30)
        if self.error is not None:
            raise self.error
        return VIEW


@pytest.fixture
def blobs(tmp_path: Path) -> FolderBlobs:
    return FolderBlobs(tmp_path)


@pytest.fixture
def renderer() -> Iterator[Renderer]:
    renderer = Renderer()
    yield renderer
    renderer.allowed.set()


def read_body() -> bytes:
    return b"%PDF"


def fail_to_read() -> bytes:
    raise AssertionError("a cached page needs no body")


def test_a_page_is_drawn_once_and_cached_for_other_processes(
    blobs: FolderBlobs, renderer: Renderer
) -> None:
    renderer.allowed.set()
    assert PageViews(renderer, "r/1").get_view(blobs, SHA1, 3, read_body) == VIEW
    assert PageViews(renderer, "r/1").get_view(blobs, SHA1, 3, fail_to_read) == VIEW
    assert renderer.calls == [3]
    PageViews(renderer, "r/2").get_view(blobs, SHA1, 3, read_body)
    assert renderer.calls == [3, 3]


def test_concurrent_readers_of_a_page_draw_it_once(blobs: FolderBlobs, renderer: Renderer) -> None:
    views = PageViews(renderer, "r/1")
    with ThreadPoolExecutor(4) as threads:
        requests = [threads.submit(views.get_view, blobs, SHA1, 1, read_body) for _ in range(4)]
        assert renderer.started.acquire(timeout=30)
        renderer.allowed.set()
        assert [request.result(30) for request in requests] == [VIEW] * 4
    assert renderer.calls == [1]


def test_readers_over_the_waiting_limit_are_refused(blobs: FolderBlobs, renderer: Renderer) -> None:
    views = PageViews(renderer, "r/1")
    request_count = pdf_pages.DRAWING_MAX + pdf_pages.WAITING_MAX
    with ThreadPoolExecutor(request_count) as threads:
        first = [
            threads.submit(views.get_view, blobs, SHA1, number, read_body)
            for number in range(pdf_pages.DRAWING_MAX)
        ]
        for _ in first:
            assert renderer.started.acquire(timeout=30)
        waiting = [
            threads.submit(views.get_view, blobs, SHA1, number, read_body)
            for number in range(10, request_count + 8)
        ]
        while views.waiting < pdf_pages.WAITING_MAX:
            threading.Event().wait(0.01)
        assert len(renderer.calls) == pdf_pages.DRAWING_MAX
        with pytest.raises(TransientError, match="waiting readers"):
            views.get_view(blobs, SHA1, 99, read_body)
        renderer.allowed.set()
        assert all(request.result(30) == VIEW for request in [*first, *waiting])
    assert views.waiting == 0


def test_a_page_replaces_another_in_its_slot(blobs: FolderBlobs, renderer: Renderer) -> None:
    renderer.allowed.set()
    views = PageViews(renderer, "r/1")
    views.get_view(blobs, SHA1, 1, read_body)
    name = f"{SHA1} 1 r/1"
    stored_view = blobs.get(build_view_key(name))
    assert stored_view is not None
    blobs.put([Blob(build_view_key(name), stored_view.replace(SHA1.encode(), b"cd" * 20), "x/y")])
    assert load_stored_view(blobs, name) is None
    views.get_view(blobs, SHA1, 1, read_body)
    assert load_stored_view(blobs, name) == VIEW
    blobs.put([Blob(build_view_key(name), b"\x00damaged", "x/y")])
    assert load_stored_view(blobs, name) is None


def test_the_number_of_slots_is_limited() -> None:
    keys = {build_view_key(f"{number:040x} 1 r/1") for number in range(20_000)}
    assert len(keys) <= pdf_pages.SLOTS
    assert max(keys) < f"page-view/{pdf_pages.SLOTS:04x}"


def test_a_failed_page_is_not_drawn_again_for_a_while(
    blobs: FolderBlobs, renderer: Renderer
) -> None:
    now = [0.0]
    views = PageViews(renderer, "r/1", now=lambda: now[0])
    renderer.allowed.set()
    renderer.error = ChildError(Reason.TIMEOUT, "stopped after 20 s")
    for _ in range(3):
        view = views.get_view(blobs, SHA1, 1, read_body)
        assert (view.image, view.error) == (None, "stopped after 20 s")
    assert renderer.calls == [1]
    now[0], renderer.error = pdf_pages.STOPPED_FOR_S + 1, None
    assert views.get_view(blobs, SHA1, 1, read_body) == VIEW


def test_a_missing_body_raises_an_error_for_each_reader(
    blobs: FolderBlobs, renderer: Renderer
) -> None:
    def fail_to_read() -> bytes:
        raise PermanentError(Reason.MISSING_SOURCE, "the WARC is gone")

    views = PageViews(renderer, "r/1")
    for _ in range(2):
        with pytest.raises(PermanentError, match="the WARC is gone"):
            views.get_view(blobs, SHA1, 1, fail_to_read)
    assert renderer.calls == []


def test_pages_are_drawn_in_a_read_only_home(
    blobs: FolderBlobs, renderer: Renderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: FolderBlobs, new_blobs: list[Blob]) -> None:
        raise ConfigurationError("read-only")

    monkeypatch.setattr(FolderBlobs, "put", refuse)
    renderer.allowed.set()
    assert PageViews(renderer, "r/1").get_view(blobs, SHA1, 1, read_body) == VIEW


def test_a_view_that_is_too_large_is_not_cached(blobs: FolderBlobs) -> None:
    large = PageView(b"x" * pdf_pages.CACHED_VIEW_MAX_BYTES, 10, 10)
    views = PageViews(lambda body, number: large, "r/1")
    assert views.get_view(blobs, SHA1, 1, read_body) == large
    assert blobs.get(build_view_key(f"{SHA1} 1 r/1")) is None
