"""Credentials are collected from URLs and returned for their origin only."""

from __future__ import annotations

from base64 import b64decode
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from fonds.model.credentials import collect_credentials

SECRETS = st.text(max_size=20).map(lambda text: f"Q{text}Q")


@given(SECRETS, SECRETS)
def test_credentials_are_sent_to_their_origin_only(user: str, password: str) -> None:
    encoded = f"{quote(user, safe='')}:{quote(password, safe='')}"
    credentials = collect_credentials(
        [f"https://{encoded}@Host.example/warcs", "/a/folder", "http://plain/"]
    )
    header = credentials.get_authorization("https", "host.example", 443)
    assert header is not None
    assert b64decode(header.removeprefix("Basic ")).decode() == f"{user}:{password}"
    for origin in (("http", "host.example", 443), ("https", "host.example", 8443),
                  ("https", "other.example", 443), ("http", "plain", 80)):  # fmt: skip
        assert credentials.get_authorization(*origin) is None
    assert header not in repr(credentials)


def test_the_last_of_two_urls_with_one_origin_counts() -> None:
    credentials = collect_credentials(["http://a:b@host/x", "HTTP://c:d@HOST:80/y"])
    assert credentials.get_authorization("http", "host", 80) == "Basic Yzpk"
