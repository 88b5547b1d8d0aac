"""`fonds serve` serves two origins from one process, which end together."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from browser.browsing import serve_app
from filled_home import open_home
from fonds.archive.store.folder import FolderArchive
from fonds.archive.store.options import ArchiveOptions
from fonds.model.capture import Place, PlaceKind
from fonds.model.errors import PermanentError
from fonds.web.replay import create_replay
from replayed_home import BODY, LATIN1, PAGE, PDF, TIMES, fill

WAIT_S = 60


def test_pages_and_replay_have_separate_ports_and_end_by_a_signal(tmp_path: Path) -> None:
    with open_home(tmp_path) as stores:
        fill(stores, "http://localhost")
    words = (sys.executable, "-m", "fonds", "--home", str(tmp_path), "serve", "--port", "0")
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as serving:
        assert serving.stderr is not None
        output = serving.stderr.readline() + serving.stderr.readline()
        (pages, replay) = re.findall(r"http://127\.0\.0\.1:\d+/", output)
        assert pages != replay
        with urllib.request.urlopen(f"{pages}web/{TIMES[0]}/{PAGE}", timeout=WAIT_S) as answer:
            assert answer.url == f"{replay}web/{TIMES[0]}/{PAGE}"
            assert answer.read() == BODY(TIMES[0][:4]).encode()
        with urllib.request.urlopen(f"{pages}healthz", timeout=WAIT_S) as answer:
            assert answer.status == 200
        serving.send_signal(signal.SIGTERM)
        serving.wait(WAIT_S)
    assert serving.returncode in (0, -signal.SIGTERM)


def test_a_port_in_use_is_reported(tmp_path: Path) -> None:
    with open_home(tmp_path):
        pass
    words = (sys.executable, "-m", "fonds", "--home", str(tmp_path), "serve")
    command = (*words, "--port", "0", "--replay-port")
    with subprocess.Popen((*command, "0"), stderr=subprocess.PIPE, text=True) as serving:
        assert serving.stderr is not None
        serving.stderr.readline()
        (port,) = re.findall(r":(\d+)/web/", serving.stderr.readline())
        second = subprocess.run((*command, port), capture_output=True, text=True, timeout=WAIT_S)
        serving.send_signal(signal.SIGINT)
        serving.wait(WAIT_S)
    assert second.returncode == 2
    assert f"port {port}" in second.stderr
    assert "--replay-port" in second.stderr


def test_another_fonds_reads_replayed_captures(tmp_path: Path) -> None:
    with open_home(tmp_path / "home") as stores, serve_app(create_replay(stores)) as origin:
        fill(stores, "http://localhost")
        template = f"{origin}/web/{{timestamp}}id_/{{url}}"
        archive = FolderArchive(
            tmp_path / "other", ArchiveOptions(allows_private_addresses=True, replay_url=template)
        )
        for at, nearest in (
            (TIMES[0], TIMES[0]),
            (TIMES[2], TIMES[1]),
            ("20200202000000", TIMES[0]),
        ):
            payload = archive.read(Place(PlaceKind.REPLAY, f"{at}/{PAGE}"))
            assert payload.body == BODY(nearest[:4]).encode()
            assert payload.http is not None
            assert payload.http.charset == "utf-8"
        latin1 = archive.read(Place(PlaceKind.REPLAY, f"{TIMES[0]}/{LATIN1}"))
        assert latin1.http is not None
        assert (latin1.body.decode("latin-1"), latin1.http.charset) == (
            "<p>größer</p>",
            "iso-8859-1",
        )
        assert archive.read(Place(PlaceKind.REPLAY, f"{TIMES[0]}/{PDF}")).body.startswith(b"%PDF")
        with pytest.raises(PermanentError):
            archive.read(Place(PlaceKind.REPLAY, f"{TIMES[0]}/http://nowhere.example/"))
