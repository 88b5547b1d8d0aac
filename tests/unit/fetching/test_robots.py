"""robots.txt by RFC 9309: groups, rules, meaning of responses, and lifetime in the cache."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from fonds.fetching.robots import (
    CACHE_S,
    MAX_BYTES,
    UNREACHABLE_CACHE_S,
    Robots,
    RobotsCache,
    build_unreachable,
    parse_product_token,
    parse_robots_response,
)
from fonds.model.exchange import HttpHead
from fonds.urls.request_url import parse_request_url

AGENT = "Fonds"


def make_robots(
    body: bytes, status: int = 200, coding: str = "", agent: str = AGENT, now_s: float = 0.0
) -> Robots:
    headers = (("Content-Encoding", coding),) if coding else ()
    return parse_robots_response(HttpHead(status, "", headers), body, agent, now_s)


def allows_path(robots_file: Robots, path: str) -> bool:
    return robots_file.allows(parse_request_url(f"https://a.example{path}"))


def allows(text: str, path: str) -> bool:
    return allows_path(make_robots(text.encode()), path)


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
def test_rules_follow_the_rfc(text: str, path: str, allowed: bool) -> None:
    assert allows(text, path) is allowed


@pytest.mark.parametrize(
    ("status", "allowed", "cached_s"),
    [
        (404, True, CACHE_S),
        (401, True, CACHE_S),
        (403, True, CACHE_S),
        (301, True, CACHE_S),
        (429, False, UNREACHABLE_CACHE_S),
        (500, False, UNREACHABLE_CACHE_S),
        (503, False, UNREACHABLE_CACHE_S),
    ],
)
def test_without_rules_the_status_decides_access(
    status: int, allowed: bool, cached_s: float
) -> None:
    robots_file = make_robots(b"User-agent: *\nDisallow: /", status, now_s=100.0)
    assert allows_path(robots_file, "/x") is allowed
    assert robots_file.expires_s == 100.0 + cached_s


def test_an_unreachable_robots_file_denies_everything() -> None:
    unreachable = build_unreachable("broke off", 0.0)
    assert not allows_path(unreachable, "/x")
    assert unreachable.unreachable == "broke off"


def test_only_the_first_half_mebibyte_is_read() -> None:
    line = b"Disallow: /none\n"
    padding = line * ((MAX_BYTES - 64) // len(line))
    head = b"User-agent: *\n" + padding + b"Disallow: /within\n"
    text = head + line * 64 + b"Disallow: /beyond\n"
    robots_file = make_robots(text[: MAX_BYTES + 1])
    assert not allows_path(robots_file, "/within")
    assert allows_path(robots_file, "/beyond")


def pad_robots(last_line: bytes, size_bytes: int) -> bytes:
    """Return a robots.txt of `size_bytes` bytes that ends with `last_line`."""
    head = b"User-agent: *\n#"
    return head + b"x" * (size_bytes - len(head) - len(last_line) - 1) + b"\n" + last_line


def test_a_line_cut_at_the_limit_is_ignored() -> None:
    """`Disallow: /private` cut to `Disallow: /` denies nothing."""
    cut = pad_robots(b"Disallow: /", MAX_BYTES) + b"private\n"
    assert allows_path(make_robots(cut), "/other")
    assert allows_path(make_robots(gzip.compress(cut, mtime=0), coding="gzip"), "/other")


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b""])
def test_a_line_that_ends_at_the_limit_counts(line_end: bytes) -> None:
    robots_file = make_robots(
        (pad_robots(b"Disallow: /private", MAX_BYTES) + line_end)[: MAX_BYTES + 1]
    )
    assert not allows_path(robots_file, "/private")


def test_a_rule_whose_comment_is_cut_counts() -> None:
    robots_file = make_robots(pad_robots(b"Disallow: /private # because", MAX_BYTES) + b"x")
    assert not allows_path(robots_file, "/private")


def raw_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(body) + packer.flush()


CODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "Deflate": raw_deflate,
    "br": brotli.compress,
    "zstd": zstandard.compress,
    "gzip, br": lambda body: brotli.compress(gzip.compress(body, mtime=0)),
    "identity": bytes,
    "gzip ": bytes,
    "utf-8": bytes,
}
DENYING_RULES = b"User-agent: *\nDisallow: /private\n"


@pytest.mark.parametrize("coding", CODERS)
def test_a_coded_robots_file_is_decoded(coding: str) -> None:
    robots_file = make_robots(CODERS[coding](DENYING_RULES), coding=coding)
    assert not robots_file.unreachable
    assert not allows_path(robots_file, "/private/x")
    assert allows_path(robots_file, "/open")


@pytest.mark.parametrize(
    ("body", "coding"),
    [
        (gzip.compress(DENYING_RULES, mtime=0)[:-20], "gzip"),
        (gzip.compress(DENYING_RULES, mtime=0)[:10] + b"\xff" * 20, "gzip"),
        (gzip.compress(DENYING_RULES, mtime=0), ""),
        (gzip.compress(DENYING_RULES, mtime=0), "br"),
        (b"\x1f\x9d\x90\xaa\xe6\x94", "compress"),
        (DENYING_RULES, ", ".join(["gzip"] * 9)),
    ],
    ids=["ends early", "damaged", "not named", "misnamed", "unknown", "too many"],
)
def test_an_undecodable_robots_file_is_unreachable(body: bytes, coding: str) -> None:
    robots_file = make_robots(body, coding=coding)
    assert "cannot decode robots.txt" in robots_file.unreachable
    assert not allows_path(robots_file, "/open")
    assert robots_file.expires_s == UNREACHABLE_CACHE_S


@pytest.mark.parametrize(
    "line",
    [
        "Content-Signal: ai-train=no",
        "Crawl-delay: 3",
        "Sitemap: https://a.example/sitemap.xml",
        "Host: a.example",
        "no field at all",
        "Request-rate: 1/5",
        "",
    ],
)
def test_only_a_rule_ends_a_list_of_agents(line: str) -> None:
    """RFC 9309, 2.2.4: other records do not interfere."""
    text = f"User-agent: fonds\n{line}\nUser-agent: b\nDisallow: /"
    assert not allows(text, "/x")
    closed = f"User-agent: fonds\nDisallow:\n{line}\nUser-agent: b\nDisallow: /"
    assert allows(closed, "/x")


@pytest.mark.parametrize(
    ("agent", "matches"),
    [
        ("fonds", True),
        ("Fonds/0.1", True),
        ("FONDS/0.1 (+https://fonds.example)", True),
        ("Fonds bot", True),
        ("fon", False),
        ("f", False),
        ("fondsbot", False),
        ("fonds-news", False),
        ("Mozilla/5.0 (compatible; Fonds/0.1)", False),
        ("/", False),
    ],
)
def test_a_product_token_matches_as_a_full_word(agent: str, matches: bool) -> None:
    """RFC 9309, 2.2.1: a group for `fon` neither allows nor denies anything to `fonds`."""
    assert allows(f"User-agent: *\nDisallow: /\nUser-agent: {agent}\nAllow: /", "/x") is matches
    assert allows(f"User-agent: {agent}\nDisallow: /", "/x") is not matches


def test_a_group_for_our_agent_replaces_the_default_group() -> None:
    text = "User-agent: *\nDisallow: /a\n\nUser-agent: fonds\nDisallow: /b\n"
    assert allows(text, "/a")
    assert not allows(text, "/b")


def test_rules_before_the_first_agent_are_ignored() -> None:
    assert allows("Disallow: /\nUser-agent: *\nDisallow: /b", "/a")


def test_only_cr_and_lf_end_a_line() -> None:
    assert allows("User-agent: *\nDisallow: /a\u2028Disallow: /b", "/b")
    assert not allows("User-agent: *\rDisallow: /b", "/b")


def test_a_crawl_delay_belongs_to_the_agents_above_it() -> None:
    text = b"User-agent: *\nCrawl-delay: 7.5\nDisallow: /x"
    assert make_robots(text).delay_s == 7.5
    assert make_robots(text, status=404).delay_s == 0.0
    assert make_robots(b"User-agent: *\nCrawl-delay: -1\nDisallow: /x").delay_s == 0.0
    assert make_robots(b"User-agent: *\nCrawl-delay: inf\nDisallow:").delay_s == 0.0
    assert make_robots(b"User-agent: b\nCrawl-delay: 9\nUser-agent: *\nDisallow: /x").delay_s == 0.0


@given(body=st.binary(max_size=2000), path=st.text(max_size=50))
def test_any_bytes_are_read_as_a_robots_file(body: bytes, path: str) -> None:
    robots_file = make_robots(body)
    assert allows_path(robots_file, "/" + path) in (True, False)
    assert robots_file.delay_s >= 0.0


def test_the_product_token_is_parsed_from_the_user_agent() -> None:
    assert parse_product_token("Fonds/0.1 (+https://example.org/bot)") == "Fonds"
    assert parse_product_token("My-News_bot 2/1") == "My-News_bot"


def test_cached_robots_files_expire() -> None:
    cache = RobotsCache()
    cache.put("a", Robots(10.0))
    assert cache.get("a", 9.9) is not None
    assert cache.get("a", 10.0) is None
    assert cache.get("b", 0.0) is None


def test_the_cache_is_bounded_by_count_and_by_bytes() -> None:
    cache = RobotsCache(count_max=3, max_bytes=100)
    for number in range(5):
        cache.put(str(number), Robots(10.0, size_bytes=1))
    assert [cache.get(str(number), 0.0) is not None for number in range(5)] == [False] * 2 + [
        True
    ] * 3
    cache.get("2", 0.0)
    cache.put("large", Robots(10.0, size_bytes=99))
    assert len(cache) == 2
    assert cache.get("2", 0.0) is not None
