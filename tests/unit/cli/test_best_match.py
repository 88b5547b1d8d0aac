"""Questions in plain words: best match is used if no document has all words."""

from __future__ import annotations

import json
import shlex

import pytest

from calls import Call

QUESTION = "What did the farmers say about the flood and the volcano?"


def parse_rows(output: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in output.splitlines()]


def test_a_question_is_ranked_by_any_word_and_each_result_is_marked(call: Call) -> None:
    hits = parse_rows(call("search", QUESTION, "--json").out)
    assert hits
    assert {row["match"] for row in hits} == {"best"}
    exact = parse_rows(call("search", "flood", "--json").out)
    assert {row["match"] for row in exact} == {"exact"}


def test_the_list_is_labelled_and_names_the_exact_search(call: Call) -> None:
    lines = call("search", QUESTION, "--kind", "story", "--from", "2018-01-01").out.splitlines()
    assert lines[0].startswith("Best match:")
    (command_line,) = [line for line in lines if line.startswith("To require all words: ")]
    words = shlex.split(command_line.partition(": ")[2].strip())
    command = words[words.index("search") :]
    assert command[:7] == ["search", "--kind", "story", "--from", "2018-01-01", "--match", "exact"]
    result = call(*command)
    assert (result.code, result.out) == (0, "Nothing found.\n")


def test_words_without_documents_are_reported(call: Call) -> None:
    assert "No document contains “volcano”." in call("search", QUESTION).err


def test_an_exact_search_requires_all_words(call: Call) -> None:
    assert call("search", QUESTION, "--match", "exact", "--json").out == ""


def test_best_match_finds_more_than_exact_match(call: Call) -> None:
    exact = call("search", "flood drought", "--match", "exact", "--limit", "1000", "--json")
    best = call("search", "flood drought", "--match", "best", "--limit", "1000", "--json")
    assert 0 < len(parse_rows(exact.out)) < len(parse_rows(best.out))


def test_a_sha1_is_not_searched_as_a_question(call: Call) -> None:
    (first, *_) = parse_rows(call("search", "flood", "--json").out)
    hits = parse_rows(call("search", str(first["sha1hex"]), "--json").out)
    assert all("direct" in row for row in hits)


def test_an_export_is_exact_unless_best_match_is_requested(call: Call) -> None:
    assert call("export", QUESTION, "--no-text").out == ""
    best = parse_rows(call("export", QUESTION, "--no-text", "--match", "best").out)
    searched = parse_rows(call("search", QUESTION, "--limit", "1000", "--json").out)
    assert {row["sha1hex"] for row in best} == {row["sha1hex"] for row in searched}


@pytest.mark.parametrize("match", ["exact", "best"])
def test_the_manifest_records_the_kind_of_match(call: Call, tmp_path, match: str) -> None:
    out = tmp_path / "found.csv"
    call("export", "flood drought", "--match", match, "--format", "csv", "--out", str(out))
    manifest = json.loads((tmp_path / "found.csv.manifest.json").read_text())
    assert manifest["search"]["parameters"]["match"] == match
    verification = json.loads(call("verify", str(out), "--json").out)
    assert (verification["file_is_whole"], verification["result_is_same"]) == (True, True)
