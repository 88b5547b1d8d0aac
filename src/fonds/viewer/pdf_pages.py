"""Pages of PDFs: rendered images, search hits on the images, and which pages have text.

Images are rendered on demand and cached as blobs in 4,096 slots. The slot of an image follows from
its name (SHA-1, page and renderer). The number of images is therefore bounded without an index,
whichever process writes them. An image replaces any other image in its slot. Each slot contains the
name of its image, so a replaced image is recognised and rendered again.

Limits: 4,096 images of at most 1,000,000 bytes are cached. 2 images are rendered at the same time,
and 6 requests can wait. The first 2,000,000 characters of a text are searched. At most 500 pages
with hits and 500 pages of the page strip (which pages have text) are listed.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256

import msgspec

from fonds.extract.pdf.page_origin import PageOrigin
from fonds.model.archive import Blob
from fonds.model.encoding import prepare_type
from fonds.model.errors import FondsError, PermanentError, TransientError
from fonds.model.pdf import PageView, PdfStatus, PlacedWord
from fonds.model.rows import PdfMetaRow
from fonds.model.rows.row import DerivativeRow
from fonds.ports import Blobs
from fonds.text.words import SCANNED_MAX_CHARS, compose_text

logger = logging.getLogger(__name__)

SLOTS = 4_096
CACHED_VIEW_MAX_BYTES = 1_000_000
DRAWING_MAX = 2
WAITING_MAX = 6
WAIT_MAX_S = 45.0
STOPPED_MAX, STOPPED_FOR_S = 256, 600.0
CONTENT_TYPE = "application/msgpack"


@dataclass(frozen=True, slots=True)
class _StoredView:
    """Content of a slot of the cache of PDF page images: the name of an image, and the image."""

    name: str
    view: PageView


@dataclass(slots=True)
class _PendingView:
    """Page image that one thread renders and others wait for.

    - `finished`: event that is set after `view` or `error`.
    - `view`: the rendered page; None until then.
    - `error`: why rendering failed; None if it did not.
    """

    finished: threading.Event = field(default_factory=threading.Event)
    view: PageView | None = None
    error: Exception | None = None


class PageViews:
    """Renderer of PDF pages with a cache. Thread-safe.

    - `draw`: function that renders a page in an isolated process, from the PDF and a page number
      from 1.
    - `renderer`: name of the renderer with its versions and image size.
    - `close`: function that releases the renderer.
    - `now`: function that returns monotonic seconds.
    """

    def __init__(
        self,
        draw: Callable[[bytes, int], PageView],
        renderer: str,
        *,
        close: Callable[[], None] = lambda: None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.renderer, self.close = renderer, close
        self._draw, self._clock_s = draw, now
        self._slots = threading.BoundedSemaphore(DRAWING_MAX)
        self._lock = threading.Lock()
        self._pending: dict[str, _PendingView] = {}
        self.waiting = 0
        self._crashed: OrderedDict[str, tuple[float, PageView]] = OrderedDict()

    def get_view(
        self, blobs: Blobs, sha1hex: str, number: int, body: Callable[[], bytes]
    ) -> PageView:
        """Return the image of page `number` (from 1) of the PDF with this SHA-1.

        `body` reads the PDF and is called only if the page must be rendered. If a page cannot be
        rendered, the result has the reason instead of an image. Raises TransientError if too many
        pages are being rendered, and the errors of `body` and the stores.
        """
        name = f"{sha1hex} {number} {self.renderer}"
        cached_view = self._find_crash(name) or load_stored_view(blobs, name)
        if cached_view is not None:
            return cached_view
        with self._lock:
            pending = self._pending.get(name)
            if pending is None:
                own_pending = self._pending[name] = _PendingView()
        if pending is not None:
            return self._wait_for(pending)
        try:
            own_pending.view = self._draw_new(name, number, body)
            _store_view(blobs, name, own_pending.view)
        except Exception as error:
            own_pending.error = error
            raise
        finally:
            with self._lock:
                del self._pending[name]
            own_pending.finished.set()
        return own_pending.view

    def _draw_new(self, name: str, number: int, body: Callable[[], bytes]) -> PageView:
        with self._wait_in_line():
            if not self._slots.acquire(timeout=WAIT_MAX_S):
                raise _build_busy_error()
        try:
            content = body()
            try:
                return self._draw(content, number)
            except PermanentError as error:
                return self._remember_crash(name, PageView(None, error=error.detail))
        finally:
            self._slots.release()

    def _wait_for(self, pending: _PendingView) -> PageView:
        """Wait for a page image that another thread is rendering, and return it.

        Raises the error of that thread, or TransientError if waiting takes too long or too many
        requests are waiting.
        """
        with self._wait_in_line():
            is_finished = pending.finished.wait(WAIT_MAX_S)
        if not is_finished or pending.view is None:
            raise pending.error or _build_busy_error()
        return pending.view

    @contextmanager
    def _wait_in_line(self) -> Iterator[None]:
        """Count the caller as a request that waits for a page image while the context is open.

        Raises TransientError if too many requests are waiting.
        """
        with self._lock:
            if self.waiting >= WAITING_MAX:
                raise _build_busy_error()
            self.waiting += 1
        try:
            yield
        finally:
            with self._lock:
                self.waiting -= 1

    def _remember_crash(self, name: str, view: PageView) -> PageView:
        """Record that a page crashed the renderer, so that the page is not rendered again for 10
        minutes.

        `view` is the result for this page, with the reason instead of an image. It is returned
        unchanged.
        """
        with self._lock:
            self._crashed[name] = (self._clock_s() + STOPPED_FOR_S, view)
            while len(self._crashed) > STOPPED_MAX:
                self._crashed.popitem(last=False)
        return view

    def _find_crash(self, name: str) -> PageView | None:
        with self._lock:
            until, view = self._crashed.get(name, (0.0, None))
            return view if view is not None and self._clock_s() < until else None


def build_view_key(name: str) -> str:
    """Return the blob key of the cache slot of the page image with this name, from `page-view/0000`
    to `page-view/0fff`.
    """
    slot = int.from_bytes(sha256(name.encode()).digest()[:4], "big") % SLOTS
    return f"page-view/{slot:04x}"


def remove_views(blobs: Blobs) -> None:
    """Delete all cached page images.

    Images of one file cannot be deleted alone, because the key of a slot does not name the file.
    All images can be rendered again.
    """
    blobs.delete(sorted(blobs.filter_existing([f"page-view/{slot:04x}" for slot in range(SLOTS)])))


def load_stored_view(blobs: Blobs, name: str) -> PageView | None:
    """Load the cached page image with this name; None if its cache slot is empty or has another
    image.
    """
    raw = blobs.get(build_view_key(name))
    try:
        stored_view = (
            msgspec.msgpack.decode(raw, type=prepare_type(_StoredView)) if raw is not None else None
        )
    except msgspec.MsgspecError:
        return None
    return stored_view.view if stored_view is not None and stored_view.name == name else None


def _store_view(blobs: Blobs, name: str, view: PageView) -> None:
    """Store the image of a PDF page in the cache, unless it is larger than 1,000,000 bytes. An
    error of the blob store is ignored.
    """
    data = msgspec.msgpack.encode(_StoredView(name, view))
    if view.image is None or len(data) > CACHED_VIEW_MAX_BYTES:
        return
    try:
        blobs.put([Blob(build_view_key(name), data, CONTENT_TYPE)])
    except FondsError as error:
        logger.debug("cannot cache a drawn page: %s", error)


def _build_busy_error() -> TransientError:
    return TransientError(
        f"the limit of {DRAWING_MAX} pages being drawn and {WAITING_MAX} waiting readers "
        "is reached. Try again in a few seconds."
    )


# Search hits on pages


PAGES_MAX = 500
BOXES_MAX = 2_000

Box = tuple[int, int, int, int]
"""Left, top, right and bottom of a rectangle on a page image, in pixels."""


@dataclass(frozen=True, slots=True)
class PageHits:
    """Page of a PDF (from 1) and the number of search hits on it."""

    page: int
    count: int


@dataclass(frozen=True, slots=True)
class TextQuery:
    """Query whose hits are found in the text of one file.

    - `find_marks`: function that returns (start, end) of each hit in a text, in which accents must
      be composed with their letters (Unicode NFC); None without a query.
    """

    find_marks: Callable[[str], list[tuple[int, int]]] | None

    def find_in_text(self, text: str) -> list[tuple[int, int]]:
        """Return (start, end) of each hit in a text whose accents are composed with their
        letters.
        """
        return self.find_marks(text) if self.find_marks else []

    def find_by_page(self, pages: Sequence[str]) -> tuple[list[PageHits], bool]:
        """Return the pages with hits, and whether all pages were searched.

        `pages` are the texts of all pages of the PDF.
        """
        page_hits: list[PageHits] = []
        searched_chars = 0
        for number, text in enumerate(pages if self.find_marks else (), start=1):
            searched_chars += len(text)
            if searched_chars > SCANNED_MAX_CHARS or len(page_hits) == PAGES_MAX:
                return page_hits, False
            count = len(self.find_in_text(compose_text(text)))
            if count:
                page_hits.append(PageHits(number, count))
        return page_hits, True

    def find_boxes(self, words: Sequence[PlacedWord]) -> list[Box]:
        """Return the rectangles of search hits on a page image.

        `words` are the words of the page with their positions. Adjacent words of one hit share a
        rectangle.
        """
        text, spans = _join_words(words)
        boxes: list[Box] = []
        first = 0
        for start, end in self.find_in_text(text)[:BOXES_MAX]:
            while first < len(words) and spans[first][1] <= start:
                first += 1
            end_index = first
            while end_index < len(words) and spans[end_index][0] < end:
                end_index += 1
            boxes += _merge_boxes([word[2:] for word in words[first:end_index]])
        return boxes[:BOXES_MAX]


def _join_words(words: Sequence[PlacedWord]) -> tuple[str, list[tuple[int, int]]]:
    """Join the words of a PDF page to a text.

    Return the text, and the (start, end) of each word in it. Words are separated by a space,
    unless a word continues the previous one.
    """
    pieces: list[str] = []
    spans: list[tuple[int, int]] = []
    end = 0
    for word in words:
        gap, word_text = "" if word.is_joined else " ", compose_text(word.text)
        pieces += (gap, word_text)
        start, end = end + len(gap), end + len(gap) + len(word_text)
        spans.append((start, end))
    return "".join(pieces), spans


def _merge_boxes(boxes: Sequence[tuple[int, ...]]) -> list[Box]:
    """Merge consecutive rectangles of words on the same line of a page."""
    merged_boxes: list[Box] = []
    for left, top, right, bottom in boxes:
        center = (top + bottom) / 2
        if (
            merged_boxes
            and merged_boxes[-1][1] < center < merged_boxes[-1][3]
            and merged_boxes[-1][0] <= left
        ):
            previous = merged_boxes[-1]
            merged_boxes[-1] = (
                previous[0],
                min(previous[1], top),
                max(previous[2], right),
                max(previous[3], bottom),
            )
        else:
            merged_boxes.append((left, top, right, bottom))
    return merged_boxes


# Pages with text


CELLS_MAX = 500
PAGE_SEPARATOR = "\f"


@dataclass(frozen=True, slots=True)
class PageCell:
    """Page of a PDF in the page strip, the overview of which pages have text.

    - `page`: page number from 1.
    - `words`: number of words in the text of the page; 0 for none, None if unknown.
    """

    page: int
    words: int | None


@dataclass(frozen=True, slots=True)
class PageStrip:
    """Overview of which pages of a PDF have text.

    - `cells`: the first 500 pages.
    - `pages_total`: number of all pages.
    - `with_text`, `without_text`, `unknown`: number of all pages with text, without text, and for
      which it is unknown.
    - `origin`: `born-digital`, `scanned` or `scanned-with-text`, judged from the first five pages;
      None if it was not judged.
    """

    cells: Sequence[PageCell]
    pages_total: int
    with_text: int
    without_text: int
    unknown: int
    origin: str | None


def find_page_strip(derivatives: Mapping[str, DerivativeRow], text: str | None) -> PageStrip | None:
    """Build the page strip (which pages have text) of a file from its derivatives; None if the file
    is not a PDF.
    """
    row = next(
        (derivative for derivative in derivatives.values() if isinstance(derivative, PdfMetaRow)),
        None,
    )
    return build_page_strip(row, text) if row is not None else None


def build_page_strip(row: PdfMetaRow, text: str | None) -> PageStrip | None:
    """Build the page strip (which pages have text) of a PDF; None if its number of pages is
    unknown.
    """
    if not row.page_count or row.page_count < 1:
        return None
    total = row.page_count
    words = [
        _count_words(row, page_text) for page_text in (text or "").split(PAGE_SEPARATOR)[:total]
    ]
    if not text:
        words = [0] * total if row.status == PdfStatus.SUCCESS else []
    with_text = sum(bool(count) for count in words)
    without_text = sum(count == 0 for count in words)
    listed_counts = [*words[:CELLS_MAX], *[None] * (min(total, CELLS_MAX) - len(words))]
    origin_name = row.metadata.origin if row.metadata else None
    return PageStrip(
        cells=[PageCell(number, count) for number, count in enumerate(listed_counts, start=1)],
        pages_total=total,
        with_text=with_text,
        without_text=without_text,
        unknown=total - with_text - without_text,
        origin=next((str(page_text) for page_text in PageOrigin if page_text == origin_name), None),
    )


def _count_words(row: PdfMetaRow, text: str) -> int | None:
    """Return the number of words of a page of a PDF; None if it is unknown.

    It is unknown for a page without words if the PDF was read only in part, because the page may be
    unreadable.
    """
    count = len(text.split())
    return count if count or row.status != PdfStatus.PARTIAL else None
