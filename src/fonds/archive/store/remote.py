"""Read bodies from remote locations: URLs, captures in web archives, and files of petabox items.

A petabox item is an item of the Internet Archive.

`HttpFiles` fetches ranges and whole files over HTTP.
`open_ranges` presents a remote file as a seekable stream, so that one record is read without the
rest of its file.
`WebArchiveReader` reads captures that a web archive replays.

Source: RFC 9110, sections 14 (range requests) and 8.4 (content codings); RFC 7089, section 4.5 (a
response with Memento-Datetime has the status of the capture; other responses have the status of the
archive).
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
"""Timeout in seconds of one download, including redirects and body."""

_CONTENT_RANGE = re.compile(r"bytes (\d{1,15})-(\d{1,15})/(\d{1,15})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class HttpFiles:
    """Reads remote files over http and https. Implements the interface `RemoteReader`."""

    web: ServiceClient

    def fetch(self, url: str, start: int, size_bytes: int) -> tuple[bytes, int]:
        """Return at most `size_bytes` bytes of a remote file from the offset `start`, and the
        file's length in bytes.

        Raises DamagedInputError if the file ends before `start`, PermanentError (MISSING_SOURCE,
        UNREADABLE_SOURCE) and TransientError. A server that does not support range requests is
        UNREADABLE_SOURCE.
        """
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
        """Return a whole remote file. Content codings that the server applied without request are
        decoded.

        Raises LimitError (TOO_LARGE, BOMB) if the file has more than `max_bytes`, DamagedInputError
        (BAD_ENCODING), PermanentError (MISSING_SOURCE, UNREADABLE_SOURCE) and TransientError.
        """
        with self.web.open(url, {}, total_s=DOWNLOAD_TIMEOUT_S) as response:
            check_status(response.status, 200)
            return read_full_body(response, max_bytes)


def read_full_body(response: ServiceResponse, max_bytes: int) -> bytes:
    """Return the body of an HTTP response with its content codings decoded.

    Raises LimitError (TOO_LARGE, BOMB) if it has more than `max_bytes`, DamagedInputError
    (BAD_ENCODING) and TransientError.
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
    """Interface for fetching ranges of bytes of remote files."""

    def fetch(self, url: str, start: int, size_bytes: int, /) -> tuple[bytes, int]:
        """Return at most `size_bytes` bytes of a remote file from the offset `start`, and the
        file's length in bytes.

        Raises the same errors as `RemoteReader.fetch`.
        """


class RemoteReader(Protocol):
    """Interface for reading files behind the URLs of one scheme, such as `https` or `s3`.

    Both methods raise PermanentError (MISSING_SOURCE, UNREADABLE_SOURCE), and TransientError if a
    retry may help. Their messages contain no keys and need not name the URL.
    """

    def fetch(self, url: str, start: int, size_bytes: int) -> tuple[bytes, int]:
        """Return bytes of a remote file from the offset `start`, and the file's length in bytes.

        At most `size_bytes` bytes are returned; `size_bytes` must be at least 1. Raises
        DamagedInputError (DAMAGED_RECORD) if the file ends before `start`.
        """

    def read_all(self, url: str, max_bytes: int) -> bytes:
        """Return the whole remote file. Raises LimitError (TOO_LARGE) if it has more than
        `max_bytes`.
        """


def open_ranges(
    remote: RangeReader, url: str, offset: int, size_bytes: int | None, *, max_bytes: int
) -> BinaryIO:
    """Open a remote file as a seekable stream that fetches ranges of bytes on demand.

    The first request fetches up to `size_bytes` from `offset`. Opening and reading raise the errors
    of `RemoteReader.fetch`. They raise LimitError (TOO_LARGE) after more than `max_bytes` were
    fetched in all.
    """
    return cast(BinaryIO, _RangeFile(remote, url, offset, size_bytes, max_bytes))


