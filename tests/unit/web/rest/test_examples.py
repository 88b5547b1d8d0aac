"""The examples of docs/rest.md run unchanged and in order, with curl against a real server."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from filled_home import open_home
from fonds.web.app import create_app
from fonds.web.serving import server as serving
from fonds.wiring.collections import create_service
from unit.repository.tree import ROOT

PAGE = (ROOT / "docs" / "rest.md").read_text("utf-8")
COMMANDS = [
    line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.S) for line in block.splitlines()
]


@pytest.fixture
def curl_home(tmp_path: Path) -> Iterator[Path]:
    """A folder with curl settings that map port 8765 to a service and print each status."""
    with open_home(tmp_path / "home") as stores:
        service = create_service(stores, threads=1)
        listener = serving.listen("127.0.0.1", 0)
        http_server = serving.create_server(create_app(stores, service=service))
        thread = threading.Thread(target=http_server.run, kwargs={"sockets": [listener]})
        thread.start()
        port = serving.get_port(listener)
        settings = (
            f'connect-to = "localhost:8765:127.0.0.1:{port}"\nwrite-out = "\\n%{{http_code}}"\n'
        )
        (tmp_path / ".curlrc").write_text(f"{settings}silent\n", "utf-8")
        with service.runs.run_in_background():
            yield tmp_path
        http_server.should_exit = True
        thread.join()


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_every_example_returns_its_documented_status(curl_home: Path) -> None:
    assert len(COMMANDS) > 25
    environment = {**os.environ, "CURL_HOME": str(curl_home)}
    for command in COMMANDS:
        result = subprocess.run(
            ["bash", "-c", command], env=environment, capture_output=True, text=True, timeout=120
        )
        assert result.returncode == 0, (command, result.stderr)
        if "# " in command:
            status = command.rpartition("# ")[2]
            assert result.stdout.rsplit("\n", 1)[1] == status, (command, result.stdout)
