"""Description of a server for `scripts/servers.py`: install, start and readiness check."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Server:
    """Server on loopback that tests use. Each `scripts/server_NAME.py` defines one as `SERVER`.

    Functions receive the folder of the server, and all but `install` its port.

    - `variable`: environment variable in which the tests find the URL of the server
    - `install`: installs the server; a second call is quick. Raises RuntimeError.
    - `start`: starts the server, with data and logs below the folder. Returns its processes, each the
            leader of its own session, without waiting for the server.
    - `is_ready`: returns whether the server responds; never raises
    - `build_url`: returns the URL of the server for the settings of Fonds
    - `ready_max_s`: maximum time from the start until the server is ready. On two loaded cores the
            Java servers take minutes instead of seconds.
    """

    name: str
    port: int
    variable: str
    install: Callable[[Path], None]
    start: Callable[[Path, int], list[subprocess.Popen[bytes]]]
    is_ready: Callable[[Path, int], bool]
    build_url: Callable[[Path, int], str]
    ready_max_s: float = 300.0
