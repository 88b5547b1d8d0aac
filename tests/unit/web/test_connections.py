"""Slow and many clients on real sockets of this machine: none keeps a place for long, and others are served.

What is waited for is that the server acts, however long that takes here; no time is measured.
"""

from __future__ import annotations

import asyncio
import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from unittest.mock import Mock

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
    Connection,
    ConnectionDeadlines,
    ConnectionPool,
    compute_max_connections,
    create_server,
    listen,
)

PATIENCE_S = 60.0
LONG = ConnectionDeadlines(3600.0, 3600.0, 3600.0)
LARGE_BYTES = 64 * 1024 * 1024
HALF = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
WHOLE = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


class Held:
    """What the pages of these tests wait for."""

    def __init__(self) -> None:
        self.asked = threading.Semaphore(0)
        self.go_on = threading.Event()


def _app(held: Held) -> Starlette:
    async def plain(request: Request) -> Response:
        return PlainTextResponse("here\n")

    async def body(request: Request) -> Response:
        return PlainTextResponse(str(len(await request.body())))

    async def large(request: Request) -> Response:
        return Response(b"x" * LARGE_BYTES)

    async def hold(request: Request) -> Response:
        held.asked.release()
        await asyncio.to_thread(held.go_on.wait, PATIENCE_S)
        return PlainTextResponse("held\n")

    routes = [Route("/", plain), Route("/body", body, methods=["POST"])]
    return Starlette(routes=[*routes, Route("/large", large), Route("/hold", hold)])


@contextmanager
def _served(
    deadlines: ConnectionDeadlines,
    count_max: int = 100,
    wrap: Callable[[Starlette], object] = lambda app: app,
) -> Iterator[tuple[Callable[[], socket.socket], Held]]:
    held = Held()
    listening = listen("127.0.0.1", 0)
    ours = create_server(wrap(_app(held)), count_max=count_max, deadlines=deadlines)  # type: ignore[arg-type]
    thread = threading.Thread(target=ours.run, kwargs={"sockets": [listening]})
    thread.start()
    opened: list[socket.socket] = []

    def connect() -> socket.socket:
        opened.append(socket.create_connection(listening.getsockname(), PATIENCE_S))
        return opened[-1]

    try:
        yield connect, held
    finally:
        held.go_on.set()
        for one in opened:
            one.close()
        ours.should_exit = True
        thread.join(PATIENCE_S)
        listening.close()


