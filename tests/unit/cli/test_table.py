"""`fonds table`: rows by hand, and whole tables out and in."""

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


def rows(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def other(call: Call, tmp_path: Path) -> str:
    """A table of this test alone."""
    name = f"other-{tmp_path.name.replace('_', '-')}"
    assert call("table", "create", "--table", name).code == 0
    return name


@pytest.fixture
def some_keys(call: Call, other: str, tmp_path: Path) -> list[str]:
    """The keys of some rows of that table, in their order."""
    lines = tmp_path / "some.jsonl"
    keys = [bytes([number, *range(19)]).hex() for number in range(12)]
    made = [{"key": key, "cells": {"file:size": 5, "file:mime": "text/html"}} for key in keys]
    lines.write_text("".join(json.dumps(row) + "\n" for row in made))
    assert call("table", "import", str(lines), "--table", other).code == 0
    return keys


def test_what_is_put_is_shown_by_key_in_either_spelling(call: Call, other: str) -> None:
    here = ("--table", other)
    told = call("table", "put", KEY, "grobid0:status_code=200", "grobid0:quality=good", *here)
    assert told.code == 0
    (row,) = rows(call("table", "get", BASE32, *here, "--json").out)
    assert row == {"key": KEY, "cells": {"grobid0:status_code": 200, "grobid0:quality": "good"}}
    (row,) = rows(
        call("table", "get", KEY, *here, "--base32", "--column", "grobid0:quality", "--json").out
    )
    assert row == {"key": BASE32, "cells": {"grobid0:quality": "good"}}
    assert "grobid0:quality  good" in call("table", "get", KEY, *here).out
    assert call("table", "get", "ab" * 20, *here).code == 1


def test_a_dump_comes_in_and_goes_out_as_it_was(call: Call, other: str, tmp_path: Path) -> None:
    here, dump = ("--table", other), tmp_path / "dump.tsv"
    dump.write_text(DUMP + "nonsense\n")
    told = call("table", "import", str(dump), "--format", "tsv", *here)
    assert told.code == 1
    assert "line 2: 1 fields separated by tabs instead of 4" in told.err
    assert call("table", "export", "-", "--format", "tsv", *here, "-q").out == DUMP


def test_a_whole_table_goes_through_a_file(
    call: Call, other: str, some_keys: list[str], tmp_path: Path
) -> None:
    whole, again = tmp_path / "whole.jsonl.gz", tmp_path / "again.jsonl"
    assert call("table", "create", "--table", f"{other}-b").code == 0
    assert call("table", "export", str(whole), "--table", other).code == 0
    assert call("table", "import", str(whole), "--table", f"{other}-b").code == 0
    assert call("table", "export", str(again), "--table", f"{other}-b").code == 0
    plain = call("table", "export", "-", "-q", "--table", other).out
    assert plain == again.read_text()
    assert [row["key"] for row in rows(plain)] == some_keys


def test_a_scan_goes_on_where_the_last_one_ended(
    call: Call, other: str, some_keys: list[str]
) -> None:
    scan = ("table", "scan", "--json", "--table", other)
    keys = [row["key"] for row in rows(call(*scan, "--limit", "1000").out)]
    assert keys == some_keys
    first = call(*scan, "--limit", "5")
    assert f"--after {keys[4]}" in first.err
    rest = call(*scan, "--limit", "1000", "--after", str(keys[4]))
    assert [row["key"] for row in rows(first.out + rest.out)] == keys
    begun = [key for key in keys if str(key).startswith(str(keys[3])[:4])]
    told = call(*scan, "--from", str(keys[3])[:4])
    assert [row["key"] for row in rows(told.out)] == begun


def test_a_new_family_is_there_once_it_is_declared(call: Call, other: str) -> None:
    declared = ("--set", "table_families=pdf0=pdf_status,pdf_certainty:json")
    assert call("table", "put", KEY, "pdf0:pdf_status=yes", "--table", other).code == 2
    assert call("table", "create", "--table", f"{other}-b", *declared).code == 0
    told = call("table", "put", KEY, "pdf0:pdf_status=yes", "--table", f"{other}-b", *declared)
    assert told.code == 0
    # The home's own journal is as it was.
    assert call("table", "scan").code == 0
    refused = call("table", "list", "--set", "table_families=pdf0=status")
    assert "'status' is in the families 'grobid0' and 'pdf0'; rename one" in refused.err
    assert "SNAPPY" in call("table", "create", "--shell").out
