"""Serves the pages: a socket that is ours before anything is said, and the library's server over it."""

from __future__ import annotations

import asyncio
import socket
import threading
from functools import partial
from typing import cast

import uvicorn
from starlette.types import ASGIApp

from fonds.model.errors import ConfigurationError, cause_of
from fonds.web.serving.connections import DEADLINES, Connections, Deadlines, connections_max

BACKLOG = 512
HEAD_MAX_BYTES = 32 * 1024
KEEP_OPEN_S = 5
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


def server(
    app: ASGIApp, *, count_max: int | None = None, deadlines: Deadlines = DEADLINES
) -> uvicorn.Server:
    """The server, to be run with sockets; `count_max` connections at most, None: as many as there may be."""
    connections = Connections(count_max or connections_max(), deadlines)
    config = uvicorn.Config(
        app,
        http=cast(type[asyncio.Protocol], connections.protocol),
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        h11_max_incomplete_event_size=HEAD_MAX_BYTES,
        timeout_keep_alive=KEEP_OPEN_S,
        timeout_graceful_shutdown=LEAVE_OFF_S,
    )
    return uvicorn.Server(config)


def port_of(listening: socket.socket) -> int:
    """The port a socket listens on."""
    port: int = listening.getsockname()[1]
    return port


def shown(host: str, listening: socket.socket) -> str:
    """The address of a listening socket, for people."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port_of(listening)}/"


Served = tuple[ASGIApp, socket.socket]


def serve(pages: Served, replay: Served) -> None:
    """Serve both until a signal says stop; each has half of the connections there may be."""
    count_max = connections_max() // 2
    second = server(replay[0], count_max=count_max)
    # Signals are the first one's: a server in another thread takes none.
    thread = threading.Thread(target=partial(second.run, sockets=[replay[1]]), name="replay")
    thread.start()
    try:
        server(pages[0], count_max=count_max).run(sockets=[pages[1]])
    finally:
        second.should_exit = True
        thread.join()
