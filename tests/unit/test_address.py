"""Where the parts of a URL end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.address import Address, split_address


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("HTTP://u@h:80/p?q#f", Address("http", "u@h:80", "/p", "q", "f")),
        ("//h", Address("", "h", "", None, None)),
        ("a/b?", Address("", None, "a/b", "", None)),
        ("urn:x#", Address("urn", None, "x", None, "")),
        ("1:2", Address("", None, "1:2", None, None)),
        ("http:///p?#?", Address("http", "", "/p", "", "?")),
        ("", Address("", None, "", None, None)),
    ],
)
def test_marks_say_where_parts_end(url: str, parts: Address) -> None:
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
def test_the_host_is_between_the_name_and_the_port(url: str, host: str, port: str) -> None:
    parts = split_address(url)
    assert (parts.host, parts.port) == (host, port)


@given(st.text("ab:/?#@[]1.\n\\%", max_size=40))
def test_the_parts_make_the_url_again(url: str) -> None:
    parts = split_address(url)
    scheme = f"{parts.scheme}:" if parts.scheme else ""
    whole = scheme + ("" if parts.authority is None else f"//{parts.authority}") + parts.path
    whole += "" if parts.query is None else f"?{parts.query}"
    assert whole + ("" if parts.fragment is None else f"#{parts.fragment}") == url
    assert isinstance(parts.host, str)
