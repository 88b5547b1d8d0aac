"""Limited lists report the total, and counts follow the filters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from calls import Call
from failed_home import fail
from filled_crawl import BROKEN_PDFS, DUPLICATES, TIMEOUTS
from filled_home import FilledHome, open_home


def test_a_language_in_capitals_gives_the_same_results(call: Call) -> None:
    first = call("search", "--language", "EN", "--json")
    assert first.out == call("search", "--language", "en", "--json").out
    assert len(first.out.splitlines()) == 10


@pytest.mark.parametrize("json_option", [(), ("--json",)])
def test_a_search_reports_the_total(call: Call, json_option: tuple[str, ...]) -> None:
    lines = call("search", "flood", "--limit", "1000", "--json").out.splitlines()
    assert len(lines) > 10
    result = call("search", "flood", *json_option)
    assert f"10 of {len(lines)} shown; for more: --offset 10" in result.err
    full_result = call("search", "flood", "--limit", "1000", *json_option)
    assert "shown" not in full_result.err
    past_end = call("search", "flood", "--offset", "900", *json_option)
    assert f"{len(lines)} found; --offset 900 is beyond" in past_end.err
    assert "Nothing found" not in past_end.out


@pytest.mark.parametrize("json_option", [(), ("--json",)])
def test_a_search_of_an_empty_library_reports_that_it_is_empty(
    call: Call, tmp_path: Path, json_option: tuple[str, ...]
) -> None:
    with open_home(tmp_path / "empty"):
        pass
    result = call("--home", str(tmp_path / "empty"), "search", "flood", *json_option)
    assert (result.code, "no searchable documents yet" in result.err) == (0, True)
    assert "searchable documents" not in call("search", "nowherewordatall", *json_option).err


def test_a_list_of_failures_reports_the_total(call: Call) -> None:
    result = call("failures", "--list", "--limit", "2")
    total = sum(
        group["count"] for group in _parse_lines(call("failures", "--json").out) if "step" in group
    )
    assert total >= BROKEN_PDFS + TIMEOUTS
    assert len(result.out.splitlines()) == 2
    assert f"2 of {total} failures; --limit {total} shows all" in result.err
    assert len(_parse_lines(call("failures", "--list", "--json").out)) == total
    limited = call("failures", "--list", "--json", "--limit", "2")
    assert f"2 of {total} failures" in limited.err


def test_failures_include_counts_of_sources_and_truncated_inputs(call: Call) -> None:
    result = call("failures")
    assert "at the source" in result.out
    assert "could not be read to the end" in result.out
    assert "at the source" not in call("failures", "--step", "extract_pdf").out


def test_failures_can_be_listed_by_key(call: Call) -> None:
    rows = _parse_lines(call("failures", "--list", "--json", "--reason", "timeout").out)
    key = rows[0]["entry_id"]
    assert [
        failure["entry_id"]
        for failure in _parse_lines(call("failures", "--list", "--json", "--key", key).out)
    ] == [key]
    assert "[" not in call("failures", "--key", key).out.splitlines()[0]
    assert call("failures", "--key", key).out.startswith("1 timeout at ")


def test_other_files_of_a_url_are_named(call: Call, filled_home: FilledHome) -> None:
    result = call("show", filled_home.twice_url, "--body")
    assert result.code == 0
    assert "2 files match this key" in result.err
    assert sum(sha1hex in result.err for sha1hex in filled_home.stories) == 2


def test_the_status_of_a_pipeline_counts_only_that_pipeline(call: Call) -> None:
    all_pipelines, one_pipeline = (
        json.loads(call("status", "--json", *options).out)
        for options in ((), ("--pipeline", "pdf-only"))
    )
    assert all_pipelines["in"] > DUPLICATES
    assert (one_pipeline["in"], one_pipeline["pipeline"]) == (0, "pdf-only")


def test_an_empty_export_is_reported(call: Call) -> None:
    assert "documents found" in call("export", "--kind", "pdf", "--no-text").err
    assert "0 documents" in call("export", "--kind", "pdf", "--collection", "nonsense").err


def _parse_lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_only_text_lists_are_limited_without_a_limit(call: Call, tmp_path: Path) -> None:
    with open_home(tmp_path / "failed") as stores:
        fail(stores, *range(60))
    failures = ("--home", str(tmp_path / "failed"), "failures", "--list")
    text_list = call(*failures)
    assert len(text_list.out.splitlines()) == 50
    assert "50 of 60 failures" in text_list.err
    assert len(_parse_lines(call(*failures, "--json").out)) == 60
