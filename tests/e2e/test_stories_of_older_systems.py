"""An old system's downloads out of a bucket into WARCs, and these into another home as they were read."""

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
from fixtures.answering import Answering, Given, answering
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


def given(body: bytes) -> Given:
    dated = {"Last-Modified": "Mon, 05 Mar 2012 00:00:00 GMT", "ETag": '"a"'}
    return Given(body=gzip.compress(body), headers=dated)


def with_canonical(number: int, url: str) -> bytes:
    return page(number).replace(b"<head>", b'<head><link rel="canonical" href="%s">' % url.encode())


@pytest.fixture
def bucket() -> Iterator[Answering]:
    """What the old system kept: one page, two of one id, a remark, and two pages nobody noted anything of."""
    with answering() as state:
        at = "/old/downloads"
        state.answers[f"{at}/5"] = given(page(5))
        state.answers[f"{at}/6"] = given(b"(redundant feed)")
        state.answers[f"{at}/7"] = given(with_canonical(7, "http://c.example/own"))
        state.answers[f"{at}/8"] = given(page(8))
        versions = [("b", "2021-10-01T13:00:00.000Z"), ("d", "2022-01-02T13:00:00.000Z")]
        told = "".join(VERSION.format(key=FIRST_ID, id=id_, at=moment) for id_, moment in versions)
        listed = f"<ListVersionsResult>{told}</ListVersionsResult>".encode()
        query = f"max-keys=1000&prefix=downloads%2F{FIRST_ID}&versions="
        state.answers[f"/old?{query}"] = Given(body=listed)
        for number, (id_, _) in enumerate(versions):
            state.answers[f"{at}/{FIRST_ID}?versionId={id_}"] = given(page(20 + number))
        yield state


@pytest.fixture
def call(
    bucket: Answering, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Call:
    server = f"s3://me:hidden@{bucket.url.removeprefix('http://')}?scheme=http"
    monkeypatch.setenv("FONDS_ELSEWHERE_S3_URL", server)
    settings = {
        "sources.downloads_url": "s3://old/downloads",
        "warc.form": "mediacloud",
    }

    def called(home: Path, *words: str | Path) -> tuple[int, dict[str, Any]]:
        sets = [f"--set={name}={value}" for name, value in settings.items()]
        line = ["--home", str(home), "--json", *sets, *map(str, words)]
        code = run(lambda: cli.main(line, standalone_mode=False))
        told = capsys.readouterr()
        return code, json.loads(told.out.splitlines()[-1]) if told.out else {"error": told.err}

    return called


def rows(home: Path) -> tuple[dict[str, StoryMetaRow], list[CdxRow]]:
    """The stories by their addresses, and the captures."""
    stores = open_stores(home, load_settings(home, {}))
    try:
        stories = {row.url: row for row in stores.records.find(StoryMetaRow)}
        return stories, list(stores.records.find(CdxRow))
    finally:
        close_stores(stores)


def test_downloads_become_stories_and_archives_and_these_become_stories_again(
    tmp_path: Path, call: Call
) -> None:
    tables = tmp_path / "tables"
    tables.mkdir()
    (tables / "old_2021-10-01.csv.gz").write_bytes(gzip.compress(TABLE.encode()))
    (tables / "ids.csv").write_text(IDS)
    home = tmp_path / "home"

    code, told = call(home, "ingest", "--pipeline", "historical", tables)
    assert code == 1, told
    assert adds_up(told)
    assert (told["in"], told["done"], told["pending"]) == (7, 4, 0)
    assert told["dropped"] == {"redundant-feed": 1, "no-canonical-url": 1}
    assert told["quarantined"] == {"missing-source": 1}

    stories, captures = rows(home)
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

    where = {row.url: row.warc_path for row in captures}
    assert where["http://a.example/five"].startswith("mchist2012-")
    assert where["http://a.example/in-b"].startswith("mchist2021-")
    assert where["http://b.example/in-d"].startswith("mchist2022-")
    assert where["http://c.example/own"].startswith("mchist2012-")
    assert where["s3://old/downloads/8"].startswith("mchist2012-")
    code, told = call(home, "audit", "--deep")
    assert code == 0, told
    again = call(home, "ingest", "--pipeline", "historical", tables)[1]
    assert (again["in"], again["pending"]) == (0, 0), again

    warcs = sorted((home / "archive").glob("mchist*.warc.gz"))
    told_by_theirs = [
        story for path in warcs for story in read_stories(io.BytesIO(path.read_bytes()))
    ]
    assert {
        told_by_their.content_metadata.url for told_by_their in told_by_theirs
    } >= stories.keys()
    _restored(tmp_path / "other", home / "archive", call, stories)


def _restored(home: Path, archive: Path, call: Call, stories: dict[str, StoryMetaRow]) -> None:
    code, told = call(home, "ingest", "--pipeline", "archive", archive)
    assert code == 0, told
    assert adds_up(told)
    assert told["done"] == len(stories)
    # The page nobody knows the address of lies in the archive, and was no story.
    assert told["dropped"]["no-metadata"] == 1
    again, captures = rows(home)
    assert again.keys() == stories.keys()
    for url, row in stories.items():
        other = again[url]
        assert (other.sha1hex, other.story_id, other.captured) == (
            row.sha1hex,
            row.story_id,
            row.captured,
        )
        assert (other.article_title, other.word_count) == (row.article_title, row.word_count)
        assert other.story.rss_entry == row.story.rss_entry
        assert other.story.http_metadata == row.story.http_metadata
        # They write times without saying that they are in UTC.
        content = row.story.content_metadata
        parsed_date = (content.parsed_date or "").removesuffix("+00:00")
        assert other.story.content_metadata == replace(content, parsed_date=parsed_date)
    # Its bodies stay where they are.
    assert {row.warc_path.rpartition("/")[0] for row in captures} == {archive.name}
    assert list(home.glob("archive/*.warc.gz")) == []
    code, told = call(home, "audit", "--deep")
    assert code == 0, told
