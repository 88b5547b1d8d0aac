"""What a command shows of many says how many there are, and what it counts is what was asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from calls import Call
from filled_crawl import BROKEN_PDFS, DUPLICATES, TIMEOUTS
from filled_home import FilledHome, open_home


def test_a_language_in_capitals_is_the_same(call: Call) -> None:
    first = call("search", "--language", "EN", "--json")
    assert first.out == call("search", "--language", "en", "--json").out
    assert len(first.out.splitlines()) == 10


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_search_says_how_many_it_does_not_show(call: Call, form: tuple[str, ...]) -> None:
    found = call("search", "flood", "--limit", "1000", "--json").out.splitlines()
    assert len(found) > 10
    told = call("search", "flood", *form)
    assert f"10 of {len(found)} shown; for more: --offset 10" in told.err
    whole = call("search", "flood", "--limit", "1000", *form)
    assert "shown" not in whole.err
    beyond = call("search", "flood", "--offset", "900", *form)
    assert f"{len(found)} found; --offset 900 is beyond" in beyond.err
    assert "Nothing found" not in beyond.out


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_search_of_an_empty_library_says_that_it_is_empty(
    call: Call, tmp_path: Path, form: tuple[str, ...]
) -> None:
    with open_home(tmp_path / "empty"):
        pass
    told = call("--home", str(tmp_path / "empty"), "search", "flood", *form)
    assert (told.code, "no searchable documents yet" in told.err) == (0, True)
    assert "searchable documents" not in call("search", "nowherewordatall", *form).err


def test_a_list_of_failures_says_how_many_it_does_not_show(call: Call) -> None:
    told = call("failures", "--list", "--limit", "2")
    total = sum(one["count"] for one in _lines(call("failures", "--json").out) if "step" in one)
    assert total >= BROKEN_PDFS + TIMEOUTS
    assert len(told.out.splitlines()) == 2
    assert f"2 of {total} failures; --limit {total} shows all" in told.err
    assert len(_lines(call("failures", "--list", "--json").out)) == total
    cut = call("failures", "--list", "--json", "--limit", "2")
    assert f"2 of {total} failures" in cut.err


def test_failures_tell_what_sources_counted_and_inputs_that_broke_off(call: Call) -> None:
    told = call("failures")
    assert "at the source" in told.out
    assert "could not be read to the end" in told.out
    assert "at the source" not in call("failures", "--step", "extract_pdf").out


def test_failures_can_be_asked_for_by_key(call: Call) -> None:
    rows = _lines(call("failures", "--list", "--json", "--reason", "timeout").out)
    key = rows[0]["entry_id"]
    assert [
        one["entry_id"] for one in _lines(call("failures", "--list", "--json", "--key", key).out)
    ] == [key]
    assert "[" not in call("failures", "--key", key).out.splitlines()[0]
    assert call("failures", "--key", key).out.startswith("1 timeout at ")


def test_of_several_files_behind_a_url_the_others_are_named(call: Call, filled: FilledHome) -> None:
    told = call("show", filled.twice_url, "--body")
    assert told.code == 0
    assert "2 files match this key" in told.err
    assert sum(sha1hex in told.err for sha1hex in filled.stories) == 2


def test_status_of_a_pipeline_counts_that_pipeline(call: Call) -> None:
    whole, other = (
        json.loads(call("status", "--json", *more).out) for more in ((), ("--pipeline", "pdf-only"))
    )
    assert whole["in"] > DUPLICATES
    assert (other["in"], other["pipeline"]) == (0, "pdf-only")


def test_an_export_says_that_it_is_empty(call: Call) -> None:
    assert "documents found" in call("export", "--kind", "pdf", "--no-text").err
    assert "0 documents" in call("export", "--kind", "pdf", "--collection", "nonsense").err


def _lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]
