"""Links of sources that the link rules refused. They are stored so that a user can look up what
happened to a URL.
"""

from __future__ import annotations

from hashlib import sha1

from fonds.following.link_rules import normalize_requested_url
from fonds.model.rows import RefusedLinkRow
from fonds.ports import Records
from fonds.urls.request_url import URL_MAX_CHARS

ROWS_A_POLL = 1_000
URL_CHARS = 2_000
DETAIL_CHARS = 500
LISTED_MAX = 20


def list_refused_links(records: Records, url: str) -> list[RefusedLinkRow]:
    """Return why a URL was refused, one row for each source that listed it, latest first; at most
    20.
    """
    conditions = {"url_sha1": hash_url(url)}
    order = ("-refused_at", "source_id")
    return list(records.find(RefusedLinkRow, conditions, order=order, count_max=LISTED_MAX))


def hash_url(url: str) -> str:
    """Return the SHA-1 in hexadecimal of a normalised URL.

    Long URLs are cut first, as in listings.
    """
    text = normalize_requested_url(url)[: URL_MAX_CHARS + 1]
    return sha1(text.encode("utf-8", "surrogatepass")).hexdigest()  # noqa: S324 (a key, not security)
