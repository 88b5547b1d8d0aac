"""Bodies at remote places: behind URLs, in web archives and in petabox items.

`HttpFiles` fetches ranges and whole files.
`open_ranges` presents a remote file as a seekable stream, so that a record is read without the rest
of its file.
`WebArchiveReader` reads replayed captures.

Source: RFC 9110, sections 14 (range requests) and 8.4 (content codings); RFC 7089, section 4.5 (a
capture's own status carries Memento-Datetime, the archive's does not).
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import BinaryIO, Protocol, cast
from urllib.parse import quote, urldefrag, urlsplit

from fonds.archive.warc.reader import read_record
from fonds.fetching.service_client import ServiceClient, ServiceResponse, check_status
from fonds.model.archive import Payload
from fonds.model.capture import Place, PlaceKind
from fonds.model.disposition import Reason
from fonds.model.errors import ConfigurationError, DamagedInputError, LimitError, PermanentError
from fonds.model.exchange import HttpHead
from fonds.model.secrets import redact_secrets
from fonds.text.coding import decode_body, list_codings
from fonds.urls.surt import build_surt

RANGE_S = 120.0
DOWNLOAD_TIMEOUT_S = 600.0
"""Timeout of one request, including redirects and body."""

_CONTENT_RANGE = re.compile(r"bytes (\d{1,15})-(\d{1,15})/(\d{1,15})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class HttpFiles:
    """Implements RemoteReader for http and https."""

    web: ServiceClient

    def fetch(self, url: str, start: int, size_bytes: int) -> tuple[bytes, int]:
        """See `RemoteReader.fetch`. A server without range requests is UNREADABLE_SOURCE."""
        headers = {"Range": f"bytes={start}-{start + size_bytes - 1}"}
        with self.web.open(url, headers, total_s=RANGE_S) as response:
            _check_partial(response.status, start)
            first, total = _parse_content_range(response.headers.get("content-range", ""))
            if first != start:
                raise PermanentError(
                    Reason.UNREADABLE_SOURCE,
                    (f"the server sent bytes from {first} instead of {start}"),
                )
            return response.read(size_bytes), total

    def read_all(self, url: str, max_bytes: int) -> bytes:
        """See `RemoteReader.read_all`. Content codings that the server applied unasked are decoded.

        Also raises DamagedInputError (BAD_ENCODING) and LimitError (BOMB).
        """
        with self.web.open(url, {}, total_s=DOWNLOAD_TIMEOUT_S) as response:
            check_status(response.status, 200)
            return read_full_body(response, max_bytes)


def read_full_body(response: ServiceResponse, max_bytes: int) -> bytes:
    """Return the body of a response with its content codings decoded.

    Raises as `HttpFiles.read_all` does.
    """
    body = response.read_all(max_bytes)
    coding = ("content-encoding", response.headers.get("content-encoding", ""))
    codings = list_codings(HttpHead(response.status, "", (coding,)))
    return decode_body(lambda: iter([body]), codings, body_max_bytes=max_bytes)


def _check_partial(status: int, start: int) -> None:
    if status == 416:
        raise DamagedInputError(
            Reason.DAMAGED_RECORD, f"the file at the URL ends before offset {start}"
        )
    if status == 200:
        raise PermanentError(
            Reason.UNREADABLE_SOURCE,
            "the server does not support range requests. Download the file",
        )
    check_status(status, 206)


def _parse_content_range(header: str) -> tuple[int, int]:
    match = _CONTENT_RANGE.fullmatch(header.strip())
    if match is None:
        raise PermanentError(
            Reason.UNREADABLE_SOURCE, (f"invalid Content-Range from the server: {header[:80]!r}")
        )
    return int(match[1]), int(match[3])


_BLOCK_BYTES = 256 * 1024
_BLOCK_MAX_BYTES = 4 * 1024 * 1024


class RangeReader(Protocol):
    """Fetches parts of files, as `RemoteReader` does."""

    def fetch(self, url: str, start: int, size_bytes: int, /) -> tuple[bytes, int]:
        """See `RemoteReader.fetch`."""


class RemoteReader(Protocol):
    """Reads files behind the URLs of one scheme.

    Both methods raise PermanentError (MISSING_SOURCE, UNREADABLE_SOURCE) and TransientError. Their
    messages contain no keys and need not name the URL.
    """

    def fetch(self, url: str, start: int, size_bytes: int) -> tuple[bytes, int]:
        """Return at most `size_bytes` (at least 1) bytes from `start`, and the file's length.

        Raises DamagedInputError (DAMAGED_RECORD) if the file ends before `start`.
        """

    def read_all(self, url: str, max_bytes: int) -> bytes:
        """Return the whole file. Raises LimitError (TOO_LARGE) if it has more than `max_bytes`."""


def open_ranges(
    remote: RangeReader, url: str, offset: int, size_bytes: int | None, *, max_bytes: int
) -> BinaryIO:
    """Open a file as a seekable stream. The first request fetches `size_bytes` from `offset`.

    Opening and reading raise what `RemoteReader.fetch` raises, and LimitError (TOO_LARGE) after
    more than `max_bytes` were fetched.
    """
    return cast(BinaryIO, _RangeFile(remote, url, offset, size_bytes, max_bytes))


class _RangeFile(io.RawIOBase):
    """Fetches blocks of growing size on demand and keeps the last one."""

    def __init__(
        self, remote: RangeReader, url: str, offset: int, size_bytes: int | None, max_bytes: int
    ) -> None:
        super().__init__()
        self._remote = remote
        self._url = url
        self._max_bytes = max_bytes
        self._fetched_bytes = 0
        self._block_bytes = min(size_bytes or _BLOCK_BYTES, _BLOCK_MAX_BYTES)
        self._size_bytes = 0
        self._position = offset
        self._load(max(1, self._block_bytes))

    def _load(self, size_bytes: int) -> None:
        self._block_start = self._position
        self._block, self._size_bytes = self._remote.fetch(self._url, self._position, size_bytes)
        self._fetched_bytes += len(self._block)
        if self._fetched_bytes > self._max_bytes:
            raise LimitError(
                Reason.TOO_LARGE, (f"the record has more than {self._max_bytes} bytes")
            )

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size_bytes}[whence]
        self._position = max(0, base + offset)
        return self._position

    def read(self, size: int = -1) -> bytes:
        remaining_bytes = max(0, self._size_bytes - self._position)
        if size == 0 or remaining_bytes == 0:
            return b""
        block_offset = self._position - self._block_start
        if not 0 <= block_offset < len(self._block):
            self._load(min(remaining_bytes, self._block_bytes))
            self._block_bytes = min(self._block_bytes * 2, _BLOCK_MAX_BYTES)
            block_offset = 0
        piece = (
            self._block[block_offset : block_offset + size]
            if size > 0
            else self._block[block_offset:]
        )
        self._position += len(piece)
        return piece


_TIMESTAMP, _URL, _ITEM, _PATH = "{timestamp}", "{url}", "{item}", "{path}"
_CAPTURE = re.compile(r"([0-9]{14})/(.+)", re.DOTALL)
_URL_CHARS = "%/:?&=+$,;@!*'()~[]"
_MEMENTO_HEADER = "memento-datetime"
_ORIGINAL = "x-archive-orig-"


@dataclass(frozen=True, slots=True)
class WebArchiveReader:
    """Reads captures by time and URL. `template` contains `{timestamp}` and ends with `{url}`.

    With an empty template there is no web archive, and every capture is an UNREADABLE_SOURCE.
    """

    web: ServiceClient
    template: str

    def read(self, path: str, max_bytes: int) -> Payload:
        """Return the capture `YYYYMMDDhhmmss/URL`, or another that the archive redirects to.

        `http` is the head of the capture itself, as far as the archive passes it on. Its status
        need not be 200. `warc_headers` gives in `WARC-Date` the time that was actually replayed.

        Raises PermanentError (MISSING_SOURCE, UNREADABLE_SOURCE), DamagedInputError (BAD_ENCODING),
        LimitError (TOO_LARGE, BOMB) and TransientError.
        """
        timestamp, url = _parse_capture(path)
        if not self.template:
            raise PermanentError(
                Reason.UNREADABLE_SOURCE,
                "no web archive is configured. Set elsewhere.replay_url to read captures",
            )

        def follows(headers: Mapping[str, str], target: str) -> bool:
            if _MEMENTO_HEADER in headers:
                return False
            self._check_same(url, target)
            return True

        replay_url = self.template.replace(_TIMESTAMP, timestamp).replace(_URL, _quote_url(url))
        with self.web.open(replay_url, {}, total_s=DOWNLOAD_TIMEOUT_S, follows=follows) as response:
            if _MEMENTO_HEADER not in response.headers:
                check_status(response.status, 200)
            replayed = self._parse_url(response.url) or (timestamp, url)
            body = read_full_body(response, max_bytes)
            return Payload(
                body, _build_head(response), None, _build_record_fields(url, replayed[0])
            )

    def _check_same(self, url: str, target: str) -> None:
        capture = self._parse_url(target)
        if capture is None or build_surt(capture[1]) != build_surt(url):
            raise PermanentError(
                Reason.UNREADABLE_SOURCE,
                (
                    f"the web archive redirects to {redact_secrets(target)[:200]!r}, which is "
                    "not a replay of this URL"
                ),
            )

    def _parse_url(self, target: str) -> tuple[str, str] | None:
        """Parse time and URL from a URL that the template could have produced, on any host.

        Returns None otherwise.
        """
        prefix, _, suffix = urlsplit(self.template).path.partition(_TIMESTAMP)
        separator = suffix.removesuffix(_URL)
        pattern = rf"https?://[^/?#]+{re.escape(prefix)}([0-9]{{14}}){re.escape(separator)}(.+)"
        match = re.fullmatch(pattern, target, re.DOTALL)
        return (match[1], match[2]) if match else None


def build_item_url(template: str, path: str) -> str:
    """Return the URL of a petabox file `ITEM/PATH`. `template` contains `{item}` and `{path}`.

    Raises PermanentError (UNREADABLE_SOURCE) if the path is invalid or the template is empty.
    """
    item, _, item_path = path.partition("/")
    if not template:
        raise PermanentError(
            Reason.UNREADABLE_SOURCE,
            "no petabox is configured. Set elsewhere.petabox_url to read its items",
        )
    if any(part in ("", ".", "..") for part in (item, *item_path.split("/"))) or "\x00" in path:
        raise PermanentError(
            Reason.UNREADABLE_SOURCE,
            ("write an item and a path within it, for example item/folder/a.pdf"),
        )
    try:
        return template.replace(_ITEM, quote(item, safe="")).replace(_PATH, quote(item_path))
    except UnicodeEncodeError as error:
        raise PermanentError(
            Reason.UNREADABLE_SOURCE, "the item's path is not valid text"
        ) from error


def _parse_capture(path: str) -> tuple[str, str]:
    match = _CAPTURE.fullmatch(path)
    if match is None:
        raise PermanentError(
            Reason.UNREADABLE_SOURCE,
            ("write a capture as 14-digit timestamp and URL, for example 20200101000000/URL"),
        )
    return match[1], match[2]


def _quote_url(url: str) -> str:
    """Quote a URL for use in a path. Existing escapes are kept and the fragment is removed."""
    try:
        return quote(urldefrag(url).url, safe=_URL_CHARS)
    except ValueError as error:
        raise PermanentError(
            Reason.UNREADABLE_SOURCE, f"cannot request the capture's URL: {error}"
        ) from error


def _build_head(response: ServiceResponse) -> HttpHead:
    """Build the head of the capture. The archive passes its headers on with a prefix."""
    originals = [
        (name[len(_ORIGINAL) :], value)
        for name, value in response.headers.items()
        if name.lower().startswith(_ORIGINAL)
    ]
    declared = response.headers.get("content-type")
    if declared is not None and not any(name.lower() == "content-type" for name, _ in originals):
        originals.append(("Content-Type", declared))
    is_known_status = response.status in HTTPStatus._value2member_map_
    phrase = HTTPStatus(response.status).phrase if is_known_status else ""
    return HttpHead(response.status, f"HTTP/1.1 {response.status} {phrase}".rstrip(), originals)


def _build_record_fields(url: str, timestamp: str) -> dict[str, str]:
    date = f"{timestamp[:4]}-{timestamp[4:6]}-{timestamp[6:8]}"
    time = f"{timestamp[8:10]}:{timestamp[10:12]}:{timestamp[12:]}"
    return {"WARC-Target-URI": url, "WARC-Date": f"{date}T{time}Z"}


RANGE_SLACK_BYTES = 32 * 1024 * 1024

OpenRemote = Callable[[], RemoteReader]


@dataclass(frozen=True, slots=True)
class RemoteBodies:
    """Reads remote bodies by the scheme of the place's URL.

    `remotes` opens the reader of a scheme on first use.

    For one WARC record, at most `slack_bytes` more than the body limit are fetched.
    """

    remotes: Mapping[str, OpenRemote]
    replays: WebArchiveReader
    petabox_url: str = ""
    slack_bytes: int = RANGE_SLACK_BYTES

    def is_remote(self, place: Place) -> bool:
        """Whether a place is remote rather than a local path."""
        return place.kind in (PlaceKind.REPLAY, PlaceKind.PETABOX) or (
            _get_scheme(place.path) in self.remotes
        )

    def read(self, place: Place, body_max_bytes: int) -> Payload:
        """Return the body. Raises as `Archive.read` does. Messages need not name the place."""
        if place.kind is PlaceKind.REPLAY:
            return self.replays.read(place.path, body_max_bytes)
        if place.kind is PlaceKind.PETABOX:
            return self._read_whole(build_item_url(self.petabox_url, place.path), body_max_bytes)
        if place.kind is PlaceKind.FILE:
            return self._read_whole(place.path, body_max_bytes)
        if place.kind is PlaceKind.WARC:
            return self._read_record(place, body_max_bytes)
        raise PermanentError(
            Reason.UNREADABLE_SOURCE,
            "cannot read ZIP members from a URL. Download the file first",
        )

    def _read_whole(self, url: str, body_max_bytes: int) -> Payload:
        return Payload(self._get_remote(url).read_all(url, body_max_bytes))

    def _read_record(self, place: Place, body_max_bytes: int) -> Payload:
        bytes_max = body_max_bytes + self.slack_bytes
        remote = self._get_remote(place.path)
        with open_ranges(
            remote, place.path, place.offset, place.size_bytes, max_bytes=bytes_max
        ) as stream:
            return read_record(stream, place.offset, body_max_bytes=body_max_bytes)

    def _get_remote(self, url: str) -> RemoteReader:
        try:
            return self.remotes[_get_scheme(url)]()
        except KeyError:
            raise PermanentError(
                Reason.UNREADABLE_SOURCE, f"unsupported URL: {redact_secrets(url)[:200]!r}"
            ) from None
        except ConfigurationError as error:
            # A missing library for one place must not stop the work on all others.
            raise PermanentError(Reason.UNREADABLE_SOURCE, str(error)) from error


def create_remote_bodies(
    web: ServiceClient, openers: Mapping[str, OpenRemote], replay_url: str, petabox_url: str
) -> RemoteBodies:
    """Combine http and https over `web` with `openers` by scheme."""
    files = HttpFiles(web)
    remotes: dict[str, OpenRemote] = {"http": lambda: files, "https": lambda: files, **openers}
    return RemoteBodies(remotes, WebArchiveReader(web, replay_url), petabox_url)


def _get_scheme(path: str) -> str:
    scheme, mark, _ = path.partition("://")
    return scheme.lower() if mark else ""
