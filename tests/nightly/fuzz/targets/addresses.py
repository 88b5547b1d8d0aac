"""URLs: keys, ids and domains of any text, and what is normal stays so."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fonds.urls.mediacloud_id import hash_url
from fonds.urls.normalization import (
    compute_story_id,
    find_canonical_domain,
    find_host,
    is_homepage_url,
    is_shortened_url,
    normalize_url,
)
from fonds.urls.parts import split_address
from fonds.urls.surt import build_surt
from nightly.fuzz.guarantees import as_text, holds

HEX_64 = re.compile(r"[0-9a-f]{64}")
LINE_ENDS = re.compile(r"[\r\n]")


def check(data: bytes) -> None:
    """Everything that is made of a URL."""
    url = as_text(data)
    key = build_surt(url)
    holds(key != "" and LINE_ENDS.search(key) is None, "a key is one line", key)
    holds(build_surt(url.strip()) == key, "blanks around a URL do not count", key)
    normal = normalize_url(url)
    holds(normalize_url(normal) == normal, "what is normal stays so", (url, normal))
    holds(compute_story_id(normal) == compute_story_id(url), "both have one id", (url, normal))
    holds(HEX_64.fullmatch(compute_story_id(url)) is not None, "an id is a SHA-256 in hex")
    theirs = hash_url(url)
    holds(theirs is None or HEX_64.fullmatch(theirs) is not None, "so is theirs", theirs)
    host, domain = find_host(url), find_canonical_domain(url)
    holds(
        not re.search(r"[/?#\s]", host + domain), "a host ends where a path begins", (host, domain)
    )
    is_homepage_url(url)
    is_shortened_url(url)
    split_address(url)


def seeds() -> Iterator[bytes]:
    """URLs with every part, and odd ones."""
    urls = (
        "http://www.example.org/a/b.html?b=2&a=1#part",
        "https://user:word@example.co.uk:8443/../a/./b//c;jsessionid=0123456789abcdef0123456789abcdef",
        "http://münchen.example/ü?q=ö",
        "http://xn--mnchen-3ya.example/%FC%2f%25",
        "http://[2001:db8::1]:80/a",
        "http://192.0.2.7/?utm_source=x&id=7&fbclid=y",
        "http://3221225994/%61%2561",
        "//example.org/a",
        "example.org:8080/a?sid=0123456789abcdef0123456789abcdef",
        "file:///home/a%20b.zip#c",
        "dns:example.org",
        "urn:metadata:http://a/",
        "mailto:a@b",
        "https://youtu.be/abc?t=1",
        "http://a.blogspot.com/2024/03/05/a-page.html?m=1",
        "http://e.org/(S(0123456789abcdef01234567))/a.aspx",
        " http://a\t/b\r\n",
        "http:///a",
        "http://a:99999/",
        "javascript:void(0)",
    )
    yield from (url.encode() for url in urls)
    yield "http://a\ud800/é".encode("utf-16-le", "surrogatepass")
