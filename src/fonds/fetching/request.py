"""One request: how it is asked for, what comes back within limits, and what each way to fail means.

Source: libcurl's easy interface and error codes.
Bound: body, heads and times by `Limits`.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO

import pycurl

from fonds.crawl.request_url import RequestUrl
from fonds.model.disposition import Reason
from fonds.model.exchange import Headers, Hop
from fonds.model.link import TlsCheck

ACCEPT_ENCODING = "gzip, deflate, br, zstd"
CONNECTIONS_NOTED = 4096
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
_TOO_MUCH = frozenset({pycurl.E_WRITE_ERROR, pycurl.E_FILESIZE_EXCEEDED})


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may take; `slow_s` seconds below `slow_bytes` a second are too slow.

    `head_max_bytes` is that of all heads of one answer, 1xx included.
    """

    connect_s: float = 30.0
    total_s: float = 120.0
    slow_bytes: int = 100
    slow_s: int = 30
    head_max_bytes: int = 256 * 1024
    connections_max: int = 512


@dataclass(frozen=True, slots=True)
class Ask:
    """What to ask for. `addresses` were judged, the first is tried first; `cookies` are those of the chain,
    in the form `Received` has them. `agent` is our one identity. More than `body_max_bytes` are not read, nor
    is anything of what is declared to be longer, unless the beginning is of use (`partial`): then the
    beginning of a longer body is an answer.
    """

    url: RequestUrl
    addresses: Sequence[str]
    agent: str
    body_max_bytes: int
    headers: Headers = ()
    cookies: Sequence[str] = ()
    tls: TlsCheck = TlsCheck.FULL
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Received:
    """An answer: its hop, the body with its content codings, and the chain's cookies from now on.
    The request was sent `since_sent_s` seconds ago, when there was a connection to send it over."""

    hop: Hop
    body: bytes
    cookies: Sequence[str]
    since_sent_s: float


@dataclass(frozen=True, slots=True)
class Failed:
    """No answer, or none that is taken. `unreachable`: there was nobody to be reached, as far as we know."""

    reason: Reason
    detail: str
    unreachable: bool = False
    took_s: float = 0.0


