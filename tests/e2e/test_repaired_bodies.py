"""Repair archives bodies that are lost in one WARC but exist in another, and the audit balances."""

from __future__ import annotations

from pathlib import Path

from e2e.crawls import page
from e2e.running import fonds
from fixtures.warcs import gzip_records, http_response


def test_a_repair_balances_and_a_second_one_finds_nothing(tmp_path: Path) -> None:
    records = [http_response(page(n), url=f"http://news.example/{n}") for n in range(8)]
    crawl, home = tmp_path / "crawl", tmp_path / "home"
    crawl.mkdir()
    first = crawl / "a.warc.gz"
    first.write_bytes(gzip_records(records))
    (crawl / "b.warc.gz").write_bytes(gzip_records(records))
    assert fonds(home, "ingest", "--json", crawl).last["done"] == 8
    first.write_bytes(first.read_bytes()[: first.stat().st_size // 2])
    assert fonds(home, "audit").code == 1
    assert fonds(home, "repair", "--json").last["repairs"] == {"body": 1}
    repaired = fonds(home, "repair", "--yes", "--json")
    assert (repaired.code, repaired.last["lost"]) == (0, [])
    assert repaired.last["acts"] >= 3
    assert fonds(home, "audit", "--deep").code == 0
    assert fonds(home, "repair", "--yes", "--json").last["acts"] == 0
