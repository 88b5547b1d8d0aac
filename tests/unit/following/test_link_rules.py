"""Which links are rejected before any request: the original's rules and their corrections."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.following.link_rules import LinkRules, create_link_rules
from fonds.model.disposition import Reason

RULES = LinkRules()


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        (None, Reason.NO_URL),
        ("", Reason.NO_URL),
        (" \n", Reason.NO_URL),
        ("https://[bad", Reason.BAD_URL),
        ("http://a b.example/", Reason.BAD_URL),
        ("https://a.example:99999/", Reason.BAD_URL),
        ("https://a.example/" + "x" * 9_000, Reason.BAD_URL),
        ("https:///path", Reason.NO_HOST),
        ("plain words", Reason.NO_HOST),
        ("mailto:a@example.org", Reason.NO_HOST),
        ("urn:uuid:1225c695", Reason.NO_HOST),
        ("ftp://a.example/x", Reason.BAD_SCHEME),
        ("//a.example/x", Reason.BAD_SCHEME),
        ("javascript://a.example/%0aalert(1)", Reason.BAD_SCHEME),
        ("https://www.youtube.com/watch?v=1", Reason.NON_NEWS),
        ("https://EN.Wikipedia.org/wiki/X", Reason.NON_NEWS),
        ("https://x.com/a/status/1", Reason.NON_NEWS),
        ("http://localhost/", Reason.BAD_HOST),
        ("http://printer.local/", Reason.BAD_HOST),
        ("http://127.0.0.1/", Reason.BAD_HOST),
        ("http://127.1/", Reason.BAD_HOST),
        ("http://2130706433/", Reason.BAD_HOST),
        ("http://0x7f000001/", Reason.BAD_HOST),
        ("http://[::1]/", Reason.BAD_HOST),
        ("http://[::ffff:10.0.0.1]/", Reason.BAD_HOST),
        ("http://10.1.2.3:8080/", Reason.BAD_HOST),
        ("http://169.254.169.254/latest", Reason.BAD_HOST),
    ],
)
def test_a_link_is_rejected_with_its_reason(url: str | None, reason: Reason) -> None:
    refusal = RULES.find_refusal(url)
    assert refusal is not None
    assert refusal[0] is reason
    assert refusal[1]


@pytest.mark.parametrize(
    "url",
    [
        "https://news.example.org/a",
        " https://news.example.org/a ",
        "http://dropbox.com/",
        "https://notwhatsapp.com/story",
        "https://youtube.com.example.org/",
        "https://www.zürich.example/straße?q=ä#x",
        "https://8.8.8.8/",
    ],
)
def test_a_fetchable_link_is_accepted(url: str) -> None:
    assert RULES.find_refusal(url) is None


def test_the_list_of_non_news_hosts_is_configurable() -> None:
    rules = create_link_rules("Spam.example, .ads.example", "youtube.com")
    assert rules.find_refusal("https://a.spam.example/") is not None
    assert rules.find_refusal("https://ads.example/") is not None
    assert rules.find_refusal("https://www.youtube.com/") is None


def test_private_addresses_can_be_allowed() -> None:
    assert LinkRules(allows_private_addresses=True).find_refusal("http://127.0.0.1/") is None


@given(st.text())
def test_any_text_is_accepted_or_rejected_with_a_reason(url: str) -> None:
    refusal = RULES.find_refusal(url)
    assert refusal is None or refusal[1]
