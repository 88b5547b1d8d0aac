"""Splitting URLs into parts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.urls.normalization import normalize_url
from fonds.urls.parts import (
    UrlParts,
    file_name,
    member_name,
    member_url,
    split_address,
)


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("HTTP://u@h:80/p?q#f", UrlParts("http", "u@h:80", "/p", "q", "f")),
        ("//h", UrlParts("", "h", "", None, None)),
        ("a/b?", UrlParts("", None, "a/b", "", None)),
        ("urn:x#", UrlParts("urn", None, "x", None, "")),
        ("1:2", UrlParts("", None, "1:2", None, None)),
        ("http:///p?#?", UrlParts("http", "", "/p", "", "?")),
        ("", UrlParts("", None, "", None, None)),
    ],
)
def test_a_url_is_split_into_its_parts(url: str, parts: UrlParts) -> None:
    assert split_address(url) == parts


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("http://a:b@Host:81/", "Host", "81"),
        ("http://a@b@host", "host", ""),
        ("http://[::1]:8080/", "[::1]", "8080"),
        ("http://[::1]", "[::1]", ""),
        ("http://h:/", "h", ""),
        ("http://h:x/", "h:x", ""),
        ("urn:h:1", "", ""),
    ],
)
def test_the_host_excludes_user_and_port(url: str, host: str, port: str) -> None:
    parts = split_address(url)
    assert (parts.host, parts.port) == (host, port)


@given(st.text("ab:/?#@[]1.\n\\%", max_size=40))
def test_the_parts_join_to_the_url(url: str) -> None:
    parts = split_address(url)
    scheme = f"{parts.scheme}:" if parts.scheme else ""
    joined = scheme + ("" if parts.authority is None else f"//{parts.authority}") + parts.path
    joined += "" if parts.query is None else f"?{parts.query}"
    assert joined + ("" if parts.fragment is None else f"#{parts.fragment}") == url
    assert isinstance(parts.host, str)


@pytest.mark.parametrize(
    ("container", "name", "url"),
    [
        ("file:///a/pages.zip", "in/b c.html", "file:///a/pages.zip#in/b%20c.html"),
        ("file:///a/pages.zip", "a#b%.html", "file:///a/pages.zip#a%23b%25.html"),
        ("s3://bucket/pages.zip", "ü.html", "s3://bucket/pages.zip#%C3%BC.html"),
        ("https://a.example/pages.zip", "b.html", "https://a.example/pages.zip#/b.html"),
        (
            "https://a.example/pages.zip?v=1#x",
            "/b.html",
            "https://a.example/pages.zip?v=1#//b.html",
        ),
    ],
)
def test_the_url_of_a_member_has_its_name(container: str, name: str, url: str) -> None:
    assert member_url(container, name) == url
    assert member_name(url) == name


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("file:///a/pages.zip#in/b%20c.html", "b c.html"),
        ("file:///a/pages.zip", "pages.zip"),
        ("file:///a/crawl.warc.gz#85", "crawl.warc.gz"),
        ("file:///a/crawl.warc.gz#85%232", "crawl.warc.gz"),
        ("https://a.example/p/paper.pdf?x=/y#page=3", "paper.pdf"),
        ("https://a.example/pages.zip#/in/b.html", "b.html"),
        ("https://a.example/%C3%BC/", "ü"),
        ("https://a.example", ""),
        ("urn:x", "x"),
    ],
)
def test_a_file_is_named_by_the_last_part_of_its_path(url: str, name: str) -> None:
    assert file_name(url) == name


@given(
    st.sampled_from(["file:///a.zip", "s3://b/a.zip", "https://a.example/a.zip"]),
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
        min_size=2,
        max_size=2,
        unique=True,
    ),
)
def test_members_of_one_container_are_different_pages(container: str, names: list[str]) -> None:
    first, second = (normalize_url(member_url(container, f"{name}.html")) for name in names)
    assert first != second
