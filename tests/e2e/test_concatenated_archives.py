"""WARCs whose records share one member: places are numbered, and no number is taken for a byte."""

from __future__ import annotations

from pathlib import Path

from e2e.crawls import page
from e2e.running import fonds
from fixtures.warcs import gzipped_whole, http_response, zstandarded


def test_they_balance_deep_audit_included_and_need_no_repair(tmp_path: Path) -> None:
    records = [http_response(page(n), url=f"http://news.example/{n}") for n in range(6)]
    crawl, home = tmp_path / "crawl", tmp_path / "home"
    crawl.mkdir()
    (crawl / "one.warc.gz").write_bytes(gzipped_whole(records[:3]))
    (crawl / "frame.warc.zst").write_bytes(zstandarded([b"".join(records[3:])]))
    assert fonds(home, "ingest", "--json", crawl).last["done"] == 6
    assert fonds(home, "audit", "--deep").code == 0
    assert fonds(home, "repair", "--json").last["repairs"] == {}


def test_one_that_was_shortened_is_named_by_its_bytes(tmp_path: Path) -> None:
    records = [http_response(page(n), url=f"http://news.example/{n}") for n in range(3)]
    warc, home = tmp_path / "one.warc.gz", tmp_path / "home"
    warc.write_bytes(gzipped_whole(records))
    assert fonds(home, "ingest", "--json", warc).last["done"] == 3
    warc.write_bytes(warc.read_bytes()[:-20])
    told = fonds(home, "audit", "--deep")
    assert (told.code, "one.warc.gz" in told.out) == (1, True)
