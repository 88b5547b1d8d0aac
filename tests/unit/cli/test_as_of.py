"""`fonds search --as-of` says what the API says."""

from __future__ import annotations

import json

import pytest

from calls import Call


def test_the_sums_and_the_documents_of_each_sort_are_told(call: Call) -> None:
    told = call("search", "flood", "--as-of", "2026-03-13", "--limit", "3")
    assert told.code == 0
    assert "0 found at the end of 2026-03-13; " in told.out
    assert "Added since" in told.out
    assert "the first 3 of " in told.out


def test_as_json_the_sums_come_first(call: Call) -> None:
    lines = call("search", "flood", "--as-of", "2026-03-14", "--json").out.splitlines()
    first, *rest = map(json.loads, lines)
    assert first["then"] == first["now"] == first["total"] == first["sorts"]["unchanged"] > 10
    assert first["unknown"] == 0
    assert {one["change"] for one in rest} == {"unchanged"}
    assert len(rest) == 10


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--as-of", "2999-01-01"), "is not over yet (UTC)"),
        (("--as-of", "2026-03-14", "--sort", "newest"), "--as-of cannot be combined"),
        (("--as-of", "2026-03-14", '"flood'), "not closed"),
    ],
)
def test_what_cannot_be_asked_is_refused(call: Call, words: tuple[str, ...], told: str) -> None:
    done = call("search", *words)
    assert (done.code, told in done.err) == (2, True)
