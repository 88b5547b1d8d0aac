"""`fonds search --as-of` has the results of the API."""

from __future__ import annotations

import json

import pytest

from calls import Call


def test_counts_and_documents_of_each_sort_are_printed(call: Call) -> None:
    result = call("search", "flood", "--as-of", "2026-03-13", "--limit", "3")
    assert result.code == 0
    assert "0 found at the end of 2026-03-13; " in result.out
    assert "Added since" in result.out
    assert "the first 3 of " in result.out


def test_json_has_the_counts_in_the_first_line(call: Call) -> None:
    lines = call("search", "flood", "--as-of", "2026-03-14", "--json").out.splitlines()
    first, *rest = map(json.loads, lines)
    assert first["then"] == first["now"] == first["total"] == first["sorts"]["unchanged"] > 10
    assert first["unknown"] == 0
    assert {row["change"] for row in rest} == {"unchanged"}
    assert len(rest) == 10


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--as-of", "2999-01-01"), "is not over yet (UTC)"),
        (("--as-of", "2026-03-14", "--sort", "newest"), "--as-of cannot be combined"),
        (("--as-of", "2026-03-14", '"flood'), "not closed"),
    ],
)
def test_an_invalid_as_of_search_is_refused(
    call: Call, words: tuple[str, ...], message: str
) -> None:
    result = call("search", *words)
    assert (result.code, message in result.err) == (2, True)
