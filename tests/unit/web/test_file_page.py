"""One file: what its page shows, what it hands out, and what is said of a file nobody knows."""

from __future__ import annotations

from base64 import b32encode
from dataclasses import replace
from hashlib import sha1
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from filled_crawl import HOSTILE_TEXT, HOSTILE_TITLE, HOSTILE_URL, SCRIPT_URL
from filled_home import FilledHome, open_home
from fonds.config import Settings
from fonds.ports import Stores
from fonds.web.app import create_app
from fonds.web.html.rendering import ReplayOrigin
from fonds.wiring.readers import name_pdf_extractor
from home_rows import NOW, Body, build_disposition, entry, file_row
from page_reading import PageRead, read

UNKNOWN = "0" * 40


def test_hostile_titles_urls_and_texts_are_shown_as_text(
    client: TestClient, filled: FilledHome
) -> None:
    page = read(client, f"/file/{filled.hostile}")
    assert page.heading == HOSTILE_TITLE
    assert not page.tree.xpath("//body//script | //b | //*[@onerror]")
    assert page.tree.xpath("//div[@class='prose story']")[0].text_content() == HOSTILE_TEXT
    assert page.links()[HOSTILE_URL] == HOSTILE_URL


def test_a_capture_with_a_script_url_never_becomes_a_link(
    client: TestClient, filled: FilledHome
) -> None:
    page = read(client, f"/file/{filled.hostile}")
    assert SCRIPT_URL in page.words("//section[@id='captures']")
    assert all(not href.startswith("javascript") for href in page.links())


def test_provenance_leads_from_the_url_to_the_index(client: TestClient, filled: FilledHome) -> None:
    told = client.get(f"/file/{filled.long}.json").json()
    words = read(client, f"/file/{filled.long}").words("//ol[@class='provenance']")
    first = told["captures"][0]
    for part in (
        first["url"], f"{first['warc_path']}:{first['warc_offset']}", filled.long, told["file"]["sha256hex"],
        name_pdf_extractor(Settings()), "searchable",
    ):  # fmt: skip
        assert part in words


def test_an_older_version_of_a_story_leads_to_the_one_that_is_searched(
    client: TestClient, filled: FilledHome
) -> None:
    newer, older = filled.stories[-2:]
    told = client.get(f"/file/{older}.json").json()
    assert (told["indexed"], told["searched"]) == (False, newer)
    page = read(client, f"/file/{older}")
    assert f"/file/{newer}" in page.links()
    assert "replaced by a later version of this story" in page.words("//ol[@class='provenance']")
    told = client.get(f"/file/{newer}.json").json()
    assert (told["indexed"], told["searched"]) == (True, newer)


def test_one_address_met_twice_with_other_bytes_is_one_hit(
    client: TestClient, filled: FilledHome
) -> None:
    found = client.get("/api/search", params={"q": "title:front"}).json()
    assert [hit["sha1hex"] for hit in found["results"]] == [filled.stories[-2]]
    (hit,) = found["results"]
    files = client.get("/api/show", params={"key": hit["id"]}).json()["files"]
    assert [file["sha1hex"] for file in files] == list(filled.stories[-2:])
    assert files[0]["title"] == "Front page 31"
    assert files[0]["captured"] > files[1]["captured"]


def test_long_texts_are_cut_with_a_link_to_the_whole(
    client: TestClient, filled: FilledHome
) -> None:
    page = read(client, f"/file/{filled.long}")
    whole = client.get(f"/file/{filled.long}/text")
    assert len(whole.text) > 200_000
    assert f"{len(whole.text):,} characters on 212 pages, first 200,000 shown" in page.words()
    assert page.links()[f"/file/{filled.long}/text"]
    assert page.words("//p[@class='page-label'][1]").startswith("Page 1")
    assert whole.headers["content-type"] == "text/plain; charset=utf-8"
    assert "sandbox" in whole.headers["content-security-policy"]


def test_claimed_and_measured_are_kept_apart(client: TestClient, filled: FilledHome) -> None:
    told = client.get(f"/file/{filled.long}.json").json()
    claimed = {one["name"]: one["value"] for one in told["claimed"]}
    measured = {one["name"]: one["value"] for one in told["measured"]}
    assert claimed["author"] == "The River Authority"
    assert measured["pages"] == "212"
    assert "form" not in claimed
    assert measured["form"] == "none"


