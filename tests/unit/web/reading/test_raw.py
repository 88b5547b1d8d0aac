"""The raw view of a file: its bytes in hex and its archived headers, or why they cannot be read."""

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


def test_hex_rows_show_16_bytes_and_dots_for_unprintable_ones() -> None:
    rows = build_hex_rows(b"<b>&\x00\xff\n" + b"x" * 12, 0)
    assert [row.offset for row in rows] == [0, 16]
    assert rows[0].hex == "3c 62 3e 26 00 ff 0a 78 78 78 78 78 78 78 78 78"
    assert rows[0].ascii == "<b>&...xxxxxxxxx"
    assert (rows[1].hex, rows[1].ascii) == ("78 78 78", "xxx")
    assert build_hex_rows(b"", 0) == []
    limited_rows = build_hex_rows(bytes(3 * PIECE_BYTES), 32)
    assert (len(limited_rows), limited_rows[0].offset, limited_rows[-1].offset) == (
        256,
        32,
        32 + 255 * 16,
    )


def test_long_heads_are_cut_and_passwords_hidden() -> None:
    long_head = HttpHead(200, "HTTP/1.1 200 OK", [("X", "y" * 5_000)] * 500)
    head = build_http_head(Payload(b"", long_head))
    assert head is not None
    assert (len(head.fields), head.total) == (FIELDS_MAX, 500)
    assert len(head.fields[0].value) == FIELD_MAX_CHARS
    head_with_password = HttpHead(
        301, "HTTP/1.1 301", [("Location", "http://ann:geheim@elsewhere.example/")]
    )
    redacted = build_http_head(Payload(b"", head_with_password))
    assert redacted is not None
    assert redacted.fields[0].value == "http://***@elsewhere.example/"


def test_the_raw_page_shows_bytes_and_warc_headers(
    client: TestClient, reading: ReadingHome
) -> None:
    raw = client.get(f"/api/files/{reading.pdf}/raw").json()
    body = client.get(f"/file/{reading.pdf}/body").content
    assert raw["size_bytes"] == len(body)
    assert bytes.fromhex("".join(row["hex"] for row in raw["rows"])) == body[:PIECE_BYTES]
    assert raw["why"] is None
    names = {field["name"]: field["value"] for field in raw["warc"]["fields"]}
    assert names["WARC-Type"] in ("response", "resource")
    assert client.get(f"/file/{reading.pdf}/raw.json").json() == raw
    page = read(client, f"/file/{reading.pdf}/raw")
    assert page.heading == f"{raw['shown_bytes']:,} of {len(body):,} bytes shown"
    dump = page.tree.xpath("//pre")[0].text_content()
    assert dump.startswith("00000000  25 50 44 46 2d")
    assert "|" not in dump.splitlines()[0]
    assert "%PDF-" in dump.splitlines()[0]
    assert names["WARC-Record-ID"] in page.words("//section[@aria-labelledby='record']")
    assert f"/file/{reading.pdf}/raw" in read(client, f"/file/{reading.pdf}").links()


def test_paging_starts_at_the_beginning_of_a_row(client: TestClient, reading: ReadingHome) -> None:
    raw = client.get(f"/api/files/{reading.pdf}/raw?from=37").json()
    assert (raw["first"], raw["rows"][0]["offset"]) == (32, 32)
    body = client.get(f"/file/{reading.pdf}/body").content
    assert raw["shown_bytes"] == min(PIECE_BYTES, len(body) - 32)
    assert f"/file/{reading.pdf}/raw" in read(client, f"/file/{reading.pdf}/raw?from=32").links()
    page = read(client, f"/file/{reading.pdf}/raw?from={len(body)}", 404)
    assert f"has {len(body):,} bytes" in page.words()
    for invalid in ("-1", "x", str(2**41)):
        assert client.get(f"/file/{reading.pdf}/raw?from={invalid}").status_code == 400
    assert client.get(f"/file/{'0' * 40}/raw").status_code == 404


def test_the_redirect_from_a_base32_hash_keeps_the_offset(
    client: TestClient, reading: ReadingHome
) -> None:
    base32 = encode_sha1_base32(bytes.fromhex(reading.pdf))
    response = client.get(f"/file/{base32}/raw?from=16", follow_redirects=False)
    assert (response.status_code, response.headers["location"]) == (
        303,
        f"/file/{reading.pdf}/raw?from=16",
    )


@pytest.fixture
def home_without_warcs(tmp_path: Path) -> Iterator[tuple[TestClient, ReadingHome]]:
    reading = fill_reading(tmp_path)
    for warc in tmp_path.rglob("*.warc.gz"):
        warc.unlink()
    with (
        open_home(tmp_path) as stores,
        TestClient(create_app(stores), base_url="http://localhost:8765") as client,
    ):
        yield client, reading


def test_unreadable_bytes_are_reported_with_the_reason(
    home_without_warcs: tuple[TestClient, ReadingHome],
) -> None:
    client, reading = home_without_warcs
    raw = client.get(f"/api/files/{reading.pdf}/raw").json()
    assert (raw["size_bytes"], raw["rows"], raw["warc"]) == (None, [], None)
    assert "does not exist" in raw["why"]
    page: PageRead = read(client, f"/file/{reading.pdf}/raw")
    assert page.heading == "The bytes cannot be read"
    assert raw["why"] in page.words()
