"""Requests to servers that respond byte by byte end in time."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from fonds.fetching.service_client import ServiceClient
from fonds.model.errors import TransientError

GAP_S, TOTAL_S = 0.05, 0.5
HEADS = {
    "with-length": b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n",
    "without-length": b"HTTP/1.1 200 OK\r\n\r\n",
    "in-chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
}


@pytest.fixture(params=list(HEADS))
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """URL of a server that sends its head at once, then one byte or chunk of a byte at a time."""
    head, is_ended = HEADS[request.param], threading.Event()
    piece = b"1\r\nx\r\n" if request.param == "in-chunks" else b"x"
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65_536)
                    connection.sendall(head)
                    while not is_ended.wait(GAP_S):
                        connection.sendall(piece)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        is_ended.set()
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_reading_a_trickling_body_ends_at_the_time_limit(url: str) -> None:
    client = ServiceClient(is_allowed=lambda _: True)
    started_s = time.monotonic()
    with (
        client.open(url, {}, total_s=TOTAL_S) as answer,
        pytest.raises(TransientError, match="slowly"),
    ):
        answer.read(1_000_000)
    # A body of 64 KiB at this rate would take an hour.
    assert time.monotonic() - started_s < 60
