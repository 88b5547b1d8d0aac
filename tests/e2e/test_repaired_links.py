"""`fonds repair` enters links again whose messages were lost from the queue."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.states import state
from fixtures.web_of_hosts import Web, serve_sites
from fonds.cli.main import cli, run

LINKS = 3


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    with serve_sites(monkeypatch, LINKS) as hosts:
        yield hosts


@pytest.fixture
def call_fonds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def call_command(*words: str) -> tuple[int, dict[str, Any]]:
        line = ["--home", str(tmp_path / "home"), "--json", "--set=fetch.host_gap_s=0.1", *words]
        code = run(lambda: cli.main(line, standalone_mode=False))
        return code, json.loads(capsys.readouterr().out.splitlines()[-1])

    return call_command


def run_sql(path: Path, *statements: str) -> list[Any]:
    connection = sqlite3.connect(path)
    try:
        with connection:
            return [connection.execute(statement).fetchall() for statement in statements][-1]
    finally:
        connection.close()


def enter_and_lose_links(web: Web, call_fonds: Any, tmp_path: Path) -> Path:
    """Enter the links of a list, then delete their messages. Return the list."""
    table = tmp_path / "links.csv"
    lines = [f"{web.build_url(f'site{n}.example')},Title {n}" for n in range(LINKS)]
    table.write_text("\n".join(["url,title", *lines]) + "\n")
    code, summary = call_fonds("ingest", "--pipeline", "csv", "--enter-only", str(table))
    assert (code, summary["entered"]) == (0, LINKS)
    run_sql(tmp_path / "home" / "queue.sqlite", "delete from waiting", "delete from contents")
    code, report = call_fonds("audit", "--pipeline", "csv")
    assert code == 1
    assert f"{LINKS} of {LINKS} unsettled messages are in no queue" in str(report["faults"])
    return table


@pytest.mark.parametrize("has_list", [True, False])
def test_lost_links_are_entered_again(
    web: Web, call_fonds: Any, tmp_path: Path, has_list: bool
) -> None:
    """They come from their list, or from the ledger if the list is gone."""
    table = enter_and_lose_links(web, call_fonds, tmp_path)
    if not has_list:
        table.unlink()
    code, report = call_fonds("repair", "--yes")
    assert (code, report["faults"], report["lost"]) == (0, [], [])
    home = tmp_path / "home"
    outcomes = run_sql(
        home / "records.sqlite", "select kind, outcome, count(*) from entries group by 1, 2"
    )
    assert outcomes == [("link", "done", LINKS)]
    for number in range(LINKS):
        requests = web.list_requests(f"site{number}.example")
        assert len([request for request in requests if request.target == "/story"]) == 1
    stories = [row["story"]["rss_entry"] for row in state(home)["stories"]]
    assert len(stories) == LINKS
    assert all(("Title" in str(rss_entry)) == has_list for rss_entry in stories)


def test_a_link_whose_entry_was_lost_is_restored_as_a_link(
    web: Web, call_fonds: Any, tmp_path: Path
) -> None:
    enter_and_lose_links(web, call_fonds, tmp_path)
    assert call_fonds("repair", "--yes")[0] == 0
    records = tmp_path / "home" / "records.sqlite"
    before = run_sql(records, "select entry_id, kind, input_id, url, seen, place from entries")
    run_sql(records, "delete from entries where entry_id = (select min(entry_id) from entries)")
    assert call_fonds("audit")[0] == 1
    code, report = call_fonds("repair", "--yes")
    assert (code, report["faults"]) == (0, [])
    assert (
        run_sql(records, "select entry_id, kind, input_id, url, seen, place from entries") == before
    )
