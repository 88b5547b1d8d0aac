"""What people read where metadata has a name for programs, and values for programs in words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType

NAMES: Mapping[str, str] = MappingProxyType(
    {
        "arxiv_id": "arXiv id",
        "arxiv_id_from": "arXiv id taken from",
        "attachment_count": "attachments",
        "authors_from": "authors taken from",
        "doi": "DOI",
        "doi_from": "DOI taken from",
        "fetch_timestamp": "fetched",
        "final_url": "address after redirects",
        "fonts_embedded": "fonts embedded",
        "javascript": "JavaScript",
        "page0_rotation": "first page turned by degrees",
        "pages_garbled": "pages with garbled text",
        "pages_unreadable": "pages that cannot be read",
        "pmcid": "PMC id",
        "pmid": "PubMed id",
        "pub_date": "date of publication",
        "response_code": "HTTP status",
        "source_feed_id": "feed's id",
        "source_source_id": "source's id",
        "source_url": "source's address",
        "text_truncated": "text was cut",
        "title_from": "title taken from",
        "update_id": "id of this version",
        "via": "found by way of",
        "word_count_whitespace": "words between blanks",
        "xmp": "XMP",
    }
)
"""Names of ours and of the seeds. Others are the file's own and stand as they are."""
MOMENTS = frozenset({"fetch_timestamp"})
"""Names whose values are Unix seconds."""


def fact_name(name: str) -> str:
    """The name people read for one of metadata."""
    return NAMES.get(name, name)


def fact_value(name: str, value: object) -> str:
    """The value people read: yes or no, several joined by semicolons, an instant in UTC."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "; ".join(map(str, value))
    if name in MOMENTS and isinstance(value, int | float):
        return _instant(value)
    return str(value)


def _instant(seconds: float) -> str:
    """As it stands where no calendar has it."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return str(seconds)
