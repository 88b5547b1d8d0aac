"""HTTP client for services and remote archives. No other module sends requests to services.

It is used for GROBID, lists of object versions in S3, web archives, and WARCs and lists of links
that are read from URLs. Each request resolves and checks the host, and connects to a checked
address without a proxy. Targets of redirects are checked in the same way. Requests are not retried
here, because the pipeline retries whole steps. Requests to web servers that are crawled use
`fetching/crawl_client.py`, which limits the request rate and records requests and responses.
Source: RFC 9110, section 15 (status codes).
"""

from __future__ import annotations

import re
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.client import HTTPException
from urllib.parse import urljoin

import certifi
import urllib3
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    NewConnectionError,
    ReadTimeoutError,
)

from fonds.fetching.addresses import Resolve, is_public, resolve, resolve_allowed_addresses
from fonds.model.credentials import Credentials
from fonds.model.disposition import Reason
from fonds.model.errors import LimitError, PermanentError, TransientError, cause_of
from fonds.model.secrets import redact_secrets
from fonds.urls.parts import UrlParts, split_address

_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[a-z0-9._-]+|\[[0-9a-f:.]+(?:%[a-z0-9._-]+)?\]")
_LENGTH = re.compile(r"[0-9]{1,15}")
_BLANKS = "".join(map(chr, range(0x21)))
_BREAKS = str.maketrans("", "", "\t\r\n")
NO_CREDENTIALS = Credentials()
_REDIRECTS_MAX = 5
_PIECE_BYTES = 64 * 1024
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MISSING = frozenset({404, 410})
_PASSING = frozenset({408, 425, 429})

Form = Sequence[tuple[str, str | tuple[str, bytes, str]]]
"""Fields of a form as (name, value). The value of a file is its file name, bytes and MIME type."""


class UnreachableServiceError(TransientError):
    """Error: no connection to a service could be made."""


class SlowServiceError(TransientError):
    """Error: a service did not send its whole response in time."""


def check_status(status: int, expected_status: int) -> None:
    """Raise an error if an HTTP status is not the expected one.

    Raises PermanentError (MISSING_SOURCE or UNREADABLE_SOURCE) if a retry would not help, otherwise
    TransientError.
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
    """Return True, so that every redirect is followed. For the parameter `follows` of
    `ServiceClient.open`.
    """
    return True


def follow_none(headers: Mapping[str, str], url: str) -> bool:
    """Return False, so that no redirect is followed. For the parameter `follows` of
    `ServiceClient.open`.
    """
    return False


@dataclass(frozen=True, slots=True)
class ServiceResponse:
    """Response of a service.

    - `url`: URL that responded, after redirects.
    - `status`: HTTP status.
    - `headers`: response headers; names are looked up in any case.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    _response: urllib3.BaseHTTPResponse = field(repr=False)
    _deadline: float = field(repr=False)

    def read(self, size_max: int) -> bytes:
        """Return up to `size_max` bytes of the body as sent, before content codings are removed.

        Raises SlowServiceError if the time limit is reached, and TransientError if the connection
        breaks.
        """
        body = bytearray()
        try:
            while len(body) < size_max and (piece := self._read_piece(size_max - len(body))):
                body += piece
                if time.monotonic() > self._deadline:
                    raise SlowServiceError("the server is sending too slowly")
        except (HTTPError, HTTPException, OSError) as error:
            raise _translate_error(error, "the connection was lost") from error
        return bytes(body)

    def read_all(self, size_max: int) -> bytes:
        """Return the whole body as sent, before content codings are removed.

        Raises LimitError (TOO_LARGE) if the body has more than `size_max` bytes. Raises
        SlowServiceError if the time limit is reached, and TransientError if the connection breaks.
        """
        declared_length = self.headers.get("content-length", "").strip()
        is_too_large = (
            _LENGTH.fullmatch(declared_length) is not None and int(declared_length) > size_max
        )
        body = b"" if is_too_large else self.read(size_max + 1)
        if is_too_large or len(body) > size_max:
            raise LimitError(Reason.TOO_LARGE, f"the server sent more than {size_max} bytes")
        return body

    def _read_piece(self, size_max: int) -> bytes:
        # Return as soon as any bytes arrive, so that slow byte-by-byte senders run into the
        # deadline.
        return self._response.read1(min(_PIECE_BYTES, size_max), decode_content=False)


