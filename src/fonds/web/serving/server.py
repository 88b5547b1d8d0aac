"""Serves the pages: a socket that is ours before anything is said, and the library's server over it."""

from __future__ import annotations

import asyncio
import resource
import socket
import struct
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from fonds.model.errors import ConfigurationError, cause_of

# Connections with deadlines and a limit on their number, around the server library's own protocol.
#
# The library limits neither how long a request may take to arrive nor how many connections stand open. Here
# each waits for a request, receives its body or is being sent its answer, and none of these for long. When
# there are as many as may be, the one that has waited longest for a request makes room; nothing is logged of
# any of it.


SWEEP_EVERY_S = 1.0
CONNECTIONS_MAX = 1_000
RESERVED_DESCRIPTORS = 96
"""So many descriptors are left to the stores and to what is being read."""
CONNECTIONS_MIN = 16

_LINGER_OFF = struct.pack("ii", 1, 0)
_BUSY_MESSAGE = b"Too many are asking at once; try again.\n"
BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s"
    % (len(_BUSY_MESSAGE), _BUSY_MESSAGE)
)


@dataclass(frozen=True, slots=True)
class ConnectionDeadlines:
    """Seconds a request may take to arrive, its body to follow, and its answer to be taken."""

    head_s: float = 10.0
    body_s: float = 20.0
    send_s: float = 30.0


DEADLINES = ConnectionDeadlines()