def test_the_history_is_in_order_and_names_every_step(
    client: TestClient, filled: FilledHome
) -> None:
    page = read(client, f"/file/{filled.long}")
    steps = [one.text for one in page.tree.xpath("//ol[@class='timeline']/li/strong")]
    assert steps == [
        "identify", "persist_file", "archive_body", "extract_pdf",
        "persist_bibliography", "persist_pdf_text", "persist_thumbnail",
    ]  # fmt: skip


def test_the_history_says_which_step_sent_what_still_waits(
    client: TestClient, filled: FilledHome
) -> None:
    steps = read(client, f"/file/{filled.pending}").tree.xpath("//ol[@class='timeline']/li")
    words = [" ".join(" ".join(step.itertext()).split()) for step in steps]
    assert words[1].endswith("persist_file done created by identify")
    assert words[2].endswith("archive_body pending created by persist_file")
    assert words[3].endswith("extract_pdf pending created by persist_file")
    told = client.get(f"/file/{filled.pending}.json").json()["history"]
    assert [one["settled_at"] is None for one in told] == [False, False, True, True]
    assert {one["pipeline"] for one in told} == {"library"}


def test_a_failed_file_says_why_there_is_no_text(client: TestClient, filled: FilledHome) -> None:
    page = read(client, f"/file/{filled.broken}")
    assert "No text. See the history below for the reason." in page.words("//section[@id='text']")
    history = page.words("//ol[@class='timeline']")
    assert "extract_pdf quarantined: broken-pdf, the PDF cannot be opened" in history
    page = read(client, f"/file/{filled.lost}")
    assert "archive_body quarantined: missing-source" in page.words("//ol[@class='timeline']")
    assert "not in a WARC" in page.words("//ol[@class='provenance']")


def test_what_may_still_come_is_not_yet_and_not_unknown(
    client: TestClient, filled: FilledHome
) -> None:
    page = read(client, f"/file/{filled.pending}")
    words = page.words()
    assert "This file is still being processed" in words
    assert page.words("//dl[@class='facts']//dd[../dt = 'extraction']") == "not yet"
    assert "not yet archived" in words
    assert "unknown" not in words


def test_while_one_of_two_pipelines_has_it_in_hand_more_may_come(tmp_path: Path) -> None:
    body = Body(1, "http://a.example/1.pdf", NOW, "application/pdf", b"%PDF")
    with open_home(tmp_path) as stores:
        for pipeline in ("archive-only", "library"):
            stores.ledger.enter([], [replace(entry(body), pipeline=pipeline)], ["identify"])
        stores.ledger.write(
            [replace(build_disposition(body, "identify", 0), pipeline="archive-only")]
        )
        stores.records.put([file_row(body)])
        with TestClient(create_app(stores), base_url="http://localhost") as client:
            told = client.get(f"/file/{body.sha1hex}.json").json()
            assert told["outcome"] == "pending"
            assert [one["pipeline"] for one in told["entries"]] == ["archive-only", "library"]
            stores.ledger.write(
                [replace(build_disposition(body, "identify", 0), pipeline="library")]
            )
            told = client.get(f"/file/{body.sha1hex}.json").json()
            words = read(client, f"/file/{body.sha1hex}").words("//section[@id='captures']")
    assert told["outcome"] == "done"
    assert "received by archive-only 14 Mar 2026" in words
    assert "received by library 14 Mar 2026" in words


def test_pages_are_downloads_of_plain_bytes_and_never_html(
    client: TestClient, filled: FilledHome
) -> None:
    answer = client.get(f"/file/{filled.hostile}/body")
    assert sha1(answer.content).hexdigest() == filled.hostile
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == f'attachment; filename="{filled.hostile}.bin"'
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]


def test_pdfs_are_downloads_of_their_own_type(client: TestClient, filled: FilledHome) -> None:
    answer = client.get(f"/file/{filled.long}/body")
    assert answer.content.startswith(b"%PDF")
    assert answer.headers["content-type"] == "application/pdf"
    assert answer.headers["content-disposition"].startswith("attachment;")


def test_a_body_that_lies_nowhere_is_a_404_that_says_so(
    client: TestClient, filled: FilledHome
) -> None:
    page = read(client, f"/file/{filled.lost}/body", 404)
    assert f"No WARC has a capture of {filled.lost}" in page.words()
    assert f"/file/{filled.lost}/body" not in read(client, f"/file/{filled.lost}").links()


