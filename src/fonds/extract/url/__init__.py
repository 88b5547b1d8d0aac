"""Addresses of pages: one spelling for each, ids, the domain that answers, front pages and short links."""

from fonds.extract.url.domain import canonical_domain
from fonds.extract.url.mediacloud import unique_url_hash
from fonds.extract.url.normal import (
    is_homepage_url,
    is_shortened_url,
    normalize_url,
    story_id,
    url_host,
)

__all__ = [
    "canonical_domain",
    "is_homepage_url",
    "is_shortened_url",
    "normalize_url",
    "story_id",
    "unique_url_hash",
    "url_host",
]
