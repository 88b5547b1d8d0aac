"""Reaches the files of other machines that a person names: over http(s), and in S3."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import urlsplit

from fonds.model.disposition import Reason
from fonds.model.errors import LimitError, PermanentError, TransientError

if TYPE_CHECKING:
    from fonds.fetching.http_client import HttpClient

# Files that lie elsewhere, as who reads lists asks for them: what there is, and one of them on this disk.


SCHEMES = ("http", "https", "s3")


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """One file. `version` tells it from what lay there before: its time, or what its server calls it.
    `error` says why it cannot be read, None where it can; `is_missing` that there is none."""

    url: str
    size_bytes: int = 0
    version: str = ""
    error: str | None = None
    is_missing: bool = False


class RemoteFileStore(Protocol):
    """What reaches other machines."""

    def find(self, url: str) -> Iterator[RemoteFile]:
        """Yield the file at a URL; for `s3://BUCKET/PREFIX*` all that begin so, in order of name. What cannot
        be had is one with an error. To have a file `fetched` before the next is wanted costs no request.
        """

    def fetch(self, url: str, target: Path) -> Path:
        """Return the file at `target`, fetched once and whole. Raises PermanentError and OSError."""


def is_remote(name: str) -> bool:
    """Whether a person means a file of another machine."""
    return urlsplit(name).scheme.lower() in SCHEMES if "://" in name[:12] else False


FILE_MAX_BYTES = 8 * 1024**3
PIECE_BYTES = 8 * 1024**2
TOTAL_S = 3_600.0
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RemoteFiles:
    """Implements Remotes. `web` asks over http(s), `objects` opens what reads S3 when it is needed.

    A server that does not answer is asked again after each of `pauses_s`, then its file cannot be read.
    """

    web: HttpClient
    objects: Callable[[], Any]
    pauses_s: Sequence[float] = (1.0, 5.0)
    _answers: dict[str, Any] = field(default_factory=dict)
    """The answer that `find` has open, by its URL."""

    def find(self, url: str) -> Iterator[RemoteFile]:
        """Yield the file at a URL, or those in S3 that begin so. An answer stays open until the next."""
        try:
            if urlsplit(url).scheme == "s3":
                yield from self._iter_objects(url)
            else:
                yield from self._iter_page(url)
        except PermanentError as error:
            missing = error.reason is Reason.MISSING_SOURCE
            yield RemoteFile(url, error=error.detail, is_missing=missing)

    def fetch(self, url: str, target: Path) -> Path:
        """Return the file at `target`: there whole, or not at all. Raises PermanentError and OSError."""
        if not target.exists():
            self._retry(lambda: self._download(url, target))
        return target

    def _download(self, url: str, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(".part")
        try:
            with partial.open("wb") as out:
                for piece in self._iter_pieces(url):
                    out.write(piece)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)

    def _iter_objects(self, url: str) -> Iterator[RemoteFile]:
        prefix = url.removesuffix("*")
        listed = self._retry(lambda: self.objects().list_objects(prefix))
        if not url.endswith("*"):
            listed = [one for one in listed if one[0] == url]
        if not listed:
            yield RemoteFile(url, error="there is no such object", is_missing=True)
        for name, size_bytes, version in listed:
            if not name.endswith("/"):
                yield RemoteFile(name, size_bytes, version)

    def _iter_page(self, url: str) -> Iterator[RemoteFile]:
        with ExitStack() as opened:
            found = self._retry(lambda: opened.enter_context(self._open_response(url)))
            told = {name.lower(): value for name, value in found.headers.items()}
            size = told.get("content-length", "")
            version = told.get("etag") or told.get("last-modified") or ""
            size_bytes = int(size) if size.isascii() and size.isdigit() else 0
            self._answers[url] = found
            opened.callback(self._answers.pop, url, None)
            yield RemoteFile(url, size_bytes, version)

    @contextmanager
    def _open_response(self, url: str) -> Iterator[Any]:
        with self.web.open(url, {}, total_s=TOTAL_S) as found:
            _check(found.status)
            yield found

    def _retry(self, act: Callable[[], T]) -> T:
        for pause_s in self.pauses_s:
            with suppress(TransientError):
                return act()
            time.sleep(pause_s)
        try:
            return act()
        except TransientError as error:
            told = f"{error}, asked {len(self.pauses_s) + 1} times"
            raise PermanentError(Reason.UNREADABLE_SOURCE, told) from error

    def _iter_pieces(self, url: str) -> Iterator[bytes]:
        if urlsplit(url).scheme == "s3":
            yield from self._iter_object_pieces(url)
            return
        opened = self._answers.pop(url, None)
        with nullcontext(opened) if opened is not None else self._open_response(url) as found:
            length = found.headers.get("content-length", "")
            size_bytes = 0
            while piece := found.read(PIECE_BYTES):
                size_bytes += len(piece)
                _check_size(size_bytes)
                yield piece
            if length.isdigit() and size_bytes < int(length):
                raise TransientError(f"{url} broke off behind {size_bytes} of {length} bytes")

    def _iter_object_pieces(self, url: str) -> Iterator[bytes]:
        objects, start, total = self.objects(), 0, 1
        while start < total:
            piece, total = objects.fetch(url, start, PIECE_BYTES)
            _check_size(total)
            start += len(piece)
            if not piece:
                return
            yield piece


def _check(status: int) -> None:
    if status in (404, 410):
        raise PermanentError(Reason.MISSING_SOURCE, f"the server answers {status}")
    if status in (408, 425, 429) or status >= 500:
        raise TransientError(f"the server answers {status}")
    if status != 200:
        raise PermanentError(Reason.UNREADABLE_SOURCE, f"the server answers {status}")


def _check_size(size_bytes: int) -> None:
    if size_bytes > FILE_MAX_BYTES:
        raise LimitError(Reason.TOO_LARGE, f"larger than {FILE_MAX_BYTES} bytes")
