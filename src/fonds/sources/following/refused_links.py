"""Links that sources listed and that were refused: kept for those who ask what became of an address."""

from __future__ import annotations

from hashlib import sha1

from fonds.crawl.links import asked_address
from fonds.crawl.request_url import URL_CHARS_MAX
from fonds.model.rows import RefusedLinkRow
from fonds.ports import Records

ROWS_A_POLL = 1_000
URL_CHARS = 2_000
DETAIL_CHARS = 500
SHOWN_MAX = 20


def refused_links(records: Records, url: str) -> list[RefusedLinkRow]:
    """The refusals of an address, one for each source that listed it, the latest first; 20 at most."""
    where = {"url_sha1": url_sha1(url)}
    order = ("-refused_at", "source_id")
    return list(records.find(RefusedLinkRow, where, order=order, count_max=SHOWN_MAX))


def url_sha1(url: str) -> str:
    """The SHA-1 in hex of an address as it is fetched; listings cut one that is too long."""
    text = asked_address(url)[: URL_CHARS_MAX + 1]
    return sha1(text.encode("utf-8", "surrogatepass")).hexdigest()  # noqa: S324 (a key, not a seal)
