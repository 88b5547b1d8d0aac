"""The page of a file, its downloads, and lookups of unknown files."""

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


def test_hostile_titles_urls_and_texts_are_escaped(
    client: TestClient, filled_home: FilledHome
) -> None:
    page = read(client, f"/file/{filled_home.hostile}")
    assert page.heading == HOSTILE_TITLE
    assert not page.tree.xpath("//body//script | //b | //*[@onerror]")
    assert page.tree.xpath("//div[@class='prose story']")[0].text_content() == HOSTILE_TEXT
    assert page.links()[HOSTILE_URL] == HOSTILE_URL


def test_a_script_url_never_becomes_a_link(client: TestClient, filled_home: FilledHome) -> None:
    page = read(client, f"/file/{filled_home.hostile}")
    assert SCRIPT_URL in page.words("//section[@id='captures']")
    assert all(not href.startswith("javascript") for href in page.links())


def test_provenance_lists_url_place_hashes_and_extractor(
    client: TestClient, filled_home: FilledHome
) -> None:
    data = client.get(f"/file/{filled_home.long}.json").json()
    words = read(client, f"/file/{filled_home.long}").words("//ol[@class='provenance']")
    first = data["captures"][0]
    for part in (
        first["url"], f"{first['warc_path']}:{first['warc_offset']}", filled_home.long,
        data["file"]["sha256hex"], name_pdf_extractor(Settings()), "searchable",
    ):  # fmt: skip
        assert part in words


def test_an_older_version_links_to_the_searched_one(
    client: TestClient, filled_home: FilledHome
) -> None:
    newer, older = filled_home.stories[-2:]
    data = client.get(f"/file/{older}.json").json()
    assert (data["indexed"], data["searched"]) == (False, newer)
    page = read(client, f"/file/{older}")
    assert f"/file/{newer}" in page.links()
    assert "replaced by a later version of this story" in page.words("//ol[@class='provenance']")
    data = client.get(f"/file/{newer}.json").json()
    assert (data["indexed"], data["searched"]) == (True, newer)


def test_two_captures_of_a_url_are_one_search_result(
    client: TestClient, filled_home: FilledHome
) -> None:
    data = client.get("/api/search", params={"q": "title:front"}).json()
    assert [hit["sha1hex"] for hit in data["results"]] == [filled_home.stories[-2]]
    (hit,) = data["results"]
    files = client.get("/api/show", params={"key": hit["id"]}).json()["files"]
    assert [file["sha1hex"] for file in files] == list(filled_home.stories[-2:])
    assert files[0]["title"] == "Front page 31"
    assert files[0]["captured"] > files[1]["captured"]


def test_long_texts_are_cut_with_a_link_to_the_full_text(
    client: TestClient, filled_home: FilledHome
) -> None:
    page = read(client, f"/file/{filled_home.long}")
    full_text = client.get(f"/file/{filled_home.long}/text")
    assert len(full_text.text) > 200_000
    assert f"{len(full_text.text):,} characters on 212 pages, first 200,000 shown" in page.words()
    assert page.links()[f"/file/{filled_home.long}/text"]
    assert page.words("//p[@class='page-label'][1]").startswith("Page 1")
    assert full_text.headers["content-type"] == "text/plain; charset=utf-8"
    assert "sandbox" in full_text.headers["content-security-policy"]


def test_claimed_and_measured_facts_are_separate(
    client: TestClient, filled_home: FilledHome
) -> None:
    data = client.get(f"/file/{filled_home.long}.json").json()
    claimed_facts = {fact["name"]: fact["value"] for fact in data["claimed"]}
    measured_facts = {fact["name"]: fact["value"] for fact in data["measured"]}
    assert claimed_facts["author"] == "The River Authority"
    assert measured_facts["pages"] == "212"
    assert "form" not in claimed_facts
    assert measured_facts["form"] == "none"


def test_the_history_lists_every_step_in_order(client: TestClient, filled_home: FilledHome) -> None:
    page = read(client, f"/file/{filled_home.long}")
    steps = [element.text for element in page.tree.xpath("//ol[@class='timeline']/li/strong")]
    assert steps == [
        "identify", "persist_file", "archive_body", "extract_pdf",
        "persist_bibliography", "persist_pdf_text", "persist_thumbnail",
    ]  # fmt: skip


