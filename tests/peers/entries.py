"""Forty-five captures that are difficult to archive, each for a different reason."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime, timedelta

from fixtures.pdfs import text_pdf
from fonds.model.archive import ArchiveEntry, OriginalCapture
from fonds.model.exchange import HttpHead

AT = datetime(2024, 3, 5, 6, 7, 8, 123456, UTC)
URLS = (
    "http://example.org/",
    "https://example.org/a/page.html",
    "http://www.example.org/WWW/Mixed.Case",
    "http://example.org:8080/port",
    "https://example.org:443/default-port",
    "http://user@example.org/user",
    "http://example.org/query?b=2&a=1&c",
    "http://example.org/query?empty=&&=x",
    "http://example.org/escaped%20blank",
    "http://example.org/escaped%2Fslash",
    "http://example.org/100%25",
    "http://example.org/caf%C3%A9",
    "http://example.org/café/ö",
    "http://xn--mnchen-3ya.example/",
    "http://münchen.example/idn",
    "http://example.org/a//double///slash",
    "http://example.org/dot/./and/../dots",
    "http://example.org/trailing/",
    "http://example.org/semi;jsessionid=0123456789abcdef0123456789abcdef",
    "http://example.org/plus+and,comma;semicolon:colon@at!bang*star'quote(paren)",
    "http://example.org/~tilde_under-dash.dot",
    "http://example.org/pipe|and[brackets]",
    "http://192.0.2.7/address",
    "http://[2001:db8::7]/address6",
    "http://example.org/" + "long/" * 300,
    "http://example.org/page?utm_source=x&id=1",
    "http://example.org/a?u=http://other.example/b?c=d",
    "http://example.org/http://other.example/",
)
LATIN1 = "<html><body>Größe, café</body></html>".encode("latin-1")
PAGE = "<html><head><title>{0}</title></head><body><p>Page {0}, größer</p></body></html>"


def build_page(number: int) -> bytes:
    return PAGE.format(number).encode()


def build_head(status: str, *headers: tuple[str, str]) -> HttpHead:
    return HttpHead(int(status.split()[1]), status, (("Content-Type", "text/html"), *headers))


HEADS = (
    build_head("HTTP/1.1 200 OK", ("Content-Encoding", "gzip"), ("Content-Length", "7")),
    build_head("HTTP/1.1 200 OK", ("Transfer-Encoding", "chunked")),
    build_head(
        "HTTP/1.1 200 OK", ("Content-Encoding", "br"), ("Transfer-Encoding", "gzip, chunked")
    ),
    build_head("HTTP/1.0 200"),
    build_head("HTTP/2 200"),
    build_head("HTTP/1.1 203 Non-Authoritative", ("X-Empty", ""), ("X-Name", "café")),
    build_head("HTTP/1.1 200 OK", *(("Set-Cookie", f"a{n}={n}") for n in range(40))),
    build_head("HTTP/1.1 200 OK", ("Content-Range", "bytes 0-99/200"), ("ETag", '"x"')),
    HttpHead(200, "HTTP/1.1 200 OK", ()),
)
LOOSE = (
    ("file:///home/somebody/a%20paper.pdf", "application/pdf", text_pdf()),
    ("http://example.org/loose.html", "text/html", build_page(900)),
    ("http://example.org/none", "", build_page(901)),
)


def build_entries() -> list[ArchiveEntry]:
    """Return the captures. Each has a different body, except the revisits at the end."""
    captures = [_build_entry(n, url, build_page(n)) for n, url in enumerate(URLS)]
    captures += [
        _build_entry(100 + n, f"http://heads.example/{n}", build_page(100 + n), head)
        for n, head in enumerate(HEADS)
    ]
    captures.append(_build_entry(200, "http://example.org/latin1", LATIN1))
    captures.append(
        _build_entry(201, "http://example.org/packed.gz", gzip.compress(build_page(201), mtime=0))
    )
    captures.append(_build_entry(202, "http://example.org/large", build_page(202) * 20_000))
    captures += [
        ArchiveEntry(
            f"loose{n}", url, _compute_time(300 + n), mime, body, None, b'{"title": "loose"}'
        )
        for n, (url, mime, body) in enumerate(LOOSE)
    ]
    # The same page later, and at another address.
    first = captures[1]
    for number, url in ((400, first.url), (401, "http://example.org/another")):
        captures.append(
            _build_entry(
                number, url, first.body, original=OriginalCapture(first.url, first.captured_at)
            )
        )
    return captures


def _compute_time(number: int) -> datetime:
    return AT + timedelta(seconds=10 * number)


def _build_entry(
    number: int,
    url: str,
    body: bytes,
    http: HttpHead = HEADS[3],
    original: OriginalCapture | None = None,
) -> ArchiveEntry:
    metadata = b'{"rss_entry": {}, "content_metadata": {"title": "Page %d"}}' % number
    return ArchiveEntry(
        f"capture{number}", url, _compute_time(number), "text/html", body, http, metadata, original
    )
