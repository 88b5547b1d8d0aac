"""Pages of PDFs as pictures: made once, kept in so many places, by so many at once."""

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
DRAWN = PageView(b"webp", 10, 20, (PlacedWord("word", False, 1, 2, 3, 4),), 5)


class Drawing:
    """Counts what it draws, and draws when it may."""

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.may = threading.Event()
        self.begun = threading.Semaphore(0)
        self.error: Exception | None = None

    def __call__(self, body: bytes, number: int) -> PageView:
        self.calls.append(number)
        self.begun.release()
        assert self.may.wait(30)
        if self.error is not None:
            raise self.error
        return DRAWN


@pytest.fixture
def blobs(tmp_path: Path) -> FolderBlobs:
    return FolderBlobs(tmp_path)


@pytest.fixture
def drawing() -> Iterator[Drawing]:
    found = Drawing()
    yield found
    found.may.set()


def body() -> bytes:
    return b"%PDF"


def not_read() -> bytes:
    raise AssertionError("what is kept needs no body")


def test_a_page_is_drawn_once_and_kept_for_other_processes(
    blobs: FolderBlobs, drawing: Drawing
) -> None:
    drawing.may.set()
    assert PageViews(drawing, "r/1").get_view(blobs, SHA1, 3, body) == DRAWN
    assert PageViews(drawing, "r/1").get_view(blobs, SHA1, 3, not_read) == DRAWN
    assert drawing.calls == [3]
    PageViews(drawing, "r/2").get_view(blobs, SHA1, 3, body)
    assert drawing.calls == [3, 3]


def test_readers_of_one_page_at_once_have_it_drawn_once(
    blobs: FolderBlobs, drawing: Drawing
) -> None:
    views = PageViews(drawing, "r/1")
    with ThreadPoolExecutor(4) as threads:
        asked = [threads.submit(views.get_view, blobs, SHA1, 1, body) for _ in range(4)]
        assert drawing.begun.acquire(timeout=30)
        drawing.may.set()
        assert [one.result(30) for one in asked] == [DRAWN] * 4
    assert drawing.calls == [1]


def test_so_many_are_drawn_so_many_wait_and_others_come_again(
    blobs: FolderBlobs, drawing: Drawing
) -> None:
    views = PageViews(drawing, "r/1")
    many = pdf_pages.DRAWING_MAX + pdf_pages.WAITING_MAX
    with ThreadPoolExecutor(many) as threads:
        first = [
            threads.submit(views.get_view, blobs, SHA1, n, body)
            for n in range(pdf_pages.DRAWING_MAX)
        ]
        for _ in first:
            assert drawing.begun.acquire(timeout=30)
        waiting = [
            threads.submit(views.get_view, blobs, SHA1, n, body) for n in range(10, many + 8)
        ]
        while views.waiting < pdf_pages.WAITING_MAX:
            threading.Event().wait(0.01)
        assert len(drawing.calls) == pdf_pages.DRAWING_MAX
        with pytest.raises(TransientError, match="waiting readers"):
            views.get_view(blobs, SHA1, 99, body)
        drawing.may.set()
        assert all(one.result(30) == DRAWN for one in [*first, *waiting])
    assert views.waiting == 0


def test_a_page_in_the_place_of_another_takes_it(blobs: FolderBlobs, drawing: Drawing) -> None:
    drawing.may.set()
    views = PageViews(drawing, "r/1")
    views.get_view(blobs, SHA1, 1, body)
    name = f"{SHA1} 1 r/1"
    other = blobs.get(build_view_key(name))
    assert other is not None
    blobs.put([Blob(build_view_key(name), other.replace(SHA1.encode(), b"cd" * 20), "x/y")])
    assert load_stored_view(blobs, name) is None
    views.get_view(blobs, SHA1, 1, body)
    assert load_stored_view(blobs, name) == DRAWN
    blobs.put([Blob(build_view_key(name), b"\x00damaged", "x/y")])
    assert load_stored_view(blobs, name) is None


def test_there_are_only_so_many_places() -> None:
    places = {build_view_key(f"{n:040x} 1 r/1") for n in range(20_000)}
    assert len(places) <= pdf_pages.SLOTS
    assert max(places) < f"page-view/{pdf_pages.SLOTS:04x}"


def test_what_stopped_a_reader_is_not_tried_again_at_each_look(
    blobs: FolderBlobs, drawing: Drawing
) -> None:
    now = [0.0]
    views = PageViews(drawing, "r/1", now=lambda: now[0])
    drawing.may.set()
    drawing.error = ChildError(Reason.TIMEOUT, "stopped after 20 s")
    for _ in range(3):
        view = views.get_view(blobs, SHA1, 1, body)
        assert (view.image, view.error) == (None, "stopped after 20 s")
    assert drawing.calls == [1]
    now[0], drawing.error = pdf_pages.STOPPED_FOR_S + 1, None
    assert views.get_view(blobs, SHA1, 1, body) == DRAWN


def test_a_body_that_is_gone_is_told_to_everybody_who_waits(
    blobs: FolderBlobs, drawing: Drawing
) -> None:
    def gone() -> bytes:
        raise PermanentError(Reason.MISSING_SOURCE, "the WARC is gone")

    views = PageViews(drawing, "r/1")
    for _ in range(2):
        with pytest.raises(PermanentError, match="the WARC is gone"):
            views.get_view(blobs, SHA1, 1, gone)
    assert drawing.calls == []


def test_a_home_that_cannot_be_written_is_read_all_the_same(
    blobs: FolderBlobs, drawing: Drawing, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: FolderBlobs, some: list[Blob]) -> None:
        raise ConfigurationError("read-only")

    monkeypatch.setattr(FolderBlobs, "put", refuse)
    drawing.may.set()
    assert PageViews(drawing, "r/1").get_view(blobs, SHA1, 1, body) == DRAWN


def test_what_is_too_large_is_shown_and_not_kept(blobs: FolderBlobs) -> None:
    large = PageView(b"x" * pdf_pages.CACHED_VIEW_MAX_BYTES, 10, 10)
    views = PageViews(lambda body, number: large, "r/1")
    assert views.get_view(blobs, SHA1, 1, body) == large
    assert blobs.get(build_view_key(f"{SHA1} 1 r/1")) is None