def test_the_history_names_the_step_that_created_pending_work(
    client: TestClient, filled_home: FilledHome
) -> None:
    steps = read(client, f"/file/{filled_home.pending}").tree.xpath("//ol[@class='timeline']/li")
    words = [" ".join(" ".join(step.itertext()).split()) for step in steps]
    assert words[1].endswith("persist_file done created by identify")
    assert words[2].endswith("archive_body pending created by persist_file")
    assert words[3].endswith("extract_pdf pending created by persist_file")
    history = client.get(f"/file/{filled_home.pending}.json").json()["history"]
    assert [row["settled_at"] is None for row in history] == [False, False, True, True]
    assert {row["pipeline"] for row in history} == {"library"}


def test_a_failed_file_shows_why_it_has_no_text(
    client: TestClient, filled_home: FilledHome
) -> None:
    page = read(client, f"/file/{filled_home.broken}")
    assert "No text. See the history below for the reason." in page.words("//section[@id='text']")
    history = page.words("//ol[@class='timeline']")
    assert "extract_pdf quarantined: broken-pdf, the PDF cannot be opened" in history
    page = read(client, f"/file/{filled_home.lost}")
    assert "archive_body quarantined: missing-source" in page.words("//ol[@class='timeline']")
    assert "not in a WARC" in page.words("//ol[@class='provenance']")


def test_missing_results_of_a_pending_file_are_shown_as_not_yet(
    client: TestClient, filled_home: FilledHome
) -> None:
    page = read(client, f"/file/{filled_home.pending}")
    words = page.words()
    assert "This file is still being processed" in words
    assert page.words("//dl[@class='facts']//dd[../dt = 'extraction']") == "not yet"
    assert "not yet archived" in words
    assert "unknown" not in words


def test_a_file_is_pending_until_all_pipelines_are_done(tmp_path: Path) -> None:
    body = Body(1, "http://a.example/1.pdf", NOW, "application/pdf", b"%PDF")
    with open_home(tmp_path) as stores:
        for pipeline in ("archive-only", "library"):
            stores.ledger.enter([], [replace(entry(body), pipeline=pipeline)], ["identify"])
        stores.ledger.write(
            [replace(build_disposition(body, "identify", 0), pipeline="archive-only")]
        )
        stores.records.put([file_row(body)])
        with TestClient(create_app(stores), base_url="http://localhost") as client:
            data = client.get(f"/file/{body.sha1hex}.json").json()
            assert data["outcome"] == "pending"
            assert [entry_row["pipeline"] for entry_row in data["entries"]] == [
                "archive-only",
                "library",
            ]
            stores.ledger.write(
                [replace(build_disposition(body, "identify", 0), pipeline="library")]
            )
            data = client.get(f"/file/{body.sha1hex}.json").json()
            words = read(client, f"/file/{body.sha1hex}").words("//section[@id='captures']")
    assert data["outcome"] == "done"
    assert "received by archive-only 14 Mar 2026" in words
    assert "received by library 14 Mar 2026" in words


def test_the_body_of_a_page_is_a_binary_download(
    client: TestClient, filled_home: FilledHome
) -> None:
    response = client.get(f"/file/{filled_home.hostile}/body")
    assert sha1(response.content).hexdigest() == filled_home.hostile
    assert response.headers["content-type"] == "application/octet-stream"
    assert (
        response.headers["content-disposition"]
        == f'attachment; filename="{filled_home.hostile}.bin"'
    )
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in response.headers["content-security-policy"]


def test_the_body_of_a_pdf_is_a_pdf_download(client: TestClient, filled_home: FilledHome) -> None:
    response = client.get(f"/file/{filled_home.long}/body")
    assert response.content.startswith(b"%PDF")
    assert response.headers["content-type"] == "application/pdf"
    assert response.headers["content-disposition"].startswith("attachment;")


def test_a_body_without_a_capture_returns_404_with_the_reason(
    client: TestClient, filled_home: FilledHome
) -> None:
    page = read(client, f"/file/{filled_home.lost}/body", 404)
    assert f"No WARC has a capture of {filled_home.lost}" in page.words()
    assert f"/file/{filled_home.lost}/body" not in read(client, f"/file/{filled_home.lost}").links()


