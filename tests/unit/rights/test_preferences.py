"""Preferences in headers: the syntax of each header, repeated headers, and invalid values."""

from __future__ import annotations

import pytest

from cpu_growth import assert_linear_cpu
from fonds.model.exchange import HttpHead
from fonds.model.rights import STATEMENTS_MAX, Statement, StatementSource, Subject
from fonds.rights.preferences import iter_link_targets, parse_dictionary, read_header_statements

URL = "https://news.example/a/story.html"


def read_statements(*headers: tuple[str, str]) -> tuple[Statement, ...]:
    return read_header_statements(HttpHead(200, "HTTP/1.1 200 OK", headers), URL)


def list_values(*headers: tuple[str, str]) -> list[tuple[str, str]]:
    return [(statement.value, statement.name) for statement in read_statements(*headers)]


def test_directives_for_all_agents_and_for_one_agent_are_read() -> None:
    assert list_values(
        ("X-Robots-Tag", "NoIndex, noai"), ("x-robots-tag", "googlebot: nofollow, none")
    ) == [
        ("noindex", "X-Robots-Tag"),
        ("noai", "X-Robots-Tag"),
        ("nofollow", "X-Robots-Tag googlebot"),
        ("none", "X-Robots-Tag googlebot"),
    ]


def test_directives_with_values_are_not_agents() -> None:
    date = "unavailable_after: Wednesday, 25-Jun-2025 15:00:00 PST"
    assert list_values(("X-Robots-Tag", f"max-snippet:20, {date}, bingbot: {date}, noindex")) == [
        ("max-snippet:20", "X-Robots-Tag"),
        ("unavailable_after:wednesday, 25-jun-2025 15:00:00 pst", "X-Robots-Tag"),
        ("unavailable_after:wednesday, 25-jun-2025 15:00:00 pst", "X-Robots-Tag bingbot"),
        ("noindex", "X-Robots-Tag bingbot"),
    ]


def test_repeated_usage_headers_are_one_dictionary_and_the_last_value_wins() -> None:
    headers = (("Content-Usage", 'train-ai=n;exact="a,b", search=y'), ("content-usage", "search=n"))
    assert list_values(*headers) == [("train-ai=n", "Content-Usage"), ("search=n", "Content-Usage")]


@pytest.mark.parametrize(
    "value",
    ["train-ai=n search=y", "train-ai=n,", "Train-AI=n", ",", "train-ai=n,,search=y", '="n"'],
)
def test_an_invalid_usage_dictionary_states_nothing(value: str) -> None:
    assert read_statements(("Content-Usage", value)) == ()


def test_an_invalid_usage_value_is_ignored() -> None:
    assert list_values(("Content-Usage", "train-ai=maybe, bots, ai-use=?0, search=y")) == [
        ("search=y", "Content-Usage")
    ]


def test_signals_have_the_same_form_as_usage() -> None:
    assert list_values(
        ("Content-Signal", "search=yes, ai-input=NO, ai-train=no, x=perhaps, y")
    ) == [
        ("search=y", "Content-Signal"),
        ("ai-input=n", "Content-Signal"),
        ("ai-train=n", "Content-Signal"),
    ]


def test_a_reservation_and_its_policy_are_read() -> None:
    statements = read_statements(
        ("TDM-Reservation", " 1 "), ("tdm-policy", "https://news.example/tdm.json")
    )
    assert [(statement.value, statement.raw) for statement in statements] == [
        ("tdm-reservation=1", "1"),
        ("tdm-policy", "https://news.example/tdm.json"),
    ]
    assert read_statements(("tdm-reservation", "yes"), ("tdm-policy", " ")) == ()


def test_a_licence_link_is_found_among_others_and_made_absolute() -> None:
    value = (
        '<https://a.example/x,y>; rel="next"; title="<z>; rel=license", '
        "<https://creativecommons.org/licenses/by/4.0/>; rel=License, </own>; rel='x'; rel=license,"
        ' <../terms.html>; rev=x; rel="nofollow license"'
    )
    assert [
        (statement.subject, statement.value) for statement in read_statements(("Link", value))
    ] == [
        (Subject.LICENSE, "cc-by-4.0"),
        (Subject.LICENSE, "https://news.example/terms.html"),
    ]


def test_a_repeated_statement_is_returned_once_with_its_source() -> None:
    (statement,) = read_statements(
        ("X-Robots-Tag", "noai"), ("X-Robots-Tag", "noai"), ("Server", "noai")
    )
    assert statement == Statement(
        Subject.PREFERENCE, "noai", "noai", StatementSource.HEADER, "X-Robots-Tag"
    )


@pytest.mark.parametrize(
    ("name", "start", "repeated_text", "count"),
    [
        ("X-Robots-Tag", "", "a, ", 100_000),
        ("X-Robots-Tag", "", "unavailable_after: 1,", 50_000),
        ("X-Robots-Tag", "", ": : :", 50_000),
        ("Content-Usage", "", ";a", 100_000),
        ("Content-Usage", 'a="', "\\", 200_000),
        ("Content-Signal", "", "=", 200_000),
        ("Link", "", "<", 200_000),
        ("Link", "", "<a>; rel=", 50_000),
        ("Link", "", ", ", 100_000),
        ("tdm-policy", "", "\x00\ud800", 100_000),
    ],
)
def test_hostile_values_are_limited_in_time_and_number(
    name: str, start: str, repeated_text: str, count: int
) -> None:
    def read_repeated(count: int) -> tuple[Statement, ...]:
        return read_statements(*[(name, start + repeated_text * count)] * 50)

    assert_linear_cpu(read_repeated, count)
    statements = read_repeated(count)
    assert len(statements) <= STATEMENTS_MAX
    for statement in statements:
        statement.raw.encode()


def test_a_dictionary_has_bare_items_strings_and_parameters() -> None:
    assert parse_dictionary('a, b=?0;x;y=1, c="q,\\"";z="," ,*d=tok/en:1, e=-1.5') == {
        "a": "?1",
        "b": "?0",
        "c": '"q,\\""',
        "*d": "tok/en:1",
        "e": "-1.5",
    }


def test_invalid_link_targets_are_skipped() -> None:
    assert list(iter_link_targets("</a> junk; rel=license, </b>;rel=license", "license")) == ["/b"]
    assert list(iter_link_targets("no link; rel=license", "license")) == []
