"""The script that starts and stops servers, tested with a small web server."""

from __future__ import annotations

import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import servers
from server import Server

# The script leaves its servers running when it ends, so their processes are never waited for.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


def _install(folder: Path) -> None:
    (folder / "installed").touch()


def _start(folder: Path, port: int) -> list[subprocess.Popen[bytes]]:
    words = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port)]
    with (folder / "server.log").open("ab") as log:
        return [subprocess.Popen(words, cwd=folder, stdout=log, stderr=log, start_new_session=True)]


def _is_ready(folder: Path, port: int) -> bool:
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=1).close()
    except OSError:
        return False
    return True


def _build_url(folder: Path, port: int) -> str:
    return f"web://user:s3cret@127.0.0.1:{port}/"


def _find_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@pytest.fixture
def web() -> Server:
    return Server(
        "web", _find_free_port(), "TEST_WEB_URL", _install, _start, _is_ready, _build_url, 20.0
    )


@pytest.fixture
def folder(tmp_path: Path, web: Server) -> Iterator[Path]:
    yield tmp_path / "servers"
    servers.stop([web], tmp_path / "servers")


def test_a_server_is_installed_started_and_stopped(
    web: Server, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert servers.start([web], folder) == 0
    assert (folder / "web" / "installed").exists()
    assert servers.print_status([web], folder) == 0
    assert (folder / "servers.env").read_text() == (
        f"export TEST_WEB_URL='web://user:s3cret@127.0.0.1:{web.port}/'\n"
    )
    assert servers.start([web], folder) == 0
    output = capsys.readouterr().out
    assert "runs already" in output
    assert "s3cret" not in output
    assert servers.stop([web], folder) == 0
    assert not _is_ready(folder, web.port)
    assert servers.print_status([web], folder) == 1


def test_a_used_port_is_refused_with_advice(
    web: Server, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", web.port)):
        assert servers.start([web], folder) == 1
    assert f"port {web.port} is taken" in (output := capsys.readouterr().out)
    assert "--port web=PORT" in output
    assert (folder / "servers.env").read_text() == ""


def test_a_server_that_exits_shows_its_log(
    web: Server, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def start_broken(home: Path, port: int) -> list[subprocess.Popen[bytes]]:
        words = [sys.executable, "-c", "raise SystemExit('no such licence')"]
        with (home / "server.log").open("ab") as log:
            return [subprocess.Popen(words, stderr=log, start_new_session=True)]

    broken_server = replace(
        web, name="other", port=_find_free_port(), start=start_broken, variable="TEST_OTHER_URL"
    )
    assert servers.start([web, broken_server], folder) == 1
    output = capsys.readouterr().out
    assert "other: it does not answer" in output
    assert "no such licence" in output
    assert "TEST_OTHER_URL" not in (folder / "servers.env").read_text()


def test_a_failed_installation_is_reported(
    web: Server, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail_install(home: Path) -> None:
        raise RuntimeError("install the Debian package web")

    assert servers.start([replace(web, install=fail_install)], folder) == 1
    assert "web: install the Debian package web" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("only", "ports", "message"),
    [
        (["kafkaa"], [], "there is no server 'kafkaa'"),
        ([], ["kafka=x"], "write it as NAME=PORT"),
        ([], ["nobody=1"], "there is no server 'nobody'"),
    ],
)
def test_unknown_names_and_invalid_ports_are_refused(
    only: list[str], ports: list[str], message: str, monkeypatch: pytest.MonkeyPatch, web: Server
) -> None:
    monkeypatch.setattr(servers, "list_servers", lambda: {"kafka": web})
    with pytest.raises(SystemExit, match=message):
        servers._choose_servers(only, ports)
