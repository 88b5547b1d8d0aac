"""Slow and many clients on real local sockets: none blocks a connection for long, and others are served.

The tests wait until the server acts, however long that takes. They measure no time.
"""

from __future__ import annotations

import asyncio
import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from fonds.model.errors import ConfigurationError
from fonds.web.serving import server
from fonds.web.serving.responses import ConcurrencyLimit
from fonds.web.serving.server import (
    CONNECTIONS_MIN,
    ConnectionDeadlines,
    compute_max_connections,
    create_server,
    listen,
)

PATIENCE_S = 60.0
LONG_DEADLINES = ConnectionDeadlines(3600.0, 3600.0, 3600.0)
LARGE_BYTES = 64 * 1024 * 1024
HALF_REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
FULL_REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


class Gate:
    """Signals between the test and the requests to `/hold`."""

    def __init__(self) -> None:
        self.request_started = threading.Semaphore(0)
        self.released = threading.Event()


def _create_app(gate: Gate) -> Starlette:
    async def plain(request: Request) -> Response:
        return PlainTextResponse("here\n")

    async def body(request: Request) -> Response:
        return PlainTextResponse(str(len(await request.body())))

    async def large(request: Request) -> Response:
        return Response(b"x" * LARGE_BYTES)

    async def wait(request: Request) -> Response:
        gate.request_started.release()
        await asyncio.to_thread(gate.released.wait, PATIENCE_S)
        return PlainTextResponse("held\n")

    routes = [Route("/", plain), Route("/body", body, methods=["POST"])]
    return Starlette(routes=[*routes, Route("/large", large), Route("/hold", wait)])


@contextmanager
def _serve(
    deadlines: ConnectionDeadlines,
    count_max: int = 100,
    wrap: Callable[[Starlette], object] = lambda app: app,
) -> Iterator[tuple[Callable[[], socket.socket], Gate]]:
    gate = Gate()
    listener = listen("127.0.0.1", 0)
    app = wrap(_create_app(gate))
    running_server = create_server(app, count_max=count_max, deadlines=deadlines)  # type: ignore[arg-type]
    thread = threading.Thread(target=running_server.run, kwargs={"sockets": [listener]})
    thread.start()
    connections: list[socket.socket] = []

    def connect() -> socket.socket:
        connections.append(socket.create_connection(listener.getsockname(), PATIENCE_S))
        return connections[-1]

    try:
        yield connect, gate
    finally:
        gate.released.set()
        for connection in connections:
            connection.close()
        running_server.should_exit = True
        thread.join(PATIENCE_S)
        listener.close()


def _receive_all(connection: socket.socket) -> bytes:
    """Return all bytes until the server closes or resets the connection."""
    received = bytearray()
    try:
        while piece := connection.recv(65_536):
            received += piece
    except ConnectionResetError:
        pass
    return bytes(received)


@pytest.fixture(autouse=True)
def _sweep_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "SWEEP_EVERY_S", 0.05)