def _all(one: socket.socket) -> bytes:
    """Everything that comes until the server closes, however it does."""
    received = bytearray()
    try:
        while piece := one.recv(65_536):
            received += piece
    except ConnectionResetError:
        pass
    return bytes(received)


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "SWEEP_EVERY_S", 0.05)


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Whatever clients do, nothing is logged of it."""
    yield
    assert caplog.records == []


def test_a_body_does_not_wait_until_its_head_is_acknowledged() -> None:
    with listen("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_half_a_request_is_closed_and_a_whole_one_answered() -> None:
    with _served(ConnectionDeadlines(0.3, 3600.0, 3600.0)) as (connect, _):
        slow, silent = connect(), connect()
        slow.sendall(HALF)
        quick = connect()
        quick.sendall(WHOLE)
        assert _all(quick).endswith(b"here\n")
        assert _all(slow) == _all(silent) == b""


def test_bytes_that_keep_coming_do_not_keep_a_connection() -> None:
    with _served(ConnectionDeadlines(0.3, 3600.0, 3600.0)) as (connect, _):
        slow = connect()
        slow.sendall(HALF)
        slow.settimeout(0.02)
        with pytest.raises(ConnectionError):
            _trickle(slow)


def _trickle(one: socket.socket) -> None:
    """A byte now and then until the server closes. Raises ConnectionError."""
    while True:
        one.sendall(b"a")
        with suppress(TimeoutError):
            if one.recv(1) == b"":
                raise ConnectionResetError


def test_the_next_request_of_a_kept_connection_has_its_deadline_too() -> None:
    with _served(ConnectionDeadlines(0.3, 3600.0, 3600.0)) as (connect, _):
        slow = connect()
        slow.sendall(WHOLE.replace(b"Connection: close\r\n", b"") + HALF)
        assert _all(slow).count(b"here\n") == 1


def test_a_body_that_does_not_follow_ends_its_request() -> None:
    with _served(ConnectionDeadlines(3600.0, 0.3, 3600.0)) as (connect, _):
        slow = connect()
        slow.sendall(b"POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nabc")
        assert _all(slow) == b""


def test_an_answer_nobody_takes_is_given_up() -> None:
    with _served(ConnectionDeadlines(3600.0, 3600.0, 0.3)) as (connect, _):
        slow = connect()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.sendall(WHOLE.replace(b"GET / ", b"GET /large "))
        waiting = select.poll()
        waiting.register(slow, select.POLLHUP | select.POLLERR)
        assert waiting.poll(PATIENCE_S * 1000), "the server did not let go"
        assert len(_all(slow)) < LARGE_BYTES


def test_slow_clients_make_room_for_others() -> None:
    with _served(LONG, count_max=20) as (connect, _):
        slow = [connect() for _ in range(60)]
        for one in slow:
            try:
                one.sendall(HALF)
            except ConnectionError:
                continue
        for _ in range(5):
            quick = connect()
            quick.sendall(WHOLE)
            assert _all(quick).endswith(b"here\n")
        assert _all(slow[0]) == b"", "the one that waited longest made room"


def test_when_all_are_being_answered_the_next_is_told_to_come_again() -> None:
    with _served(LONG, count_max=3) as (connect, held):
        busy = [connect() for _ in range(3)]
        for one in busy:
            one.sendall(WHOLE.replace(b"GET / ", b"GET /hold "))
            assert held.asked.acquire(timeout=PATIENCE_S)
        refused = _all(connect())
        assert refused.startswith(b"HTTP/1.1 503 ")
        assert b"Retry-After: 5\r\n" in refused
        head, _, told = refused.partition(b"\r\n\r\n")
        assert f"Content-Length: {len(told)}".encode() in head
        held.go_on.set()
        assert all(_all(one).endswith(b"held\n") for one in busy)


def test_so_much_is_worked_on_so_many_wait_and_all_others_come_again() -> None:
    with _served(LONG, 100, lambda app: ConcurrencyLimit(app, work_max=2, waiting_max=3)) as (
        connect,
        held,
    ):
        clients = [connect() for _ in range(5)]
        for one in clients:
            one.sendall(WHOLE.replace(b"GET / ", b"GET /hold "))
        for _ in range(2):
            assert held.asked.acquire(timeout=PATIENCE_S)
        refused = b""
        while not refused.startswith(b"HTTP/1.1 503 "):
            # The fifth may not have arrived yet: this one waits in its place then, and the next is refused.
            clients.append(connect())
            clients[-1].settimeout(0.5)
            clients[-1].sendall(WHOLE)
            try:
                refused = _all(clients[-1])
            except TimeoutError:
                clients[-1].settimeout(PATIENCE_S)
        assert b"retry-after: 5\r\n" in refused.lower()
        assert not held.asked.acquire(blocking=False)
        held.go_on.set()
        answers = [_all(client) for client in clients[:-1]]
        assert all(answer.startswith(b"HTTP/1.1 200 ") for answer in answers)


def test_garbage_is_refused_quietly() -> None:
    with _served(LONG) as (connect, _):
        for sent in (
            b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
            b"GET / HTTP/1.1\r\nA: " + b"a" * 100_000,
        ):
            one = connect()
            try:
                one.sendall(sent)
            except ConnectionError:
                continue
            assert _all(one).startswith((b"HTTP/1.1 400 ", b""))


def test_there_are_never_more_connections_than_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    for soft, wanted in ((256, 160), (64, CONNECTIONS_MIN), (100_000, 1_000)):
        monkeypatch.setattr(server.resource, "getrlimit", lambda _, soft=soft: (soft, soft))
        assert compute_max_connections() == wanted


def test_a_port_in_use_is_told_before_anything_is_said() -> None:
    first = listen("127.0.0.1", 0)
    with first, pytest.raises(ConfigurationError, match="in use"):
        listen("127.0.0.1", first.getsockname()[1])


class SteppedLoop:
    """Event loop whose time a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def time(self) -> float:
        return self.now

    def call_later(self, *_: object) -> None:
        """Sweep never."""


def test_a_kept_connection_waits_for_its_next_request_from_the_end_of_its_response() -> None:
    """However long the response took."""
    loop, protocol, transport = SteppedLoop(), Mock(cycle=None), Mock()
    transport.is_closing.return_value = False
    connection = Connection(ConnectionPool(10), protocol, loop)  # type: ignore[arg-type]
    connection.connection_made(transport)
    late_at = {9.0: False, 11.0: True}
    assert {at: connection.is_late(at, server.DEADLINES) for at in late_at} == late_at
    loop.now = 5.0
    protocol.cycle = Mock(response_complete=False, more_body=False)
    connection.data_received(WHOLE)
    assert not connection.is_late(500.0, server.DEADLINES)
    protocol.cycle.response_complete = True
    late_at = {501.0: False, 510.0: False, 511.5: True}
    assert {at: connection.is_late(at, server.DEADLINES) for at in late_at} == late_at


def test_a_client_that_receives_nothing_has_its_deadline_until_it_receives_again() -> None:
    loop, protocol, transport = SteppedLoop(), Mock(), Mock()
    transport.is_closing.return_value = False
    protocol.cycle = Mock(response_complete=False, more_body=False)
    connection = Connection(ConnectionPool(10), protocol, loop)  # type: ignore[arg-type]
    connection.connection_made(transport)
    loop.now = 100.0
    connection.pause_writing()
    late_at = {129.0: False, 131.0: True}
    assert {at: connection.is_late(at, server.DEADLINES) for at in late_at} == late_at
    connection.resume_writing()
    assert not connection.is_late(200.0, server.DEADLINES)