def test_thumbnails_are_cached_for_a_year(client: TestClient, filled_home: FilledHome) -> None:
    response = client.get(f"/file/{filled_home.long}/thumbnail")
    assert response.content[:2] == b"\xff\xd8"
    assert response.headers["content-type"] == "image/jpeg"
    assert response.headers["cache-control"] == "private, max-age=31536000, immutable"
    assert client.get(f"/file/{filled_home.hostile}/thumbnail").status_code == 404


@pytest.mark.parametrize(
    "path", ["/file/{}", "/file/{}/body", "/file/{}/text", "/file/{}/thumbnail"]
)
@pytest.mark.parametrize("key", [UNKNOWN, "nonsense", "x" * 300, "%3Cscript%3E"])
def test_unknown_files_return_404(client: TestClient, path: str, key: str) -> None:
    page = read(client, path.format(key), 404)
    assert not page.tree.xpath("//body//script")


def test_the_error_names_the_unknown_file(client: TestClient) -> None:
    text = read(client, f"/file/{UNKNOWN}", 404).words()
    assert f"There is no file “{UNKNOWN}” in this library." in text
    assert client.get(f"/api/files/{UNKNOWN}").json()["error"] in text


def test_other_spellings_of_a_hash_redirect_to_one_url(
    client: TestClient, filled_home: FilledHome
) -> None:
    base32 = b32encode(bytes.fromhex(filled_home.long)).decode()
    for spelling in (filled_home.long.upper(), base32, f"sha1:{base32.lower()}"):
        response = client.get(f"/file/{spelling}", follow_redirects=False)
        assert (response.status_code, response.headers["location"]) == (
            303,
            f"/file/{filled_home.long}",
        )
        assert client.get(f"/file/{spelling}.json").json()["sha1hex"] == filled_home.long


def test_show_finds_a_file_by_hash_url_and_story_id(
    client: TestClient, filled_home: FilledHome
) -> None:
    for key, sha1hex in (
        (filled_home.long, filled_home.long),
        ("http://library.example/reports/3.pdf", filled_home.long),
        (HOSTILE_URL, filled_home.hostile),
        (filled_home.story_id, filled_home.stories[0]),
    ):
        response = client.get("/show", params={"key": key}, follow_redirects=False)
        assert (response.status_code, response.headers.get("location")) == (
            303,
            f"/file/{sha1hex}",
        ), key


def test_show_lists_all_files_of_a_url(client: TestClient, filled_home: FilledHome) -> None:
    page = PageRead(client.get("/show", params={"key": filled_home.twice_url}).text)
    assert set(page.links("//section[@aria-labelledby='files']")) == {
        f"/file/{story}" for story in filled_home.stories[-2:]
    }


def test_show_reports_the_reason_for_a_rejected_url(
    client: TestClient, filled_home: FilledHome
) -> None:
    page = PageRead(client.get("/show", params={"key": filled_home.refused_url}).text)
    assert "http-status" in page.words("//section[@aria-labelledby='records']")
    data = client.get("/show.json", params={"key": filled_home.refused_url}).json()
    assert [record["reason"] for record in data["records"]] == ["http-status"]


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
def test_show_returns_404_and_advice_for_an_unknown_key(client: TestClient, key: str) -> None:
    response = client.get("/show", params={"key": key})
    assert response.status_code == 404
    assert "You can look up:" in PageRead(response.text).words()
    assert client.get("/show.json", params={"key": key}).status_code == 404


def test_show_without_a_key_shows_the_form(client: TestClient) -> None:
    assert read(client, "/show").heading == "Look up a file"
    assert read(client, "/show?key=" + "x" * 4097, 400).heading == "Invalid request"


def test_a_capture_links_to_its_replay(stores: Stores, filled_home: FilledHome) -> None:
    pages = create_app(stores, replay=ReplayOrigin(port=8766))
    with TestClient(pages, base_url="http://localhost:8765") as client:
        page = read(client, f"/file/{filled_home.pdfs[0]}")
        (link, *_) = [href for href in page.links("//main") if href.startswith("/web/")]
        response = client.get(link, follow_redirects=False)
        assert response.headers["location"] == f"http://localhost:8766{link}"
    with TestClient(create_app(stores), base_url="http://localhost:8765") as client:
        assert "/web/" not in client.get(f"/file/{filled_home.pdfs[0]}").text
