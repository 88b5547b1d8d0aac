"""Files behind http(s) URLs, read by range requests; private addresses are refused after DNS.

Source: RFC 9110, section 14 (range requests).
"""

from __future__ import annotations

import io
import ipaddress
import re
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from typing import BinaryIO, cast
from urllib.parse import SplitResult, urljoin, urlsplit

import certifi
import urllib3
from urllib3.exceptions import HTTPError

from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError, LimitError, PermanentError, TransientError

_PORTS = {"http": 80, "https": 443}
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_REDIRECTS_MAX = 5
_BLOCK_BYTES = 256 * 1024
_BLOCK_BYTES_MAX = 4 * 1024 * 1024
_PIECE_BYTES = 64 * 1024
_CONTENT_RANGE = re.compile(r"bytes (\d{1,15})-(\d{1,15})/(\d{1,15})", re.IGNORECASE)
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PASSING = frozenset({408, 425, 429})
_FORBIDDEN = frozenset({401, 403, 407, 451})


def is_url(path: str) -> bool:
    """Whether a place's path is an http(s) URL."""
    return path.lower().startswith(("http://", "https://"))


def is_public(address: str) -> bool:
    """Whether an IP address belongs to the public internet, also behind its IPv6 disguises."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo or (None, None))[1]
        if ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return ip.is_global and not ip.is_multicast


def resolve(host: str, port: int) -> Sequence[str]:
    """The IP addresses of a host. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(frozen=True, slots=True)
class RangeReader:
    """Opens files behind URLs. `is_allowed` judges each IP address a connection would go to.

    At most `bytes_max` are fetched for one opened file; one request takes at most `total_s`.
    """

    bytes_max: int
    is_allowed: Callable[[str], bool] = is_public
    resolve: Callable[[str, int], Sequence[str]] = resolve
    connect_s: float = 10.0
    read_s: float = 30.0
    total_s: float = 120.0

    def open(self, url: str, offset: int, size_bytes: int | None) -> BinaryIO:
        """The file as a seekable stream; the first request asks for `size_bytes` from `offset` on.

        Here and while reading: PermanentError (MISSING_SOURCE, UNREADABLE_SOURCE), DamagedInputError
        when the file is too short, LimitError (TOO_LARGE), TransientError.
        """
        return cast(BinaryIO, _RangeFile(self, url, offset, size_bytes))

    def fetch(self, url: str, start: int, size_bytes: int) -> tuple[bytes, int]:
        """The bytes from `start` on, at most `size_bytes`, and the length of the whole file."""
        deadline = time.monotonic() + self.total_s
        for _ in range(_REDIRECTS_MAX + 1):
            parts = _split(url)
            response = self._request(parts, start, size_bytes)
            try:
                if response.status in _REDIRECTS and "location" in response.headers:
                    url = _join(url, response.headers["location"])
                    continue
                _check_status(response.status, start)
                first, total = _content_range(response.headers.get("content-range", ""))
                if first != start:
                    raise PermanentError(
                        Reason.UNREADABLE_SOURCE, f"the server sent bytes from {first}, not {start}"
                    )
                return _read(response, size_bytes, deadline), total
            finally:
                response.close()
        raise PermanentError(Reason.UNREADABLE_SOURCE, f"more than {_REDIRECTS_MAX} redirects")

    def _request(self, parts: SplitResult, start: int, size_bytes: int) -> urllib3.BaseHTTPResponse:
        host, port, address = self._target(parts)
        timeout = urllib3.Timeout(connect=self.connect_s, read=self.read_s)
        if parts.scheme == "https":
            pool: urllib3.HTTPConnectionPool = urllib3.HTTPSConnectionPool(
                address,
                port,
                timeout=timeout,
                server_hostname=host,
                assert_hostname=host,
                ca_certs=certifi.where(),
            )
        else:
            pool = urllib3.HTTPConnectionPool(address, port, timeout=timeout)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = {
            "Host": parts.netloc.rpartition("@")[2],
            "Range": f"bytes={start}-{start + size_bytes - 1}",
            "Accept-Encoding": "identity",
            "User-Agent": "Fonds",
        }
        try:
            return pool.urlopen(
                "GET", target, headers=headers, redirect=False, retries=False, preload_content=False
            )
        except (HTTPError, HTTPException, OSError) as error:
            raise TransientError(f"{host} does not answer: {error}") from error

    def _target(self, parts: SplitResult) -> tuple[str, int, str]:
        """Host, port and the IP address to connect to; every address of the host must be allowed."""
        host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
        try:
            addresses = self.resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise TransientError(f"the name {host} cannot be resolved: {error}") from error
        if not addresses or not all(self.is_allowed(address) for address in addresses):
            raise PermanentError(
                Reason.UNREADABLE_SOURCE,
                f"{host} is a private address; set private_addresses=true to read it",
            )
        return host, port, addresses[0]


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise PermanentError(Reason.UNREADABLE_SOURCE, f"not a usable http(s) URL: {url[:200]!r}")
    return parts


