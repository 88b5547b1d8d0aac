"""One page from bytes to metadata, as the reading process returns it."""

from __future__ import annotations

import pickle
from dataclasses import fields
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depth import examples
from fonds.extract.article.classifier import load_layers
from fonds.extract.page import BODY_MAX_BYTES, parse_page, warm_up
from fonds.extract.page_extraction import EXTRACTOR, PageExtraction, PageStatus
from fonds.model.disposition import Reason
from fonds.urls.mediacloud_id import hash_url
from fonds.urls.normalization import load_suffix_list

CAPTURED_AT = datetime(2024, 6, 1, 12, 0, tzinfo=UTC)
URL = "https://News.Example.co.uk/2024/bridge?utm_source=rss&id=7"
ENGLISH = (
    "The council decided on Tuesday that the old bridge will be closed for repairs next spring. "
    "Engineers had found cracks in two of its pillars, and traffic was limited to light vehicles. "
    "Shop owners on both banks fear for their income, while neighbours hope for quieter nights."
)
JAPANESE = (
    "市議会は火曜日、古い橋を来年の春から修理のために閉鎖することを決めた。"
    "技術者は二本の橋脚にひび割れを見つけており、通行は軽い車両に限られていた。"
) * 3
KOREAN = (
    "시의회는 화요일 낡은 다리를 내년 봄부터 수리를 위해 폐쇄하기로 결정했다. "
    "기술자들은 두 개의 교각에서 균열을 발견했으며 통행은 가벼운 차량으로 제한되었다. "
) * 3


def make_html(text: str, head: str = "", lang: str = "en-GB") -> str:
    story = f"<article><h1>Bridge closes in spring</h1><p>{text}</p></article>"
    title = "<title>Bridge closes in spring - Daily Planet</title>"
    return f"<html lang={lang}><head>{title}{head}</head><body>{story}</body></html>"


def read(
    body: bytes | str,
    url: str = URL,
    charset: str | None = None,
    *,
    captured_at: datetime = CAPTURED_AT,
    fetched: bool = True,
) -> PageExtraction:
    raw = body.encode() if isinstance(body, str) else body
    return parse_page(raw, url, charset, captured_at, fetched)


def test_all_fields_are_filled_except_the_one_of_the_caller() -> None:
    head = (
        '<meta property="article:published_time" content="2024-05-31">'
        '<link rel=canonical href="/2024/bridge">'
    )
    page = read(make_html(ENGLISH, head))
    content = page.content
    assert (page.status, page.charset, page.error_msg) == (PageStatus.SUCCESS, "utf-8", None)
    assert content.original_url == content.url == URL
    assert content.normalized_url == "http://news.example.co.uk/2024/bridge?id=7"
    assert content.canonical_domain == "example.co.uk"
    assert content.canonical_url == "https://News.Example.co.uk/2024/bridge"
    assert content.publication_date == "2024-05-31"
    assert (content.language, content.full_language) == ("en", "en-GB")
    assert content.article_title == "Bridge closes in spring"
    assert content.normalized_article_title == "bridge closes in spring"
    assert content.text_content is not None
    assert "Engineers had found cracks" in content.text_content
    assert content.text_extraction_method in ("blocks", "blocks+trafilatura")
    assert (content.is_homepage, content.is_shortened) == (False, False)
    unset = [field.name for field in fields(content) if getattr(content, field.name) is None]
    assert unset == ["parsed_date"]


@pytest.mark.parametrize(
    ("text", "codec", "charset", "language"),
    [
        (JAPANESE, "cp932", "shift_jis", "ja"),
        (JAPANESE, "euc_jp", "euc-jp", "ja"),
        (KOREAN, "cp949", "euc-kr", "ko"),
        (ENGLISH + " Café “Zur Brücke”.", "cp1252", "windows-1252", "en"),
        (KOREAN, "utf-16", "utf-16le", "ko"),
    ],
)
def test_pages_in_many_charsets_return_the_original_text(
    text: str, codec: str, charset: str, language: str
) -> None:
    page = read(make_html(text).encode(codec), charset=charset)
    assert page.charset == charset
    assert text[:40] in (page.content.text_content or "")
    assert page.content.language == language


def test_utf8_served_with_a_default_charset_is_decoded() -> None:
    page = read(make_html(ENGLISH + " Café olé.", "<meta charset=utf-8>"), charset="ISO-8859-1")
    assert "Café olé." in (page.content.text_content or "")


def test_a_page_without_text_has_a_status_and_keeps_its_urls() -> None:
    page = read("<html><title>Redirecting</title><script>go()</script></html>")
    assert page.status is PageStatus.NO_TEXT
    assert page.status.reason is Reason.NO_TEXT
    assert page.error_msg is not None
    assert page.content.article_title == "Redirecting"
    assert page.content.canonical_domain == "example.co.uk"


@pytest.mark.parametrize(
    "body",
    [
        '<?xml version="1.0"?><rss version="2.0"><channel><item/></channel></rss>',
        '<feed xmlns="http://www.w3.org/2005/Atom"></feed>',
        '<?xml version="1.0"?><urlset></urlset>',
        "<sitemapindex></sitemapindex>",
    ],
)
def test_a_feed_served_as_a_page_is_a_feed(body: str) -> None:
    page = read(body)
    assert (page.status, page.status.reason) == (PageStatus.IS_FEED, Reason.IS_FEED)


