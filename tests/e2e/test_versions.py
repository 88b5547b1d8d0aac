"""A URL with several captures is found once, in its newest version, whatever the order of ingests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from e2e.crawls import page
from e2e.running import fonds
from fixtures.warcs import gzip_records, http_response
from fonds.config import Settings
from fonds.extract.page_extraction import EXTRACTOR
from fonds.model.rows import StoryMetaRow
from fonds.wiring.stores import close_stores, open_stores

URL = "http://news.example/harbour"
CRAWLS = ("2021", "2022", "2023")


def write_crawls(folder: Path) -> dict[str, Path]:
    """Write one crawl per year: an article with a different token, and a distinct page."""
    paths = {}
    for number, year in enumerate(CRAWLS):
        article = page(5).replace(b"</body>", b"<!-- token %d --></body>" % number)
        article = article.replace(b"A closing word", b"As of %s, a closing word" % year.encode())
        records = [
            http_response(article, url=URL, date=f"{year}-03-05T06:07:08Z"),
            http_response(page(10 + number), url=f"http://news.example/{year}"),
        ]
        paths[year] = folder / f"{year}.warc.gz"
        paths[year].write_bytes(gzip_records(records))
    return paths


def search_hits(home: Path) -> list[dict[str, Any]]:
    hits = fonds(home, "search", "harbour", "--json", "--limit", "100").lines
    left_out = ("score", "indexed_date", "snippet", "generation")
    return sorted(
        ({k: v for k, v in hit.items() if k not in left_out} for hit in hits), key=lambda h: h["id"]
    )


def test_every_order_of_ingests_and_a_reindex_give_one_index(tmp_path: Path) -> None:
    crawls = write_crawls(tmp_path)
    states = []
    for order in (("2021", "2022", "2023"), ("2023", "2021", "2022")):
        home = tmp_path / "-".join(order)
        for year in order:
            assert fonds(home, "ingest", crawls[year]).code == 0
        states.append(search_hits(home))
        if len(states) == 1:
            assert fonds(home, "ingest", crawls[order[0]]).code == 0
            assert search_hits(home) == states[-1]
        assert fonds(home, "reindex").code == 0
        assert search_hits(home) == states[-1]
        audited = fonds(home, "audit")
        assert audited.code == 0, audited.out
    assert states[0] == states[1]
    (hit,) = [item for item in states[0] if item["url"] == URL]
    text = fonds(home, "show", hit["sha1hex"], "--text").out
    assert "As of 2023" in text
    files = fonds(home, "show", hit["id"], "--json").lines
    assert [file["captures"][0]["datetime"][:4] for file in files] == ["2023", "2022", "2021"]


def list_archive(home: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in (home / "archive").iterdir()}


def test_a_catchup_keeps_the_index_and_archives_no_body_twice(tmp_path: Path) -> None:
    crawls, home = write_crawls(tmp_path), tmp_path / "home"
    (tmp_path / "loose").mkdir()
    (tmp_path / "loose" / "harbour.html").write_bytes(page(25))
    paths = (crawls["2022"], crawls["2021"], tmp_path / "loose")
    assert fonds(home, "ingest", *paths).code == 0
    before, archive_before = search_hits(home), list_archive(home)
    assert len(before) == 3
    stores = open_stores(home, Settings())
    keys = [row.sha1hex for row in stores.records.find(StoryMetaRow)]
    stores.records.change(StoryMetaRow, keys, {"extractor": "fonds-page/0"})
    close_stores(stores)
    counted = fonds(home, "catchup", "story", "--dry-run", "--json").last
    assert counted == {"files": 5, "by_status": {"success": 5}}
    result = fonds(home, "catchup", "story")
    assert (result.code, "5 files will be read for story" in result.out) == (0, True), result.out
    assert (search_hits(home), list_archive(home)) == (before, archive_before)
    rows = [line["extractor"] for line in fonds(home, "export").lines]
    assert rows == [EXTRACTOR] * 5
    assert fonds(home, "catchup", "story", "--dry-run", "--json").last["files"] == 0
    audited = fonds(home, "audit")
    assert audited.code == 0, audited.out
    steps_by_kind = {
        line["kind"]: line["read_by"] for line in fonds(home, "catchup", "--list", "--json").lines
    }
    assert steps_by_kind == {
        "pdf": "extract_pdf",
        "thumbnail": None,
        "story": "parse_story",
        "sketch": None,
        "bibliography": None,
        "grobid": "grobid",
        "jats": "import_jats",
        "match": "match",
    }
