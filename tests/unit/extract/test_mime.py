"""Types of bytes, by their first bytes and the declared type."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.pdfs import text_pdf
from fonds.extract.mime import FEED_MIMES, normalize_mime, sniff

PDF = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<</Type/Catalog>>\nendobj\n"


@pytest.mark.parametrize(
    "body",
    [
        b"<!DOCTYPE html><html><p>x",
        b"<!doctype HTML PUBLIC '-//W3C//DTD HTML 4.01//EN'>\n<body>",
        b"<html lang=en>",
        b"   \r\n\t<HTML>",
        b"<div class='story'>A fragment without a page around it</div>",
        b"<p>One paragraph.</p>",
        b"<article><h2>x</h2></article>",
        b"<script>var x = 1;</script><html>",
        b"<!-- a comment --><!-- another --><html>",
        b"<!-- a comment that never ends in what we see",
        b"\xef\xbb\xbf<html>",
        b"\xef\xbb\xbf \n<!-- x -->\n<h1>x</h1>",
        b"<?php echo 1 ?>\n<!DOCTYPE html><html>",
        b"Notice: undefined index in /var/www/x.php on line 3\n<!DOCTYPE html>\n<html>",
        b"<html>\x0b with a stray control character",
        "<html><p>Größe".encode("utf-16"),
        "<html><p>Größe".encode("utf-16-le"),
        "<html><p>Größe".encode("utf-16-be"),
    ],
)
def test_an_html_page_is_recognized_by_its_first_tag(body: bytes) -> None:
    assert sniff(body, None).mime == "text/html"


def test_xhtml_is_recognized_by_declaration_and_namespace() -> None:
    xhtml = b'<?xml version="1.0"?>\n<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml">'
    assert sniff(xhtml, None).mime == "application/xhtml+xml"
    assert sniff(xhtml.partition(b"\n")[2], None).mime == "text/html"
    assert sniff(b"<html>", "application/xhtml+xml").mime == "application/xhtml+xml"


@pytest.mark.parametrize("junk_bytes", [0, 1, 3, 500, 1024])
def test_a_pdf_may_begin_after_up_to_1024_bytes_of_junk(junk_bytes: int) -> None:
    sniffed = sniff(b"j" * junk_bytes + PDF, "text/html")
    assert sniffed.mime == "application/pdf"
    assert sniffed.magic.startswith("PDF document, version 1.4")


def test_a_pdf_header_after_1025_bytes_is_ignored() -> None:
    assert sniff(b"j" * 1025 + PDF, None).mime != "application/pdf"


def test_a_pdf_after_a_byte_order_mark_or_postscript_line_is_a_pdf() -> None:
    assert sniff(b"\xef\xbb\xbf" + PDF, None).mime == "application/pdf"
    assert sniff(b"%!PS-Adobe-3.0 PDF-1.4\n", None).mime == "application/pdf"
    assert sniff(b"%!PS-Adobe-3.0\n", None).mime == "application/postscript"


def test_a_page_that_mentions_pdf_is_a_page() -> None:
    page = b"<html><p>A PDF begins with %PDF-1.4 and ends its objects with endobj.</p>"
    assert sniff(page, None).mime == "text/html"


def test_a_pdf_after_a_script_error_is_a_pdf() -> None:
    assert (
        sniff(b"<br />\n<b>Warning</b>: oops<br />\n" + PDF, "text/html").mime == "application/pdf"
    )


@pytest.mark.parametrize("prefix", [b"", b"%\xe2\xe3\xcf\xd3\n", b"% made by hand\r\n"])
def test_pdf_objects_without_a_header_are_a_pdf(prefix: bytes) -> None:
    body = text_pdf()
    objects = prefix + body[body.index(b"1 0 obj") :]
    assert sniff(objects, None).mime == "application/pdf"
    assert sniff(b"see 1 0 obj << and endobj, endstream", None).mime == "text/plain"


def test_a_damaged_pdf_without_header_is_a_pdf_only_if_declared() -> None:
    headless = b"\x00\x01 4 0 obj <</Type /Page>> endobj"
    assert sniff(headless, None).mime == "application/octet-stream"
    assert sniff(headless, "application/pdf").mime == "application/pdf"
    assert sniff(b"not even a pdf", "application/pdf").mime == "text/plain"


@pytest.mark.parametrize(
    ("body", "mime"),
    [
        (b'<?xml version="1.0"?><rss version="2.0"><channel>', "application/rss+xml"),
        (b'<rss version="2.0">', "application/rss+xml"),
        (b'<feed xmlns="http://www.w3.org/2005/Atom">', "application/atom+xml"),
        (b'<!-- x --><a:feed xmlns:a="http://www.w3.org/2005/Atom">', "application/atom+xml"),
        (
            b'<?xml version="1.0"?><rdf:RDF xmlns:rdf="r" xmlns="http://purl.org/rss/1.0/">',
            "application/rss+xml",
        ),
        (
            b'<?xml version="1.0"?>\n<?xml-stylesheet href="x"?>\n<urlset xmlns="s">',
            "application/sitemap+xml",
        ),
        (b"<sitemapindex>", "application/sitemap+xml"),
        (b'{"version": "https://jsonfeed.org/version/1.1", "items": []}', "application/feed+json"),
        (b'{"version":"https:\\/\\/jsonfeed.org\\/version\\/1"}', "application/feed+json"),
    ],
)
def test_feeds_and_sitemaps_are_recognized_although_served_as_pages(body: bytes, mime: str) -> None:
    assert sniff(body, "text/html").mime == mime
    assert mime in FEED_MIMES


@pytest.mark.parametrize(
    ("body", "mime"),
    [
        (b'<?xml version="1.0"?><catalog/>', "text/xml"),
        (b'<?xml version="1.0"?><TEI xmlns="http://www.tei-c.org/ns/1.0">', "application/tei+xml"),
        (b'<article dtd-version="1.2" article-type="research-article">', "application/jats+xml"),
        (b'<?xml version="1.0"?><article><front>\n<journal-meta>', "application/jats+xml"),
        (b'{"a": 1}', "application/json"),
        (b"[1, 2, 3]", "application/json"),
        (b"[a remark] and more", "text/plain"),
        (b"Just words.", "text/plain"),
        (b"BMW builds cars; MZ built motorcycles", "text/plain"),
        (b"BM\x00\x01\x02", "image/bmp"),
        (b"\x89PNG\r\n\x1a\n\x00", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a\x00", "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"\x1f\x8b\x08\x00", "application/gzip"),
        (b"PK\x03\x04\x14\x00", "application/zip"),
        (b"PK\x03\x04 mimetypeapplication/epub+zip", "application/epub+zip"),
        (b"WARC/1.1\r\nWARC-Type: warcinfo\r\n", "application/warc"),
        (b"\x00\x01\x00\x00\x00\x12\x01\x00\x00\x04", "font/ttf"),
        (b"true\x00\x0d\x00\x80", "font/ttf"),
        (b"\x00\x01\x00\x00Standard Jet DB\x00", "application/x-msaccess"),
        (b"OTTO\x00\x0b\x00\x80", "font/otf"),
        (b"ttcf\x00\x01\x00\x00", "font/collection"),
        (b"wOFF\x00\x01\x00\x00", "font/woff"),
        (b"wOF2\x00\x01\x00\x00", "font/woff2"),
        (bytes(34) + b"LP\x00", "application/vnd.ms-fontobject"),
        (b"%!PS-AdobeFont-1.0: Utopia 001.002\n", "application/x-font-type1"),
        (b"\x80\x01\x13\x05\x00\x00%!PS-AdobeFont-1.0: Utopia\r", "application/x-font-type1"),
        (b"OTTO and ttcf begin a text", "text/plain"),
        (b"\x04\x22\x4d\x18\x64\x40\xa7", "application/x-lz4"),
        (b"\x02\x21\x4c\x18\x00", "application/x-lz4"),
        (b"BZh91AY&SY\x00", "application/x-bzip2"),
        (b"\xfd7zXZ\x00\x00\x04", "application/x-xz"),
        (b"\x28\xb5\x2f\xfd\x04\x00", "application/zstd"),
        (b"LZIP\x01\x0c", "application/x-lzip"),
        (b"\x5d\x00\x00\x80\x00", "application/x-lzma"),
        (b"\x1f\x9d\x90", "application/x-compress"),
        (b"\xff\x06\x00\x00sNaPpY", "application/x-snappy-framed"),
        (b"\x00\x01\x02\x03", "application/octet-stream"),
        (b"", "application/octet-stream"),
    ],
)
def test_other_formats_are_recognized_by_their_bytes(body: bytes, mime: str) -> None:
    sniffed = sniff(body, None)
    assert (sniffed.mime, sniffed.magic_mime) == (mime, mime)
    assert sniffed.magic


def test_text_declared_as_a_page_is_a_page_and_binary_data_is_not() -> None:
    assert sniff(b"Only words, no tag", "text/html; charset=utf-8").mime == "text/html"
    assert sniff(b"Only words, no tag", "text/html").magic_mime == "text/plain"
    assert sniff(b"\x00\x01\x02\x03", "text/html").mime == "application/octet-stream"
    assert sniff(b"\xff\xd8\xff\xe0", "text/html").mime == "image/jpeg"
    assert sniff(b"Only words", "image/png").mime == "text/plain"


@pytest.mark.parametrize(
    "spelling",
    [
        "application/pdf",
        "Application/PDF; charset=x",
        ".pdf",
        "pdf",
        "image/pdf",
        "text/pdf",
        '"application/pdf"',
        "application/pdf'",
        "('application/pdf'",
        "application/x-pdf",
        "application/pdf, text/html",
        " application/pdf ",
    ],
)
def test_every_spelling_of_pdf_is_pdf(spelling: str) -> None:
    assert normalize_mime(spelling) == "application/pdf"


@pytest.mark.parametrize(
    "spelling",
    [
        "unk",
        "application/download",
        "binary/octet-stream",
        "application/x-download",
        "application/octetstream",
        "application/force-download",
        "application/unknown",
        "application/save",
        "application/octet-stream",
    ],
)
def test_every_spelling_of_unknown_is_octet_stream(spelling: str) -> None:
    assert normalize_mime(spelling) == "application/octet-stream"


def test_other_types_are_kept_and_invalid_ones_are_none() -> None:
    assert normalize_mime("application/xml") == "text/xml"
    assert normalize_mime("application/atom+xml") == "application/atom+xml"
    assert normalize_mime("warc/revisit") == "warc/revisit"
    assert normalize_mime("TEXT/HTML;charset=UTF-8") == "text/html"
    assert [normalize_mime(text) for text in (None, "", "-", "no type", "a/b/c")] == [None] * 5


@given(st.binary(max_size=300), st.none() | st.text(max_size=30))
def test_sniffing_never_raises_and_always_returns_a_type(head: bytes, declared: str | None) -> None:
    sniffed = sniff(head, declared)
    assert "/" in sniffed.mime
    assert "/" in sniffed.magic_mime


@given(st.text(max_size=60))
def test_a_normalized_type_stays_unchanged(declared: str) -> None:
    mime = normalize_mime(declared)
    assert mime is None or normalize_mime(mime) == mime
