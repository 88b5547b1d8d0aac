"""robots.txt by RFC 9309: which group, which rule, which answer means what, and for how long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.crawl.request_url import request_url
from fonds.crawl.robots import (
    BYTES_MAX,
    KEPT_S,
    UNREACHABLE_KEPT_S,
    Robots,
    RobotsCache,
    product_token,
    robots_of,
    unreachable,
)

AGENT = "Fonds"


def allows(text: str, path: str, agent: str = AGENT) -> bool:
    robots = robots_of(200, text.encode(), 0.0)
    return robots.allows(request_url(f"https://a.example{path}"), agent)


@pytest.mark.parametrize(
    ("text", "path", "allowed"),
    [
        ("", "/a", True),
        ("User-agent: *\nDisallow: /", "/a", False),
        ("User-agent: *\nDisallow: /", "/robots.txt", True),
        ("User-agent: other\nDisallow: /", "/a", True),
        ("User-agent: *\nDisallow: /\n\nUser-agent: FONDS\nAllow: /", "/a", True),
        ("User-agent: x\nUser-agent: fonds\nDisallow: /a", "/a/b", False),
        ("User-agent: fonds\nDisallow: /a\nUser-agent: fonds\nDisallow: /b", "/b", False),
        ("User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("User-agent: *\nAllow: /page\nDisallow: /page", "/page", True),
        ("User-agent: *\nDisallow: *.gif$", "/x.gif", False),
        ("User-agent: *\nDisallow: *.gif$", "/x.gif?y", True),
        ("User-agent: *\nDisallow: /*?print=", "/a?print=1", False),
        ("User-agent: *\nDisallow: /Ä", "/%C3%84", False),
        ("User-agent: *\nDisallow: /a%2Fb", "/a/b", True),
        ("User-agent: *\nDisallow:", "/a", True),
        ("\ufeffUser-agent: *\r\nDisallow: /a # why\r\n", "/a", False),
        ("<html><body>Not found</body></html>", "/a", True),
    ],
)
def test_rules_are_those_of_the_rfc(text: str, path: str, allowed: bool) -> None:
    assert allows(text, path) is allowed


@pytest.mark.parametrize(
    ("status", "allowed", "kept_s"),
    [
        (404, True, KEPT_S),
        (401, True, KEPT_S),
        (403, True, KEPT_S),
        (301, True, KEPT_S),
        (429, False, UNREACHABLE_KEPT_S),
        (500, False, UNREACHABLE_KEPT_S),
        (503, False, UNREACHABLE_KEPT_S),
    ],
)
def test_without_rules_the_status_decides(status: int, allowed: bool, kept_s: float) -> None:
    robots = robots_of(status, b"User-agent: *\nDisallow: /", 100.0)
    assert robots.allows(request_url("https://a.example/x"), AGENT) is allowed
    assert robots.expires_s == 100.0 + kept_s


def test_what_does_not_answer_allows_nothing() -> None:
    robots = unreachable("broke off", 0.0)
    assert not robots.allows(request_url("https://a.example/x"), AGENT)
    assert robots.unreachable == "broke off"


def test_half_a_mebibyte_is_read_and_no_more() -> None:
    line = b"Disallow: /none\n"
    padding = line * ((BYTES_MAX - 64) // len(line))
    before = b"User-agent: *\n" + padding + b"Disallow: /within\n"
    text = before + line * 64 + b"Disallow: /beyond\n"
    robots = robots_of(200, text, 0.0)
    assert not robots.allows(request_url("https://a.example/within"), AGENT)
    assert robots.allows(request_url("https://a.example/beyond"), AGENT)


def test_a_crawl_delay_is_told() -> None:
    text = b"User-agent: *\nCrawl-delay: 7.5\nDisallow: /x"
    assert robots_of(200, text, 0.0).delay_s(AGENT) == 7.5
    assert robots_of(404, text, 0.0).delay_s(AGENT) == 0.0
    assert (
        robots_of(200, b"User-agent: *\nCrawl-delay: -1\nDisallow: /x", 0.0).delay_s(AGENT) == 0.0
    )
    assert robots_of(200, b"User-agent: *\nCrawl-delay: inf\nDisallow:", 0.0).delay_s(AGENT) == 0.0


@given(body=st.binary(max_size=2000), path=st.text(max_size=50))
def test_any_bytes_are_a_robots_file(body: bytes, path: str) -> None:
    robots = robots_of(200, body, 0.0)
    assert robots.allows(request_url("https://a.example/" + path), AGENT) in (True, False)
    assert robots.delay_s(AGENT) >= 0.0


def test_the_name_of_the_agent_is_its_product_token() -> None:
    assert product_token("Fonds/0.1 (+https://example.org/bot)") == "Fonds"
    assert product_token("My-News_bot 2/1") == "My-News_bot"


def test_answers_are_kept_as_long_as_they_hold() -> None:
    cache = RobotsCache()
    cache.put("a", Robots(10.0))
    assert cache.get("a", 9.9) is not None
    assert cache.get("a", 10.0) is None
    assert cache.get("b", 0.0) is None


def test_the_cache_is_bounded_by_count_and_by_bytes() -> None:
    cache = RobotsCache(count_max=3, bytes_max=100)
    for number in range(5):
        cache.put(str(number), Robots(10.0, size_bytes=1))
    assert [cache.get(str(number), 0.0) is not None for number in range(5)] == [False] * 2 + [
        True
    ] * 3
    cache.get("2", 0.0)
    cache.put("large", Robots(10.0, size_bytes=99))
    assert len(cache) == 2
    assert cache.get("2", 0.0) is not None
