"""SURT keys that match those of existing indexes."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.urls.surt import build_surt

SESSION = "0123456789abcdefghijklemopqrstuv"
STATE = "4hqa0555fwsecu455xqckv45"


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://example.org/", "org,example)/"),
        ("http://example.org", "org,example)/"),
        ("example.org/a", "org,example)/a"),
        ("https://WWW.Example.ORG/A/B.html", "org,example)/a/b.html"),
        ("http://www12.example.org/", "org,example)/"),
        ("http://www2example.org/", "org,www2example)/"),
        ("http://user:word@example.org/", "org,example)/"),
        ("http://example.org:80/", "org,example)/"),
        ("https://example.org:443/", "org,example)/"),
        ("https://example.org:80/", "org,example:80)/"),
        ("http://example.org:8080/a", "org,example:8080)/a"),
        ("example.org:8080/a", "org,example:8080)/a"),
        ("http://example.org:/", "org,example)/"),
        ("http://example..org./", "org,example)/"),
        ("http://example.org/a/", "org,example)/a"),
        ("http://example.org//a//b/../c/./", "org,example)/a/c"),
        ("http://example.org/../..", "org,example)/"),
        ("http://example.org/a?", "org,example)/a"),
        ("http://example.org/a/?b&a", "org,example)/a?a&b"),
        ("http://example.org/a?a=2&b&a=1", "org,example)/a?a=1&a=2&b"),
        ("http://example.org/a?a-b=1&a=2", "org,example)/a?a=2&a-b=1"),
        ("http://example.org/a?x=1&", "org,example)/a?&x=1"),
        ("http://example.org?x=1", "org,example)/?x=1"),
        ("http://example.org/a#b", "org,example)/a"),
        ("http://example.org/a?b=1#c?d", "org,example)/a?b=1"),
        ("http://example.org/%7Euser/%41%2520b", "org,example)/~user/a%20b"),
        ("http://example.org/?q=%E4%EE%f8", "org,example)/?q=%e4%ee%f8"),
        ("http://example.org/ü", "org,example)/%c3%bc"),
        ("http://bücher.example/", "example,xn--bcher-kva)/"),
        ("  http://exa\nmple.org/\t", "org,example)/"),
        ("http://192.0.2.34/robots.txt", "34,2,0,192)/robots.txt"),
        ("http://192.0.2.34:8080/", "34,2,0,192:8080)/"),
        ("https://[2001:db8::1]/a", "2001:db8::1)/a"),
        ("https://[2001:db8::1]:444/a", "2001:db8::1:444)/a"),
        ("ftp://example.org/a", "org,example)/a"),
        (
            "metadata://gnu.org/software/wget/warc/MANIFEST.txt",
            "org,gnu)/software/wget/warc/manifest.txt",
        ),
        ("dns:example.org", "dns:example.org"),
        ("urn:uuid:6F", "urn:uuid:6F"),
        ("filedesc://a.arc.gz", "filedesc://a.arc.gz"),
        ("warcinfo:a.warc.gz", "warcinfo:a.warc.gz"),
        ("file:///home/A%20b.pdf", "file:/home/a%20b.pdf"),
        ("file:///", "file:/"),
        ("FILE:///a?d&c", "file:/a?c&d"),
        ("file:///home/a.zip#In/B.pdf", "file:/home/a.zip#In/B.pdf"),
        ("file://host/a.zip#In/B.pdf", "host)/a.zip#In/B.pdf"),
        ("s3://bucket/a.zip#In/B.pdf", "bucket)/a.zip#In/B.pdf"),
        ("whois://whois.example.net/z", "whois://whois.example.net/z"),
        ("", "-"),
        (" \n", "-"),
    ],
)
def test_a_url_has_the_key_that_the_wayback_machine_uses(url: str, key: str) -> None:
    assert build_surt(url) == key


@pytest.mark.parametrize(
    ("url", "key"),
    [
        (f"/index.html;jsessionid={SESSION}", "/index.html"),
        (f"/index.html;jsessionid={SESSION}.node1", "/index.html"),
        (f"/index.html;jsessionid={SESSION}!-12:3?x=1", "/index.html?x=1"),
        (f"/a;jsessionid={SESSION}.node1/b", "/a/b"),
        (f"/index.html;jsessionid={SESSION}0", f"/index.html;jsessionid={SESSION}0"),
        (f"/(S({STATE}))/list.aspx", "/list.aspx"),
        (f"/({STATE})/list.aspx", "/list.aspx"),
        (f"/(a({STATE})S({STATE}))/list.aspx?page=1", "/list.aspx?page=1"),
        (f"/a?jsessionid={SESSION}", "/a"),
        (f"/a?jsessionid={SESSION}0", f"/a?jsessionid={SESSION}0"),
        (f"/a?x=1&PHPSESSID={SESSION.upper()}&y=2", "/a?x=1&y=2"),
        (f"/a?x=1&sid={SESSION}", "/a?&x=1"),
        ("/a?ASPSESSIONIDABCDEFGH=ABCDEFGHIJKLMNOPQRSTUVWX&x=y", "/a?x=y"),
        ("/a?CFID=1169580&CFTOKEN=48630702&x=y", "/a?x=y"),
    ],
)
def test_session_ids_are_removed_from_keys(url: str, key: str) -> None:
    assert build_surt("http://example.org" + url) == "org,example)" + key


@given(st.text(max_size=200))
def test_every_text_has_a_key_without_spaces(text: str) -> None:
    key = build_surt("http://" + text)
    assert key
    assert not set(key) & set(" \r\n\t")


@given(st.text("abc.:/?&=%25#@[];", max_size=80))
def test_a_key_does_not_depend_on_scheme_and_www(text: str) -> None:
    assert build_surt("http://example.org/" + text) == build_surt(
        "https://www3.example.org/" + text
    )


@pytest.mark.parametrize(
    "url",
    [
        "http://a/" + "%25" * 30_000,
        "http://a/?" + "sid=" * 20_000,
        "http://a/?" + "cfid=" * 20_000,
        "http://a/" + "(a" * 30_000,
        "http://a/" + "/(" * 30_000 + ".aspx",
        "http://" + "a." * 30_000,
        "http://" + "ü." * 500,
        "a" * 60_000 + ":",
    ],
    ids=range(8),
)
def test_hostile_urls_are_processed_quickly(url: str) -> None:
    started_at = time.monotonic()
    build_surt(url)
    assert time.monotonic() - started_at < 2
