"""How a file is cited, and its bytes verified: read from where they lie, by this machine's own pages only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from filled_home import opened
from fonds.ports import Stores
from fonds.web.app import create_app
from page_reading import PageRead, read
from reading_home import Reading, fill_reading

OWN = {"Origin": "http://localhost:8765"}


def test_a_citation_names_all_it_takes_to_find_the_bytes(
    client: TestClient, reading: Reading
) -> None:
    told = client.get(f"/api/files/{reading.pdf}/cite?page=2").json()
    place = told["place"]
    for part in (
        "Flood report", "reports.example", "2019-04-01", "captured 2026-03-14",
        f"SHA-1 {reading.pdf}, page 2",
        f"In {place['warc_path']} at offset {place['warc_offset']}.",
    ):  # fmt: skip
        assert part in told["words"]
    page = read(client, f"/file/{reading.pdf}/cite?page=2")
    assert page.words("//p[@class='cited']") == told["words"]
    assert "@misc{" in page.words()
    assert (
        f"/file/{reading.pdf}/cite?page=2" in read(client, f"/file/{reading.pdf}/pages/2").links()
    )
    bare = client.get(f"/api/files/{reading.broken}/cite").json()
    assert (bare["page"], bare["bibtex"]) == (None, None)
    assert client.get(f"/file/{reading.pdf}/cite?page=0").status_code == 400
    assert client.get(f"/file/{'0' * 40}/cite").status_code == 404


def test_bytes_that_are_there_are_verified(client: TestClient, reading: Reading) -> None:
    answer = client.post(f"/file/{reading.pdf}/verify", headers=OWN)
    assert answer.status_code == 200
    page = PageRead(answer.text)
    assert page.heading == "The bytes are as they were archived."
    assert page.words("//ol").count("same bytes") == 1
    assert client.post(f"/file/{'0' * 40}/verify", headers=OWN).status_code == 404


def test_nobody_else_has_anything_verified(
    client: TestClient, stores: Stores, reading: Reading
) -> None:
    path = f"/file/{reading.pdf}/verify"
    for headers in ({}, {"Origin": "http://elsewhere.example"}, {"Sec-Fetch-Site": "cross-site"}):
        assert client.post(path, headers=headers).status_code == 403
    assert client.get(path).status_code == 405
    with TestClient(create_app(stores, host="0.0.0.0"), base_url="http://localhost") as open_to_all:
        answer = open_to_all.post(path, headers={"Origin": "http://localhost"})
        assert answer.status_code == 403
        assert "--host 127.0.0.1" in answer.text
        page = read(open_to_all, f"/file/{reading.pdf}/cite")
        assert not page.tree.xpath("//form")


@pytest.fixture
def damaged(tmp_path: Path) -> Iterator[tuple[TestClient, Reading, Path]]:
    with opened(tmp_path) as stores:
        reading = fill_reading(stores)
        (warc,) = tmp_path.rglob("*.warc.gz")
        with TestClient(create_app(stores), base_url="http://localhost:8765") as client:
            yield client, reading, warc


def test_bytes_that_changed_are_told(damaged: tuple[TestClient, Reading, Path]) -> None:
    client, reading, warc = damaged
    place = client.get(f"/api/files/{reading.pdf}/cite").json()["place"]
    body = bytearray(warc.read_bytes())
    middle = place["warc_offset"] + place["warc_csize"] // 2
    body[middle : middle + 40] = bytes(40)
    warc.write_bytes(body)
    page = PageRead(client.post(f"/file/{reading.pdf}/verify", headers=OWN).text)
    assert page.heading == "0 places of 1 hold these bytes."
    assert "not readable" in page.words("//ol") or "other bytes" in page.words("//ol")


def test_a_warc_that_is_gone_is_told(damaged: tuple[TestClient, Reading, Path]) -> None:
    client, reading, warc = damaged
    warc.unlink()
    page = PageRead(client.post(f"/file/{reading.pdf}/verify", headers=OWN).text)
    assert "not readable" in page.words("//ol")
