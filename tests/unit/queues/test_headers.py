"""Headers as text: each value is restored from its text, and each text stands for one value."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.queues.headers import (
    COUNT_MAX,
    DEPTH_MAX,
    SIZE_MAX_CHARS,
    HeaderTime,
    Value,
    format_value,
    limit_headers,
    parse_value,
)
from unit.queues.header_values import VALUES, are_equal


@given(VALUES)
def test_a_value_is_restored_from_its_text(value: Value) -> None:
    assert are_equal(parse_value(format_value(value)), value)


@given(
    st.text(max_size=30)
    | st.builds(format_value, VALUES).flatmap(
        lambda text: st.sampled_from([text, f"!text {text}", text + " "])
    )
    | st.builds(
        "!{} {}".format,
        st.sampled_from(["int", "float", "bool", "bytes", "list", "table", "time", "decimal"]),
        st.text(max_size=6),
    )
)
def test_a_text_is_restored_from_its_value(text: str) -> None:
    assert format_value(parse_value(text)) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"),
        ("!", "!"),
        ("!important", "!important"),
        ("!int 5", 5),
        ("!int 05", "!int 05"),
        ("!int 99999999999999999999", "!int 99999999999999999999"),
        ("!float 1.5", 1.5),
        ("!float 1", "!float 1"),
        ("!bool true", True),
        ("!bool yes", "!bool yes"),
        ("!none", None),
        ("!none ", "!none "),
        ("!bytes /w==", b"\xff"),
        ("!bytes /w", "!bytes /w"),
        ("!time 1700000000", HeaderTime(1_700_000_000)),
        ("!decimal 1.50", Decimal("1.50")),
        ("!decimal 1E+5", "!decimal 1E+5"),
        ("!decimal -0", "!decimal -0"),
        ("!text !int 5", "!int 5"),
        ("!text plain", "!text plain"),
        ('!list ["a","!int 1"]', ["a", 1]),
        ('!list ["a", "!int 1"]', '!list ["a", "!int 1"]'),
        ("!list [1]", "!list [1]"),
        ('!table {"a":{"b":"!none"}}', {"a": {"b": None}}),
        ('!table {"a":"x","a":"y"}', '!table {"a":"x","a":"y"}'),
    ],
)
def test_values_are_written_as_documented(text: str, value: Value) -> None:
    assert are_equal(parse_value(text), value)


@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
def test_a_float_that_is_not_a_number_stays_text(number: str) -> None:
    text = format_value(float(number))
    assert text == f"!float {number}"
    assert parse_value(text) == text


@pytest.mark.parametrize("text", ["!list " + "[" * 20_000, "!int " + "9" * 30_000])
def test_hostile_texts_stay_text(text: str) -> None:
    assert parse_value(text) == text


def test_too_deeply_nested_text_stays_text() -> None:
    assert isinstance(parse_value("!list " + "[" * DEPTH_MAX + "]" * DEPTH_MAX), list)
    assert isinstance(parse_value("!list " + "[" * (DEPTH_MAX + 1) + "]" * (DEPTH_MAX + 1)), str)


def test_count_and_size_of_headers_are_limited(caplog: pytest.LogCaptureFixture) -> None:
    assert limit_headers({"a": "x", "b": "y"}) == {"a": "x", "b": "y"}
    assert not caplog.text
    assert len(limit_headers({f"h{n}": "" for n in range(COUNT_MAX + 7)})) == COUNT_MAX
    assert "7 headers" in caplog.text
    large = limit_headers({"a": "x" * SIZE_MAX_CHARS, "b": "y" * (SIZE_MAX_CHARS - 2), "c": ""})
    assert list(large) == ["b", "c"]
