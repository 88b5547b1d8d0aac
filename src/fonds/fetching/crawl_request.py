"""One request to a web server that is crawled: libcurl options, limits, response and errors.

Source: libcurl's easy interface and error codes.

Limits: `RequestLimits` limits the size of body and headers, and all times.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO

import pycurl

from fonds.model.disposition import Reason
from fonds.model.entry import TlsCheck
from fonds.model.exchange import Headers, Hop
from fonds.urls.request_url import RequestUrl

ACCEPT_ENCODING = "gzip, deflate, br, zstd"
CONNECTIONS_MAX = 4096
NEVER = datetime.fromtimestamp(0, UTC)
_TEXT, _HEADER_OUT = 0, 2
_SECURED = re.compile(r"SSL connection using ([^/]+?) / ([^ /]+)")
_OLD_CIPHERS = "ALL:!eNULL:!aNULL:@SECLEVEL=0"
_PROTOCOLS = {
    pycurl.CURL_HTTP_VERSION_1_0: "HTTP/1.0",
    pycurl.CURL_HTTP_VERSION_1_1: "HTTP/1.1",
    pycurl.CURL_HTTP_VERSION_2_0: "HTTP/2",
}
_CERTIFICATE = frozenset(
    {
        pycurl.E_PEER_FAILED_VERIFICATION,
        pycurl.E_SSL_CERTPROBLEM,
        pycurl.E_SSL_ISSUER_ERROR,
    }
)
_SIZE_ERRORS = frozenset({pycurl.E_WRITE_ERROR, pycurl.E_FILESIZE_EXCEEDED})


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits of one request, and of the client's connections.

    - `connect_s`: maximum seconds to connect.
    - `total_s`: maximum seconds of the whole request.
    - `slow_bytes`, `slow_s`: a request fails if it receives less than `slow_bytes` bytes per second
      for `slow_s` seconds.
    - `head_max_bytes`: maximum size of all status lines and headers of a response, including
      preliminary (1xx) responses.
    - `connections_max`: maximum number of connections that the client keeps open.
    """

    connect_s: float = 30.0
    total_s: float = 120.0
    slow_bytes: int = 100
    slow_s: int = 30
    head_max_bytes: int = 256 * 1024
    connections_max: int = 512


@dataclass(frozen=True, slots=True)
class CrawlRequest:
    """One HTTP request to a web server that is crawled.

    - `url`: URL to request.
    - `addresses`: IP addresses to connect to, already checked; the first is tried first.
    - `agent`: value of the User-Agent header.
    - `body_max_bytes`: maximum size of the response body. A larger body is a failure. If the server
      declares more, nothing is read.
    - `headers`: further request headers.
    - `cookies`: cookies to send: those of the preceding response in the redirect chain.
    - `tls`: how strictly the TLS certificate is checked.
    - `is_partial`: if true, a larger body is cut at `body_max_bytes` and its beginning is a valid
      response.
    """

    url: RequestUrl
    addresses: Sequence[str]
    agent: str
    body_max_bytes: int
    headers: Headers = ()
    cookies: Sequence[str] = ()
    tls: TlsCheck = TlsCheck.FULL
    is_partial: bool = False


@dataclass(frozen=True, slots=True)
class CrawlResponse:
    """Response of a web server to one request, before redirects are followed.

    - `hop`: URL, status, headers, IP address and times of this request.
    - `body`: body as sent, before content codings are removed.
    - `cookies`: all cookies of the redirect chain, including those set by this response.
    - `since_sent_s`: seconds from sending the request until the end of the response. The time for
      connecting is not included.
    """

    hop: Hop
    body: bytes
    cookies: Sequence[str]
    since_sent_s: float


@dataclass(frozen=True, slots=True)
class RequestFailure:
    """Failed request: no response, or a response that was rejected.

    - `reason`: reason code of the failure.
    - `detail`: sentence that describes the failure.
    - `is_unreachable`: whether the server sent no response at all.
    - `took_s`: duration of the request in seconds.
    """

    reason: Reason
    detail: str
    is_unreachable: bool = False
    took_s: float = 0.0


