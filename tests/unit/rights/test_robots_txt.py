"""Rules of a robots.txt for one crawler: which line decides, and which preferences apply to a path."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from protego import Protego

from cpu_growth import assert_linear_cpu
from fonds.model.rights import STATEMENTS_MAX, StatementSource
from fonds.rights.robots_txt import matches_pattern, parse_robots_rules

TEXT = """
Content-Usage: train-ai=y
User-agent: *
Content-Signal: search=yes, ai-train=no
Content-Usage: train-ai=n
Content-Usage: /open/ train-ai=y, search=y
Content-Usage: /open/*.pdf$ train-ai=n
Disallow: /private
Allow: /private/open
Disallow: /*.cgi$
User-agent: fonds
User-agent: other
Content-Usage: search=n
Disallow: /ours
User-agent: third
Content-Usage: ai-use=n
Disallow: /
"""


@pytest.mark.parametrize(
    ("target", "rule"),
    [
        ("/private/x", "Disallow: /private"),
        ("/private/open/x", "Allow: /private/open"),
        ("/a/b.cgi", "Disallow: /*.cgi$"),
        ("/a/b.cgi?x", ""),
        ("/", ""),
    ],
)
def test_the_longest_matching_line_decides(target: str, rule: str) -> None:
    assert parse_robots_rules(TEXT).find_rule(target) == rule


def test_an_allow_wins_between_lines_of_equal_length() -> None:
    text = "User-agent: *\nDisallow: /a\nAllow: /a"
    assert parse_robots_rules(text).find_rule("/a/b") == "Allow: /a"


@pytest.mark.parametrize(
    ("pattern", "target"),
    [
        ("/a", "/ab"),
        ("/a$", "/a"),
        ("/a*b$", "/axbxb"),
        ("/a*b*c", "/axbyc"),
        ("/%C3%BC", "/ü"),
        ("/ü", "/%c3%bc"),
        ("/a%2fb", "/a%2Fb"),
        ("/a%7Eb", "/a~b"),
        ("*/x", "/y/x"),
        ("/a%2Cb", "/a,b"),
        ("/a$", "/ab"),
        ("/a*b$", "/axbx"),
        ("/a*b*c", "/axcyb"),
        ("/a%2fb", "/a/b"),
        ("/A", "/a"),
        ("/aa*aa$", "/aaa"),
    ],
)
def test_patterns_match_like_in_protego(pattern: str, target: str) -> None:
    rules = Protego.parse(f"User-agent: *\nDisallow: {pattern}")
    decided = not rules.can_fetch(f"http://e.example{target}", "fonds")
    rule = parse_robots_rules(f"User-agent: *\nDisallow: {pattern}").find_rule(target)
    assert bool(rule) is decided


def test_preferences_come_from_the_longest_path_of_each_field() -> None:
    def list_values(target: str, token: str = "") -> list[str]:
        return [
            statement.value for statement in parse_robots_rules(TEXT, token).find_statements(target)
        ]

    assert list_values("/x") == ["train-ai=n", "search=y", "ai-train=n"]
    assert list_values("/open/x") == ["train-ai=y", "search=y", "search=y", "ai-train=n"]
    assert list_values("/open/x.pdf") == ["train-ai=n", "search=y", "ai-train=n"]
    assert list_values("/x", "Fonds") == list_values("/x", "other") == ["search=n"]
    assert list_values("/x", "third") == ["ai-use=n"]
    assert list_values("/x", "unnamed") == list_values("/x")
    (usage,) = parse_robots_rules(TEXT, "third").find_statements("/")
    assert (usage.stated_in, usage.name) == (StatementSource.ROBOTS_TXT, "Content-Usage")


def test_a_preference_does_not_apply_to_an_agent_named_after_it() -> None:
    text = "User-agent: a\nContent-Usage: search=n\nUser-agent: b\nDisallow: /x"
    assert parse_robots_rules(text, "b").find_statements("/") == ()
    assert [
        statement.value for statement in parse_robots_rules(text, "a").find_statements("/")
    ] == ["search=n"]
    assert parse_robots_rules(text, "a").find_rule("/x") == "Disallow: /x"


@pytest.mark.parametrize(
    ("build_lines", "count"),
    [
        (lambda count: "Disallow: /" + "*a" * count, 200_000),
        (lambda count: "Content-Usage: /a search=n\n" * count, 15_000),
        (lambda count: "".join(f"Content-Signal: x{n}=no\n" for n in range(count)), 15_000),
        (lambda count: "Disallow: /%\n" * count, 40_000),
    ],
    ids=["stars", "paths", "signals", "escapes"],
)
def test_hostile_files_are_read_within_limits(
    build_lines: Callable[[int], str], count: int
) -> None:
    path = "/" + "a" * 2_000

    def apply(count: int) -> None:
        rules = parse_robots_rules("User-agent: *\n" + build_lines(count))
        rules.find_rule(path)
        assert len(rules.find_statements(path)) <= STATEMENTS_MAX

    assert_linear_cpu(apply, count)


def test_a_pattern_with_many_wildcards_is_matched_in_time() -> None:
    assert not matches_pattern("/" + "a*" * 5_000 + "b$", "/" + "a" * 10_000)


@pytest.mark.parametrize(
    ("crawler", "rule"),
    [
        ("Mozilla/5.0 (compatible; heritrix/3.4 +http://e.example)", "Disallow: /h"),
        ("Fonds/0.1.0 (+me)", "Disallow: /f"),
        ("other", "Disallow: /"),
        ("", "Disallow: /"),
    ],
)
def test_a_crawler_is_found_by_a_name_in_its_user_agent(crawler: str, rule: str) -> None:
    text = "User-agent: *\nDisallow: /\n"
    text += "User-agent: heritrix\nDisallow: /h\nUser-agent: fonds\nDisallow: /f\n"
    robots_rules = parse_robots_rules(text, crawler=crawler)
    assert robots_rules.rules == (tuple(rule.split(": ")),)