def compute_max_connections(expected_status: int = CONNECTIONS_MAX) -> int:
    """As many as wanted, or as this process has descriptors for."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = expected_status if soft == resource.RLIM_INFINITY else soft - RESERVED_DESCRIPTORS
    return max(CONNECTIONS_MIN, min(expected_status, allowed))


@dataclass(slots=True)
class ConnectionPool:
    """All that stand open; made once for a server, whose protocol factory `create_connection` is."""

    count_max: int
    deadlines: ConnectionDeadlines = DEADLINES
    open: dict[int, Connection] = field(default_factory=dict)
    _is_sweeping: bool = False

    def create_connection(self, **options: Any) -> Connection:
        """A protocol for one connection; `options` is what the server library hands its own."""
        loop = options.get("_loop") or asyncio.get_running_loop()
        return Connection(self, H11Protocol(**options), loop)

    def enter(self, connection: Connection) -> bool:
        """Whether there is room for one more, if need be that of whoever waits longest for a request."""
        if len(self.open) >= self.count_max and not self._make_room():
            return False
        self.open[id(connection)] = connection
        if not self._is_sweeping:
            self._is_sweeping = True
            connection.loop.call_later(SWEEP_EVERY_S, self._sweep, connection.loop)
        return True

    def leave(self, connection: Connection) -> None:
        """It is closed."""
        self.open.pop(id(connection), None)

    def _make_room(self) -> bool:
        waiting = [one for one in self.open.values() if not one.is_answered]
        if not waiting:
            return False
        longest = min(waiting, key=lambda one: one.since)
        self.leave(longest)
        longest.abort()
        return True

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for one in list(self.open.values()):
            if one.is_late(now, self.deadlines):
                one.abort()
        self._is_sweeping = bool(self.open)
        if self._is_sweeping:
            loop.call_later(SWEEP_EVERY_S, self._sweep, loop)


class Connection:
    """One connection: everything goes on to the library's protocol, and the time is noted."""

    def __init__(
        self, among: ConnectionPool, inner: H11Protocol, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.loop = loop
        self.since = loop.time()
        self._among = among
        self._inner = inner
        self._transport: asyncio.Transport | None = None
        self._entered = False
        self._cycle: object = None
        self._was_answered = False
        self._stuck_since: float | None = None

    @property
    def is_answered(self) -> bool:
        """Whether a request has come whole, as far as its head goes, and its answer is not sent yet."""
        cycle = self._inner.cycle
        return cycle is not None and not cycle.response_complete

    def is_late(self, now: float, deadlines: ConnectionDeadlines) -> bool:
        """Whether what this connection waits for took longer than it may."""
        if self._transport is not None and self._transport.is_closing():
            # Said good-bye, but what was written is not taken.
            self._stuck_since = self._stuck_since or now
        if self._stuck_since is not None:
            return now - self._stuck_since > deadlines.send_s
        if self.is_answered:
            self._was_answered = True
            return self._inner.cycle.more_body and now - self.since > deadlines.body_s
        if self._was_answered:
            self._was_answered, self.since = False, now
        return now - self.since > deadlines.head_s

    def abort(self) -> None:
        """Close it at once; the system keeps nothing for it that was not taken."""
        if self._transport is None:
            return
        inner: socket.socket | None = self._transport.get_extra_info("socket")
        with suppress(OSError):
            if inner is not None:
                inner.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_OFF)
        self._transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Let it in, or tell it that there is no room."""
        self._transport = transport
        self._entered = self._among.enter(self)
        if self._entered:
            self._inner.connection_made(transport)
        else:
            transport.write(BUSY)
            transport.close()

    def data_received(self, data: bytes) -> None:
        """Hand it on; a new request begins a new time."""
        if not self._entered:
            return
        self._inner.data_received(data)
        if self._inner.cycle is not self._cycle:
            self._cycle = self._inner.cycle
            self.since = self.loop.time()
            self._was_answered = True

    def eof_received(self) -> None:
        """Hand it on."""
        if self._entered:
            self._inner.eof_received()

    def connection_lost(self, error: Exception | None) -> None:
        """Hand it on, and forget it."""
        self._among.leave(self)
        if self._entered:
            self._inner.connection_lost(error)

    def pause_writing(self) -> None:
        """More is waiting to be taken than should."""
        self._stuck_since = self.loop.time()
        if self._entered:
            self._inner.pause_writing()

    def resume_writing(self) -> None:
        """It was taken."""
        self._stuck_since = None
        if self._entered:
            self._inner.resume_writing()


BACKLOG = 512
HEAD_MAX_BYTES = 32 * 1024
KEEP_ALIVE_S = 5
LEAVE_OFF_S = 5


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises ConfigurationError for an address that is in use or not of this machine."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise ConfigurationError(
            f"the pages cannot be served at {host}, port {port}: {cause_of(error)}."
            " Choose another with --port, --replay-port or --host"
        ) from error
    # What is accepted takes it over. Without it a body, which is written behind its head, waits until the
    # client has said that it has the head, and clients put that off by 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def create_server(
    app: ASGIApp, *, count_max: int | None = None, deadlines: ConnectionDeadlines = DEADLINES
) -> uvicorn.Server:
    """The server, to be run with sockets; `count_max` connections at most, None: as many as there may be."""
    connections = ConnectionPool(count_max or compute_max_connections(), deadlines)
    config = uvicorn.Config(
        app,
        http=cast(type[asyncio.Protocol], connections.create_connection),
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        h11_max_incomplete_event_size=HEAD_MAX_BYTES,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=LEAVE_OFF_S,
    )
    return uvicorn.Server(config)


def get_port(listening: socket.socket) -> int:
    """The port a socket listens on."""
    port: int = listening.getsockname()[1]
    return port


def format_listen_url(host: str, listening: socket.socket) -> str:
    """The address of a listening socket, for people."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{get_port(listening)}/"


Served = tuple[ASGIApp, socket.socket]


def serve(pages: Served, replay: Served) -> None:
    """Serve both until a signal says stop; each has half of the connections there may be."""
    count_max = compute_max_connections() // 2
    second = create_server(replay[0], count_max=count_max)
    # Signals are the first one's: a server in another thread takes none.
    thread = threading.Thread(target=partial(second.run, sockets=[replay[1]]), name="replay")
    thread.start()
    try:
        create_server(pages[0], count_max=count_max).run(sockets=[pages[1]])
    finally:
        second.should_exit = True
        thread.join()
