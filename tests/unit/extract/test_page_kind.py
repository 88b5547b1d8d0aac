"""Pages that only look like articles are classified."""

from __future__ import annotations

import pytest

from fonds.extract.page import (
    PAGE_NOTICE_MAX_CHARS,
    PLACEHOLDER_MAX_CHARS,
    PageKind,
    classify_page,
    is_placeholder,
)

NO_TYPES: frozenset[str] = frozenset()


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
def test_an_error_page_is_recognized_by_its_title(title: str) -> None:
    assert (
        classify_page(title, "We are sorry.", NO_TYPES, is_front=False, is_dated=False)
        is PageKind.ERROR
    )


@pytest.mark.parametrize(
    "title",
    ["Forbidden love in the harbour", "404 dead after the flood", "Not found guilty: the mayor"],
)
def test_a_long_story_is_not_an_error_page(title: str) -> None:
    assert (
        classify_page(
            title, "x" * (PAGE_NOTICE_MAX_CHARS + 1), NO_TYPES, is_front=False, is_dated=False
        )
        is PageKind.ARTICLE
    )


def test_a_consent_page_is_recognized_by_title_or_words() -> None:
    words = (
        "We use cookies. Accept all cookies or change your privacy settings; your consent is asked."
    )
    assert (
        classify_page("The Daily", words, NO_TYPES, is_front=False, is_dated=False)
        is PageKind.CONSENT
    )
    assert (
        classify_page(
            "Before you continue to Video", "Sign in", NO_TYPES, is_front=False, is_dated=False
        )
        is PageKind.CONSENT
    )
    assert (
        classify_page(
            "The cookie baker", "She bakes cookies.", NO_TYPES, is_front=False, is_dated=False
        )
        is PageKind.ARTICLE
    )


def test_front_pages_and_listings_are_distinguished_from_articles() -> None:
    assert (
        classify_page("The Daily", "News", NO_TYPES, is_front=True, is_dated=False)
        is PageKind.FRONT
    )
    assert (
        classify_page(
            "Sports", "News", frozenset({"CollectionPage"}), is_front=False, is_dated=False
        )
        is PageKind.LISTING
    )
    types = frozenset({"ItemList", "NewsArticle"})
    assert (
        classify_page("A story", "News", types, is_front=False, is_dated=False) is PageKind.ARTICLE
    )


def test_an_item_list_in_a_dated_page_is_a_part_of_an_article() -> None:
    """For example the other matches below the report of one match."""
    types = frozenset({"ItemList", "SportsEvent"})
    kinds = {
        is_dated: classify_page("Won", "News", types, is_front=False, is_dated=is_dated)
        for is_dated in (True, False)
    }
    assert kinds == {True: PageKind.ARTICLE, False: PageKind.LISTING}
    listing_types = frozenset({"CollectionPage"})
    assert (
        classify_page("All", "News", listing_types, is_front=False, is_dated=True)
        is PageKind.LISTING
    )


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
def test_a_placeholder_is_no_text(text: str) -> None:
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
def test_a_brief_story_is_no_placeholder(text: str) -> None:
    assert not is_placeholder(text)
