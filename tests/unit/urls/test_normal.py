"""Normalizing the URL of a page, and finding its canonical domain."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.urls.normalization import (
    compute_story_id,
    find_canonical_domain,
    find_host,
    is_homepage_url,
    is_shortened_url,
    normalize_url,
)

PIECES = st.sampled_from(
    [
        *(
            "http",
            "https",
            ":",
            "/",
            "//",
            "\\",
            "?",
            "#",
            "&",
            "=",
            "%",
            "%41",
            "%2f",
            "%25",
            "amp;",
        ),
        *(
            "utm_x",
            "#!",
            "..",
            ".",
            "a",
            "B",
            "é",
            "İ",
            "ß",
            "@",
            "[",
            "]",
            ":80",
            "8",
            "www.",
            "example.com",
        ),
        *("\ud800", "\0", " ", ";", ";jsessionid=", "xn--", "。", "::1", "127.0.0.1"),
    ]
)
ADDRESSES = st.one_of(
    st.text(max_size=40),
    st.lists(PIECES, max_size=12).map("".join),
    st.lists(PIECES, max_size=12).map(lambda pieces: "http://" + "".join(pieces)),
)


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("https://example.com/Story", "http://example.com/Story"),
        ("HTTP://Example.COM:80/Story", "http://example.com/Story"),
        ("https://example.com:443", "http://example.com/"),
        ("http://example.com:8080/x", "http://example.com:8080/x"),
        ("http://user:secret@example.com/x", "http://example.com/x"),
        ("http://example.com./x", "http://example.com/x"),
        ("http://example.com/x#part", "http://example.com/x"),
        ("http://example.com/a/./b/../c", "http://example.com/a/c"),
        ("http://example.com/a%7Eb%2fc/%zz", "http://example.com/a~b%2Fc/%25zz"),
        ("http://example.com/straße?q=ä", "http://example.com/stra%C3%9Fe?q=%C3%A4"),
        ("http://münchen.de/", "http://xn--mnchen-3ya.de/"),
        ("http://example.com/?b=2&a=1&a=0", "http://example.com/?a=0&a=1&b=2"),
        ("http://example.com/x?utm_source=rss&UTM_Medium=x&id=7", "http://example.com/x?id=7"),
        ("http://example.com/x?fbclid=1&gclid=2&PHPSESSID=3", "http://example.com/x"),
        ("http://example.com/x?a=1&amp;b=2&amp;utm_source=3", "http://example.com/x?a=1&b=2"),
        ("http://example.com/x;jsessionid=0A1?y=1", "http://example.com/x?y=1"),
        ("  http://example.com/a\n b  ", "http://example.com/a%20b"),
        ("http:\\\\example.com\\a", "http://example.com/a"),
        ("http:example.com/x", "http://example.com/x"),
        ("http://https://example.com/x", "http://example.com/x"),
        ("//example.com/x", "http://example.com/x"),
        ("example.com/x", "http://example.com/x"),
        ("http://[::1]:8080/x", "http://[::1]:8080/x"),
        ("file:///tmp/a b.html", "file:///tmp/a%20b.html"),
        ("file:///tmp/a.zip#in/b c.html", "file:///tmp/a.zip#in/b%20c.html"),
        ("s3://bucket/a#1", "s3://bucket/a#1"),
        ("http://example.com/a.zip#/b.html", "http://example.com/a.zip#/b.html"),
        ("urn:x:Y", "urn:x:Y"),
        ("http://no\ufff9host/x", "http://no\ufff9host/x"),
        ("", ""),
    ],
)
def test_a_url_is_normalized(url: str, normal: str) -> None:
    assert normalize_url(url) == normal


def test_hosts_and_the_case_of_paths_are_significant() -> None:
    addresses = [
        "http://blog.example.com/Story",
        "http://example.com/Story",
        "http://example.com/story",
        "http://www.example.com/story",
        "http://news.google.com/x",
        "http://google.com/x",
        "https://web.archive.org/web/2020/https://foo.com/a",
        "https://web.archive.org/web/2020/https:/foo.com/a",
    ]
    assert len({normalize_url(address) for address in addresses}) == len(addresses)


def test_parameters_that_select_the_page_are_kept() -> None:
    url = "http://example.com/?id=1&page=2&ref=x&sid=4&source=y"
    assert normalize_url(url) == url


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("mnews.asp?pk_no=1412361", "mnews.asp?pk_no=1412362"),
        ("x?ga_id=1", "x?ga_id=2"),
        ("x?fb_story=1", "x?fb_story=2"),
        ("x?mc_article=1", "x?mc_article=2"),
        ("x?sessionid=1", "x?sessionid=2"),
        ("x?mtm_item=1", "x?mtm_item=2"),
        ("x?__hsitem=1", "x?__hsitem=2"),
        ("x?ncid=1", "x?ncid=2"),
        ("x?smid=1", "x?smid=2"),
        ("x?cmp=1", "x?cmp=2"),
        ("#!/story/1", "#!/story/2"),
        ("#!5641211", "#!5641212"),
        ("#/article/1", "#/article/2"),
    ],
)
def test_parameters_that_may_select_the_page_give_different_ids(first: str, second: str) -> None:
    assert compute_story_id(f"http://example.com/{first}") != compute_story_id(
        f"http://example.com/{second}"
    )


@pytest.mark.parametrize(
    "tracking",
    [
        *(
            "pk_campaign=1",
            "mtm_kwd=1",
            "ga_source=1",
            "fb_ref=1",
            "mc_eid=1",
            "_hsenc=1",
            "__hssc=1",
        ),
        *(
            "utm_anything=1",
            "hsa_cam=1",
            "%75tm_source=1",
            "YCLID=1",
            "amp;utm_source=1",
            "jsessionid=1",
        ),
        *("#top", "#", "#/", "#!"),
    ],
)
def test_tracking_parameters_and_anchors_are_removed(tracking: str) -> None:
    mark = "" if tracking.startswith("#") else "?"
    assert normalize_url(f"http://example.com/x{mark}{tracking}") == "http://example.com/x"


def test_the_story_id_is_the_hash_of_the_normalized_url() -> None:
    expected = hashlib.sha256(b"http://example.com/x").hexdigest()
    assert compute_story_id("https://example.com/x?utm_campaign=z#top") == expected


@pytest.mark.parametrize(
    ("url", "domain"),
    [
        ("https://www.example.com/x", "example.com"),
        ("http://news.bbc.co.uk/x", "bbc.co.uk"),
        ("http://www.asahi.co.jp", "asahi.co.jp"),
        ("http://a.b.city.kawasaki.jp/", "city.kawasaki.jp"),
        ("http://x.y.kawasaki.jp/", "x.y.kawasaki.jp"),
        ("http://www.ck/", "www.ck"),
        ("http://www.gov.cn/", "gov.cn"),
        ("http://foo.blogspot.com/", "foo.blogspot.com"),
        ("http://foo.blogspot.co.uk/", "foo.blogspot.co.uk"),
        ("http://www.blogspot.com/", "blogspot.com"),
        ("http://foo.wordpress.com/x", "foo.wordpress.com"),
        ("http://en.foo.wordpress.com/x", "foo.wordpress.com"),
        ("http://foo.github.io/x", "foo.github.io"),
        ("http://www.tumblr.com/x", "tumblr.com"),
        ("https://medium.com/@somebody/x", "medium.com"),
        ("https://example.com/x?u=a.tumblr.com", "example.com"),
        ("https://www-nytimes-com.cdn.ampproject.org/c/s/x", "nytimes.com"),
        ("https://cleo.hypotheses.org/1", "cleo.hypotheses.org"),
        ("https://somebody.files.wordpress.com/2011/x.jpg", "somebody.wordpress.com"),
        ("https://abcnews.go.com/x", "abcnews.go.com"),
        ("http://sports.espn.go.com/x", "espn.go.com"),
        ("http://www.go.com/x", "go.com"),
        ("http://somebody.free.fr/x", "somebody.free.fr"),
        ("http://paper.mn.newsmemory.com/x", "paper.mn.newsmemory.com"),
        ("https://www.wickedlocal.com/x", "wickedlocal.com"),
        ("https://cambridge.wickedlocal.com/x", "cambridge.wickedlocal.com"),
        ("http://192.168.0.1:8080/x", "192.168.0.1"),
        ("http://[2001:db8::1]/", "2001:db8::1"),
        ("http://localhost/x", "localhost"),
        ("http://intranet.unknowntld/x", "intranet.unknowntld"),
        ("http://www.münchen.de/", "xn--mnchen-3ya.de"),
        ("file:///tmp/example.com/x.html", ""),
        ("", ""),
    ],
)
def test_the_canonical_domain_depends_only_on_the_host(url: str, domain: str) -> None:
    assert find_canonical_domain(url) == domain


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com",
        "https://example.com/",
        "http://example.com//",
        "http://example.com/index.html",
        "http://example.com/en/",
        "http://example.com/pt-BR",
        "http://example.com/en/index.php",
        "http://example.com/?utm_source=x",
    ],
)
def test_homepages_are_recognized(url: str) -> None:
    assert is_homepage_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/p/hello-world",
        "http://example.com/trump-resigns",
        "http://example.com/breaking-news/",
        "http://example.com/?p=123",
        "http://example.com/index.php?id=4",
        "http://example.com/#!/story/7",
        "http://example.com/abc",
        "file:///index.html",
        "",
    ],
)
def test_short_paths_and_queries_are_not_homepages(url: str) -> None:
    assert not is_homepage_url(url)


def test_a_shortener_is_recognized_by_its_host() -> None:
    assert is_shortened_url("https://bit.ly/3abc")
    assert is_shortened_url("http://www.t.co/abc/")
    assert not is_shortened_url("https://bit.ly/")
    assert not is_shortened_url("https://abc.de/wahlen")
    assert not is_shortened_url("https://example.com/?u=bit.ly/3abc")


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("http://[2001:db8:8:]\x1b:90/a", "http://2001db88/a"),
        ("http://[2001:db8::1]:8:80/a", "http://[2001:db8::1]/a"),
        ("http://a:00080/", "http://a/"),
        ("http://a:0/", "http://a/"),
        ("http://a:08081/", "http://a:8081/"),
    ],
)
def test_urls_from_fuzzing_are_normalized_in_one_pass(url: str, normal: str) -> None:
    assert normalize_url(url) == normal
    assert normalize_url(normal) == normal


@given(ADDRESSES)
def test_normalizing_is_idempotent_for_any_text(url: str) -> None:
    normal = normalize_url(url)
    assert normalize_url(normal) == normal


@given(ADDRESSES)
def test_any_text_has_a_host_domain_and_id(url: str) -> None:
    domain = find_canonical_domain(url)
    assert find_host(url).endswith(domain) or ".cdn.ampproject.org" in find_host(url)
    assert len(compute_story_id(url)) == 64
    assert is_homepage_url(url) in (True, False)
    assert is_shortened_url(url) in (True, False)


@pytest.mark.parametrize(
    "piece", ["a.", "&amp;", "&amp;amp;", "../", "%zz", "é", "[", "http:", "/http://x"]
)
def test_very_long_urls_take_linear_time(piece: str) -> None:
    url = "http://example.com/?" + piece * 20_000
    assert normalize_url(normalize_url(url)) == normalize_url(url)
    assert find_canonical_domain("http://" + piece * 20_000) is not None
