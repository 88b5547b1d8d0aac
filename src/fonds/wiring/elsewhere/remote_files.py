"""Reaches the files of other machines that a person names: over http(s), and in S3."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fonds.model.disposition import Reason
from fonds.model.errors import LimitError, PermanentError, TransientError
from fonds.sources.listed.remote_files import RemoteFile

FILE_MAX_BYTES = 8 * 1024**3
PIECE_BYTES = 8 * 1024**2
TOTAL_S = 3_600.0


@dataclass(frozen=True, slots=True)
class RemoteFiles:
    """Implements Remotes. `web` asks over http(s), `objects` opens what reads S3 when it is needed."""

    web: Any
    objects: Callable[[], Any]

    def find(self, url: str) -> Iterator[RemoteFile]:
        """The file at a URL, or those in S3 that begin so."""
        try:
            if urlsplit(url).scheme == "s3":
                yield from self._objects(url)
            else:
                yield self._page(url)
        except PermanentError as error:
            missing = error.reason is Reason.MISSING_SOURCE
            yield RemoteFile(url, error=error.detail, missing=missing)

    def fetched(self, url: str, target: Path) -> Path:
        """The file at `target`: there whole, or not at all."""
        if target.exists():
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(".part")
        try:
            with partial.open("wb") as out:
                for piece in self._pieces(url):
                    out.write(piece)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
        return target

    def _objects(self, url: str) -> Iterator[RemoteFile]:
        prefix = url.removesuffix("*")
        listed = self.objects().found(prefix)
        if not url.endswith("*"):
            listed = [one for one in listed if one[0] == url]
        if not listed:
            yield RemoteFile(url, error="there is no such object", missing=True)
        for name, size_bytes, version in listed:
            if not name.endswith("/"):
                yield RemoteFile(name, size_bytes, version)

    def _page(self, url: str) -> RemoteFile:
        with self.web.get(url, {}, total_s=TOTAL_S) as found:
            _check(found.status)
            told = {name.lower(): value for name, value in found.headers.items()}
        size = told.get("content-length", "")
        version = told.get("etag") or told.get("last-modified") or ""
        return RemoteFile(url, int(size) if size.isascii() and size.isdigit() else 0, version)

    def _pieces(self, url: str) -> Iterator[bytes]:
        if urlsplit(url).scheme == "s3":
            yield from self._object_pieces(url)
            return
        with self.web.get(url, {}, total_s=TOTAL_S) as found:
            _check(found.status)
            length = found.headers.get("content-length", "")
            size_bytes = 0
            while piece := found.read(PIECE_BYTES):
                size_bytes += len(piece)
                _check_size(size_bytes)
                yield piece
            if length.isdigit() and size_bytes < int(length):
                raise TransientError(f"{url} broke off behind {size_bytes} of {length} bytes")

    def _object_pieces(self, url: str) -> Iterator[bytes]:
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
