"""Find and fetch files that a user names by http(s) or S3 URL."""

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
    from fonds.fetching.service_client import ServiceClient


SCHEMES = ("http", "https", "s3")


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """File found at an http(s) or S3 URL.

    - `url`: URL of the file.
    - `size_bytes`: size of the file; 0 if unknown.
    - `version`: its modification time or ETag, which distinguishes it from earlier files at this
      URL.
    - `error`: why the file cannot be read; None if it can.
    - `is_missing`: whether the server says that the file does not exist.
    """

    url: str
    size_bytes: int = 0
    version: str = ""
    error: str | None = None
    is_missing: bool = False


class RemoteFileStore(Protocol):
    """Interface that finds and downloads input files given as URLs: HTTP, HTTPS or S3."""

    def find(self, url: str) -> Iterator[RemoteFile]:
        """Find the file at a URL. For `s3://BUCKET/PREFIX*`, yield all files with this prefix, by
        name.

        A file that is unavailable is yielded with an error. To avoid a second HTTP request, call
        `fetch` for a file before requesting the next file from this iterator.
        """

    def fetch(self, url: str, target: Path) -> Path:
        """Download a complete file to the path `target`, unless `target` exists, and return the
        path.

        Raises PermanentError if the server refuses, and OSError if the file cannot be written.
        """


def is_remote(name: str) -> bool:
    """Return whether a name is an http(s) or S3 URL."""
    return urlsplit(name).scheme.lower() in SCHEMES if "://" in name[:12] else False


FILE_MAX_BYTES = 8 * 1024**3
PIECE_BYTES = 8 * 1024**2
TOTAL_S = 3_600.0
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RemoteFiles:
    """Finds and downloads input files over HTTP(S) and from S3. Implements RemoteFileStore.

    - `web`: client for http(s) URLs.
    - `objects`: opens the S3 client when it is first needed.
    - `pauses_s`: seconds to wait before each repeated request if a server does not respond.
    """

    web: ServiceClient
    objects: Callable[[], Any]
    pauses_s: Sequence[float] = (1.0, 5.0)
    _answers: dict[str, Any] = field(default_factory=dict)
    """HTTP response that `find` keeps open for a later `fetch`, by URL."""

    def find(self, url: str) -> Iterator[RemoteFile]:
        """Find the file at a URL, or all S3 objects with a prefix. An unavailable file is yielded
        with an error.

        The HTTP response of a file stays open until the next file is requested.
        """
        try:
            if urlsplit(url).scheme == "s3":
                yield from self._iter_objects(url)
            else:
                yield from self._iter_page(url)
        except PermanentError as error:
            missing = error.reason is Reason.MISSING_SOURCE
            yield RemoteFile(url, error=error.detail, is_missing=missing)

    def fetch(self, url: str, target: Path) -> Path:
        """Fetch a file to the path `target`, completely or not at all, and return the path.

        Raises PermanentError if the server refuses, and OSError if the file cannot be written.
        """
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
        objects = self._retry(lambda: self.objects().list_objects(prefix))
        if not url.endswith("*"):
            objects = [stored_object for stored_object in objects if stored_object[0] == url]
        if not objects:
            yield RemoteFile(url, error="no such object", is_missing=True)
        for name, size_bytes, version in objects:
            if not name.endswith("/"):
                yield RemoteFile(name, size_bytes, version)

    def _iter_page(self, url: str) -> Iterator[RemoteFile]:
        with ExitStack() as open_responses:
            response = self._retry(lambda: open_responses.enter_context(self._open_response(url)))
            headers = {name.lower(): value for name, value in response.headers.items()}
            size = headers.get("content-length", "")
            version = headers.get("etag") or headers.get("last-modified") or ""
            size_bytes = int(size) if size.isascii() and size.isdigit() else 0
            self._answers[url] = response
            open_responses.callback(self._answers.pop, url, None)
            yield RemoteFile(url, size_bytes, version)

    @contextmanager
    def _open_response(self, url: str) -> Iterator[Any]:
        with self.web.open(url, {}, total_s=TOTAL_S) as response:
            _check(response.status)
            yield response

    def _retry(self, act: Callable[[], T]) -> T:
        for pause_s in self.pauses_s:
            with suppress(TransientError):
                return act()
            time.sleep(pause_s)
        try:
            return act()
        except TransientError as error:
            detail = f"{error}, after {len(self.pauses_s) + 1} attempts"
            raise PermanentError(Reason.UNREADABLE_SOURCE, detail) from error

    def _iter_pieces(self, url: str) -> Iterator[bytes]:
        if urlsplit(url).scheme == "s3":
            yield from self._iter_object_pieces(url)
            return
        open_response = self._answers.pop(url, None)
        with (
            nullcontext(open_response)
            if open_response is not None
            else self._open_response(url) as response
        ):
            length = response.headers.get("content-length", "")
            size_bytes = 0
            while piece := response.read(PIECE_BYTES):
                size_bytes += len(piece)
                _check_size(size_bytes)
                yield piece
            if length.isdigit() and size_bytes < int(length):
                raise TransientError(
                    f"the connection to {url} was lost after {size_bytes} of {length} bytes"
                )

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
        raise PermanentError(Reason.MISSING_SOURCE, f"the server responded with {status}")
    if status in (408, 425, 429) or status >= 500:
        raise TransientError(f"the server responded with {status}")
    if status != 200:
        raise PermanentError(Reason.UNREADABLE_SOURCE, f"the server responded with {status}")


def _check_size(size_bytes: int) -> None:
    if size_bytes > FILE_MAX_BYTES:
        raise LimitError(Reason.TOO_LARGE, f"larger than {FILE_MAX_BYTES} bytes")
