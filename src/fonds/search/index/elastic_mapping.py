"""Map documents to Elasticsearch and OpenSearch: template, fields, encoding and decoding.

The first seven fields and their types are those of story-indexer (seed document 004), so that
existing clients work. Fonds adds fields that are searched but not returned:
- `*_words`: words folded as in `words.py`. Both servers match exactly what the embedded index
  matches, without plugins. The cost is a second inverted index of each text.
- `*_stems`: stems of words (`fonds.text.stems`), without positions.
- `earlier_*`: words and stems of earlier versions of a story.
"""

from __future__ import annotations

from dataclasses import fields
from datetime import date, datetime
from enum import StrEnum
from typing import Any

from fonds.model.document import DateKind, DateOf, EarlierVersion, IndexDocument
from fonds.model.file import Kind
from fonds.model.keys import compute_order_key
from fonds.search.fields import INDEXED_EXACT_FIELDS, NUMBER_FIELDS, STEM_FIELDS, WORD_FIELDS
from fonds.search.index.words import CUT_VERSIONS_FIELD, build_earlier_words, build_words

KEYWORD_MAX_CHARS = 8_000
LIST_FIELDS = tuple(
    field.name for field in fields(IndexDocument) if field.default == () and field.name != "earlier"
)
_PLAIN_FIELDS = tuple(
    field.name
    for field in fields(IndexDocument)
    if field.name not in ("earlier", CUT_VERSIONS_FIELD)
)
DERIVED_FIELDS = {
    field.name: field.get_values for field in INDEXED_EXACT_FIELDS if field.get_values is not None
}
"""Functions that compute the values of exact fields that are not attributes of a document, by
field.
"""
ORDER = "order_key"
DAYS = {
    DateOf.PUBLISHED: "publication_date",
    DateOf.CAPTURED: "captured",
    DateOf.ADDED: "added_day",
}
"""Name of the index field with the days of documents, for each kind of date.

`indexed_date` is stored with narrower limits (`date_nanos`), so its days have a field of their own.
"""
MONTHS = {kind: f"{kind}_month" for kind in DateOf}
UNSTORED_FIELDS = (
    *WORD_FIELDS.values(), *STEM_FIELDS.values(), *DERIVED_FIELDS, "added_day", *MONTHS.values(), ORDER
)  # fmt: skip
"""Names of index fields that are computed for searching and not returned with documents."""

_KEYWORD = {"type": "keyword", "ignore_above": KEYWORD_MAX_CHARS}
_WORDS = {"type": "text", "analyzer": "whitespace"}
_STEMS = {"type": "text", "analyzer": "whitespace", "index_options": "freqs"}
_STORED_KEYWORD = {"type": "keyword", "index": False, "doc_values": False}


def build_template(alias: str, shards: int, replicas: int, *, wildcard: bool) -> dict[str, Any]:
    """Return the index template for all indices of `alias`.

    Without `wildcard`, the URL has the type `keyword` instead of `wildcard`.
    """
    url = {**_KEYWORD, "type": "wildcard"} if wildcard else _KEYWORD
    properties = {
        "url": url,
        "publication_date": {"type": "date", "ignore_malformed": True},
        "article_title": {"type": "text"},
        "text_content": {"type": "text"},
        "indexed_date": {"type": "date_nanos"},
        "id": _KEYWORD,
        "sha1hex": _KEYWORD,
        "story_id": _STORED_KEYWORD,
        **{name: {"type": "integer"} for name in NUMBER_FIELDS},
        "has_thumbnail": {"type": "boolean"},
        "added_day": {"type": "date"},
        **{month: {"type": "keyword"} for month in MONTHS.values()},
        **dict.fromkeys(WORD_FIELDS.values(), _WORDS),
        **dict.fromkeys(STEM_FIELDS.values(), _STEMS),
        **{field.name: _KEYWORD for field in INDEXED_EXACT_FIELDS},
        ORDER: {"type": "long"},
        "authors": _STORED_KEYWORD,
        "holders": _STORED_KEYWORD,
        "date_kind": _STORED_KEYWORD,
        "captured": {"type": "date"},
        "earlier": {"type": "object", "enabled": False},
        CUT_VERSIONS_FIELD: {"type": "integer"},
    }
    return {
        "index_patterns": [f"{alias}-*"],
        "template": {
            "settings": {"number_of_shards": shards, "number_of_replicas": replicas},
            "mappings": {
                "dynamic": False,
                "_source": {"excludes": list(UNSTORED_FIELDS)},
                "properties": properties,
            },
        },
    }


FIELDS = frozenset(build_template("", 1, 0, wildcard=False)["template"]["mappings"]["properties"])
"""Names of the fields that an index must have for this version of Fonds."""


def encode_document(document: IndexDocument) -> dict[str, Any]:
    """Encode a document as JSON object for the server."""
    source: dict[str, Any] = {name: _to_plain(getattr(document, name)) for name in _PLAIN_FIELDS}
    if document.earlier:
        source["earlier"] = [
            {"sha1hex": version.sha1hex, "captured": version.captured, "title": version.title}
            for version in document.earlier
        ]
        source[CUT_VERSIONS_FIELD] = document.earlier_left_out or None
    days_by_kind = {kind: day for kind in DateOf if (day := document.get_day(kind))}
    return {name: value for name, value in source.items() if value is not None} | {
        **build_words(document),
        **build_earlier_words(document),
        **{name: get_values(document) for name, get_values in DERIVED_FIELDS.items()},
        ORDER: compute_order_key(document.id),
        "added_day": _to_plain(document.get_day(DateOf.ADDED)),
        **{MONTHS[kind]: f"{day.year:04d}-{day.month:02d}" for kind, day in days_by_kind.items()},
    }


def decode_document(source: dict[str, Any]) -> IndexDocument:
    """Decode a document from the server's JSON object.

    `text_content` is an empty string if the request did not ask for it.
    """
    day = source.get("publication_date")
    field_names = {field.name for field in fields(IndexDocument)}
    values = {name: value for name, value in source.items() if name in field_names}
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
            **{name: tuple(source.get(name, ())) for name in LIST_FIELDS},
            "date_kind": DateKind(kind) if (kind := source.get("date_kind")) else None,
            "captured": date.fromisoformat(captured_day)
            if (captured_day := source.get("captured"))
            else None,
            "earlier": tuple(EarlierVersion(**version) for version in source.get("earlier", ())),
        }
    )


def _to_plain(value: object) -> object:
    if value is None or type(value) is str:
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, date):
        return f"{value.year:04d}-{value.month:02d}-{value.day:02d}"
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, StrEnum) else value