class _RangeFile(io.RawIOBase):
    """Seekable stream over a remote file. Fetches blocks of growing size on demand and keeps the
    last one.
    """

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
    """Reads captures from a web archive by time and URL, as the archive replays them.

    `web`: HTTP client.
    `template`: URL template that contains `{timestamp}` and ends with `{url}`. If empty, there is
        no web archive, and reading a capture raises PermanentError (UNREADABLE_SOURCE).
    """

    web: ServiceClient
    template: str

    def read(self, path: str, max_bytes: int) -> Payload:
        """Return the body of the capture `YYYYMMDDhhmmss/URL`, or of another capture to which the
        archive redirects.

        `http` of the result is the response head of the capture, as far as the archive passes it
        on. Its status need not be 200. `warc_headers` gives in `WARC-Date` the time of the capture
        that the archive replayed.

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
            replayed_capture = self._parse_url(response.url) or (timestamp, url)
            body = read_full_body(response, max_bytes)
            return Payload(
                body, _build_head(response), None, _build_record_fields(url, replayed_capture[0])
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
        """Return the timestamp and captured URL that are part of `target`, a replay URL of the web
        archive.

        The host of `target` may differ from that of the template. Returns None if the URL does not
        fit the template.
        """
        prefix, _, suffix = urlsplit(self.template).path.partition(_TIMESTAMP)
        separator = suffix.removesuffix(_URL)
        pattern = rf"https?://[^/?#]+{re.escape(prefix)}([0-9]{{14}}){re.escape(separator)}(.+)"
        match = re.fullmatch(pattern, target, re.DOTALL)
        return (match[1], match[2]) if match else None


def build_item_url(template: str, path: str) -> str:
    """Return the URL of the file `ITEM/PATH` in a petabox item, which is an item of the Internet
    Archive.

    `template` contains `{item}` and `{path}`. Raises PermanentError (UNREADABLE_SOURCE) if the path
    is invalid or the template is empty.
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
    """Quote a captured URL for use in the path of a replay URL.

    Existing escapes are kept and the fragment is removed. Raises PermanentError (UNREADABLE_SOURCE)
    if the URL cannot be parsed or encoded.
    """
    try:
        return quote(urldefrag(url).url, safe=_URL_CHARS)
    except ValueError as error:
        raise PermanentError(
            Reason.UNREADABLE_SOURCE, f"cannot request the capture's URL: {error}"
        ) from error


def _build_head(response: ServiceResponse) -> HttpHead:
    """Build the HTTP head of a replayed capture. The web archive passes the original headers on
    with the prefix `x-archive-orig-`.
    """
    originals = [
        (name[len(_ORIGINAL) :], value)
        for name, value in response.headers.items()
        if name.lower().startswith(_ORIGINAL)
    ]
    declared_type = response.headers.get("content-type")
    if declared_type is not None and not any(
        name.lower() == "content-type" for name, _ in originals
    ):
        originals.append(("Content-Type", declared_type))
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
    """Reads bodies from remote locations, with the reader for the scheme of the URL.

    `remotes`: function for each scheme that opens its reader on first use.
    `replays`: reader of captures in a web archive.
    `petabox_url`: URL template of files in petabox items; empty if they cannot be read.
    `slack_bytes`: bytes that may be fetched for one WARC record in addition to the body limit.
    """

    remotes: Mapping[str, OpenRemote]
    replays: WebArchiveReader
    petabox_url: str = ""
    slack_bytes: int = RANGE_SLACK_BYTES

    def is_remote(self, place: Place) -> bool:
        """Return whether a location is remote rather than a local path."""
        return place.kind in (PlaceKind.REPLAY, PlaceKind.PETABOX) or (
            _get_scheme(place.path) in self.remotes
        )

    def read(self, place: Place, body_max_bytes: int) -> Payload:
        """Return the decoded body at a remote location. `body_max_bytes` is the maximum size of the
        body.

        Raises the errors of `fonds.ports.Archive.read`. Their messages need not name the location.
        """
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
        read_max_bytes = body_max_bytes + self.slack_bytes
        remote = self._get_remote(place.path)
        with open_ranges(
            remote, place.path, place.offset, place.size_bytes, max_bytes=read_max_bytes
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
            # A library that is missing for one location must not stop the work on all others.
            raise PermanentError(Reason.UNREADABLE_SOURCE, str(error)) from error


def create_remote_bodies(
    web: ServiceClient, openers: Mapping[str, OpenRemote], replay_url: str, petabox_url: str
) -> RemoteBodies:
    """Create the reader of remote bodies from the HTTP client `web` and reader functions for other
    schemes.

    `openers` are the functions that open a reader, by scheme. `replay_url` and `petabox_url` are
    URL templates of a web archive and of petabox items; empty if there is none.
    """
    files = HttpFiles(web)
    remotes: dict[str, OpenRemote] = {"http": lambda: files, "https": lambda: files, **openers}
    return RemoteBodies(remotes, WebArchiveReader(web, replay_url), petabox_url)


def _get_scheme(path: str) -> str:
    scheme, mark, _ = path.partition("://")
    return scheme.lower() if mark else ""
