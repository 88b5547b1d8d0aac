"""WARCs with several records in one compressed member: places have numbers, which are not byte offsets."""

from __future__ import annotations

from pathlib import Path

from e2e.crawls import page
from e2e.running import fonds
from fixtures.warcs import gzip_as_one_member, http_response, zstd_records


def test_records_that_share_a_member_balance_without_repair(tmp_path: Path) -> None:
    records = [http_response(page(n), url=f"http://news.example/{n}") for n in range(6)]
    crawl, home = tmp_path / "crawl", tmp_path / "home"
    crawl.mkdir()
    (crawl / "one.warc.gz").write_bytes(gzip_as_one_member(records[:3]))
    (crawl / "frame.warc.zst").write_bytes(zstd_records([b"".join(records[3:])]))
    assert fonds(home, "ingest", "--json", crawl).last["done"] == 6
    assert fonds(home, "audit", "--deep").code == 0
    assert fonds(home, "repair", "--json").last["repairs"] == {}


def test_the_deep_audit_reports_a_truncated_shared_member(tmp_path: Path) -> None:
    records = [http_response(page(n), url=f"http://news.example/{n}") for n in range(3)]
    warc, home = tmp_path / "one.warc.gz", tmp_path / "home"
    warc.write_bytes(gzip_as_one_member(records))
    assert fonds(home, "ingest", "--json", warc).last["done"] == 3
    warc.write_bytes(warc.read_bytes()[:-20])
    audit = fonds(home, "audit", "--deep")
    assert (audit.code, "one.warc.gz" in audit.out) == (1, True)
