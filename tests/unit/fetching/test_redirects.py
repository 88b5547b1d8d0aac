"""Normal form of request URLs, and the targets of redirects."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.fetching.outcomes import resolve_redirect
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError
from fonds.urls.request_url import parse_request_url


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://A.Example", "https://a.example/"),
        ("http://a.example:80/x#y", "http://a.example/x"),
        ("https://a.example:8443/x?q=1&r=%20", "https://a.example:8443/x?q=1&r=%20"),
        (" http://a.example/a b\n", "http://a.example/a%20b"),
        ("http://user:word@a.example/", "http://a.example/"),
        ("http://bücher.example/ä?ö", "http://xn--bcher-kva.example/%C3%A4?%C3%B6"),
        ("http://[2001:DB8::1]:8080/x", "http://[2001:db8::1]:8080/x"),
        ("http://a.example./x", "http://a.example/x"),
        ("http://a.example?q", "http://a.example/?q"),
    ],
)
def test_a_url_is_requested_in_one_spelling(text: str, expected: str) -> None:
    assert parse_request_url(text).url == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a.example/x",
        "ftp://a.example/",
        "file:///etc/passwd",
        "http://",
        "http:///x",
        "http://a.example:0/",
        "http://a.example:99999/",
        "http://a example/",
        "http://a\x00.example/",
        "javascript:alert(1)",
        "mailto:a@example.org",
        "https://" + "a" * 300 + ".example/",
        "https://a.example/" + "x" * 9000,
        "http://a.example\r\nX: y/",
    ],
)
def test_an_unfetchable_url_is_rejected(text: str) -> None:
    with pytest.raises(PermanentError) as raised:
        parse_request_url(text)
    assert raised.value.reason is Reason.BAD_URL


@given(st.text())
def test_any_text_is_a_safe_url_or_rejected(text: str) -> None:
    try:
        request_url = parse_request_url(text)
    except PermanentError:
        return
    assert request_url.url.isascii()
    assert not set(request_url.url) & set(" \r\n\t\x00")
    assert parse_request_url(request_url.url).url == request_url.url


BASE_URL = parse_request_url("https://a.example/dir/page?x=1")


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/b", "https://a.example/b"),
        ("c", "https://a.example/dir/c"),
        ("?y", "https://a.example/dir/page?y"),
        ("//b.example/x", "https://b.example/x"),
        ("http://b.example", "http://b.example/"),
        (" /b ", "https://a.example/b"),
        ("/ä".encode().decode("latin-1"), "https://a.example/%C3%A4"),
        ("/\xe4", "https://a.example/%C3%A4"),
        ("https://user:word@b.example/", "https://b.example/"),
    ],
)
def test_a_redirect_leads_to_its_location(location: str, target: str) -> None:
    redirect = resolve_redirect(BASE_URL, 302, location)
    assert redirect is not None
    assert redirect.url == target


@pytest.mark.parametrize(
    ("status", "location"), [(200, "/b"), (304, "/b"), (300, "/b"), (302, None)]
)
def test_other_responses_are_not_redirects(status: int, location: str | None) -> None:
    assert resolve_redirect(BASE_URL, status, location) is None


@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", "ftp://b.example/", "http://[", "http://"]
)
def test_a_redirect_to_an_unfetchable_url_is_rejected(location: str) -> None:
    with pytest.raises(PermanentError) as raised:
        resolve_redirect(BASE_URL, 301, location)
    assert raised.value.reason is Reason.BAD_REDIRECT