def _join(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError as error:
        raise PermanentError(
            Reason.UNREADABLE_SOURCE, f"the server redirects to no URL: {location[:200]!r}"
        ) from error


def _check_status(status: int, start: int) -> None:
    if status == 206:
        return
    if status in (404, 410):
        raise PermanentError(Reason.MISSING_SOURCE, f"the server answers {status}")
    if status == 416:
        raise DamagedInputError(
            Reason.DAMAGED_RECORD, f"the file behind the URL ends before offset {start}"
        )
    if status >= 500 or status in _PASSING:
        raise TransientError(f"the server answers {status}")
    if status in _FORBIDDEN:
        raise PermanentError(Reason.UNREADABLE_SOURCE, f"the server answers {status}")
    raise PermanentError(
        Reason.UNREADABLE_SOURCE,
        f"the server answers {status} to a range request; download the file",
    )


def _content_range(header: str) -> tuple[int, int]:
    match = _CONTENT_RANGE.fullmatch(header.strip())
    if match is None:
        raise PermanentError(
            Reason.UNREADABLE_SOURCE, f"the server's Content-Range is {header[:80]!r}"
        )
    return int(match[1]), int(match[3])


def _read(response: urllib3.BaseHTTPResponse, size_max: int, deadline: float) -> bytes:
    body = bytearray()
    try:
        while len(body) < size_max and (
            piece := response.read(min(_PIECE_BYTES, size_max - len(body)), decode_content=False)
        ):
            body += piece
            if time.monotonic() > deadline:
                raise TransientError("the server sends too slowly")
    except (HTTPError, HTTPException, OSError) as error:
        raise TransientError(f"the connection broke off: {error}") from error
    return bytes(body)


class _RangeFile(io.RawIOBase):
    """A file behind a URL: what is asked for is fetched in blocks, the last of which is kept."""

    def __init__(self, reader: RangeReader, url: str, offset: int, size_bytes: int | None) -> None:
        super().__init__()
        self._reader = reader
        self._url = url
        self._fetched_bytes = 0
        self._block_bytes = min(size_bytes or _BLOCK_BYTES, _BLOCK_BYTES_MAX)
        self._size_bytes = 0
        self._position = offset
        self._load(max(1, self._block_bytes))

    def _load(self, size_bytes: int) -> None:
        self._block_start = self._position
        self._block, self._size_bytes = self._reader.fetch(self._url, self._position, size_bytes)
        self._fetched_bytes += len(self._block)
        if self._fetched_bytes > self._reader.bytes_max:
            raise LimitError(
                Reason.TOO_LARGE, f"more than {self._reader.bytes_max} bytes for one record"
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
        left = max(0, self._size_bytes - self._position)
        if size == 0 or left == 0:
            return b""
        within = self._position - self._block_start
        if not 0 <= within < len(self._block):
            self._load(min(left, self._block_bytes))
            self._block_bytes = min(self._block_bytes * 2, _BLOCK_BYTES_MAX)
            within = 0
        piece = self._block[within : within + size] if size > 0 else self._block[within:]
        self._position += len(piece)
        return piece
