"""Worker processes give the state of one undisturbed process, even if they are killed."""

from __future__ import annotations

import json
import random
import signal
import socket
import time
import urllib.request
from pathlib import Path

from depth import kills as number_of_kills
from e2e.crawls import write_crawl
from e2e.running import fonds
from e2e.states import ignore_owners, state
from e2e.workers import Workers

KILLS = number_of_kills(10, nightly=20)
SEED = 20261121


def test_killed_workers_lose_nothing_and_count_nothing_twice(
    tmp_path: Path,
) -> None:
    crawl = tmp_path / "crawl"
    write_crawl(crawl)
    undisturbed_home, home = tmp_path / "calm", tmp_path / "home"
    assert fonds(undisturbed_home, "ingest", crawl).code in (0, 1)
    entered = fonds(home, "ingest", "--enter-only", crawl, "--json")
    assert entered.code == 0, entered.err
    assert entered.last["entered"] > 100

    chance, workers = random.Random(SEED), Workers(home)
    while workers.kills < KILLS:
        workers.start()
        time.sleep(chance.uniform(0.1, 0.7))
        workers.kill_one(chance)
    workers.start()
    workers.drain()
    # A worker that has not started yet is ended by the signal itself.
    assert set(workers.stop()) <= {0, -signal.SIGTERM}
    audited = fonds(home, "audit")
    assert audited.code == 0, audited.out
    assert ignore_owners(state(home)) == ignore_owners(state(undisturbed_home))


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def _fetch(url: str) -> bytes:
    deadline = time.monotonic() + 30
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return bytes(answer.read())
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.2)


def test_a_worker_reports_health_and_metrics_and_stops_on_sigterm(tmp_path: Path) -> None:
    crawl, home = tmp_path / "crawl", tmp_path / "home"
    write_crawl(crawl)
    assert fonds(home, "ingest", "--enter-only", crawl).code == 0
    port = _free_port()
    workers = Workers(home)
    process = workers.spawn("identify", "--metrics-port", str(port))
    try:
        assert json.loads(_fetch(f"http://127.0.0.1:{port}/healthz")) == {
            "well": True,
            "waiting": {},
        }
        deadline = time.monotonic() + 60
        while b'step="identify",verdict="done"' not in _fetch(f"http://127.0.0.1:{port}/metrics"):
            assert time.monotonic() < deadline
            time.sleep(0.2)
    finally:
        process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    lines = [json.loads(x) for x in (tmp_path / "home-identify.log").read_text().splitlines()]
    assert {"time", "level", "message", "thread"} <= set(lines[0])
    assert lines[-1]["message"] == "stopped"
    dropped = [line for line in lines if line["message"] == "dropped"]
    assert dropped
    assert {"message_id", "step", "reason"} <= set(dropped[0])


def test_an_ingest_refuses_a_home_in_use_by_workers(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert fonds(home, "ingest", "--enter-only", tmp_path).code == 0
    workers = Workers(home)
    worker = workers.spawn("identify")
    try:
        log = tmp_path / "home-identify.log"
        while "at work" not in log.read_text():
            time.sleep(0.1)
        refused = fonds(home, "ingest", tmp_path)
        assert refused.code == 2
        assert "is in use by workers" in refused.err
    finally:
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 0


def test_unknown_steps_and_pipelines_are_refused(tmp_path: Path) -> None:
    home = tmp_path / "home"
    unknown = fonds(home, "work", "extract_pdff")
    assert (unknown.code, "Known: identify, persist_file" in unknown.err) == (2, True)
    unknown = fonds(home, "run", "librery")
    assert (unknown.code, "no pipeline named 'librery'" in unknown.err) == (2, True)
    assert fonds(home, "work").code == 2
