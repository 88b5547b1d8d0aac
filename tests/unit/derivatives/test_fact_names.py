"""Metadata in words: names people know, yes and no, instants; what is the file's own stays as it is."""

from __future__ import annotations

from fonds.derivatives.kind import iter_flat_facts


def told(**values: object) -> dict[str, str | None]:
    return {fact.name: fact.value for fact in iter_flat_facts(values)}


def test_names_of_ours_are_said_in_words() -> None:
    assert told(update_id="ab", title_from="info") == {
        "version id": "ab",
        "source of the title": "info",
    }


def test_a_truth_is_yes_or_no() -> None:
    assert told(tagged=False, javascript=True) == {"tagged": "no", "JavaScript": "yes"}


def test_the_files_own_names_stay_as_they_are() -> None:
    assert told(my_key="x", extra={"Their_Key": ["a", "b"]}) == {
        "my_key": "x",
        "extra.Their_Key": "a; b",
    }


def test_an_instant_is_told_in_utc_and_one_beyond_the_calendar_as_it_stands() -> None:
    assert told(fetch_timestamp=0.5) == {"fetched": "1970-01-01 00:00:00 UTC"}
    assert told(fetch_timestamp=1e30) == {"fetched": "1e+30"}
    assert told(fetch_timestamp=float("nan")) == {"fetched": "nan"}
