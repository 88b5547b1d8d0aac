"""Workers on servers that fail in turn: nothing is lost or stored twice, and the work resumes by itself."""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from deployments import create_deployment, variables
from depth import partly_nightly
from e2e.crawls import write_crawl
from e2e.running import fonds
from e2e.states import ignore_owners, state
from e2e.workers import Workers
from real_servers import PrivateServer, run_private_server

pytestmark = pytest.mark.servers

KILLS = 12
SEED = 20261122
AWAY_S = 20.0
DISK = "24m"


@pytest.fixture
def crawls(tmp_path: Path) -> tuple[Path, Path]:
    """Two crawls; the second has new files."""
    first, second = tmp_path / "first", tmp_path / "second"
    write_crawl(first)
    second.mkdir()
    for number in range(40):
        words = " ".join(f"report{number} flood{word}" for word in range(400))
        page = f"<html><head><title>Report {number}</title></head><body><article><p>{words}</p>"
        (second / f"page-{number}.html").write_text(page)
    return first, second


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Mount a small disk where a server keeps its data."""
    folder.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "fonds-test", str(folder)]
    subprocess.run(mount, check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill_disk(filler: Path) -> None:
    """Fill the disk. Unbuffered, because the last buffer would fail at the end."""
    with filler.open("wb", buffering=0) as out, suppress(OSError):
        while True:
            out.write(os.urandom(1 << 16))


def kill_at_random(workers: Workers, chance: random.Random, count: int) -> None:
    """Kill `count` workers at random moments, and restart them."""
    kills_after = workers.kills + count
    while workers.kills < kills_after:
        workers.start()
        time.sleep(chance.uniform(0.5, 2.5))
        workers.kill_one(chance)
    workers.start()


def restart(server: PrivateServer) -> None:
    """Kill the server and start it again after a moment."""
    server.stop()
    time.sleep(2.0)
    server.start()


@pytest.mark.parametrize("queue", partly_nightly(("rabbitmq", "kafka"), lambda q: q == "kafka"))
def test_failing_servers_and_killed_workers_process_each_record_once(
    queue: str, crawls: tuple[Path, Path], tmp_path: Path
) -> None:
    index = "opensearch"
    first, second = crawls
    undisturbed_home, home = tmp_path / "calm", tmp_path / "home"
    assert fonds(undisturbed_home, "ingest", first, second).code in (0, 1)
    chance = random.Random(SEED)
    with ExitStack() as stack:
        disk = stack.enter_context(small_disk(tmp_path / "disk"))
        own = {
            name: stack.enter_context(run_private_server(name))
            for name in (queue, index, "postgresql")
        }
        own["s3"] = stack.enter_context(run_private_server("s3", data=disk))
        settings = stack.enter_context(create_deployment(queue, index, own))
        environment = variables(settings)
        workers = Workers(home, environment)
        stack.callback(workers.stop)

        # The index is unavailable during the first crawl, and workers are killed.
        own[index].stop()
        entered = fonds(home, "ingest", "--enter-only", first, **environment)
        assert entered.code == 0, entered.err
        kill_at_random(workers, chance, KILLS // 2)
        restart(own[queue])
        kill_at_random(workers, chance, KILLS // 4)
        restart(own["postgresql"])

        # The disk is full during the second crawl.
        filler = disk / "filler"
        fill_disk(filler)
        entered_again = fonds(home, "ingest", "--enter-only", second, **environment)
        assert entered_again.code == 0, entered_again.err
        kill_at_random(workers, chance, KILLS // 4)
        time.sleep(AWAY_S)
        filler.unlink()
        own[index].start()

        workers.drain()
        audited = fonds(home, "audit", **environment)
        assert audited.code == 0, audited.out
        actual = ignore_owners(state(home, **settings))
        expected = ignore_owners(state(undisturbed_home))
        for part in expected:
            assert actual[part] == expected[part], part