@dataclass(slots=True)
class Transfer:
    """libcurl handle that is reused for many requests, with the data received for its current
    request.
    """

    request: CrawlRequest
    limits: RequestLimits
    is_allowed: Callable[[str], bool]
    ca_file: str
    handle: pycurl.Curl = field(default_factory=pycurl.Curl)
    tls_check: TlsCheck | None = None
    started_at: datetime = NEVER
    body: BytesIO = field(default_factory=BytesIO)
    lines: list[bytes] = field(default_factory=list)
    head_bytes: int = 0
    is_head_complete: bool = False
    sent: bytes = b""
    secured: str = ""
    refused: Reason | None = None
    opened: list[socket.socket] = field(default_factory=list)

    def begin(self, ask: CrawlRequest) -> pycurl.Curl:
        """Prepare the libcurl handle for a request, without data of the previous request. Return
        the handle.
        """
        self.request, self.started_at = ask, datetime.now(UTC)
        self.lines = []
        self.head_bytes, self.is_head_complete, self.refused = 0, False, None
        self.sent, self.secured = b"", ""
        handle = self.handle
        if self.tls_check is not ask.tls:
            self._set_options()
        handle.setopt(pycurl.URL, ask.url.url)
        handle.setopt(pycurl.USERAGENT, ask.agent)
        handle.setopt(pycurl.MAXFILESIZE_LARGE, 0 if ask.is_partial else ask.body_max_bytes)
        self._set_headers(handle)
        self._pin_addresses(handle)
        # Setting cookies in verbose mode would call the debug function, which is not ready yet.
        handle.setopt(pycurl.VERBOSE, 0)
        for cookie in ("ALL", *ask.cookies):
            handle.setopt(pycurl.COOKIELIST, cookie)
        handle.setopt(pycurl.VERBOSE, 1)
        return handle

    def _set_options(self) -> None:
        """Set the libcurl options that are the same for all requests with the same TLS check."""
        limits, handle = self.limits, self.handle
        handle.reset()
        for option, value in (
            (pycurl.PROXY, ""),
            (pycurl.NOSIGNAL, 1),
            (pycurl.FOLLOWLOCATION, 0),
            (pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS),
            (pycurl.CONNECTTIMEOUT_MS, int(1000 * limits.connect_s)),
            (pycurl.TIMEOUT_MS, int(1000 * limits.total_s)),
            (pycurl.LOW_SPEED_LIMIT, limits.slow_bytes),
            (pycurl.LOW_SPEED_TIME, limits.slow_s),
            (pycurl.COOKIEFILE, ""),
            (pycurl.CAINFO, self.ca_file),
            (pycurl.HEADERFUNCTION, self._receive_line),
            (pycurl.WRITEFUNCTION, self._receive_body),
            (pycurl.DEBUGFUNCTION, self._receive_debug),
            (pycurl.OPENSOCKETFUNCTION, self._open_socket),
            (pycurl.PREREQFUNCTION, self._check_address),
        ):
            handle.setopt(option, value)
        self._check_tls(handle)
        self.tls_check = self.request.tls

    def build_response(self, tls_by_connection: dict[tuple[str, int], str]) -> CrawlResponse:
        """Build the response to the current request.

        `tls_by_connection` stores the TLS version and cipher of each open connection, by server
        address and local port. A reused connection reports them only at its first request.
        """
        handle = self.handle
        status_line, headers = _parse_head(self.lines)
        connection = (handle.getinfo(pycurl.PRIMARY_IP), handle.getinfo(pycurl.LOCAL_PORT))
        if self.secured:
            tls_by_connection[connection] = self.secured
            while len(tls_by_connection) > CONNECTIONS_MAX:
                del tls_by_connection[next(iter(tls_by_connection))]
        is_secure = self.request.url.scheme == "https"
        version = handle.getinfo(pycurl.INFO_HTTP_VERSION)
        hop = Hop(
            url=self.request.url.url,
            began_at=self.started_at,
            status=handle.getinfo(pycurl.RESPONSE_CODE),
            status_line=status_line,
            headers=headers,
            request_head=self.sent.decode("latin-1"),
            address=connection[0],
            protocol=_PROTOCOLS.get(version, status_line.partition(" ")[0]),
            tls=tls_by_connection.get(connection, "") if is_secure else None,
            connected_s=handle.getinfo(pycurl.APPCONNECT_TIME)
            or handle.getinfo(pycurl.CONNECT_TIME),
            first_byte_s=handle.getinfo(pycurl.STARTTRANSFER_TIME),
            took_s=handle.getinfo(pycurl.TOTAL_TIME),
            body_bytes=self.body.tell(),
        )
        cookies = tuple(handle.getinfo(pycurl.INFO_COOKIELIST))
        since_sent_s = hop.took_s - handle.getinfo(pycurl.PRETRANSFER_TIME)
        return CrawlResponse(hop, self.body.getvalue(), cookies, since_sent_s)

    @property
    def is_start(self) -> bool:
        """Whether the request was stopped on purpose after the beginning of a long body. It then
        counts as a response.
        """
        return (
            self.request.is_partial and self.is_head_complete and self.refused is Reason.TOO_LARGE
        )

    def build_failure(self, code: int, message: str) -> RequestFailure:
        """Build the failure for an error code and message of libcurl."""
        took_s = (datetime.now(UTC) - self.started_at).total_seconds()
        host = self.request.url.host
        if self.refused is Reason.PRIVATE_ADDRESS:
            return RequestFailure(self.refused, f"{host} is in a private or reserved network")
        if self.refused is Reason.TOO_LARGE or code in _SIZE_ERRORS:
            limit = (
                f"{self.request.body_max_bytes} bytes of body or "
                f"{self.limits.head_max_bytes} of headers"
            )
            message = f"the server sent more than {limit}"
            return RequestFailure(Reason.TOO_LARGE, message, took_s=took_s)
        if code in _CERTIFICATE:
            return RequestFailure(Reason.BAD_CERTIFICATE, message, took_s=took_s)
        is_unreachable = not self.lines
        return RequestFailure(
            Reason.UNREACHABLE, message or f"libcurl error {code}", is_unreachable, took_s
        )

    def finish(self) -> None:
        """End the current request: close its sockets and drop its body. The handle can then be used
        for another request.
        """
        for opened_socket in self.opened:
            opened_socket.close()
        self.opened.clear()
        self.body = BytesIO()

    def _set_headers(self, handle: pycurl.Curl) -> None:
        header_names = {name.lower() for name, _ in self.request.headers}
        defaults = (("Accept", "*/*"), ("Accept-Encoding", ACCEPT_ENCODING))
        headers = [header for header in defaults if header[0].lower() not in header_names] + [
            *self.request.headers
        ]
        handle.setopt(pycurl.HTTPHEADER, [f"{name}: {value}" for name, value in headers])

    def _pin_addresses(self, handle: pycurl.Curl) -> None:
        """Make libcurl connect to the checked IP addresses of the request instead of resolving its
        host name.
        """
        url = self.request.url
        if ":" in url.host:
            return
        addresses = ",".join(
            f"[{address}]" if ":" in address else address for address in self.request.addresses
        )
        handle.setopt(pycurl.RESOLVE, [f"{url.host}:{url.port}:{addresses}"])

    def _check_tls(self, handle: pycurl.Curl) -> None:
        if self.request.tls is TlsCheck.FULL:
            handle.setopt(pycurl.SSLVERSION, pycurl.SSLVERSION_TLSv1_2)
            return
        handle.setopt(pycurl.SSLVERSION, pycurl.SSLVERSION_TLSv1_0)
        handle.setopt(pycurl.SSL_CIPHER_LIST, _OLD_CIPHERS)
        if self.request.tls is TlsCheck.NONE:
            handle.setopt(pycurl.SSL_VERIFYPEER, 0)
            handle.setopt(pycurl.SSL_VERIFYHOST, 0)

    def _open_socket(self, purpose: int, address: tuple[int, int, int, tuple[str, int]]) -> object:
        """Open a socket for libcurl, but only to one of the checked addresses."""
        family, kind, protocol, socket_address = address
        if socket_address[0] not in self.request.addresses or not self._is_address_allowed(
            socket_address[0]
        ):
            self.refused = Reason.PRIVATE_ADDRESS
            return pycurl.SOCKET_BAD
        # libcurl uses a copy; this socket must be closed here.
        opened_socket = socket.socket(family, kind, protocol)
        self.opened.append(opened_socket)
        return opened_socket

    def _check_address(self, address: str, local_address: str, port: int, our_port: int) -> int:
        """Check the connected IP address before anything is sent, on new and reused connections."""
        if self._is_address_allowed(address):
            return int(pycurl.PREREQFUNC_OK)
        self.refused = Reason.PRIVATE_ADDRESS
        return int(pycurl.PREREQFUNC_ABORT)

    def _is_address_allowed(self, address: str) -> bool:
        try:
            return self.is_allowed(address)
        except ValueError:
            return False

    def _receive_line(self, line: bytes) -> int | None:
        self.head_bytes += len(line)
        if self.head_bytes > self.limits.head_max_bytes:
            self.refused = Reason.TOO_LARGE
            return 0
        if line.startswith(b"HTTP/") and not self.body.tell():
            self.lines, self.is_head_complete = [], False
        elif not line.strip():
            self.is_head_complete = True
        if not self.is_head_complete:
            self.lines.append(line)
        return None

    def _receive_body(self, piece: bytes) -> int | None:
        remaining_bytes = self.request.body_max_bytes - self.body.tell()
        self.body.write(piece[:remaining_bytes])
        if len(piece) > remaining_bytes:
            self.refused = Reason.TOO_LARGE
            return 0
        return None

    def _receive_debug(self, kind: int, data: bytes) -> None:
        if kind == _HEADER_OUT:
            self.sent += data
        elif kind == _TEXT and not self.secured and self.request.url.scheme == "https":
            match = _SECURED.search(data.decode("latin-1"))
            self.secured = f"{match[1]} {match[2]}" if match else ""


def _parse_head(lines: Sequence[bytes]) -> tuple[str, Headers]:
    """Return the status line of a response, and its headers as pairs of name and value.

    Invalid header lines are dropped. Headers folded over several lines are joined.
    """
    headers: list[tuple[str, str]] = []
    for line in lines[1:]:
        text = _decode_line(line).rstrip("\r\n")
        name, colon, value = text.partition(":")
        if text[:1] in " \t" and headers:
            headers[-1] = (headers[-1][0], f"{headers[-1][1]} {text.strip()}")
        elif colon and name.strip():
            headers.append((name.strip(), value.strip()))
    return (_decode_line(lines[0]).strip() if lines else ""), tuple(headers)


def _decode_line(line: bytes) -> str:
    """Decode a header line as UTF-8 if valid, otherwise as Latin-1.

    No standard defines other encodings.
    """
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("latin-1")
