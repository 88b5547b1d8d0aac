"""Description of a server for `scripts/servers.py`: install, start and readiness check."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Server:
    """One server on loopback; `scripts/server_NAME.py` defines its SERVER.

    - `variable`: environment variable in which the tests find its URL
    - `install`: installs it, given the scratch folder; a second call is quick. Raises RuntimeError.
    - `start`: starts it on a port, with data and logs below the folder. Returns its processes, each the
            leader of its own session, without waiting for them.
    - `is_ready`: tells whether it answers; never raises
    - `build_url`: the URL for Fonds

    Each server has its own folder.
    """

    name: str
    port: int
    variable: str
    install: Callable[[Path], None]
    start: Callable[[Path, int], list[subprocess.Popen[bytes]]]
    is_ready: Callable[[Path, int], bool]
    build_url: Callable[[Path, int], str]
    ready_max_s: float = 120.0
