"""Citing a file and verifying its bytes in the archive, which only the pages of this computer may do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from filled_home import open_home
from fonds.ports import Stores
from fonds.web.app import create_app
from page_reading import PageRead, read
from reading_home import ReadingHome, fill_reading

OWN = {"Origin": "http://localhost:8765"}


def test_a_citation_names_title_capture_hash_and_place(
    client: TestClient, reading: ReadingHome
) -> None:
    citation = client.get(f"/api/files/{reading.pdf}/cite?page=2").json()
    place = citation["place"]
    for part in (
        "Flood report", "reports.example", "2019-04-01", "captured 2026-03-14",
        f"SHA-1 {reading.pdf}, page 2",
        f"In {place['warc_path']} at offset {place['warc_offset']}.",
    ):  # fmt: skip
        assert part in citation["words"]
    page = read(client, f"/file/{reading.pdf}/cite?page=2")
    assert page.words("//p[@class='cited']") == citation["words"]
    assert "@misc{" in page.words()
    assert (
        f"/file/{reading.pdf}/cite?page=2" in read(client, f"/file/{reading.pdf}/pages/2").links()
    )
    minimal_citation = client.get(f"/api/files/{reading.broken}/cite").json()
    assert (minimal_citation["page"], minimal_citation["bibtex"]) == (None, None)
    assert client.get(f"/file/{reading.pdf}/cite?page=0").status_code == 400
    assert client.get(f"/file/{'0' * 40}/cite").status_code == 404


def test_a_quotation_is_cited_by_page_and_characters(
    client: TestClient, reading: ReadingHome
) -> None:
    text = client.get(f"/api/files/{reading.pdf}/pages/3").json()["text"]
    words = text.split()
    quote = "  \n".join(words[2:6])
    address = f"/file/{reading.pdf}/cite"
    citation = client.get(
        f"/api/files/{reading.pdf}/cite", params={"quote": quote, "page": 3}
    ).json()
    place = citation["quotation"]
    assert text[place["start"] : place["end"]].split() == words[2:6]
    assert place["quote"] == " ".join(words[2:6])
    assert (place["page"], citation["page"]) == (3, 3)
    assert citation["words"].startswith(
        f"“{place['quote']}” (characters {place['start']} to {place['end']} of the text of page 3"
    )
    assert len(citation["sha256hex"]) == 64
    page = read(client, f"{address}?page=3&quote={' '.join(words[2:6])}")
    assert page.heading == "Cite this quote"
    (href,) = [link for link, label in page.links().items() if label == "Show in the text"]
    assert client.get(href.replace("/file/", "/api/files/", 1)).json()["text_marks"]


def test_a_quotation_that_is_not_in_the_text_is_refused(
    client: TestClient, reading: ReadingHome
) -> None:
    address = f"/file/{reading.pdf}/cite?page=2&quote=<b>nowhere"
    page_response = client.get(address)
    assert page_response.status_code == 404
    page = PageRead(page_response.text)
    assert page.heading == "This quote is not on page 2 of this file."
    assert page.tree.xpath("string(//textarea)") == "<b>nowhere"
    api_response = client.get(address.replace("/file/", "/api/files/", 1))
    assert (api_response.status_code, api_response.json()["parameter"]) == (404, "quote")
    assert client.get(f"/file/{reading.pdf}/cite?quote={'x' * 2_001}").status_code == 400


def test_a_quotation_of_a_story_links_to_its_place_in_the_text(
    client: TestClient, reading: ReadingHome
) -> None:
    sha1hex = reading.versions[2]
    text = client.get(f"/file/{sha1hex}/text").text
    quote = " ".join(text.split()[3:7])
    citation = client.get(f"/api/files/{sha1hex}/cite", params={"quote": quote}).json()
    place = citation["quotation"]
    assert (place["page"], " ".join(text[place["start"] : place["end"]].split())) == (None, quote)
    page = read(client, f"/file/{sha1hex}/cite?quote={quote}")
    (href,) = [link for link, label in page.links().items() if label == "Show in the text"]
    assert 'id="hit-1"' in client.get(href.partition("#")[0]).text


def test_verifying_intact_bytes_reports_the_same_bytes(
    client: TestClient, reading: ReadingHome
) -> None:
    response = client.post(f"/file/{reading.pdf}/verify", headers=OWN)
    assert response.status_code == 200
    page = PageRead(response.text)
    assert page.heading == "The archived bytes are unchanged"
    assert page.words("//ol").count("same bytes") == 1
    assert client.post(f"/file/{'0' * 40}/verify", headers=OWN).status_code == 404


def test_verifying_is_refused_from_other_sites_and_on_exposed_servers(
    client: TestClient, stores: Stores, reading: ReadingHome
) -> None:
    path = f"/file/{reading.pdf}/verify"
    for headers in ({}, {"Origin": "http://elsewhere.example"}, {"Sec-Fetch-Site": "cross-site"}):
        assert client.post(path, headers=headers).status_code == 403
    assert client.get(path).status_code == 405
    with TestClient(
        create_app(stores, host="0.0.0.0"), base_url="http://localhost"
    ) as exposed_client:
        response = exposed_client.post(path, headers={"Origin": "http://localhost"})
        assert response.status_code == 403
        assert "--host 127.0.0.1" in response.text
        page = read(exposed_client, f"/file/{reading.pdf}/cite")
        assert not page.tree.xpath("//form[@method='post']")


@pytest.fixture
def citable_pdf(tmp_path: Path) -> Iterator[tuple[TestClient, ReadingHome, Path]]:
    """Client, home, and the WARC of the PDF, for tests that damage it."""
    reading = fill_reading(tmp_path)
    with (
        open_home(tmp_path) as stores,
        TestClient(create_app(stores), base_url="http://localhost:8765") as client,
    ):
        place = client.get(f"/api/files/{reading.pdf}/cite").json()["place"]
        yield client, reading, tmp_path / "archive" / place["warc_path"]


def test_verifying_changed_bytes_reports_the_damage(
    citable_pdf: tuple[TestClient, ReadingHome, Path],
) -> None:
    client, reading, warc = citable_pdf
    place = client.get(f"/api/files/{reading.pdf}/cite").json()["place"]
    body = bytearray(warc.read_bytes())
    middle = place["warc_offset"] + place["warc_csize"] // 2
    body[middle : middle + 40] = bytes(40)
    warc.write_bytes(body)
    page = PageRead(client.post(f"/file/{reading.pdf}/verify", headers=OWN).text)
    assert page.heading == "Bytes found at 0 of 1 location"
    assert "not readable" in page.words("//ol") or "other bytes" in page.words("//ol")


def test_verifying_reports_a_missing_warc(
    citable_pdf: tuple[TestClient, ReadingHome, Path],
) -> None:
    client, reading, warc = citable_pdf
    warc.unlink()
    page = PageRead(client.post(f"/file/{reading.pdf}/verify", headers=OWN).text)
    assert "not readable" in page.words("//ol")
