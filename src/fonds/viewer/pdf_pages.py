"""Pages of PDFs as pictures, each made once, by whoever asks first, and kept.

What is kept lies in the blobs in `SLOTS` places; which of them a page has follows from its name, so that the
number of pictures is bounded without a list of them, whoever writes. A page that comes to a place another
has takes it; each names itself inside, and the other is made again when somebody reads it.

Bound: `SLOTS` pictures of at most `CACHED_VIEW_MAX_BYTES`; `DRAWING_MAX` made at once, `WAITING_MAX` readers
waiting.
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
    """What lies in a place: whose picture it is, and the picture."""

    name: str
    view: PageView


@dataclass(slots=True)
class _PendingView:
    """A page under way; `finished` is set when `view` or `error` is."""

    finished: threading.Event = field(default_factory=threading.Event)
    view: PageView | None = None
    error: Exception | None = None


class PageViews:
    """Pages of PDFs, for many threads. `draw` makes one of a body and a number from 1, in an isolated
    process; `renderer` names what draws, with versions and size."""

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
        """Page `number` of the PDF with this SHA-1; `body` reads it, and is called for what is to be made.

        A page that cannot be drawn says why. Raises TransientError when too many are being made already,
        and what `body` and the stores raise.
        """
        name = f"{sha1hex} {number} {self.renderer}"
        kept = self._find_crash(name) or load_stored_view(blobs, name)
        if kept is not None:
            return kept
        with self._lock:
            other = self._pending.get(name)
            if other is None:
                mine = self._pending[name] = _PendingView()
        if other is not None:
            return self._wait_for(other)
        try:
            mine.view = self._draw_new(name, number, body)
            _store_view(blobs, name, mine.view)
        except Exception as error:
            mine.error = error
            raise
        finally:
            with self._lock:
                del self._pending[name]
            mine.finished.set()
        return mine.view

    def _draw_new(self, name: str, number: int, body: Callable[[], bytes]) -> PageView:
        with self._wait_in_line():
            if not self._slots.acquire(timeout=WAIT_MAX_S):
                raise _build_busy_error()
        try:
            content = body()
            try:
                return self._draw(content, number)
            except PermanentError as error:
                return self._remember_crash(name, PageView(None, why=error.detail))
        finally:
            self._slots.release()

    def _wait_for(self, other: _PendingView) -> PageView:
        """What another reader's thread makes."""
        with self._wait_in_line():
            ended = other.finished.wait(WAIT_MAX_S)
        if not ended or other.view is None:
            raise other.error or _build_busy_error()
        return other.view

    @contextmanager
    def _wait_in_line(self) -> Iterator[None]:
        """A place among those who wait. Raises TransientError where there is none."""
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
        """Remember for a while what cost a reader its life: it is not tried again at each look."""
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
    """The place of what has this name: `page-view/0000` to `page-view/0fff`."""
    slot = int.from_bytes(sha256(name.encode()).digest()[:4], "big") % SLOTS
    return f"page-view/{slot:04x}"


def remove_views(blobs: Blobs) -> None:
    """Remove every picture: which file one is of is known by its bytes alone, and all are drawn again."""
    blobs.delete(sorted(blobs.filter_existing([f"page-view/{slot:04x}" for slot in range(SLOTS)])))


def load_stored_view(blobs: Blobs, name: str) -> PageView | None:
    """The picture with this name; None where there is none, or another lies in its place."""
    raw = blobs.get(build_view_key(name))
    try:
        kept = (
            msgspec.msgpack.decode(raw, type=prepare_type(_StoredView)) if raw is not None else None
        )
    except msgspec.MsgspecError:
        return None
    return kept.view if kept is not None and kept.name == name else None


def _store_view(blobs: Blobs, name: str, view: PageView) -> None:
    """Keep what can be: a home that cannot be written is read all the same."""
    data = msgspec.msgpack.encode(_StoredView(name, view))
    if view.image is None or len(data) > CACHED_VIEW_MAX_BYTES:
        return
    try:
        blobs.put([Blob(build_view_key(name), data, CONTENT_TYPE)])
    except FondsError as error:
        logger.debug("a page that was drawn is not kept: %s", error)


def _build_busy_error() -> TransientError:
    return TransientError(
        f"{DRAWING_MAX} pages are being drawn and {WAITING_MAX} readers wait; try again in a few seconds."
    )


# Where in the pages of a text the words of a search stand, and where on their pictures.
#
# Bound: the first 2,000,000 characters of a text are looked through, and `PAGES_MAX` pages with hits listed.


PAGES_MAX = 500
BOXES_MAX = 2_000

Box = tuple[int, int, int, int]
"""Left, top, right, bottom, in pixels."""


@dataclass(frozen=True, slots=True)
class PageHits:
    """A page (from 1) and how many hits it has."""

    page: int
    count: int


