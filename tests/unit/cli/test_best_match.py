"""A question in plain words on the command line: best match where no document has all words."""

from __future__ import annotations

import json
import shlex

import pytest

from calls import Call

QUESTION = "What did the farmers say about the flood and the volcano?"


def rows(output: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in output.splitlines()]


def test_a_question_ranks_by_any_word_and_each_result_says_so(call: Call) -> None:
    found = rows(call("search", QUESTION, "--json").out)
    assert found
    assert {row["match"] for row in found} == {"best"}
    exact = rows(call("search", "flood", "--json").out)
    assert {row["match"] for row in exact} == {"exact"}


def test_the_list_is_labelled_and_names_the_exact_search(call: Call) -> None:
    lines = call("search", QUESTION, "--kind", "story", "--from", "2018-01-01").out.splitlines()
    assert lines[0].startswith("Best match:")
    (named,) = [line for line in lines if line.startswith("To require all words: ")]
    words = shlex.split(named.partition(": ")[2].strip())
    command = words[words.index("search") :]
    assert command[:7] == ["search", "--kind", "story", "--from", "2018-01-01", "--match", "exact"]
    again = call(*command)
    assert (again.code, again.out) == (0, "Nothing found.\n")


def test_the_words_no_document_has_are_still_named(call: Call) -> None:
    assert "No document contains “volcano”." in call("search", QUESTION).err


def test_exact_finds_nothing_by_any_word(call: Call) -> None:
    assert call("search", QUESTION, "--match", "exact", "--json").out == ""


def test_best_match_of_words_that_all_match_finds_more(call: Call) -> None:
    exact = call("search", "flood drought", "--match", "exact", "--limit", "1000", "--json")
    best = call("search", "flood drought", "--match", "best", "--limit", "1000", "--json")
    assert 0 < len(rows(exact.out)) < len(rows(best.out))


def test_an_address_that_names_a_file_is_no_question(call: Call) -> None:
    (first, *_) = rows(call("search", "flood", "--json").out)
    named = rows(call("search", str(first["sha1hex"]), "--json").out)
    assert all("direct" in row for row in named)


def test_an_export_stays_exact_unless_best_match_is_asked_for(call: Call) -> None:
    assert call("export", QUESTION, "--no-text").out == ""
    best = rows(call("export", QUESTION, "--no-text", "--match", "best").out)
    shown = rows(call("search", QUESTION, "--limit", "1000", "--json").out)
    assert {row["sha1hex"] for row in best} == {row["sha1hex"] for row in shown}


@pytest.mark.parametrize("match", ["exact", "best"])
def test_the_manifest_keeps_the_kind_of_match(call: Call, tmp_path, match: str) -> None:
    out = tmp_path / "found.csv"
    call("export", "flood drought", "--match", match, "--format", "csv", "--out", str(out))
    manifest = json.loads((tmp_path / "found.csv.manifest.json").read_text())
    assert manifest["search"]["parameters"]["match"] == match
    told = json.loads(call("verify", str(out), "--json").out)
    assert (told["file_is_whole"], told["result_is_same"]) == (True, True)
