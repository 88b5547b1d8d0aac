"""Messages that another program took from a broker: repair enters their entries again, and ends."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deployments import variables
from e2e.states import state
from fixtures.web_of_hosts import Web, serve_sites
from fonds.cli.main import cli, run
from fonds.config import load_settings
from fonds.ports import Queue
from fonds.wiring.pipeline_names import list_used_readers
from fonds.wiring.stores import close_stores, open_stores
from real_servers import url_of

pytestmark = pytest.mark.servers

LINKS = 22
REPAIR_MAX_S = 300.0
"""Longest time that the repair may take. Only one that hangs takes so long."""


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    with serve_sites(monkeypatch, LINKS) as hosts:
        yield hosts


@pytest.fixture(params=["rabbitmq", "kafka"])
def settings(request: pytest.FixtureRequest) -> dict[str, str]:
    queue = url_of(f"TEST_{request.param.upper()}_URL")
    return {"queue": queue, "env": f"t{os.urandom(5).hex()}"}


@pytest.fixture
def call_fonds(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, str],
) -> Any:
    for name, value in variables(settings).items():
        monkeypatch.setenv(name, value)

    def call_command(*words: str) -> tuple[int, dict[str, Any]]:
        line = ["--home", str(tmp_path / "home"), "--json", "--set=fetch.host_gap_s=0.1", *words]
        code = run(lambda: cli.main(line, standalone_mode=False))
        return code, json.loads(capsys.readouterr().out.splitlines()[-1])

    return call_command


def lose_messages(home: Path, settings: dict[str, str], pipeline: str) -> int:
    """Take all messages of a pipeline from the broker, as another program would. Return their number."""
    loaded = load_settings(home).replace_values(pipeline=pipeline, **settings)
    stores = open_stores(home, loaded)
    count = 0
    try:
        for subscriptions in list_used_readers(
            stores.records, stores.queue, loaded, pipeline
        ).values():
            for subscription in subscriptions:
                count += _drain(stores.queue, subscription.incoming)
    finally:
        close_stores(stores)
    return count


def _drain(queue: Queue, address: str) -> int:
    count = 0
    while deliveries := queue.receive(address, 100, 3.0):
        queue.settle(deliveries)
        count += len(deliveries)
    return count


def test_lost_links_are_entered_again_and_repair_ends(
    web: Web, call_fonds: Any, tmp_path: Path, settings: dict[str, str]
) -> None:
    table = tmp_path / "links.csv"
    lines = [f"{web.build_url(f'site{n}.example')},Title {n}" for n in range(LINKS)]
    table.write_text("\n".join(["url,title", *lines]) + "\n")
    code, summary = call_fonds("ingest", "--pipeline", "csv", "--enter-only", str(table))
    assert (code, summary["entered"]) == (0, LINKS)
    assert lose_messages(tmp_path / "home", settings, "csv") == LINKS
    code, report = call_fonds("audit", "--pipeline", "csv")
    assert code == 1
    assert f"{LINKS} of {LINKS} unsettled messages are in no queue" in str(report["faults"])
    started = time.monotonic()
    code, report = call_fonds("repair", "--yes")
    took_s = time.monotonic() - started
    sys.stdout.write(f"repair of {LINKS} lost links: {took_s:.0f} s\n")
    assert (code, report["faults"], report["lost"]) == (0, [], [])
    assert took_s < REPAIR_MAX_S
    assert len(state(tmp_path / "home", **settings)["stories"]) == LINKS