@dataclass(frozen=True, slots=True)
class TextQuery:
    """What is looked for in a file; `marks` gives (start, end) of it in a text whose accents are composed,
    None where nothing is looked for."""

    marks: Callable[[str], list[tuple[int, int]]] | None

    def find_in_text(self, text: str) -> list[tuple[int, int]]:
        """(start, end) of the hits in a text whose accents are composed."""
        return self.marks(text) if self.marks else []

    def find_by_page(self, pages: Sequence[str]) -> tuple[list[PageHits], bool]:
        """The pages with hits, and whether all pages were looked through."""
        found: list[PageHits] = []
        looked = 0
        for number, text in enumerate(pages if self.marks else (), start=1):
            looked += len(text)
            if looked > SCANNED_MAX_CHARS or len(found) == PAGES_MAX:
                return found, False
            count = len(self.find_in_text(compose_text(text)))
            if count:
                found.append(PageHits(number, count))
        return found, True

    def find_boxes(self, words: Sequence[PlacedWord]) -> list[Box]:
        """The places of the hits on a picture; words of one hit that stand side by side share a box."""
        text, spans = _join_words(words)
        found: list[Box] = []
        at = 0
        for start, end in self.find_in_text(text)[:BOXES_MAX]:
            while at < len(words) and spans[at][1] <= start:
                at += 1
            behind = at
            while behind < len(words) and spans[behind][0] < end:
                behind += 1
            found += _merge_boxes([one[2:] for one in words[at:behind]])
        return found[:BOXES_MAX]


def _join_words(words: Sequence[PlacedWord]) -> tuple[str, list[tuple[int, int]]]:
    """The words as a text, and from where to where in it each stands."""
    pieces: list[str] = []
    spans: list[tuple[int, int]] = []
    end = 0
    for word in words:
        gap, shown = "" if word.is_joined else " ", compose_text(word.text)
        pieces += (gap, shown)
        start, end = end + len(gap), end + len(gap) + len(shown)
        spans.append((start, end))
    return "".join(pieces), spans


def _merge_boxes(boxes: Sequence[tuple[int, ...]]) -> list[Box]:
    """Boxes of one line that follow one another become one."""
    found: list[Box] = []
    for left, top, right, bottom in boxes:
        middle = (top + bottom) / 2
        if found and found[-1][1] < middle < found[-1][3] and found[-1][0] <= left:
            before = found[-1]
            found[-1] = (
                before[0],
                min(before[1], top),
                max(before[2], right),
                max(before[3], bottom),
            )
        else:
            found.append((left, top, right, bottom))
    return found


# Which pages of a PDF have text, as far as what is kept of it tells.
#
# Bound: `CELLS_MAX` pages are told one by one; the text is gone through once.


CELLS_MAX = 500
PAGE_SEPARATOR = "\f"


@dataclass(frozen=True, slots=True)
class PageCell:
    """A page (from 1) and how many words its text has, 0 for a page read without any; None where it is not
    known."""

    page: int
    words: int | None


@dataclass(frozen=True, slots=True)
class PageStrip:
    """The first pages of `pages_total`, of which so many have text, have none, and are not known to have any.

    `origin` is how the pages came to be, judged by the first five of them: `born-digital`, `scanned`,
    `scanned-with-text`, None where it was not judged.
    """

    cells: Sequence[PageCell]
    pages_total: int
    with_text: int
    without_text: int
    unknown: int
    origin: str | None


def find_page_strip(derivatives: Mapping[str, DerivativeRow], text: str | None) -> PageStrip | None:
    """By the rows of what was made of a file; None for one that is no PDF, too."""
    row = next((one for one in derivatives.values() if isinstance(one, PdfMetaRow)), None)
    return build_page_strip(row, text) if row is not None else None


def build_page_strip(row: PdfMetaRow, text: str | None) -> PageStrip | None:
    """None for a PDF whose pages were not counted."""
    if not row.page_count or row.page_count < 1:
        return None
    total = row.page_count
    words = [_count_words(row, one) for one in (text or "").split(PAGE_SEPARATOR)[:total]]
    if not text:
        words = [0] * total if row.status == PdfStatus.SUCCESS else []
    with_text = sum(bool(count) for count in words)
    without_text = sum(count == 0 for count in words)
    shown = [*words[:CELLS_MAX], *[None] * (min(total, CELLS_MAX) - len(words))]
    said = (row.metadata or {}).get("origin")
    return PageStrip(
        cells=[PageCell(number, count) for number, count in enumerate(shown, start=1)],
        pages_total=total,
        with_text=with_text,
        without_text=without_text,
        unknown=total - with_text - without_text,
        origin=next((str(one) for one in PageOrigin if one == said), None),
    )


def _count_words(row: PdfMetaRow, text: str) -> int | None:
    """Words between blanks. Where some pages could not be read, one without words may be of these."""
    count = len(text.split())
    return count if count or row.status != PdfStatus.PARTIAL else None
