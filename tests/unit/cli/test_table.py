"""`fonds table`: single rows, and export and import of tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from calls import Call

KEY, BASE32 = "90ffd2359008d82298821d16b21778c5c39aec36", "SD75ENMQBDMCFGECDULLEF3YYXBZV3BW"
DUMP = (
    f'sha1:{BASE32}\t{{"c": 1, "d": "2017-10-27T22:21:13", "u": "http://a.example/"}}\tapplication/pdf\t'
    '{"c_size": 10, "dt": "20171027222113", "offset": 5, "surt": "example,a)/", '
    '"url": "http://a.example/", "warc": "ITEM/a.warc.gz"}\n'
)


def parse_rows(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def table_name(call: Call, tmp_path: Path) -> str:
    """A table of this test only."""
    name = f"other-{tmp_path.name.replace('_', '-')}"
    assert call("table", "create", "--table", name).code == 0
    return name


@pytest.fixture
def row_keys(call: Call, table_name: str, tmp_path: Path) -> list[str]:
    """The keys of some rows of that table, in order."""
    lines = tmp_path / "some.jsonl"
    keys = [bytes([number, *range(19)]).hex() for number in range(12)]
    new_rows = [{"key": key, "cells": {"file:size": 5, "file:mime": "text/html"}} for key in keys]
    lines.write_text("".join(json.dumps(row) + "\n" for row in new_rows))
    assert call("table", "import", str(lines), "--table", table_name).code == 0
    return keys


def test_a_stored_row_is_shown_by_key_in_either_spelling(call: Call, table_name: str) -> None:
    table_option = ("--table", table_name)
    result = call(
        "table", "put", KEY, "grobid0:status_code=200", "grobid0:quality=good", *table_option
    )
    assert result.code == 0
    (row,) = parse_rows(call("table", "get", BASE32, *table_option, "--json").out)
    assert row == {"key": KEY, "cells": {"grobid0:status_code": 200, "grobid0:quality": "good"}}
    (row,) = parse_rows(
        call(
            "table", "get", KEY, *table_option, "--base32", "--column", "grobid0:quality", "--json"
        ).out
    )
    assert row == {"key": BASE32, "cells": {"grobid0:quality": "good"}}
    assert "grobid0:quality  good" in call("table", "get", KEY, *table_option).out
    assert call("table", "get", "ab" * 20, *table_option).code == 1


def test_a_dump_is_imported_and_exported_unchanged(
    call: Call, table_name: str, tmp_path: Path
) -> None:
    table_option, dump = ("--table", table_name), tmp_path / "dump.tsv"
    dump.write_text(DUMP + "nonsense\n")
    result = call("table", "import", str(dump), "--format", "tsv", *table_option)
    assert result.code == 1
    assert "line 2: 1 fields separated by tabs instead of 4" in result.err
    assert call("table", "export", "-", "--format", "tsv", *table_option, "-q").out == DUMP


def test_a_table_is_exported_and_imported_completely(
    call: Call, table_name: str, row_keys: list[str], tmp_path: Path
) -> None:
    first_export, second_export = tmp_path / "whole.jsonl.gz", tmp_path / "again.jsonl"
    assert call("table", "create", "--table", f"{table_name}-b").code == 0
    assert call("table", "export", str(first_export), "--table", table_name).code == 0
    assert call("table", "import", str(first_export), "--table", f"{table_name}-b").code == 0
    assert call("table", "export", str(second_export), "--table", f"{table_name}-b").code == 0
    plain = call("table", "export", "-", "-q", "--table", table_name).out
    assert plain == second_export.read_text()
    assert [row["key"] for row in parse_rows(plain)] == row_keys


def test_a_scan_continues_after_the_last_key(
    call: Call, table_name: str, row_keys: list[str]
) -> None:
    scan = ("table", "scan", "--json", "--table", table_name)
    keys = [row["key"] for row in parse_rows(call(*scan, "--limit", "1000").out)]
    assert keys == row_keys
    first = call(*scan, "--limit", "5")
    assert f"--after {keys[4]}" in first.err
    rest = call(*scan, "--limit", "1000", "--after", str(keys[4]))
    assert [row["key"] for row in parse_rows(first.out + rest.out)] == keys
    matching = [key for key in keys if str(key).startswith(str(keys[3])[:4])]
    result = call(*scan, "--from", str(keys[3])[:4])
    assert [row["key"] for row in parse_rows(result.out)] == matching


def test_a_declared_family_can_be_written(call: Call, table_name: str) -> None:
    declared = ("--set", "table_families=pdf0=pdf_status,pdf_certainty:json")
    assert call("table", "put", KEY, "pdf0:pdf_status=yes", "--table", table_name).code == 2
    assert call("table", "create", "--table", f"{table_name}-b", *declared).code == 0
    result = call(
        "table", "put", KEY, "pdf0:pdf_status=yes", "--table", f"{table_name}-b", *declared
    )
    assert result.code == 0
    # The journal of the home is unchanged.
    assert call("table", "scan").code == 0
    listing = call("table", "list", "--set", "table_families=pdf0=status")
    assert "'status' is in the families 'grobid0' and 'pdf0'; rename one" in listing.err
    assert "SNAPPY" in call("table", "create", "--shell").out