@pytest.fixture(autouse=True)
def _check_log(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Check that nothing is logged, whatever clients do."""
    yield
    assert caplog.records == []


def test_accepted_connections_send_without_delay() -> None:
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_an_incomplete_request_is_closed_at_its_deadline() -> None:
    with _serve(ConnectionDeadlines(0.3, 3600.0, 3600.0)) as (connect, _):
        slow, silent = connect(), connect()
        slow.sendall(HALF_REQUEST)
        quick = connect()
        quick.sendall(FULL_REQUEST)
        assert _receive_all(quick).endswith(b"here\n")
        assert _receive_all(slow) == _receive_all(silent) == b""


def test_trickled_bytes_do_not_extend_the_deadline() -> None:
    with _serve(ConnectionDeadlines(0.3, 3600.0, 3600.0)) as (connect, _):
        slow = connect()
        slow.sendall(HALF_REQUEST)
        slow.settimeout(0.02)
        with pytest.raises(ConnectionError):
            _trickle(slow)


def _trickle(connection: socket.socket) -> None:
    """Send a byte now and then until the server closes. Raises ConnectionError."""
    while True:
        connection.sendall(b"a")
        with suppress(TimeoutError):
            if connection.recv(1) == b"":
                raise ConnectionResetError


def test_later_requests_on_a_connection_have_deadlines() -> None:
    with _serve(ConnectionDeadlines(0.3, 3600.0, 3600.0)) as (connect, _):
        slow = connect()
        slow.sendall(FULL_REQUEST.replace(b"Connection: close\r\n", b"") + HALF_REQUEST)
        assert _receive_all(slow).count(b"here\n") == 1


def test_a_request_without_its_body_is_closed() -> None:
    with _serve(ConnectionDeadlines(3600.0, 0.3, 3600.0)) as (connect, _):
        slow = connect()
        slow.sendall(b"POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nabc")
        assert _receive_all(slow) == b""


def test_a_response_that_nobody_reads_is_aborted() -> None:
    with _serve(ConnectionDeadlines(3600.0, 3600.0, 0.3)) as (connect, _):
        slow = connect()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.sendall(FULL_REQUEST.replace(b"GET / ", b"GET /large "))
        waiting = select.poll()
        waiting.register(slow, select.POLLHUP | select.POLLERR)
        assert waiting.poll(PATIENCE_S * 1000), "the server did not close the connection"
        assert len(_receive_all(slow)) < LARGE_BYTES


def test_slow_connections_are_closed_for_new_ones() -> None:
    with _serve(LONG_DEADLINES, count_max=20) as (connect, _):
        slow = [connect() for _ in range(60)]
        for connection in slow:
            try:
                connection.sendall(HALF_REQUEST)
            except ConnectionError:
                continue
        for _ in range(5):
            quick = connect()
            quick.sendall(FULL_REQUEST)
            assert _receive_all(quick).endswith(b"here\n")
        assert _receive_all(slow[0]) == b"", "the longest waiting connection was not closed"


def test_a_connection_over_the_limit_returns_503() -> None:
    with _serve(LONG_DEADLINES, count_max=3) as (connect, gate):
        busy = [connect() for _ in range(3)]
        for connection in busy:
            connection.sendall(FULL_REQUEST.replace(b"GET / ", b"GET /hold "))
            assert gate.request_started.acquire(timeout=PATIENCE_S)
        refusal = _receive_all(connect())
        assert refusal.startswith(b"HTTP/1.1 503 ")
        assert b"Retry-After: 5\r\n" in refusal
        head, _, body = refusal.partition(b"\r\n\r\n")
        assert f"Content-Length: {len(body)}".encode() in head
        gate.released.set()
        assert all(_receive_all(connection).endswith(b"held\n") for connection in busy)


def test_requests_over_the_concurrency_limit_wait_or_return_503() -> None:
    with _serve(
        LONG_DEADLINES, 100, lambda app: ConcurrencyLimit(app, work_max=2, waiting_max=3)
    ) as (
        connect,
        gate,
    ):
        clients = [connect() for _ in range(5)]
        for client in clients:
            client.sendall(FULL_REQUEST.replace(b"GET / ", b"GET /hold "))
        for _ in range(2):
            assert gate.request_started.acquire(timeout=PATIENCE_S)
        refusal = b""
        while not refusal.startswith(b"HTTP/1.1 503 "):
            # The fifth may not have arrived yet. Then this request is queued, and the next one is refused.
            clients.append(connect())
            clients[-1].settimeout(0.5)
            clients[-1].sendall(FULL_REQUEST)
            try:
                refusal = _receive_all(clients[-1])
            except TimeoutError:
                clients[-1].settimeout(PATIENCE_S)
        assert b"retry-after: 5\r\n" in refusal.lower()
        assert not gate.request_started.acquire(blocking=False)
        gate.released.set()
        responses = [_receive_all(client) for client in clients[:-1]]
        assert all(response.startswith(b"HTTP/1.1 200 ") for response in responses)


def test_garbage_is_refused_without_logging() -> None:
    with _serve(LONG_DEADLINES) as (connect, _):
        for garbage in (
            b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
            b"GET / HTTP/1.1\r\nA: " + b"a" * 100_000,
        ):
            connection = connect()
            try:
                connection.sendall(garbage)
            except ConnectionError:
                continue
            assert _receive_all(connection).startswith((b"HTTP/1.1 400 ", b""))


def test_connections_stay_below_the_file_descriptor_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    for soft, expected in ((256, 160), (64, CONNECTIONS_MIN), (100_000, 1_000)):
        monkeypatch.setattr(server.resource, "getrlimit", lambda _, soft=soft: (soft, soft))
        assert compute_max_connections() == expected


def test_listening_on_a_used_port_raises_an_error() -> None:
    first = listen("127.0.0.1", 0)
    with first, pytest.raises(ConfigurationError, match="in use"):
        listen("127.0.0.1", first.getsockname()[1])
