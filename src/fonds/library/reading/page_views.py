"""Pages of PDFs as pictures, each made once, by whoever asks first, and kept.

What is kept lies in the blobs in `SLOTS` places; which of them a page has follows from its name, so that the
number of pictures is bounded without a list of them, whoever writes. A page that comes to a place another
has takes it; each names itself inside, and the other is made again when somebody reads it.

Bound: `SLOTS` pictures of at most `KEPT_MAX_BYTES`; `MADE_AT_ONCE` made at once, `WAITING_MAX` readers
waiting.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256

import msgspec

from fonds.model.blob import Blob
from fonds.model.errors import FondsError, PermanentError, TransientError
from fonds.model.page_view import PageView
from fonds.model.prepared import prepared
from fonds.ports import Blobs

logger = logging.getLogger(__name__)

SLOTS = 4_096
KEPT_MAX_BYTES = 1_000_000
MADE_AT_ONCE = 2
WAITING_MAX = 6
WAIT_MAX_S = 45.0
STOPPED_MAX, STOPPED_FOR_S = 256, 600.0
CONTENT_TYPE = "application/msgpack"


@dataclass(frozen=True, slots=True)
class _Kept:
    """What lies in a place: whose picture it is, and the picture."""

    name: str
    view: PageView


@dataclass(slots=True)
class _Making:
    """A page under way; `ended` is set when `view` or `error` is."""

    ended: threading.Event = field(default_factory=threading.Event)
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
        self._draw, self._now = draw, now
        self._slots = threading.BoundedSemaphore(MADE_AT_ONCE)
        self._lock = threading.Lock()
        self._making: dict[str, _Making] = {}
        self.waiting = 0
        self._stopped: OrderedDict[str, tuple[float, PageView]] = OrderedDict()

    def view(self, blobs: Blobs, sha1hex: str, number: int, body: Callable[[], bytes]) -> PageView:
        """Page `number` of the PDF with this SHA-1; `body` reads it, and is called for what is to be made.

        A page that cannot be drawn says why. Raises TransientError when too many are being made already,
        and what `body` and the stores raise.
        """
        name = f"{sha1hex} {number} {self.renderer}"
        kept = self._stopped_before(name) or kept_view(blobs, name)
        if kept is not None:
            return kept
        with self._lock:
            other = self._making.get(name)
            if other is None:
                mine = self._making[name] = _Making()
        if other is not None:
            return self._awaited(other)
        try:
            mine.view = self._made(name, number, body)
            _keep(blobs, name, mine.view)
        except Exception as error:
            mine.error = error
            raise
        finally:
            with self._lock:
                del self._making[name]
            mine.ended.set()
        return mine.view

    def _made(self, name: str, number: int, body: Callable[[], bytes]) -> PageView:
        with self._in_line():
            if not self._slots.acquire(timeout=WAIT_MAX_S):
                raise _busy()
        try:
            content = body()
            try:
                return self._draw(content, number)
            except PermanentError as error:
                return self._stop(name, PageView(None, why=error.detail))
        finally:
            self._slots.release()

    def _awaited(self, other: _Making) -> PageView:
        """What another reader's thread makes."""
        with self._in_line():
            ended = other.ended.wait(WAIT_MAX_S)
        if not ended or other.view is None:
            raise other.error or _busy()
        return other.view

    @contextmanager
    def _in_line(self) -> Iterator[None]:
        """A place among those who wait. Raises TransientError where there is none."""
        with self._lock:
            if self.waiting >= WAITING_MAX:
                raise _busy()
            self.waiting += 1
        try:
            yield
        finally:
            with self._lock:
                self.waiting -= 1

    def _stop(self, name: str, view: PageView) -> PageView:
        """Remember for a while what cost a reader its life: it is not tried again at each look."""
        with self._lock:
            self._stopped[name] = (self._now() + STOPPED_FOR_S, view)
            while len(self._stopped) > STOPPED_MAX:
                self._stopped.popitem(last=False)
        return view

    def _stopped_before(self, name: str) -> PageView | None:
        with self._lock:
            until, view = self._stopped.get(name, (0.0, None))
            return view if view is not None and self._now() < until else None


def view_key(name: str) -> str:
    """The place of what has this name: `page-view/0000` to `page-view/0fff`."""
    slot = int.from_bytes(sha256(name.encode()).digest()[:4], "big") % SLOTS
    return f"page-view/{slot:04x}"


def forget_views(blobs: Blobs) -> None:
    """Remove every picture: which file one is of is known by its bytes alone, and all are drawn again."""
    blobs.delete(sorted(blobs.exists([f"page-view/{slot:04x}" for slot in range(SLOTS)])))


def kept_view(blobs: Blobs, name: str) -> PageView | None:
    """The picture with this name; None where there is none, or another lies in its place."""
    raw = blobs.get(view_key(name))
    try:
        kept = msgspec.msgpack.decode(raw, type=prepared(_Kept)) if raw is not None else None
    except msgspec.MsgspecError:
        return None
    return kept.view if kept is not None and kept.name == name else None


def _keep(blobs: Blobs, name: str, view: PageView) -> None:
    """Keep what can be: a home that cannot be written is read all the same."""
    data = msgspec.msgpack.encode(_Kept(name, view))
    if view.image is None or len(data) > KEPT_MAX_BYTES:
        return
    try:
        blobs.put([Blob(view_key(name), data, CONTENT_TYPE)])
    except FondsError as error:
        logger.debug("a page that was drawn is not kept: %s", error)


def _busy() -> TransientError:
    return TransientError(
        f"{MADE_AT_ONCE} pages are being drawn and {WAITING_MAX} readers wait; try again in a few seconds."
    )