def test_a_page_over_the_limit_is_too_large() -> None:
    page = read(b"<p>" + b"x" * BODY_MAX_BYTES)
    assert (page.status, page.status.reason) == (PageStatus.TOO_LARGE, Reason.TOO_LARGE)
    assert page.content.url == URL


def test_a_front_page_is_marked_and_kept() -> None:
    page = read(make_html(ENGLISH), "https://example.com/")
    assert page.status is PageStatus.SUCCESS
    assert page.content.is_homepage is True


def test_a_loose_file_takes_its_canonical_url() -> None:
    head = '<link rel=canonical href="https://example.org/Story">'
    content = read(make_html(ENGLISH, head), "file:///tmp/story.html", fetched=False).content
    assert content.original_url == "file:///tmp/story.html"
    assert content.url == content.canonical_url == "https://example.org/Story"
    assert content.normalized_url == "http://example.org/Story"
    assert content.canonical_domain == "example.org"


def test_a_loose_file_without_canonical_url_keeps_its_own() -> None:
    content = read(make_html(ENGLISH), "file:///tmp/story.html", fetched=False).content
    assert content.url == "file:///tmp/story.html"
    assert (content.canonical_domain, content.canonical_url) == (None, None)


def test_a_date_is_at_most_one_day_after_the_capture() -> None:
    def get_date(day: str) -> str | None:
        head = f'<meta property="article:published_time" content="{day}">'
        return read(make_html(ENGLISH, head), "https://example.com/x").content.publication_date

    assert get_date("2024-06-02") == "2024-06-02"
    assert get_date("2024-07-15") is None


def test_a_file_without_a_capture_time_keeps_its_dates() -> None:
    head = '<meta property="article:published_time" content="2019-11-12">'
    epoch = datetime(1980, 1, 1, tzinfo=UTC)
    page = read(make_html(ENGLISH, head), "file:///x.html", captured_at=epoch, fetched=False)
    assert page.content.publication_date == "2019-11-12"
    page = read(make_html(ENGLISH, head), "https://example.com/x", captured_at=epoch, fetched=True)
    assert page.content.publication_date is None


def test_the_result_can_be_pickled() -> None:
    page = read(make_html(ENGLISH))
    assert pickle.loads(pickle.dumps(page)) == page


def test_the_extractor_names_its_version_and_libraries() -> None:
    assert EXTRACTOR.startswith("fonds-page/")
    assert "trafilatura" in EXTRACTOR


def test_the_last_day_of_the_calendar_is_accepted() -> None:
    page = read(make_html(ENGLISH), captured_at=datetime(9999, 12, 31, 23, tzinfo=UTC))
    assert page.status is PageStatus.SUCCESS


@settings(max_examples=examples(15), deadline=None)
@given(st.binary(max_size=300), st.text(max_size=20), st.none() | st.text(max_size=8))
def test_any_bytes_end_in_a_status(body: bytes, url: str, charset: str | None) -> None:
    page = read(body, url, charset)
    assert (page.error_msg is None) == (page.status is PageStatus.SUCCESS)


def test_our_metadata_is_returned_next_to_the_fields_of_the_seed() -> None:
    story = "<p>The council decided on Tuesday that the old bridge will be closed, because of its cracks.</p>"
    head = (
        '<meta property="og:image" content="/bridge.jpg"><link rel="amphtml" href="/amp/bridge">'
        '<meta name="author" content="Ann Lee">'
        '<script type="application/ld+json">{"@type": "NewsArticle", "isAccessibleForFree": false,'
        '"datePublished": "2024-05-31", "dateModified": "2024-06-01"}</script>'
    )
    body = f"<html lang=en><head>{head}</head><body><h1>Bridge closes</h1>{story * 4}</body></html>"
    url = "https://news.example.com/bridge?ref=x"
    metadata = parse_page(
        body.encode(), url, None, datetime(2024, 6, 30, tzinfo=UTC), True
    ).metadata
    assert metadata.unique_url_hash == hash_url("http://example.com/bridge")
    assert (metadata.published_on, metadata.published_source) == ("2024-05-31", "json-ld")
    assert (metadata.modified_on, metadata.modified_source) == ("2024-06-01", "json-ld")
    assert (metadata.authors, metadata.authors_source) == (("Ann Lee",), "meta")
    assert metadata.top_image_url == "https://news.example.com/bridge.jpg"
    assert metadata.amp_url == "https://news.example.com/amp/bridge"
    assert (metadata.is_paywalled, metadata.page_kind) == (True, "article")
    assert metadata.charset_evidence == "http: nothing, page: nothing; valid as UTF-8"
    assert metadata.language_confidence is not None


def test_a_front_page_has_no_publication_date() -> None:
    body = (
        "<html><body><p class='date'>31 May 2024</p><p>The council decided on Tuesday to close it."
    )
    captured_at = datetime(2024, 6, 30, tzinfo=UTC)
    front = parse_page(body.encode(), "https://example.com/", None, captured_at, True)
    story = parse_page(body.encode(), "https://example.com/story", None, captured_at, True)
    assert front.content.publication_date is None
    assert front.metadata.page_kind == "front"
    assert story.content.publication_date == "2024-05-31"


def test_warm_up_loads_what_every_page_needs() -> None:
    loaders = (load_layers, load_suffix_list)
    for loader in loaders:
        loader.cache_clear()
    warm_up()
    assert [loader.cache_info().currsize for loader in loaders] == [1, 1]
    parse_page(make_html(ENGLISH).encode(), URL, None, CAPTURED_AT, True)
    assert [loader.cache_info().misses for loader in loaders] == [1, 1]
