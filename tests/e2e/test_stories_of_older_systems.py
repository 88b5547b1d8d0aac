"""Ingest downloads of an older system from a bucket into WARCs, and these WARCs into another home."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from e2e.crawls import page
from e2e.running import adds_up
from fixtures.http_server import CannedResponse, HttpServer, serve_http
from fixtures.media_cloud import read_stories
from fonds.cli.main import cli, run
from fonds.config import load_settings
from fonds.following.listings.csv_tables import FIRST_ID
from fonds.model.rows import CdxRow, StoryMetaRow
from fonds.wiring.stores import close_stores, open_stores

Call = Callable[..., tuple[int, dict[str, Any]]]
TABLE = f"""collect_date,stories_id,media_id,downloads_id,feeds_id,language,url
2012-03-04 05:06:07.5,1,2,5,4,en,http://a.example/five
2021-10-01 12:00:00,1,2,{FIRST_ID},4,en,http://a.example/in-b
2022-01-02 12:00:00,1,2,{FIRST_ID},4,en,http://b.example/in-d
2012-03-04 05:06:07,1,2,404,4,en,http://a.example/gone
2012-03-04 05:06:07,1,2,6,4,en,http://a.example/feed
"""
IDS = "downloads_id\n7\n8\n"
VERSION = (
    "<Version><Key>downloads/{key}</Key><VersionId>{id}</VersionId>"
    "<LastModified>{at}</LastModified></Version>"
)


def gzip_response(body: bytes) -> CannedResponse:
    dated = {"Last-Modified": "Mon, 05 Mar 2012 00:00:00 GMT", "ETag": '"a"'}
    return CannedResponse(body=gzip.compress(body), headers=dated)


def make_page_with_canonical_url(number: int, url: str) -> bytes:
    return page(number).replace(b"<head>", b'<head><link rel="canonical" href="%s">' % url.encode())


@pytest.fixture
def bucket() -> Iterator[HttpServer]:
    """The bucket: a page, two versions of an id, a redundant feed, and two pages without metadata."""
    with serve_http() as state:
        at = "/old/downloads"
        state.responses[f"{at}/5"] = gzip_response(page(5))
        state.responses[f"{at}/6"] = gzip_response(b"(redundant feed)")
        state.responses[f"{at}/7"] = gzip_response(
            make_page_with_canonical_url(7, "http://c.example/own")
        )
        state.responses[f"{at}/8"] = gzip_response(page(8))
        versions = [("b", "2021-10-01T13:00:00.000Z"), ("d", "2022-01-02T13:00:00.000Z")]
        versions_xml = "".join(
            VERSION.format(key=FIRST_ID, id=id_, at=moment) for id_, moment in versions
        )
        listed = f"<ListVersionsResult>{versions_xml}</ListVersionsResult>".encode()
        query = f"max-keys=1000&prefix=downloads%2F{FIRST_ID}&versions="
        state.responses[f"/old?{query}"] = CannedResponse(body=listed)
        for number, (id_, _) in enumerate(versions):
            state.responses[f"{at}/{FIRST_ID}?versionId={id_}"] = gzip_response(page(20 + number))
        yield state


@pytest.fixture
def call(
    bucket: HttpServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Call:
    server = f"s3://me:hidden@{bucket.url.removeprefix('http://')}?scheme=http"
    monkeypatch.setenv("FONDS_ELSEWHERE_S3_URL", server)
    settings = {
        "sources.downloads_url": "s3://old/downloads",
        "warc.form": "mediacloud",
    }

    def call_fonds(home: Path, *words: str | Path) -> tuple[int, dict[str, Any]]:
        sets = [f"--set={name}={value}" for name, value in settings.items()]
        line = ["--home", str(home), "--json", *sets, *map(str, words)]
        code = run(lambda: cli.main(line, standalone_mode=False))
        captured = capsys.readouterr()
        return code, json.loads(captured.out.splitlines()[-1]) if captured.out else {
            "error": captured.err
        }

    return call_fonds


def load_rows(home: Path) -> tuple[dict[str, StoryMetaRow], list[CdxRow]]:
    """Return the stories by URL, and the captures."""
    stores = open_stores(home, load_settings(home, {}))
    try:
        stories = {row.url: row for row in stores.records.find(StoryMetaRow)}
        return stories, list(stores.records.find(CdxRow))
    finally:
        close_stores(stores)


def test_downloads_become_stories_that_their_warcs_restore(tmp_path: Path, call: Call) -> None:
    tables = tmp_path / "tables"
    tables.mkdir()
    (tables / "old_2021-10-01.csv.gz").write_bytes(gzip.compress(TABLE.encode()))
    (tables / "ids.csv").write_text(IDS)
    home = tmp_path / "home"

    code, summary = call(home, "ingest", "--pipeline", "historical", tables)
    assert code == 1, summary
    assert adds_up(summary)
    assert (summary["in"], summary["done"], summary["pending"]) == (7, 4, 0)
    assert summary["dropped"] == {"redundant-feed": 1, "no-canonical-url": 1}
    assert summary["quarantined"] == {"missing-source": 1}

    stories, captures = load_rows(home)
    assert sorted(stories) == [
        "http://a.example/five",
        "http://a.example/in-b",
        "http://b.example/in-d",
        "http://c.example/own",
    ]
    five, own = stories["http://a.example/five"], stories["http://c.example/own"]
    assert (five.captured, own.captured) == ("20120304050607", "20120305000000")
    assert five.story.rss_entry.link == "5"
    assert five.story.http_metadata.response_code == 200
    assert five.story.http_metadata.encoding is None
    assert own.story.http_metadata.final_url == "http://c.example/own"
    assert own.story.content_metadata.original_url == "s3://old/downloads/7"
    epochs = [stories["http://a.example/in-b"], stories["http://b.example/in-d"]]
    assert [row.captured[:6] for row in epochs] == ["202110", "202201"]

    warc_paths = {row.url: row.warc_path for row in captures}
    assert warc_paths["http://a.example/five"].startswith("mchist2012-")
    assert warc_paths["http://a.example/in-b"].startswith("mchist2021-")
    assert warc_paths["http://b.example/in-d"].startswith("mchist2022-")
    assert warc_paths["http://c.example/own"].startswith("mchist2012-")
    assert warc_paths["s3://old/downloads/8"].startswith("mchist2012-")
    code, summary = call(home, "audit", "--deep")
    assert code == 0, summary
    second_summary = call(home, "ingest", "--pipeline", "historical", tables)[1]
    assert (second_summary["in"], second_summary["pending"]) == (0, 0), second_summary

    warcs = sorted((home / "archive").glob("mchist*.warc.gz"))
    written_stories = [
        story for path in warcs for story in read_stories(io.BytesIO(path.read_bytes()))
    ]
    assert {story.content_metadata.url for story in written_stories} >= stories.keys()
    _check_restored(tmp_path / "other", home / "archive", call, stories)


def _check_restored(
    home: Path, archive: Path, call: Call, stories: dict[str, StoryMetaRow]
) -> None:
    code, summary = call(home, "ingest", "--pipeline", "archive", archive)
    assert code == 0, summary
    assert adds_up(summary)
    assert summary["done"] == len(stories)
    # The page without a URL is in the archive, but is not a story.
    assert summary["dropped"]["no-metadata"] == 1
    restored, captures = load_rows(home)
    assert restored.keys() == stories.keys()
    for url, row in stories.items():
        restored_row = restored[url]
        assert (restored_row.sha1hex, restored_row.story_id, restored_row.captured) == (
            row.sha1hex,
            row.story_id,
            row.captured,
        )
        assert (restored_row.article_title, restored_row.word_count) == (
            row.article_title,
            row.word_count,
        )
        assert restored_row.story.rss_entry == row.story.rss_entry
        assert restored_row.story.http_metadata == row.story.http_metadata
        # The WARCs state times without a time zone.
        content = row.story.content_metadata
        parsed_date = (content.parsed_date or "").removesuffix("+00:00")
        assert restored_row.story.content_metadata == replace(content, parsed_date=parsed_date)
    # The bodies are not copied.
    assert {row.warc_path.rpartition("/")[0] for row in captures} == {archive.name}
    assert list(home.glob("archive/*.warc.gz")) == []
    code, summary = call(home, "audit", "--deep")
    assert code == 0, summary
