"""The bytes of a file in hex, and the headers they were archived with; or why they cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from filled_home import open_home
from fonds.model.archive import Payload
from fonds.model.exchange import HttpHead
from fonds.model.keys import encode_sha1_base32
from fonds.viewer.raw_record import (
    FIELD_MAX_CHARS,
    FIELDS_MAX,
    PIECE_BYTES,
    build_hex_rows,
    build_http_head,
)
from fonds.web.app import create_app
from page_reading import PageRead, read
from reading_home import ReadingHome, fill_reading


def test_bytes_are_told_16_a_row_and_a_dot_stands_for_what_is_not_printed() -> None:
    rows = build_hex_rows(b"<b>&\x00\xff\n" + b"x" * 12, 0)
    assert [row.offset for row in rows] == [0, 16]
    assert rows[0].hex == "3c 62 3e 26 00 ff 0a 78 78 78 78 78 78 78 78 78"
    assert rows[0].ascii == "<b>&...xxxxxxxxx"
    assert (rows[1].hex, rows[1].ascii) == ("78 78 78", "xxx")
    assert build_hex_rows(b"", 0) == []
    many = build_hex_rows(bytes(3 * PIECE_BYTES), 32)
    assert (len(many), many[0].offset, many[-1].offset) == (256, 32, 32 + 255 * 16)


def test_a_head_without_end_is_cut_and_says_so_and_passwords_are_hidden() -> None:
    told = HttpHead(200, "HTTP/1.1 200 OK", [("X", "y" * 5_000)] * 500)
    head = build_http_head(Payload(b"", told))
    assert head is not None
    assert (len(head.fields), head.total) == (FIELDS_MAX, 500)
    assert len(head.fields[0].value) == FIELD_MAX_CHARS
    secret = HttpHead(301, "HTTP/1.1 301", [("Location", "http://ann:geheim@elsewhere.example/")])
    hidden = build_http_head(Payload(b"", secret))
    assert hidden is not None
    assert hidden.fields[0].value == "http://***@elsewhere.example/"


def test_the_bytes_of_a_pdf_with_the_headers_they_came_with(
    client: TestClient, reading: ReadingHome
) -> None:
    told = client.get(f"/api/files/{reading.pdf}/raw").json()
    body = client.get(f"/file/{reading.pdf}/body").content
    assert told["size_bytes"] == len(body)
    assert bytes.fromhex("".join(one["hex"] for one in told["rows"])) == body[:PIECE_BYTES]
    assert told["why"] is None
    names = {one["name"]: one["value"] for one in told["warc"]["fields"]}
    assert names["WARC-Type"] in ("response", "resource")
    assert client.get(f"/file/{reading.pdf}/raw.json").json() == told
    page = read(client, f"/file/{reading.pdf}/raw")
    assert page.heading == f"{told['shown_bytes']:,} of {len(body):,} bytes shown"
    dump = page.tree.xpath("//pre")[0].text_content()
    assert dump.startswith("00000000  25 50 44 46 2d")
    assert "|" not in dump.splitlines()[0]
    assert "%PDF-" in dump.splitlines()[0]
    assert names["WARC-Record-ID"] in page.words("//section[@aria-labelledby='record']")
    assert f"/file/{reading.pdf}/raw" in read(client, f"/file/{reading.pdf}").links()


def test_one_goes_on_from_where_a_row_begins(client: TestClient, reading: ReadingHome) -> None:
    told = client.get(f"/api/files/{reading.pdf}/raw?from=37").json()
    assert (told["first"], told["rows"][0]["offset"]) == (32, 32)
    body = client.get(f"/file/{reading.pdf}/body").content
    assert told["shown_bytes"] == min(PIECE_BYTES, len(body) - 32)
    assert f"/file/{reading.pdf}/raw" in read(client, f"/file/{reading.pdf}/raw?from=32").links()
    behind = read(client, f"/file/{reading.pdf}/raw?from={len(body)}", 404)
    assert f"has {len(body):,} bytes" in behind.words()
    for wrong in ("-1", "x", str(2**41)):
        assert client.get(f"/file/{reading.pdf}/raw?from={wrong}").status_code == 400
    assert client.get(f"/file/{'0' * 40}/raw").status_code == 404


def test_another_spelling_is_sent_on_with_its_place(
    client: TestClient, reading: ReadingHome
) -> None:
    base32 = encode_sha1_base32(bytes.fromhex(reading.pdf))
    answer = client.get(f"/file/{base32}/raw?from=16", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (
        303,
        f"/file/{reading.pdf}/raw?from=16",
    )


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[tuple[TestClient, ReadingHome]]:
    reading = fill_reading(tmp_path)
    for warc in tmp_path.rglob("*.warc.gz"):
        warc.unlink()
    with (
        open_home(tmp_path) as stores,
        TestClient(create_app(stores), base_url="http://localhost:8765") as client,
    ):
        yield client, reading


def test_bytes_that_cannot_be_read_are_told_with_the_reason(
    bare: tuple[TestClient, ReadingHome],
) -> None:
    client, reading = bare
    told = client.get(f"/api/files/{reading.pdf}/raw").json()
    assert (told["size_bytes"], told["rows"], told["warc"]) == (None, [], None)
    assert "does not exist" in told["why"]
    page: PageRead = read(client, f"/file/{reading.pdf}/raw")
    assert page.heading == "The bytes cannot be read"
    assert told["why"] in page.words()
