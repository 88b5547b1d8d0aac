"""The archive in a bucket of a real S3 server: large WARCs, a stopped server, killed ingests."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from e2e.crawls import write_crawl
from e2e.running import fonds
from e2e.states import state
from fixtures.archives import build_entry, download_files
from fonds.archive.store.folder import FolderArchive
from fonds.model.errors import StoreUnavailableError
from real_servers import run_private_server, url_of
from s3_archives import add_unique_prefix, list_waiting_files, open_archive

pytestmark = pytest.mark.servers

KILLS = 8
SEED = 20261121
RUN_MAX_S = 600


def test_a_warc_is_uploaded_in_several_parts(tmp_path: Path) -> None:
    archive = open_archive(add_unique_prefix(url_of("TEST_S3_URL")), tmp_path)
    bodies = [os.urandom(15_000_000) for _ in range(3)]
    archived = archive.write([build_entry(n, body=body) for n, body in enumerate(bodies)])
    archive.finish()
    assert list_waiting_files(tmp_path) == []
    for record, body in zip(archived, bodies, strict=True):
        assert archive.read(record.place).body == body


def test_writes_continue_without_loss_while_the_server_is_stopped(tmp_path: Path) -> None:
    with run_private_server("s3") as server:
        url = add_unique_prefix(server.url)
        archive = open_archive(url, tmp_path, stories_max=2, waiting_max_bytes=10_000)
        first = archive.write([build_entry(1), build_entry(2)])
        archive.finish()
        assert list_waiting_files(tmp_path) == []
        server.stop()
        with pytest.raises(StoreUnavailableError):
            archive.read(first[0].place)
        bodies = [os.urandom(4000) for _ in range(4)]
        later = archive.write([build_entry(10 + n, body=body) for n, body in enumerate(bodies)])
        archive.finish()
        assert archive.read(later[0].place).body == bodies[0]
        with pytest.raises(StoreUnavailableError, match="are waiting to be moved"):
            archive.write([build_entry(20)])
        # A second process can start meanwhile.
        second_archive = open_archive(url, tmp_path, waiting_max_bytes=10**9)
        second_archive.recover(lambda _: None)
        second_archive.close()
        server.start()
        archive.finish()
        assert list_waiting_files(tmp_path) == []
        assert archive.read(first[0].place).body == build_entry(1).body
        assert [archive.read(record.place).body for record in later] == bodies
        archive.close()


def test_the_thread_uploads_warcs_while_others_are_written(tmp_path: Path) -> None:
    archive = open_archive(add_unique_prefix(url_of("TEST_S3_URL")), tmp_path, stories_max=3)
    archived = []
    for number in range(30):
        archived += archive.write([build_entry(number)])
    done = threading.Event()
    for _ in range(600):
        if not archive.list_unsent():
            done.set()
            break
        done.wait(0.1)
    assert done.is_set()
    archive.finish()
    archive.close()
    for number, record in enumerate(archived):
        assert archive.read(record.place).body == build_entry(number).body


def test_doctor_reports_warcs_that_wait_for_upload(tmp_path: Path) -> None:
    home, url = tmp_path / "home", add_unique_prefix(url_of("TEST_S3_URL"))
    before = FolderArchive(home / "archive")
    before.write([build_entry(1, body=os.urandom(3_000_000))])
    before.finish()
    result = fonds(home, "doctor", FONDS_ARCHIVE=url)
    assert "2.9 MiB of WARC files wait here" in " ".join(result.out.split())
    assert urlsplit(url).password not in result.out + result.err
    assert "***" in result.out


def test_a_killed_ingest_ends_like_an_undisturbed_one(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    write_crawl(crawl)
    undisturbed_home, home = tmp_path / "calm", tmp_path / "home"
    assert fonds(undisturbed_home, "ingest", str(crawl)).code in (0, 1)
    expected = state(undisturbed_home)
    url = add_unique_prefix(url_of("TEST_S3_URL"))
    bare = {name: value for name, value in os.environ.items() if not name.startswith("FONDS_")}
    settings = bare | {"FONDS_ARCHIVE": url, "FONDS_WARC_STORIES_MAX": "3"}
    chance = random.Random(SEED)
    command = [sys.executable, "-m", "fonds", "--home", str(home), "ingest", str(crawl)]
    for _ in range(KILLS):
        run = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=settings
        )
        try:
            run.communicate(timeout=chance.uniform(1.0, 6.0))
        except subprocess.TimeoutExpired:
            run.kill()
            run.communicate()
    last = subprocess.run(
        command, capture_output=True, timeout=RUN_MAX_S, env=settings, check=False
    )
    assert last.returncode in (0, 1), last.stderr.decode()
    assert list_waiting_files(home) == []
    # The records have only file names, so the WARCs are also found in a folder.
    moved = download_files(url, home / "archive")
    assert len(moved) > 4
    assert state(home) == expected
