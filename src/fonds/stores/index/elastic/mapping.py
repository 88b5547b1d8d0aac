"""How a document lies in Elasticsearch or OpenSearch: template, fields, and the way there and back.

The first seven fields are those of seed 004 with the types story-indexer gives them, so that existing
clients find what they know; the rest are ours. `*_words` hold the words as `words.py` folds them: both
servers then find exactly what the embedded index finds, without plugins, at the cost of a second
inverted index of each text. They are searched and not shown.
"""

from __future__ import annotations

from dataclasses import fields
from datetime import date, datetime
from typing import Any

from fonds.model.document import IndexDocument
from fonds.model.file import Kind
from fonds.words import fold

KEYWORD_CHARACTERS_MAX = 8_000
WORD_FIELDS = {
    "article_title": "title_words",
    "text_content": "text_words",
    "url": "url_words",
}
RAW_FIELDS = ("kind", "language", "canonical_domain", "collection")
ABSENT_FIELDS = frozenset({"language"})
"""Of the raw fields those that documents without a value do not have; the others hold '' then."""

MONTH = "publication_month"

_KEYWORD = {"type": "keyword", "ignore_above": KEYWORD_CHARACTERS_MAX}
_WORDS = {"type": "text", "analyzer": "whitespace"}
_KEPT = {"type": "keyword", "index": False, "doc_values": False}


def template(alias: str, shards: int, replicas: int, *, wildcard: bool) -> dict[str, Any]:
    """The index template of all indices behind `alias`; without `wildcard` the URL is a keyword."""
    url = {**_KEYWORD, "type": "wildcard"} if wildcard else _KEYWORD
    properties = {
        "url": url,
        "canonical_domain": _KEYWORD,
        "publication_date": {"type": "date", "ignore_malformed": True},
        "language": _KEYWORD,
        "article_title": {"type": "text"},
        "text_content": {"type": "text"},
        "indexed_date": {"type": "date_nanos"},
        "id": _KEYWORD,
        "sha1hex": _KEYWORD,
        "kind": _KEYWORD,
        "collection": _KEYWORD,
        "story_id": _KEPT,
        "page_count": {"type": "integer"},
        "word_count": {"type": "integer"},
        "has_thumbnail": {"type": "boolean"},
        MONTH: {"type": "keyword"},
        **dict.fromkeys(WORD_FIELDS.values(), _WORDS),
    }
    return {
        "index_patterns": [f"{alias}-*"],
        "template": {
            "settings": {"number_of_shards": shards, "number_of_replicas": replicas},
            "mappings": {
                "dynamic": False,
                "_source": {"excludes": [*WORD_FIELDS.values(), MONTH]},
                "properties": properties,
            },
        },
    }


def to_source(document: IndexDocument) -> dict[str, Any]:
    """One document as it is sent."""
    source: dict[str, Any] = {
        field.name: _plain(getattr(document, field.name)) for field in fields(document)
    }
    day = document.publication_date
    return {name: value for name, value in source.items() if value is not None} | {
        "title_words": fold(document.article_title or ""),
        "text_words": fold(document.text_content),
        "url_words": fold(document.url),
        **({MONTH: f"{day.year:04d}-{day.month:02d}"} if day else {}),
    }


def from_source(source: dict[str, Any]) -> IndexDocument:
    """A document as it was put; `text_content` is empty where it was not asked for."""
    day = source.get("publication_date")
    known = {field.name for field in fields(IndexDocument)}
    values = {name: value for name, value in source.items() if name in known}
    return IndexDocument(
        **{
            "publication_date": None,
            "language": None,
            "article_title": None,
            "text_content": "",
            **values,
            "kind": Kind(source["kind"]),
            "indexed_date": datetime.fromisoformat(source["indexed_date"]),
            **({"publication_date": date.fromisoformat(day)} if day else {}),
        }
    )


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, date):
        return f"{value.year:04d}-{value.month:02d}-{value.day:02d}"
    return str(value) if isinstance(value, Kind) else value
