"""Pages that only look like articles are named."""

from __future__ import annotations

import pytest

from fonds.extract.page import (
    PAGE_NOTICE_MAX_CHARS,
    PLACEHOLDER_MAX_CHARS,
    PageKind,
    classify_page,
    is_placeholder,
)

NONE: frozenset[str] = frozenset()


@pytest.mark.parametrize(
    "title",
    [
        *(
            "404 Not Found",
            "Page not found | Daily",
            "Error 404",
            "Seite nicht gefunden",
            "Access Denied",
        ),
        *("Just a moment...", "Página no encontrada", "503 Service Unavailable", "Oops! 404"),
    ],
)
def test_an_error_page_is_known_by_its_title(title: str) -> None:
    assert (
        classify_page(title, "We are sorry.", NONE, is_front=False, is_dated=False)
        is PageKind.ERROR
    )


@pytest.mark.parametrize(
    "title",
    ["Forbidden love in the harbour", "404 dead after the flood", "Not found guilty: the mayor"],
)
def test_a_story_of_some_length_is_no_error(title: str) -> None:
    assert (
        classify_page(
            title, "x" * (PAGE_NOTICE_MAX_CHARS + 1), NONE, is_front=False, is_dated=False
        )
        is PageKind.ARTICLE
    )


def test_a_request_for_consent_is_one_by_title_or_words() -> None:
    words = (
        "We use cookies. Accept all cookies or change your privacy settings; your consent is asked."
    )
    assert (
        classify_page("The Daily", words, NONE, is_front=False, is_dated=False) is PageKind.CONSENT
    )
    assert (
        classify_page(
            "Before you continue to Video", "Sign in", NONE, is_front=False, is_dated=False
        )
        is PageKind.CONSENT
    )
    assert (
        classify_page(
            "The cookie baker", "She bakes cookies.", NONE, is_front=False, is_dated=False
        )
        is PageKind.ARTICLE
    )


def test_front_pages_and_listings_are_told_from_articles() -> None:
    assert classify_page("The Daily", "News", NONE, is_front=True, is_dated=False) is PageKind.FRONT
    assert (
        classify_page(
            "Sports", "News", frozenset({"CollectionPage"}), is_front=False, is_dated=False
        )
        is PageKind.LISTING
    )
    both = frozenset({"ItemList", "NewsArticle"})
    assert (
        classify_page("A story", "News", both, is_front=False, is_dated=False) is PageKind.ARTICLE
    )


def test_a_list_in_a_page_that_says_when_it_was_published_is_a_part_of_it() -> None:
    """As the other matches below the report of one."""
    listed = frozenset({"ItemList", "SportsEvent"})
    told = {
        dated: classify_page("Won", "News", listed, is_front=False, is_dated=dated)
        for dated in (True, False)
    }
    assert told == {True: PageKind.ARTICLE, False: PageKind.LISTING}
    page = frozenset({"CollectionPage"})
    assert classify_page("All", "News", page, is_front=False, is_dated=True) is PageKind.LISTING


@pytest.mark.parametrize(
    "text",
    [
        "Please ensure Javascript is enabled for purposes of website accessibility",
        "Redirecting you to a lite version of this site...",
        "Buy this domain.\nexample.com",
        "To view this video please enable JavaScript, and consider upgrading your browser",
        "Please enable cookies to continue.",
    ],
)
def test_a_notice_in_a_pages_place_is_no_text(text: str) -> None:
    assert is_placeholder(text)
    assert not is_placeholder(text + " and a story goes on." * (PLACEHOLDER_MAX_CHARS // 10))


@pytest.mark.parametrize(
    "text",
    [
        "The council redirects traffic from Monday on; the bridge is closed until the spring.",
        "The meeting of Tuesday, January 19, has been cancelled. City Clerk's Office",
        "She bakes cookies and sells them on her own domain in the old town.",
    ],
)
def test_a_brief_is_one(text: str) -> None:
    assert not is_placeholder(text)
