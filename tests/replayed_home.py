"""A home with hostile captures, and with captures at several times."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha1

from cdx_rows import build_cdx_row
from fonds.model.archive import ArchiveEntry, OriginalCapture
from fonds.model.capture import REVISIT_MIME, format_datetime14, parse_datetime14
from fonds.model.exchange import HttpHead
from fonds.model.rows import CdxRow
from fonds.ports import Stores

PAGE = "http://news.example/page"
TIMES = ("20200101000000", "20210101000000", "20220101000000")
HOSTILE = "http://evil.example/attack"
LATIN1 = "http://latin.example/"
PDF = "http://papers.example/a.pdf"
ODD = 'http://odd.example/a b/ü?q=<"x">&y=%2520#part'
BODY = "<!doctype html><title>Page {0}</title><p>As it was in {0}.".format
SET_COOKIE = ("Set-Cookie", "stolen=1; Path=/")


def attack(target: str) -> bytes:
    """Build a page that tries many ways to run scripts or to send requests to `target`."""
    return f"""<!doctype html><html><head><title>attack</title>
<base href="{target}/">
<meta http-equiv="refresh" content="1;url={target}/stolen-by-refresh">
<link rel="stylesheet" href="{target}/stolen-by-style">
<link rel="prefetch" href="{target}/stolen-by-prefetch">
<script>document.title = 'ran'; fetch('{target}/stolen-by-fetch')</script>
<script src="{target}/stolen-by-script"></script>
<style>@import url('{target}/stolen-by-import'); p {{ background: url('{target}/stolen-by-css') }}</style>
</head><body onload="document.title='ran'">
<p style="color: rgb(1, 2, 3)">Shown as it was.</p>
<img src="{target}/stolen-by-image" onerror="document.title='ran'">
<img src="x" onerror="document.title='ran'">
<svg onload="document.title='ran'"><script>document.title='ran'</script></svg>
<iframe src="{target}/stolen-by-frame"></iframe>
<iframe srcdoc="<script>parent.document.title='ran'</script>"></iframe>
<object data="{target}/stolen-by-object"></object>
<embed src="{target}/stolen-by-embed">
<video src="{target}/stolen-by-video" autoplay></video>
<form id="form" action="{target}/stolen-by-form" method="post"><button id="send">Send</button></form>
<a id="js" href="javascript:document.title='ran'">run</a>
<a id="popup" href="{target}/stolen-by-popup" target="_blank">open</a>
</body></html>""".encode()


def html(*headers: tuple[str, str], kind: str = "text/html; charset=utf-8") -> HttpHead:
    """Build a response with these headers."""
    return HttpHead(200, "HTTP/1.1 200 OK", (("Content-Type", kind), *headers))


def _entry(url: str, at: str, body: bytes, http: HttpHead, mime: str = "text/html") -> ArchiveEntry:
    return ArchiveEntry(f"{url} {at}", url, parse_datetime14(at), mime, body, http)


def entries(target: str) -> list[ArchiveEntry]:
    """Build the captures; `target` is the origin that the hostile page tries to reach."""
    pages = [_entry(PAGE, at, BODY(at[:4]).encode(), html(SET_COOKIE)) for at in TIMES[:2]]
    revisit = replace(
        pages[1],
        capture_id="again",
        captured_at=parse_datetime14(TIMES[2]),
        http=html(("X-Second", "yes")),
        original=OriginalCapture(PAGE, pages[1].captured_at),
    )
    hostile_response = html(
        SET_COOKIE,
        ("Refresh", f"0;url={target}/stolen-by-header"),
        ("Link", f"<{target}/stolen-by-link>; rel=preload; as=script"),
        ("Content-Security-Policy", "default-src *"),
        ("Access-Control-Allow-Origin", "*"),
        ("X-Archive-Orig-Content-Encoding", "gzip"),
        ("Set-Cookie", "second=2"),
        ("X-Split", "a\r\nSet-Cookie: split=1"),
        ("X-Wide", "ä € \x00"),
    )
    latin1_response = html(kind="text/html; charset=iso-8859-1")
    return [
        *pages,
        revisit,
        _entry(HOSTILE, TIMES[0], attack(target), hostile_response),
        _entry(LATIN1, TIMES[0], "<p>größer</p>".encode("latin-1"), latin1_response),
        _entry(
            PDF, TIMES[0], b"%PDF-1.4 and so on", html(kind="application/pdf"), "application/pdf"
        ),
        _entry(ODD, TIMES[0], b"<p>odd", html()),
        _entry(
            "http://news.example/svg", TIMES[0], b"<svg onload='x()'/>", html(kind="image/svg+xml")
        ),
        _entry("http://news.example/none", TIMES[0], b"plain", html(kind="nonsense\x01/<b>")),
    ]


def fill(stores: Stores, target: str) -> list[CdxRow]:
    """Write the captures to the archive and the records; return their rows."""
    archive_entries = entries(target)
    rows = [
        build_cdx_row(
            archive_entry.url,
            format_datetime14(archive_entry.captured_at),
            archive_result.place.offset,
            capture_id=archive_entry.capture_id,
            sha1hex=sha1(archive_entry.body).hexdigest(),
            mimetype=REVISIT_MIME if archive_entry.original else archive_entry.mime,
            warc_path=archive_result.place.path,
            warc_csize=archive_result.place.size_bytes,
        )
        for archive_entry, archive_result in zip(
            archive_entries, stores.archive.write(archive_entries), strict=True
        )
    ]
    stores.records.put(rows)
    stores.archive.finish()
    return rows
