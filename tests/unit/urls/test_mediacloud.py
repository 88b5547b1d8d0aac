"""The Media Cloud id of a URL, equal to the ids of its library (version 1.4.3)."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.urls.mediacloud_id import URL_MAX_CHARS, hash_url

_PIECES = """
    http:// https:// // www. m. blog. example.com youtube.com/watch?v=AbC youtube.com/embed/Xy?z :x /../
    archive.is/a/bc/ pron x.podomatic.com :80 :0 / %20 %zz %2F %E9 é İ ? & = a=1 utm_source=x sid=3 _x=1
    nk=abc #frag %23 + u:p@ [::1] [ ] 1.2.3.4 xn--a . .. \\ ~ facebook.com ; |
"""
PIECES = st.sampled_from([*_PIECES.split(), "\ud800", "\u0301", " "])


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("https://www.Example.com/Story?b=2&a=1", "http://example.com/story?a=1&b=2"),
        ("http://http://www.example.com/a", "http://example.com/a"),
        ("http:/www.example.com/", "http://example.com/"),
        ("//www.example.com/", "http://example.com/"),
        ("http:\\\\www.example.com\\", "http://example.com/"),
        ("https://www.example.com:/a/B", "http://example.com/a/b"),
        ("https://example.com:8080/a", "http://example.com/a"),
        ("http://example.com?page=2", "http://example.com/?page=2"),
        ("http://blog.example.com/Story", "http://example.com/story"),
        ("http://m.example.co.uk/a//b/", "http://example.co.uk/a/b/"),
        ("http://1.2.3.4/a", "http://1.2.3.4/a"),
        (
            "https://web.archive.org/web/2020/https://foo.com/a",
            "http://archive.org/web/2020/https:/foo.com/a",
        ),
        ("https://www.youtube.com/watch?v=aFCO6&t=4", "http://youtube.com/watch?v=aFCO6"),
        ("http://youtu.example/embed/x", "http://youtu.example/embed/x"),
        ("https://archive.is/a/b1/http://x.com/Y", "http://x.com/y"),
        ("http://example.com/a?utm_source=x&ref=y&_z=1&id=3", "http://example.com/a?id=3"),
        ("http://example.com/a?PHPSESSID=1&x=", "http://example.com/a?phpsessid=1&x"),
        ("http://example.com/a?nk=00ff&b=1#part", "http://example.com/a?b=1"),
        ("http://twitter.com/search?src=hash&q=%23QZ", "http://twitter.com/search?q=#qz&src=hash"),
        ("http://example.com/a b/é", "http://example.com/a%20b/%C3%A9"),
        ("http://user:pw@example.com/", "http://user:pw@example.com/"),
    ],
)
def test_a_url_is_normalized_like_in_media_cloud(url: str, normal: str) -> None:
    assert hash_url(url) == hashlib.sha256(normal.encode()).hexdigest()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "file:///tmp/x.html",
        "urn:x",
        "http://example.com:0/",
        "http://exa mple.com:99999/",
        "http://a..b/",
        "http://[::1/",
        "http://example.com/" + "a/" * URL_MAX_CHARS,
    ],
)
def test_urls_without_an_id_in_media_cloud_have_none(url: str) -> None:
    assert hash_url(url) is None


@given(st.lists(PIECES, max_size=12).map(lambda pieces: "http://" + "".join(pieces)))
def test_any_url_has_an_id_or_none(url: str) -> None:
    url_hash = hash_url(url)
    assert url_hash is None or len(url_hash) == 64