def test_thumbnails_may_be_kept_for_a_year(client: TestClient, filled: FilledHome) -> None:
    answer = client.get(f"/file/{filled.long}/thumbnail")
    assert answer.content[:2] == b"\xff\xd8"
    assert answer.headers["content-type"] == "image/jpeg"
    assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"
    assert client.get(f"/file/{filled.hostile}/thumbnail").status_code == 404


@pytest.mark.parametrize(
    "path", ["/file/{}", "/file/{}/body", "/file/{}/text", "/file/{}/thumbnail"]
)
@pytest.mark.parametrize("key", [UNKNOWN, "nonsense", "x" * 300, "%3Cscript%3E"])
def test_unknown_files_are_404(client: TestClient, path: str, key: str) -> None:
    page = read(client, path.format(key), 404)
    assert not page.tree.xpath("//body//script")


def test_an_unknown_file_is_named_in_the_answer(client: TestClient) -> None:
    said = read(client, f"/file/{UNKNOWN}", 404).words()
    assert f"There is no file “{UNKNOWN}” in this library." in said
    assert client.get(f"/api/files/{UNKNOWN}").json()["error"] in said


def test_other_spellings_of_a_hash_lead_to_the_one_address(
    client: TestClient, filled: FilledHome
) -> None:
    base32 = b32encode(bytes.fromhex(filled.long)).decode()
    for spelt in (filled.long.upper(), base32, f"sha1:{base32.lower()}"):
        answer = client.get(f"/file/{spelt}", follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, f"/file/{filled.long}")
        assert client.get(f"/file/{spelt}.json").json()["sha1hex"] == filled.long


def test_show_finds_a_file_by_hash_url_and_story_id(client: TestClient, filled: FilledHome) -> None:
    for key, sha1hex in (
        (filled.long, filled.long),
        ("http://library.example/reports/3.pdf", filled.long),
        (HOSTILE_URL, filled.hostile),
        (filled.story_id, filled.stories[0]),
    ):
        answer = client.get("/show", params={"key": key}, follow_redirects=False)
        assert (answer.status_code, answer.headers.get("location")) == (303, f"/file/{sha1hex}"), (
            key
        )


def test_show_lists_a_url_that_was_captured_with_different_bytes(
    client: TestClient, filled: FilledHome
) -> None:
    page = PageRead(client.get("/show", params={"key": filled.twice_url}).text)
    assert set(page.links("//section[@aria-labelledby='files']")) == {
        f"/file/{story}" for story in filled.stories[-2:]
    }


def test_show_says_what_became_of_a_url_that_was_not_kept(
    client: TestClient, filled: FilledHome
) -> None:
    page = PageRead(client.get("/show", params={"key": filled.refused_url}).text)
    assert "http-status" in page.words("//section[@aria-labelledby='records']")
    told = client.get("/show.json", params={"key": filled.refused_url}).json()
    assert [one["reason"] for one in told["records"]] == ["http-status"]


@pytest.mark.parametrize(
    "key",
    [
        "http://nowhere.example/",
        "http://daily.example/*",
        "a b c",
        "http://[",
        "x" * 4096,
        UNKNOWN[:39],
    ],
)
def test_show_says_where_an_unknown_key_was_looked_for(client: TestClient, key: str) -> None:
    answer = client.get("/show", params={"key": key})
    assert answer.status_code == 404
    assert "You can look up:" in PageRead(answer.text).words()
    assert client.get("/show.json", params={"key": key}).status_code == 404


def test_show_without_a_key_asks_for_one(client: TestClient) -> None:
    assert read(client, "/show").heading == "Look up a file"
    assert read(client, "/show?key=" + "x" * 4097, 400).heading == "Invalid request"


def test_a_capture_leads_to_where_it_is_replayed(stores: Stores, filled: FilledHome) -> None:
    pages = create_app(stores, replay=ReplayOrigin(port=8766))
    with TestClient(pages, base_url="http://localhost:8765") as asked:
        shown = read(asked, f"/file/{filled.pdfs[0]}")
        (link, *_) = [href for href in shown.links("//main") if href.startswith("/web/")]
        told = asked.get(link, follow_redirects=False)
        assert told.headers["location"] == f"http://localhost:8766{link}"
    with TestClient(create_app(stores), base_url="http://localhost:8765") as asked:
        assert "/web/" not in asked.get(f"/file/{filled.pdfs[0]}").text