@dataclass(slots=True)
class Underway:
    """A handle of libcurl with the request it makes, one after the other, and what came of it so far."""

    ask: Ask
    limits: Limits
    is_allowed: Callable[[str], bool]
    ca_file: str
    handle: pycurl.Curl = field(default_factory=pycurl.Curl)
    made_for: TlsCheck | None = None
    began_at: datetime = NEVER
    body: BytesIO = field(default_factory=BytesIO)
    lines: list[bytes] = field(default_factory=list)
    head_bytes: int = 0
    head_done: bool = False
    sent: bytes = b""
    secured: str = ""
    refused: Reason | None = None
    opened: list[socket.socket] = field(default_factory=list)

    def begin(self, ask: Ask) -> pycurl.Curl:
        """The handle, ready for a request; what it did before is forgotten."""
        self.ask, self.began_at = ask, datetime.now(UTC)
        self.lines = []
        self.head_bytes, self.head_done, self.refused = 0, False, None
        self.sent, self.secured = b"", ""
        handle = self.handle
        if self.made_for is not ask.tls:
            self._make()
        handle.setopt(pycurl.URL, ask.url.url)
        handle.setopt(pycurl.USERAGENT, ask.agent)
        handle.setopt(pycurl.MAXFILESIZE_LARGE, 0 if ask.partial else ask.body_max_bytes)
        self._headers(handle)
        self._pin(handle)
        # What is set while it is verbose would be told of, and nobody can listen yet.
        handle.setopt(pycurl.VERBOSE, 0)
        for cookie in ("ALL", *ask.cookies):
            handle.setopt(pycurl.COOKIELIST, cookie)
        handle.setopt(pycurl.VERBOSE, 1)
        return handle

    def _make(self) -> None:
        """Set what is the same for all requests whose servers are held to account alike."""
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
            (pycurl.HEADERFUNCTION, self._take_line),
            (pycurl.WRITEFUNCTION, self._take_body),
            (pycurl.DEBUGFUNCTION, self._listen),
            (pycurl.OPENSOCKETFUNCTION, self._open),
            (pycurl.PREREQFUNCTION, self._judge),
        ):
            handle.setopt(option, value)
        self._check_tls(handle)
        self.made_for = self.ask.tls

    def received(self, secured: dict[tuple[str, int], str]) -> Received:
        """The answer; `secured` keeps what is known of connections that stand, by both their ends."""
        handle = self.handle
        status_line, headers = _head(self.lines)
        connection = (handle.getinfo(pycurl.PRIMARY_IP), handle.getinfo(pycurl.LOCAL_PORT))
        if self.secured:
            secured[connection] = self.secured
            while len(secured) > CONNECTIONS_NOTED:
                del secured[next(iter(secured))]
        is_secure = self.ask.url.scheme == "https"
        version = handle.getinfo(pycurl.INFO_HTTP_VERSION)
        hop = Hop(
            url=self.ask.url.url,
            began_at=self.began_at,
            status=handle.getinfo(pycurl.RESPONSE_CODE),
            status_line=status_line,
            headers=headers,
            request_head=self.sent.decode("latin-1"),
            address=connection[0],
            protocol=_PROTOCOLS.get(version, status_line.partition(" ")[0]),
            tls=secured.get(connection, "") if is_secure else None,
            connected_s=handle.getinfo(pycurl.APPCONNECT_TIME)
            or handle.getinfo(pycurl.CONNECT_TIME),
            first_byte_s=handle.getinfo(pycurl.STARTTRANSFER_TIME),
            took_s=handle.getinfo(pycurl.TOTAL_TIME),
            body_bytes=self.body.tell(),
        )
        cookies = tuple(handle.getinfo(pycurl.INFO_COOKIELIST))
        since_sent_s = hop.took_s - handle.getinfo(pycurl.PRETRANSFER_TIME)
        return Received(hop, self.body.getvalue(), cookies, since_sent_s)

    @property
    def is_start(self) -> bool:
        """Whether no more of an answer was wanted than what was read before it was broken off."""
        return self.ask.partial and self.head_done and self.refused is Reason.TOO_LARGE

    def failed(self, code: int, told: str) -> Failed:
        """What an error of libcurl means."""
        took_s = (datetime.now(UTC) - self.began_at).total_seconds()
        host = self.ask.url.host
        if self.refused is Reason.PRIVATE_ADDRESS:
            return Failed(self.refused, f"{host} is in a private or reserved network")
        if self.refused is Reason.TOO_LARGE or code in _TOO_MUCH:
            most = (
                f"{self.ask.body_max_bytes} bytes of body or {self.limits.head_max_bytes} of heads"
            )
            told = f"the server sends more than {most}"
            return Failed(Reason.TOO_LARGE, told, took_s=took_s)
        if code in _CERTIFICATE:
            return Failed(Reason.BAD_CERTIFICATE, told, took_s=took_s)
        nobody = not self.lines
        return Failed(Reason.UNREACHABLE, told or f"libcurl error {code}", nobody, took_s)

    def rest(self) -> None:
        """The request is over; the handle may make another."""
        for ours in self.opened:
            ours.close()
        self.opened.clear()
        self.body = BytesIO()

    def _headers(self, handle: pycurl.Curl) -> None:
        named = {name.lower() for name, _ in self.ask.headers}
        usual = (("Accept", "*/*"), ("Accept-Encoding", ACCEPT_ENCODING))
        headers = [one for one in usual if one[0].lower() not in named] + [*self.ask.headers]
        handle.setopt(pycurl.HTTPHEADER, [f"{name}: {value}" for name, value in headers])

    def _pin(self, handle: pycurl.Curl) -> None:
        """The name leads to the judged addresses, for this request at least."""
        url = self.ask.url
        if ":" in url.host:
            return
        addresses = ",".join(f"[{one}]" if ":" in one else one for one in self.ask.addresses)
        handle.setopt(pycurl.RESOLVE, [f"{url.host}:{url.port}:{addresses}"])

    def _check_tls(self, handle: pycurl.Curl) -> None:
        if self.ask.tls is TlsCheck.FULL:
            handle.setopt(pycurl.SSLVERSION, pycurl.SSLVERSION_TLSv1_2)
            return
        handle.setopt(pycurl.SSLVERSION, pycurl.SSLVERSION_TLSv1_0)
        handle.setopt(pycurl.SSL_CIPHER_LIST, _OLD_CIPHERS)
        if self.ask.tls is TlsCheck.NONE:
            handle.setopt(pycurl.SSL_VERIFYPEER, 0)
            handle.setopt(pycurl.SSL_VERIFYHOST, 0)

    def _open(self, purpose: int, address: tuple[int, int, int, tuple[str, int]]) -> object:
        """A socket to one of the judged addresses, and to no other."""
        family, kind, protocol, where = address
        if where[0] not in self.ask.addresses or not self._may_ask(where[0]):
            self.refused = Reason.PRIVATE_ADDRESS
            return pycurl.SOCKET_BAD
        # What libcurl works with is a copy; this one is ours to close.
        ours = socket.socket(family, kind, protocol)
        self.opened.append(ours)
        return ours

    def _judge(self, address: str, ours: str, port: int, our_port: int) -> int:
        """Before anything is sent, also on a connection that stood: its address once more."""
        if self._may_ask(address):
            return int(pycurl.PREREQFUNC_OK)
        self.refused = Reason.PRIVATE_ADDRESS
        return int(pycurl.PREREQFUNC_ABORT)

    def _may_ask(self, address: str) -> bool:
        try:
            return self.is_allowed(address)
        except ValueError:
            return False

    def _take_line(self, line: bytes) -> int | None:
        self.head_bytes += len(line)
        if self.head_bytes > self.limits.head_max_bytes:
            self.refused = Reason.TOO_LARGE
            return 0
        if line.startswith(b"HTTP/") and not self.body.tell():
            self.lines, self.head_done = [], False
        elif not line.strip():
            self.head_done = True
        if not self.head_done:
            self.lines.append(line)
        return None

    def _take_body(self, piece: bytes) -> int | None:
        room = self.ask.body_max_bytes - self.body.tell()
        self.body.write(piece[:room])
        if len(piece) > room:
            self.refused = Reason.TOO_LARGE
            return 0
        return None

    def _listen(self, kind: int, data: bytes) -> None:
        if kind == _HEADER_OUT:
            self.sent += data
        elif kind == _TEXT and not self.secured and self.ask.url.scheme == "https":
            found = _SECURED.search(data.decode("latin-1"))
            self.secured = f"{found[1]} {found[2]}" if found else ""


def _head(lines: Sequence[bytes]) -> tuple[str, Headers]:
    """Status line and headers; what is no header line is left out, a folded one is part of the one before."""
    headers: list[tuple[str, str]] = []
    for line in lines[1:]:
        text = _text(line).rstrip("\r\n")
        name, colon, value = text.partition(":")
        if text[:1] in " \t" and headers:
            headers[-1] = (headers[-1][0], f"{headers[-1][1]} {text.strip()}")
        elif colon and name.strip():
            headers.append((name.strip(), value.strip()))
    return (_text(lines[0]).strip() if lines else ""), tuple(headers)


def _text(line: bytes) -> str:
    """As UTF-8 where it is that: what else a byte beyond ASCII means, nobody says."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("latin-1")
