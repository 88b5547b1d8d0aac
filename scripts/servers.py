"""Start and stop the real servers of the tests, as plain processes on loopback.

python scripts/servers.py install
python scripts/servers.py start [--only "postgresql kafka"] [--port kafka=19092]
. .servers/servers.env
python scripts/servers.py stop
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from server import Server

FOLDER = Path(__file__).parent
STOP_MAX_S = 20.0
POLL_S = 0.2
TAIL_LINES = 25


def list_servers() -> dict[str, Server]:
    """Return all servers by name."""
    names = sorted(path.stem for path in FOLDER.glob("server_*.py"))
    servers = [import_module(name).SERVER for name in names]
    return {server.name: server for server in servers}


def install(servers: list[Server], folder: Path) -> int:
    """Install all in parallel, without starting them; return the number of failures."""
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(len(servers)) as threads:
        return list(threads.map(lambda server: _install_one(server, folder), servers)).count(False)


def _install_one(server: Server, folder: Path) -> bool:
    home = folder / server.name
    home.mkdir(parents=True, exist_ok=True)
    try:
        server.install(home)
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        print(f"{server.name}: {error}", flush=True)
        return False
    return True


def start(servers: list[Server], folder: Path) -> int:
    """Install and start all in parallel; return the number of failures."""
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(len(servers)) as threads:
        urls = list(threads.map(lambda server: _start_one(server, folder), servers))
    _write_environment(folder, servers, urls)
    return urls.count(None)


def _start_one(server: Server, folder: Path) -> str | None:
    """Start a server and return its URL when it answers. Prints why and returns None if it does not."""
    started = time.monotonic()
    home = folder / server.name
    if _find_running(_read_pids(home)) and server.is_ready(home, server.port):
        print(
            f"{server.name}: runs already, {hide_password(server.build_url(home, server.port))}",
            flush=True,
        )
        return server.build_url(home, server.port)
    if _is_port_in_use(server.port):
        print(
            f"{server.name}: port {server.port} is taken; end what listens there,"
            f" or choose another with --port {server.name}=PORT",
            flush=True,
        )
        return None
    if not _install_one(server, folder):
        return None
    try:
        processes = server.start(home, server.port)
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        print(f"{server.name}: {error}", flush=True)
        return None
    (home / "pids").write_text("".join(f"{process.pid}\n" for process in processes))
    installed_s = time.monotonic() - started
    if not _wait_until_ready(server, home, processes):
        print(f"{server.name}: it does not answer\n{_read_tail(home)}", flush=True)
        _end(home)
        return None
    ready_s = time.monotonic() - started
    url = server.build_url(home, server.port)
    seconds = f"{ready_s - installed_s:.1f} s, {ready_s:.1f} s in all"
    print(f"{server.name}: {hide_password(url)} ({seconds})", flush=True)
    return url


def _wait_until_ready(server: Server, home: Path, processes: list[subprocess.Popen[bytes]]) -> bool:
    deadline = time.monotonic() + server.ready_max_s
    while time.monotonic() < deadline:
        if server.is_ready(home, server.port):
            return True
        if all(process.poll() is not None for process in processes):
            return False
        time.sleep(POLL_S)
    return False


def _read_tail(home: Path) -> str:
    """Return the last lines of the newest log."""
    logs = sorted(home.glob("*.log"), key=lambda path: path.stat().st_mtime)
    if not logs:
        return "(no log)"
    lines = logs[-1].read_text("utf-8", "replace").splitlines()[-TAIL_LINES:]
    return "\n".join([f"the end of {logs[-1]}:", *lines])


def stop(servers: list[Server], folder: Path) -> int:
    """Stop the servers and their processes; return the number of failures."""
    return [_end(folder / server.name) for server in servers].count(False)


def _end(home: Path) -> bool:
    pids = _read_pids(home)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in _find_running(pids):
            os.killpg(pid, number)
        deadline = time.monotonic() + STOP_MAX_S
        while _find_running(pids) and time.monotonic() < deadline:
            time.sleep(POLL_S)
    if _find_running(pids):
        return False
    (home / "pids").unlink(missing_ok=True)
    return True


def print_status(servers: list[Server], folder: Path) -> int:
    """Print which servers answer; return how many do not."""
    silent = 0
    for server in servers:
        home = folder / server.name
        answers = bool(_find_running(_read_pids(home))) and server.is_ready(home, server.port)
        silent += not answers
        state = hide_password(server.build_url(home, server.port)) if answers else "does not answer"
        print(f"{server.name}: {state}")
    return silent


def hide_password(url: str) -> str:
    """Return the URL without its password. `servers.env` contains the full URL."""
    return re.sub(r"(?<=://)[^/@]+(?=@)", "***", url)


def _read_pids(home: Path) -> list[int]:
    try:
        return [int(line) for line in (home / "pids").read_text().split()]
    except FileNotFoundError:
        return []


def _find_running(pids: list[int]) -> list[int]:
    """Return the processes whose group still runs."""
    running = []
    for pid in pids:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
        try:
            os.killpg(pid, 0)
        except ProcessLookupError:
            continue
        running.append(pid)
    return running


def _is_port_in_use(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


def _write_environment(folder: Path, servers: list[Server], urls: list[str | None]) -> None:
    """Write the URLs for the tests. URLs of servers started earlier are kept."""
    path = folder / "servers.env"
    lines = path.read_text().splitlines() if path.exists() else []
    variables = dict(line.removeprefix("export ").split("=", 1) for line in lines if "=" in line)
    for server, url in zip(servers, urls, strict=True):
        if url is None:
            variables.pop(server.variable, None)
        else:
            variables[server.variable] = f"'{url}'"
    path.touch(mode=0o600)
    path.write_text("".join(f"export {name}={url}\n" for name, url in sorted(variables.items())))


def _choose_servers(only: list[str], ports: list[str]) -> list[Server]:
    """Return the selected servers. Raises SystemExit for an unknown name."""
    servers = list_servers()
    names = [name for word in only for name in word.split()] or list(servers)
    changed = dict(word.partition("=")[::2] for word in ports)
    unknown = [name for name in (*names, *changed) if name not in servers]
    if unknown:
        raise SystemExit(f"there is no server {unknown[0]!r}; there are {', '.join(servers)}")
    bad = [name for name, port in changed.items() if not port.isdecimal()]
    if bad:
        raise SystemExit(f"--port {bad[0]}={changed[bad[0]]}: write it as NAME=PORT")
    return [
        replace(servers[name], port=int(changed.get(name, servers[name].port))) for name in names
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("action", choices=("install", "start", "stop", "status"))
    parser.add_argument("--only", action="append", default=[], metavar='"NAME NAME…"')
    parser.add_argument("--folder", type=Path, default=Path(".servers"))
    parser.add_argument("--port", action="append", default=[], metavar="NAME=PORT")
    arguments = parser.parse_args()
    act = {"install": install, "start": start, "stop": stop, "status": print_status}[
        arguments.action
    ]
    failed = act(_choose_servers(arguments.only, arguments.port), arguments.folder.absolute())
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
