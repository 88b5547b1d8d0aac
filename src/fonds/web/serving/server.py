"""HTTP server: a listening socket, the server library, and connections with deadlines.

The library limits neither how long a request may take to arrive nor the number of open connections.
Here every connection waits for a request, receives its body or sends its response, each with a
deadline. When all connections are in use, the one that has waited longest for a request is closed
to make room. Deadlines and closed connections are not logged.
"""

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

# Connections.


SWEEP_EVERY_S = 1.0
CONNECTIONS_MAX = 1_000
RESERVED_DESCRIPTORS = 96
"""Number of file descriptors that connections leave free for the stores and for files that are
being read.
"""
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
    """Maximum durations of the phases of a request, in seconds.

    `head_s`: until the head of a request has arrived on a waiting connection.
    `body_s`: until the body has arrived.
    `send_s`: until a client that stopped receiving the response receives more of it.
    """

    head_s: float = 10.0
    body_s: float = 20.0
    send_s: float = 30.0


DEADLINES = ConnectionDeadlines()


def compute_max_connections(wanted_max: int = CONNECTIONS_MAX) -> int:
    """Return the maximum number of connections of the server: `wanted_max`, or fewer if this
    process may open fewer files.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed_max = wanted_max if soft == resource.RLIM_INFINITY else soft - RESERVED_DESCRIPTORS
    return max(CONNECTIONS_MIN, min(wanted_max, allowed_max))


@dataclass(slots=True)
class ConnectionPool:
    """All open connections of a server, at most `count_max`.

    `create_connection` is the function that the server library calls for each new connection.
    """

    count_max: int
    deadlines: ConnectionDeadlines = DEADLINES
    open: dict[int, Connection] = field(default_factory=dict)
    _is_sweeping: bool = False

    def create_connection(self, **options: Any) -> Connection:
        """Create the protocol object of one new connection.

        `options` are those that the server library passes to its own protocol.
        """
        loop = options.get("_loop") or asyncio.get_running_loop()
        return Connection(self, H11Protocol(**options), loop)

    def enter(self, connection: Connection) -> bool:
        """Register a new connection. Return False if the maximum number of connections is open and
        none can be closed.

        If all connections are in use, first close the one that has waited longest for a request.
        """
        if len(self.open) >= self.count_max and not self._make_room():
            return False
        self.open[id(connection)] = connection
        if not self._is_sweeping:
            self._is_sweeping = True
            connection.loop.call_later(SWEEP_EVERY_S, self._sweep, connection.loop)
        return True

    def leave(self, connection: Connection) -> None:
        """Remove a closed connection from the pool of open connections."""
        self.open.pop(id(connection), None)

    def _make_room(self) -> bool:
        waiting = [connection for connection in self.open.values() if not connection.is_answered]
        if not waiting:
            return False
        longest = min(waiting, key=lambda connection: connection.since)
        self.leave(longest)
        longest.abort()
        return True

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for connection in list(self.open.values()):
            if connection.is_late(now, self.deadlines):
                connection.abort()
        self._is_sweeping = bool(self.open)
        if self._is_sweeping:
            loop.call_later(SWEEP_EVERY_S, self._sweep, loop)


class Connection:
    """One TCP connection to the server.

    The connection passes all events on to the HTTP protocol of the server library, and measures the
    time to enforce deadlines.
    """

    def __init__(
        self, pool: ConnectionPool, inner: H11Protocol, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.loop = loop
        self.since = loop.time()
        self._pool = pool
        self._inner = inner
        self._transport: asyncio.Transport | None = None
        self._entered = False
        self._cycle: object = None
        self._was_answered = False
        self._stuck_since: float | None = None

    @property
    def is_answered(self) -> bool:
        """True if the head of a request has arrived and its response is not fully sent."""
        cycle = self._inner.cycle
        return cycle is not None and not cycle.response_complete

    def is_late(self, now: float, deadlines: ConnectionDeadlines) -> bool:
        """True if the connection has exceeded the deadline of its current phase, such as receiving
        a request's body.
        """
        if self._transport is not None and self._transport.is_closing():
            # Closing, but the client has not received what was written.
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
        """Close the connection at once and discard data that the client has not received."""
        if self._transport is None:
            return
        inner: socket.socket | None = self._transport.get_extra_info("socket")
        with suppress(OSError):
            if inner is not None:
                inner.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_OFF)
        self._transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Register the new connection; if all connections are in use, answer 503 and close it."""
        self._transport = transport
        self._entered = self._pool.enter(self)
        if self._entered:
            self._inner.connection_made(transport)
        else:
            transport.write(BUSY)
            transport.close()

    def data_received(self, data: bytes) -> None:
        """Pass received data on to the server library. A new request restarts the time until the
        deadline of the connection.
        """
        if not self._entered:
            return
        self._inner.data_received(data)
        if self._inner.cycle is not self._cycle:
            self._cycle = self._inner.cycle
            self.since = self.loop.time()
            self._was_answered = True

    def eof_received(self) -> None:
        """Tell the server library that the client sends no more data."""
        if self._entered:
            self._inner.eof_received()

    def connection_lost(self, error: Exception | None) -> None:
        """Unregister the lost connection and tell the server library."""
        self._pool.leave(self)
        if self._entered:
            self._inner.connection_lost(error)

    def pause_writing(self) -> None:
        """Note the time at which the client stopped receiving the response."""
        self._stuck_since = self.loop.time()
        if self._entered:
            self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Note that the client of the connection receives the response again."""
        self._stuck_since = None
        if self._entered:
            self._inner.resume_writing()


BACKLOG = 512
HEAD_MAX_BYTES = 32 * 1024
KEEP_ALIVE_S = 5
SHUTDOWN_TIMEOUT_S = 5


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket. Raises ConfigurationError if the address is in use or not of this
    machine.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise ConfigurationError(
            f"the pages cannot be served at {host}, port {port}: {cause_of(error)}."
            " Choose another with --port, --replay-port or --host"
        ) from error
    # Accepted sockets inherit this. Without it, a body that is written after its head waits until
    # the client acknowledges the head, which clients delay by 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def create_server(
    app: ASGIApp, *, count_max: int | None = None, deadlines: ConnectionDeadlines = DEADLINES
) -> uvicorn.Server:
    """Create the HTTP server of an application; the caller runs the server with listening sockets.

    `count_max`: maximum number of connections; None means as many as the process allows.
    `deadlines`: deadlines of each connection.
    """
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
        timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_S,
    )
    return uvicorn.Server(config)


def get_port(listening: socket.socket) -> int:
    """Return the port number of a listening socket."""
    port: int = listening.getsockname()[1]
    return port


def format_listen_url(host: str, listening: socket.socket) -> str:
    """Format the URL at which a listening socket can be reached, for people."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{get_port(listening)}/"


Served = tuple[ASGIApp, socket.socket]


def serve(pages: Served, replay: Served) -> None:
    """Serve the application of the pages and that of the replay until a signal stops the process.

    Each application comes with its listening socket, and gets half of the connections.
    """
    count_max = compute_max_connections() // 2
    second = create_server(replay[0], count_max=count_max)
    # The first server handles signals: a server in another thread receives none.
    thread = threading.Thread(target=partial(second.run, sockets=[replay[1]]), name="replay")
    thread.start()
    try:
        create_server(pages[0], count_max=count_max).run(sockets=[pages[1]])
    finally:
        second.should_exit = True
        thread.join()