@dataclass(frozen=True, slots=True)
class ServiceClient:
    """HTTP client for services.

    - `is_allowed`: function that returns whether an IP address may be requested. For URLs from
      input it must be `is_public`. A service that the settings name may be at any address.
    - `resolve`: function that resolves host names.
    - `connect_s`: maximum seconds of each attempt to connect.
    - `read_s`: maximum seconds without receiving bytes.
    - `credentials`: user names and passwords; each is sent only to its own origin, wherever a
      redirect leads.
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
        form: Form | None = None,
    ) -> Iterator[ServiceResponse]:
        """Send a request and return the response after all redirects, as a context manager.

        - `total_s`: maximum seconds until the response has been read.
        - `follows`: function of a response's headers and its redirect target that returns whether
          the redirect is followed. If not, the redirect itself is the response.
        - `form`: fields of a form. A request with a form is a POST, any other a GET.

        The status is not checked. Raises PermanentError (UNREADABLE_SOURCE) if the URL or a
        redirect target cannot be requested, UnreachableServiceError if no connection can be made,
        SlowServiceError if the time limit is reached, and TransientError if the connection breaks.
        """
        deadline = time.monotonic() + total_s
        for _ in range(_REDIRECTS_MAX + 1):
            response = self._send(_split(url), headers, form, deadline)
            try:
                target = _find_redirect_target(url, response)
                if target is None or not follows(response.headers, target):
                    yield ServiceResponse(
                        url, response.status, response.headers, response, deadline
                    )
                    return
            finally:
                response.close()
            url = target
        raise PermanentError(Reason.UNREADABLE_SOURCE, f"more than {_REDIRECTS_MAX} redirects")

    def _send(
        self,
        parts: UrlParts,
        extra_headers: Mapping[str, str],
        form: Form | None,
        deadline: float,
    ) -> urllib3.BaseHTTPResponse:
        """Send one request, without redirects, to the first of the host's IP addresses that accepts
        a connection.
        """
        host = parts.host.strip("[]").lower()
        port = int(parts.port) if parts.port else _PORTS[parts.scheme]
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = {
            "Host": f"{parts.host}:{parts.port}" if parts.port else parts.host,
            "Accept-Encoding": "identity",
            "User-Agent": "Fonds",
            **extra_headers,
        }
        if authorization := self.credentials.get_authorization(parts.scheme, host, port):
            headers["Authorization"] = authorization
        addresses = self._resolve(host, port)
        for place, address in enumerate(addresses):
            pool = self._build_pool(parts.scheme, host, address, port)
            try:
                return pool.request(
                    "GET" if form is None else "POST",
                    target,
                    fields=form,
                    headers=headers,
                    redirect=False,
                    retries=False,
                    preload_content=False,
                )
            except (HTTPError, HTTPException, OSError) as error:
                failure = _translate_error(error, f"{host} does not respond")
                is_last = place == len(addresses) - 1 or time.monotonic() > deadline
                if is_last or not isinstance(failure, UnreachableServiceError):
                    raise failure from error
        raise UnreachableServiceError(f"the host name {host} has no IP address")

    def _build_pool(
        self, scheme: str, host: str, address: str, port: int
    ) -> urllib3.HTTPConnectionPool:
        """Build the connection pool for one request.

        It connects to the IP address `address`. With https, it checks that the certificate is for
        `host`.
        """
        timeout = urllib3.Timeout(connect=self.connect_s, read=self.read_s)
        if scheme == "http":
            return urllib3.HTTPConnectionPool(address, port, timeout=timeout)
        return urllib3.HTTPSConnectionPool(
            address,
            port,
            timeout=timeout,
            server_hostname=host,
            assert_hostname=host,
            ssl_context=_load_authorities(),
        )

    def _resolve(self, host: str, port: int) -> Sequence[str]:
        """Return the IP addresses of a host. Raises PermanentError if any of them is not allowed,
        and UnreachableServiceError if the host cannot be resolved.
        """
        try:
            return resolve_allowed_addresses(host, port, self.resolve, self.is_allowed)
        except PermanentError as error:
            raise PermanentError(
                Reason.UNREADABLE_SOURCE,
                (f"{host} is a private address. To read it, set elsewhere.private_addresses=true"),
            ) from error
        except TransientError as error:
            raise UnreachableServiceError(str(error)) from error


@cache
def _load_authorities() -> ssl.SSLContext:
    """Return a TLS context with the certificate authorities of this computer and of certifi.

    Loading them takes 20 ms.
    """
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


def _translate_error(error: Exception, message: str) -> TransientError:
    """Convert an error of urllib3 to an error of Fonds. Secrets in URLs are removed from the
    message.
    """
    detail = f"{message}: {redact_secrets(cause_of(error))}"
    if isinstance(error, (ConnectTimeoutError, NewConnectionError)):
        return UnreachableServiceError(detail)
    if isinstance(error, (ReadTimeoutError, TimeoutError)):
        return SlowServiceError(detail)
    return TransientError(detail)


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
    """Return the target of a redirect; None if the response is not a redirect."""
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
