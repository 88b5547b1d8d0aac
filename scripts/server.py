"""What `scripts/servers.py` must know of one server: how it is had, started, and asked whether it answers."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Server:
    """One server on loopback; `scripts/server_NAME.py` holds its SERVER.

    `variable` is the environment variable the tests find its URL in. `install` makes it be there, given
    the scratch folder; again is quick and harmless, and it raises RuntimeError saying what cannot be
    had. `start` starts it on a port with data and logs below the folder and returns its processes, each
    the leader of its own session, none of them waited for. `ready` says whether it answers by now; it
    never raises. `url` is what Fonds is given. All get a folder of their own.
    """

    name: str
    port: int
    variable: str
    install: Callable[[Path], None]
    start: Callable[[Path, int], list[subprocess.Popen[bytes]]]
    ready: Callable[[Path, int], bool]
    url: Callable[[Path, int], str]
    ready_max_s: float = 120.0
