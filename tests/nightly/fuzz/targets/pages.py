"""Heads and paragraphs of pages: any bytes are decoded, any markup gives a head and plain lines."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from fixtures import warcs
from fonds.extract.article.days import find_first_day
from fonds.extract.article.extraction import read_page
from fonds.extract.article.head import choose_title, find_canonical_url
from fonds.extract.article.paragraphs import extract_paragraphs
from fonds.extract.charset import decode
from fonds.extract.mime import sniff
from nightly.fuzz.guarantees import holds

URL = "http://example.org/a/b.html"
CHARSETS = (None, "utf-8", "windows-1252", "utf-16", "gb18030", "shift_jis", "x-unknown", "utf-7")


def check(data: bytes) -> None:
    """Decode with the charset the first byte picks, then read the head and the paragraphs."""
    if not data:
        return
    body = data[1:]
    sniffed = sniff(body, None)
    holds("/" in sniffed.mime and bool(sniffed.magic), "a type has a name and words", sniffed)
    decoded = decode(body, CHARSETS[data[0] % len(CHARSETS)])
    decoded.text.encode("utf-8")
    lines = extract_paragraphs(decoded.text)
    for line in lines.split("\n") if lines else ():
        holds(line == " ".join(line.split()) != "", "a paragraph is one plain line", line)
    page = read_page(decoded.text)
    if page is None:
        return
    title = choose_title(page.head, page.linked.headline, URL)
    holds(title is None or title.strip() == title != "", "a title is text", title)
    canonical = find_canonical_url(page.head, URL)
    holds(canonical is None or canonical.startswith("http"), "an address is of the web", canonical)
    first_day = find_first_day(decoded.text[:2_000])
    holds(first_day is None or isinstance(first_day, date), "a day is a day", first_day)


def seeds() -> Iterator[bytes]:
    """Pages that say things of themselves in every way, and broken ones."""
    linked = (
        b'<script type="application/ld+json">{"@type": "NewsArticle", "headline": "A"}</script>'
    )
    head = (
        b'<head><meta charset="utf-8"><title>A page | Site</title><link rel="canonical" href="/x">'
        b'<meta property="og:title" content="A page"><meta name="date" content="2024-03-05">'
    )
    prose = (
        b"<p>" + b"Words enough for a paragraph of text, and <a href=x>a link</a>. " * 3 + b"</p>"
    )
    for number in range(len(CHARSETS)):
        yield (
            bytes([number]) + b"<!DOCTYPE html><html lang=en>" + head + linked + b"</head>" + prose
        )
    yield b"\0" + warcs.PAGE
    yield b"\3" + warcs.PAGE.decode().encode("utf-16")
    yield b"\0<html><body><!-- " + prose + b"<svg><title>no</title></svg><table><tr><td>" + prose
    yield b"\0<?xml version='1.0' encoding='koi8-r'?><html><h1>\xc1\xc2</h1><time datetime=2024-1-2>"
    yield b"\0" + b"<div>" * 300 + prose + b"<textarea><p>no" + b"</div>" * 10
    yield b"\0&lt;p&gt; &#x110000; &nbsp;&#0; 5 March 2024, 2024/03/05 " + prose
