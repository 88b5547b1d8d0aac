"""Keys, cells and rows as text round trip."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.model.errors import ConfigurationError
from fonds.stores.journal_table.cells import read_location
from fonds.stores.journal_table.dumps import (
    build_row_line,
    dump_line,
    parse_cell,
    parse_dump_line,
    parse_row_line,
)
from fonds.stores.journal_table.keys import (
    build_alternate_key,
    build_old_key,
    build_row_key,
    format_key,
    parse_key,
)
from fonds.stores.journal_table.schema import JOURNAL
from fonds.stores.table.rows import check_key

SHA1HEX, BASE32 = "90ffd2359008d82298821d16b21778c5c39aec36", "SD75ENMQBDMCFGECDULLEF3YYXBZV3BW"
CORPUS = Path(__file__).parents[4] / "shared/corpus/papers/internetarchive+sandcrawler"
OLDER_CDX = {
    "c_size": 10, "dt": "20171027222113", "offset": 2**33, "surt": "org,example)/é",
    "url": "http://example.org/é", "warc": "ITEM/a.warc.gz",
}  # fmt: skip


def test_a_key_is_parsed_and_formatted_in_hex_and_base32() -> None:
    raw = build_row_key(SHA1HEX)
    for text in (SHA1HEX, SHA1HEX.upper(), BASE32, BASE32.lower(), f"sha1:{BASE32}"):
        assert parse_key(text) == raw
    assert (format_key(raw), format_key(raw, base32=True)) == (SHA1HEX, BASE32)
    alternate_key = build_alternate_key(SHA1HEX, "in put/7")
    assert format_key(alternate_key) == f"{SHA1HEX}/in put/7"
    assert parse_key(f"{BASE32}/in put/7") == alternate_key


def test_an_older_key_keeps_its_format_on_request() -> None:
    older_key = build_old_key(SHA1HEX)
    assert older_key == b"sha1:" + BASE32.encode()
    assert format_key(older_key) == f"sha1:{BASE32}"
    assert parse_key(format_key(older_key), older=True) == older_key


@pytest.mark.parametrize("text", ["", "xyz", SHA1HEX[:-1], f"{SHA1HEX}/", "hex:abc", "sha1:"])
def test_invalid_keys_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"SHA-1|id"):
        parse_key(text)


KEYS = st.one_of(
    st.binary(min_size=1, max_size=60),
    st.binary(min_size=20, max_size=20),
    st.binary(min_size=20, max_size=20).map(lambda raw: build_old_key(raw.hex())),
    st.tuples(st.binary(min_size=20, max_size=20), st.binary(min_size=1, max_size=9)).map(
        lambda parts: parts[0] + b"\x00" + parts[1]
    ),
)
CELLS = st.dictionaries(
    st.sampled_from([*JOURNAL.columns, "file:unheard"]),
    st.binary(max_size=12) | st.text(max_size=12).map(str.encode) | st.just(b"\x00" * 8),
)


@given(key=KEYS, cells=CELLS, base32=st.booleans())
def test_any_row_round_trips(key: bytes, cells: dict[str, bytes], base32: bool) -> None:
    check_key(key)
    line = json.dumps(build_row_line(key, cells, JOURNAL, base32=base32)).encode()
    assert parse_row_line(line, older=True) == (key, cells)


@given(st.binary(max_size=200) | st.text(max_size=80).map(str.encode))
def test_any_line_is_parsed_or_refused(line: bytes) -> None:
    for read in (parse_row_line, parse_dump_line):
        try:
            key, cells = read(line)
        except ValueError:
            continue
        assert key
        assert all(isinstance(cell, bytes) for cell in cells.values())


@pytest.mark.parametrize(
    "line",
    [
        b"{}", b"[]", b"null", b'{"key": 5}', b'{"key": "%s", "cells": []}' % SHA1HEX.encode(),
        b'{"key": "%s", "cells": {"f:c": true}}' % SHA1HEX.encode(),
        b'{"key": "%s", "cells": {"f:c": {"base64": "?"}}}' % SHA1HEX.encode(),
        b'{"key": "%s", "cells": {"f:c": 9223372036854775808}}' % SHA1HEX.encode(),
    ],
)  # fmt: skip
def test_invalid_row_lines_are_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_row_line(line)


def test_a_cell_is_checked_by_its_type() -> None:
    assert parse_cell(JOURNAL, "grobid0:status_code", b"-5") == (-5).to_bytes(8, "big", signed=True)
    assert parse_cell(JOURNAL, "grobid0:quality", b"good") == b"good"
    for name, text in [
        ("file:size", b"much"), ("file:size", b"9" * 30), ("f:c", b"{"), ("file:mime", b"\xff"),
        ("file:mim", b"x"),
    ]:  # fmt: skip
        with pytest.raises(ConfigurationError):
            parse_cell(JOURNAL, name, text)


def build_dump_line(cdx: str) -> bytes:
    first = json.dumps({"c": 1, "d": "2017-10-27T22:21:13", "u": "http://example.org/é"})
    return f"sha1:{BASE32}\t{first}\tapplication/pdf\t{cdx}".encode()


def test_a_line_of_an_hbase_dump_round_trips() -> None:
    line = build_dump_line(json.dumps(OLDER_CDX, sort_keys=True))
    key, cells = parse_dump_line(line)
    assert key == build_row_key(SHA1HEX)
    assert json.loads(cells["file:cdx"])["offset"] == str(2**33)
    location = read_location(cells)
    assert location is not None
    assert (location.offset, location.size_bytes) == (2**33, 10)
    assert dump_line(key, cells) == line


@pytest.mark.parametrize(
    "changed_fields",
    [
        {"more": 1},
        {"offset": "5"},
        {"offset": None},
        {"c_size": "-"},
        {"dt": 2017},
        {"url": "\ud800"},
    ],
    ids=str,
)
def test_a_cell_that_would_not_round_trip_is_unchanged(changed_fields: dict[str, object]) -> None:
    line = build_dump_line(json.dumps({**OLDER_CDX, **changed_fields}, sort_keys=True))
    key, cells = parse_dump_line(line)
    if changed_fields == {"offset": "5"}:
        assert json.loads(cells["file:cdx"]) == {**OLDER_CDX, **changed_fields}
    assert dump_line(key, cells) == line


def test_rows_without_the_three_columns_have_no_line() -> None:
    key, cells = parse_dump_line(build_dump_line(json.dumps(OLDER_CDX)))
    assert dump_line(key, {"f:c": cells["f:c"]}) is None
    assert dump_line(build_alternate_key(SHA1HEX, "x"), cells) is None
    assert dump_line(key, {**cells, "file:mime": b"a\tb"}) is None


@pytest.mark.skipif(not CORPUS.is_dir(), reason="needs ../shared/corpus")
def test_the_dump_in_the_corpus_round_trips() -> None:
    lines = (CORPUS / "example_ungrobided.tsv").read_bytes().splitlines()
    assert len(lines) == 20
    for line in lines:
        key, cells = parse_dump_line(line)
        assert isinstance(json.loads(cells["file:cdx"])["c_size"], str)
        assert dump_line(key, cells) == line
