"""Facts for display: readable names, yes and no, and times; keys of the file itself stay
unchanged."""

from __future__ import annotations

from fonds.derivatives.kind import iter_flat_facts


def get_facts(**values: object) -> dict[str, str | None]:
    return {fact.name: fact.value for fact in iter_flat_facts(values)}


def test_our_names_are_replaced_by_readable_ones() -> None:
    assert get_facts(update_id="ab", title_from="info") == {
        "version id": "ab",
        "source of the title": "info",
    }


def test_booleans_are_yes_or_no() -> None:
    assert get_facts(tagged=False, javascript=True) == {"tagged": "no", "JavaScript": "yes"}


def test_keys_of_the_file_stay_unchanged() -> None:
    assert get_facts(my_key="x", extra={"Their_Key": ["a", "b"]}) == {
        "my_key": "x",
        "extra.Their_Key": "a; b",
    }


def test_times_are_formatted_in_utc_if_they_are_in_the_calendar() -> None:
    assert get_facts(fetch_timestamp=0.5) == {"fetched": "1970-01-01 00:00:00 UTC"}
    assert get_facts(fetch_timestamp=1e30) == {"fetched": "1e+30"}
    assert get_facts(fetch_timestamp=float("nan")) == {"fetched": "nan"}
