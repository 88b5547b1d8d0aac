"""A takedown purges WARCs in a bucket of a real S3 server, even if it is killed or the server stops."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from hashlib import sha1
from pathlib import Path
from tempfile import mkdtemp

import pytest

from e2e.running import fonds
from fixtures.archives import build_entry, download_files
from fonds.archive.warc.scanner import RecordHead, read_heads
from fonds.audit.warcs import verify
from fonds.model.errors import StoreUnavailableError
from purged_files import holders, purge_body
from real_servers import run_private_server, url_of
from s3_archives import add_unique_prefix, list_waiting_files, open_archive

pytestmark = pytest.mark.servers

KILLS, SEED, RUN_MAX_S = 6, 20261123, 600
PAGES = 12


def page(number: int) -> bytes:
    words = " ".join(f"The water of report {number} rose by {n} centimetres." for n in range(60))
    return f"<html><title>Report {number}</title><body><p>{words}</p></body></html>".encode()


def download_bucket(url: str) -> Path:
    """Download the bucket to a folder."""
    folder = Path(mkdtemp())
    download_files(url, folder)
    return folder


def test_a_large_warc_is_purged_in_its_bucket(tmp_path: Path) -> None:
    url = add_unique_prefix(url_of("TEST_S3_URL"))
    archive = open_archive(url, tmp_path)
    bodies = [os.urandom(15_000_000) for _ in range(3)]
    archived = archive.write([build_entry(n, body=body) for n, body in enumerate(bodies)])
    archive.finish()
    assert purge_body(archive, archived[1].place, bodies[1]).records == 1
    assert list_waiting_files(tmp_path) == []
    assert holders(download_bucket(url), bodies[1][:64]) == []
    for number in (0, 2):
        assert archive.read(archived[number].place).body == bodies[number]
    assert verify(archive, archived[0].place.path).faults == []
    archive.close()


def test_a_stopped_server_refuses_a_purge_and_loses_nothing(tmp_path: Path) -> None:
    with run_private_server("s3") as server:
        archive = open_archive(add_unique_prefix(server.url), tmp_path)
        secret = os.urandom(5_000)
        archived = archive.write([build_entry(1), build_entry(2, body=secret)])
        archive.finish()
        server.stop()
        with pytest.raises(StoreUnavailableError):
            purge_body(archive, archived[1].place, secret)
        server.start()
        assert archive.read(archived[1].place).body == secret
        assert purge_body(archive, archived[1].place, secret).records == 1
        assert archive.read(archived[0].place).body == build_entry(1).body
        assert list_waiting_files(tmp_path) == []
        archive.close()


def test_a_killed_takedown_completes_when_repeated(tmp_path: Path) -> None:
    inputs, home = tmp_path / "inputs", tmp_path / "home"
    inputs.mkdir()
    for number in range(PAGES):
        (inputs / f"{number}.html").write_bytes(page(number))
    url = add_unique_prefix(url_of("TEST_S3_URL"))
    assert fonds(home, "ingest", str(inputs), FONDS_ARCHIVE=url).code == 0
    assert holders(download_bucket(url), page(3)) != []
    before = sorted(sha1(path.read_bytes()).hexdigest() for path in inputs.iterdir())
    key = sha1(page(3)).hexdigest()
    bare = {name: value for name, value in os.environ.items() if not name.startswith("FONDS_")}
    words = ["--home", str(home), "takedown", key, "--reason", "privacy", "--yes"]
    chance = random.Random(SEED)
    for _ in range(KILLS):
        run = subprocess.Popen(
            [sys.executable, "-m", "fonds", *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=bare | {"FONDS_ARCHIVE": url},
        )
        time.sleep(chance.uniform(0.8, 3.0))
        run.kill()
        run.communicate()
    last = fonds(home, *words[2:], "--json", FONDS_ARCHIVE=url)
    assert (last.code, bool(json.loads(last.out)["finished"])) == (0, True), last.err
    moved = download_bucket(url)
    assert holders(moved, page(3)) == []
    assert holders(home / "archive", page(3)) == []
    (warc,) = moved.glob("*.warc.gz")
    with warc.open("rb") as stream:
        heads = [head for head in read_heads(stream) if isinstance(head, RecordHead)]
    assert sum(head.url.startswith("urn:taken-down:") for head in heads) >= 1
    assert fonds(home, "archive", "verify", FONDS_ARCHIVE=url).code == 0
    audited = fonds(home, "audit", "--deep", FONDS_ARCHIVE=url)
    assert audited.code == 0, audited.out + audited.err
    for number in set(range(PAGES)) - {3}:
        result = fonds(home, "show", sha1(page(number)).hexdigest(), "--json", FONDS_ARCHIVE=url)
        assert result.code == 0, result.err
    assert sorted(sha1(path.read_bytes()).hexdigest() for path in inputs.iterdir()) == before
