"""Serves the pages: a socket that is ours before anything is said, and the library's server over it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any, cast

import uvicorn
from starlette.types import ASGIApp

from fonds.model.errors import ConfigurationError
from fonds.web.serving.connections import DEADLINES, Connections, Deadlines, connections_max

BACKLOG = 512
HEAD_MAX_BYTES = 32 * 1024
KEEP_OPEN_S = 5
LEAVE_OFF_S = 5


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises ConfigurationError for an address that is in use or not of this machine."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise ConfigurationError(
            f"the pages cannot be served at {host}, port {port}: {error.strerror or error}."
            " Choose another with --port or --host"
        ) from error


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


def serve(app: ASGIApp, host: str, port: int, ready: Callable[[str], Any]) -> None:
    """Serve until a signal says stop; `ready` is told the address once it is listened on."""
    listening = listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    ready(f"http://{shown}:{listening.getsockname()[1]}/")
    server(app).run(sockets=[listening])
