"""The article in a page: text, date, and what the page says of itself."""

from fonds.extract.article.extraction import Article, extract_article
from fonds.extract.article.head import absolute_url, canonical_url, normalize_title

__all__ = ["Article", "absolute_url", "canonical_url", "extract_article", "normalize_title"]
