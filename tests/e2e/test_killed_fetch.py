"""`fonds fetch` killed again and again: nothing is lost, nothing kept twice, and little asked for twice."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from e2e.running import adds_up, fonds
from fixtures.web_of_hosts import web_of_hosts
from fonds.config import load_settings
from fonds.model.rows import CdxRow, EntryRow, FetchedRow, StoryMetaRow
from fonds.wiring.backends import close_stores, open_stores

pytestmark = pytest.mark.slow

HOSTS, PAGES, KILLS = 20, 8, 5
SETTINGS = ("--set=elsewhere.private_addresses=true", "--set=fetch.host_gap_s=0.03")


def test_killed_at_any_moment_it_goes_on_and_nothing_is_lost_or_twice(tmp_path: Path) -> None:
    home, listed = tmp_path / "home", tmp_path / "urls.txt"
    with web_of_hosts() as web:
        urls = [
            f"http://127.0.0.1:{web.port}/{host}/{page}"
            for host in range(HOSTS)
            for page in range(PAGES)
        ]
        listed.write_text("\n".join(urls))
        words = ["fetch", "--json", *SETTINGS, "--from", str(listed)]
        for kill in range(KILLS):
            command = [sys.executable, "-m", "fonds", "--home", str(home), *words]
            with subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            ) as process:
                before = len(web.log)
                deadline = time.monotonic() + 60
                while len(web.log) < before + 5 + 7 * kill and time.monotonic() < deadline:
                    time.sleep(0.01)
                process.kill()
        ran = fonds(home, *words)
        assert ran.code == 0, ran.err + ran.out
        assert adds_up(ran.last)
        asked = Counter(one.target for one in web.log if one.target != "/robots.txt")
        assert set(asked) == {url.partition(f":{web.port}")[2] for url in urls}
        # Asked for again is what was under way, or had just come in, when it was killed; nothing else.
        assert sum(count - 1 for count in asked.values()) <= 2 * KILLS
        assert fonds(home, "audit", "--deep").code == 0
    stores = open_stores(home, load_settings(home, {}))
    try:
        outcomes = stores.records.count(EntryRow, ("outcome",))
        assert outcomes == {("done",): len(urls)}
        assert stores.records.count(StoryMetaRow)[()] == len(urls)
        assert stores.records.count(CdxRow)[()] == len(urls)
        assert stores.records.count(FetchedRow, ("in_spool",)) == {(False,): len(urls)}
        assert [path for path in (home / "blobs" / "spool").rglob("*") if path.is_file()] == []
    finally:
        close_stores(stores)
