"""GET requests over http(s) to allowed addresses only, with checks of each redirect and address.

Source: RFC 9110, section 15 (status codes).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from urllib.parse import urljoin

import certifi
import urllib3
from urllib3.exceptions import HTTPError

from fonds.fetching.addresses import Resolve, is_public, resolve, resolve_allowed_addresses
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError, TransientError, cause_of
from fonds.model.secrets import Credentials, redact_secrets
from fonds.urls.parts import UrlParts, split_address

_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[a-z0-9._-]+|\[[0-9a-f:.]+(?:%[a-z0-9._-]+)?\]")
_BLANKS = "".join(map(chr, range(0x21)))
_BREAKS = str.maketrans("", "", "\t\r\n")
NO_CREDENTIALS = Credentials()
_REDIRECTS_MAX = 5
_PIECE_BYTES = 64 * 1024
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MISSING = frozenset({404, 410})
_PASSING = frozenset({408, 425, 429})


def check_status(status: int, expected_status: int) -> None:
    """Check that a status is the expected one.

    Raises PermanentError (MISSING_SOURCE, UNREADABLE_SOURCE) or TransientError otherwise.
    """
    if status == expected_status:
        return
    message = f"the server responded with {status}"
    if status in _MISSING:
        raise PermanentError(Reason.MISSING_SOURCE, message)
    if status >= 500 or status in _PASSING:
        raise TransientError(message)
    raise PermanentError(Reason.UNREADABLE_SOURCE, message)


def follow_any(headers: Mapping[str, str], url: str) -> bool:
    """Follow every redirect."""
    return True


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """Response of a server. `url` is the final address. Header names may be in any case."""

    url: str
    status: int
    headers: Mapping[str, str]
    _response: urllib3.BaseHTTPResponse = field(repr=False)
    _deadline: float = field(repr=False)

    def read(self, size_max: int) -> bytes:
        """Return at most `size_max` bytes of the body without decoding it.

        Raises TransientError when the connection breaks or the time is over.
        """
        body = bytearray()
        try:
            while len(body) < size_max and (piece := self._read_piece(size_max - len(body))):
                body += piece
                if time.monotonic() > self._deadline:
                    raise TransientError("the server is sending too slowly")
        except (HTTPError, HTTPException, OSError) as error:
            raise TransientError(f"the connection was lost: {cause_of(error)}") from error
        return bytes(body)

    def _read_piece(self, size_max: int) -> bytes:
        # Return as soon as any bytes arrive, so that slow byte-by-byte senders run into the
        # deadline.
        return self._response.read1(min(_PIECE_BYTES, size_max), decode_content=False)


@dataclass(frozen=True, slots=True)
class HttpClient:
    """HTTP client for reading sources.

    `is_allowed` checks each IP address before connecting. `credentials` are sent only to their own
    origins, wherever a redirect leads.
    """

    is_allowed: Callable[[str], bool] = is_public
    resolve: Resolve = resolve
    connect_s: float = 10.0
    read_s: float = 30.0
    credentials: Credentials = NO_CREDENTIALS

    @contextmanager
    def open(
        self,
        url: str,
        headers: Mapping[str, str],
        *,
        total_s: float,
        follows: Callable[[Mapping[str, str], str], bool] = follow_any,
    ) -> Iterator[HttpResponse]:
        """Return the response after all redirects, to be read within `total_s`.

        `follows(headers, url)` decides whether to follow a redirect to `url`; otherwise the
        redirect is the response. The status is not checked. Raises PermanentError
        (UNREADABLE_SOURCE) and TransientError.
        """
        deadline = time.monotonic() + total_s
        for _ in range(_REDIRECTS_MAX + 1):
            response = self._send(_split(url), headers)
            try:
                target = _find_redirect_target(url, response)
                if target is None or not follows(response.headers, target):
                    yield HttpResponse(url, response.status, response.headers, response, deadline)
                    return
            finally:
                response.close()
            url = target
        raise PermanentError(Reason.UNREADABLE_SOURCE, f"more than {_REDIRECTS_MAX} redirects")

    def _send(self, parts: UrlParts, extra_headers: Mapping[str, str]) -> urllib3.BaseHTTPResponse:
        host, port, address = self._resolve(parts)
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
            "Host": f"{parts.host}:{parts.port}" if parts.port else parts.host,
            "Accept-Encoding": "identity",
            "User-Agent": "Fonds",
            **extra_headers,
        }
        if authorization := self.credentials.build_authorization(parts.scheme, host, port):
            headers["Authorization"] = authorization
        try:
            return pool.urlopen(
                "GET", target, headers=headers, redirect=False, retries=False, preload_content=False
            )
        except (HTTPError, HTTPException, OSError) as error:
            raise TransientError(f"{host} does not respond: {cause_of(error)}") from error

    def _resolve(self, parts: UrlParts) -> tuple[str, int, str]:
        """Return host, port and the IP address to connect to.

        Every address of the host must be allowed.
        """
        host = parts.host.strip("[]").lower()
        port = int(parts.port) if parts.port else _PORTS[parts.scheme]
        try:
            addresses = resolve_allowed_addresses(host, port, self.resolve, self.is_allowed)
        except PermanentError as error:
            raise PermanentError(
                Reason.UNREADABLE_SOURCE,
                (f"{host} is a private address. To read it, set elsewhere.private_addresses=true"),
            ) from error
        return host, port, addresses[0]


def _split(url: str) -> UrlParts:
    parts = split_address(url.translate(_BREAKS).strip(_BLANKS))
    is_usable = (
        parts.scheme in _PORTS
        and _HOST.fullmatch(parts.host.lower()) is not None
        and (parts.authority or "").isascii()
        and (not parts.port or 0 < int(parts.port[:6]) <= 65535)
    )
    if not is_usable:
        redacted_url = redact_secrets(url)[:200]
        raise PermanentError(
            Reason.UNREADABLE_SOURCE, f"not a valid http or https URL: {redacted_url!r}"
        )
    return parts


def _find_redirect_target(url: str, response: urllib3.BaseHTTPResponse) -> str | None:
    """Return the target of a redirect; None for other responses."""
    location = response.headers.get("location")
    if response.status not in _REDIRECTS or location is None:
        return None
    try:
        return urljoin(url, location)
    except ValueError as error:
        raise PermanentError(
            Reason.UNREADABLE_SOURCE,
            f"the server redirects to an invalid URL: {redact_secrets(location)[:200]!r}",
        ) from error
