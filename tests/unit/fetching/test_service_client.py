"""Requests to services: every address is tried, every limit applies, every error has its class."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from fixtures.http_server import CannedResponse, HttpServer, serve_http
from fonds.fetching.addresses import allow_any_address
from fonds.fetching.service_client import (
    ServiceClient,
    SlowServiceError,
    UnreachableServiceError,
    follow_none,
)
from fonds.model.disposition import Reason
from fonds.model.errors import LimitError, TransientError

UNUSED_ADDRESS = "127.0.0.77"
CLIENT = ServiceClient(allow_any_address, read_s=0.5)


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with serve_http() as state:
        yield state


@pytest.fixture
def silent_url() -> Iterator[str]:
    """A server that accepts connections and sends nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"


@pytest.fixture
def dripping_url() -> Iterator[str]:
    """A server that sends one byte of its body at a time, without end."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        is_stopped = threading.Event()

        def drip() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                while not is_stopped.wait(0.02):
                    try:
                        connection.sendall(b"x")
                    except OSError:
                        return

        thread = threading.Thread(target=drip)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        is_stopped.set()
        thread.join()


def test_the_next_address_is_tried_after_a_refused_connection(server: HttpServer) -> None:
    server.responses["/"] = CannedResponse(body=b"here")
    client = ServiceClient(allow_any_address, lambda host, port: [UNUSED_ADDRESS, "127.0.0.1"])
    url = server.url.replace("127.0.0.1", "service.example") + "/"
    with client.open(url, {}, total_s=5.0) as response:
        assert response.read(10) == b"here"


@pytest.mark.parametrize("addresses", [[UNUSED_ADDRESS], [UNUSED_ADDRESS, UNUSED_ADDRESS], []])
def test_a_service_without_an_open_address_is_unreachable(addresses: list[str]) -> None:
    client = ServiceClient(allow_any_address, lambda host, port: addresses)
    with (
        pytest.raises(UnreachableServiceError),
        client.open("http://service.example:9/", {}, total_s=5.0),
    ):
        pass


def test_a_silent_service_is_slow(silent_url: str) -> None:
    with pytest.raises(SlowServiceError), CLIENT.open(silent_url, {}, total_s=5.0):
        pass


def test_a_service_that_sends_byte_by_byte_is_slow(dripping_url: str) -> None:
    with CLIENT.open(dripping_url, {}, total_s=0.3) as response, pytest.raises(SlowServiceError):
        response.read_all(1_000_000)


def test_a_broken_connection_is_neither_slow_nor_unreachable(server: HttpServer) -> None:
    server.responses["/"] = CannedResponse(body=b"0123456789", missing_bytes=5)
    with (
        CLIENT.open(server.url + "/", {}, total_s=5.0) as response,
        pytest.raises(TransientError) as raised,
    ):
        response.read_all(100)
    assert not isinstance(raised.value, (SlowServiceError, UnreachableServiceError))


@pytest.mark.parametrize(("limit", "is_complete"), [(9, False), (10, True), (11, True)])
def test_a_body_over_the_limit_raises(server: HttpServer, limit: int, is_complete: bool) -> None:
    server.responses["/"] = CannedResponse(body=b"0123456789")
    with CLIENT.open(server.url + "/", {}, total_s=5.0) as response:
        if is_complete:
            assert response.read_all(limit) == b"0123456789"
            return
        with pytest.raises(LimitError) as raised:
            response.read_all(limit)
        assert raised.value.reason is Reason.TOO_LARGE


def test_a_redirect_is_returned_if_none_is_followed(server: HttpServer) -> None:
    server.responses["/"] = CannedResponse(302, headers={"Location": "/next"})
    with CLIENT.open(server.url + "/", {}, total_s=5.0, follows=follow_none) as response:
        assert response.status == 302
    assert [target for target, _ in server.requests] == ["/"]
