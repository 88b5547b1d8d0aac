"""How a document lies in Elasticsearch or OpenSearch: template, fields, and the way there and back.

The first seven fields are those of seed 004 with the types story-indexer gives them, so that existing
clients find what they know; the rest are ours. `*_words` hold the words as `words.py` folds them: both
servers then find exactly what the embedded index finds, without plugins, at the cost of a second
inverted index of each text. `*_stems` hold what the forms of words have in common (`word_forms.py`),
without positions, and `earlier_*` are those of earlier versions of a story. All of these are searched and not
shown.
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
from fonds.search.index.words import CUT_VERSIONS, build_earlier_words, build_words

KEYWORD_MAX_CHARS = 8_000
LIST_FIELDS = tuple(
    field.name for field in fields(IndexDocument) if field.default == () and field.name != "earlier"
)
DERIVED_FIELDS = {
    field.name: field.get_values for field in INDEXED_EXACT_FIELDS if field.get_values is not None
}
"""Exact fields that are no attributes of a document."""
ORDER = "order_key"
DAYS = {
    DateOf.PUBLISHED: "publication_date",
    DateOf.CAPTURED: "captured",
    DateOf.ADDED: "added_day",
}
"""The field with the days of each kind; that of `indexed_date` is of its own, as its limits are narrower."""
MONTHS = {one: f"{one}_month" for one in DateOf}
UNSHOWN = (
    *WORD_FIELDS.values(), *STEM_FIELDS.values(), *DERIVED_FIELDS, "added_day", *MONTHS.values(), ORDER
)  # fmt: skip
"""What is made of a document for searching it, and not given back."""

_KEYWORD = {"type": "keyword", "ignore_above": KEYWORD_MAX_CHARS}
_WORDS = {"type": "text", "analyzer": "whitespace"}
_STEMS = {"type": "text", "analyzer": "whitespace", "index_options": "freqs"}
_STORED_KEYWORD = {"type": "keyword", "index": False, "doc_values": False}


def build_template(alias: str, shards: int, replicas: int, *, wildcard: bool) -> dict[str, Any]:
    """The index template of all indices behind `alias`; without `wildcard` the URL is a keyword."""
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
        CUT_VERSIONS: {"type": "integer"},
    }
    return {
        "index_patterns": [f"{alias}-*"],
        "template": {
            "settings": {"number_of_shards": shards, "number_of_replicas": replicas},
            "mappings": {
                "dynamic": False,
                "_source": {"excludes": list(UNSHOWN)},
                "properties": properties,
            },
        },
    }


FIELDS = frozenset(build_template("", 1, 0, wildcard=False)["template"]["mappings"]["properties"])
"""What an index must have to be asked by this version."""


def encode_document(document: IndexDocument) -> dict[str, Any]:
    """One document as it is sent."""
    source: dict[str, Any] = {
        field.name: _to_plain(getattr(document, field.name))
        for field in fields(document)
        if field.name not in ("earlier", CUT_VERSIONS)
    }
    if document.earlier:
        source["earlier"] = [
            {"sha1hex": one.sha1hex, "captured": one.captured, "title": one.title}
            for one in document.earlier
        ]
        source[CUT_VERSIONS] = document.earlier_left_out or None
    days = {one: day for one in DateOf if (day := document.get_day(one))}
    return {name: value for name, value in source.items() if value is not None} | {
        **build_words(document),
        **build_earlier_words(document),
        **{name: get_values(document) for name, get_values in DERIVED_FIELDS.items()},
        ORDER: compute_order_key(document.id),
        "added_day": _to_plain(document.get_day(DateOf.ADDED)),
        **{MONTHS[one]: f"{day.year:04d}-{day.month:02d}" for one, day in days.items()},
    }


def decode_document(source: dict[str, Any]) -> IndexDocument:
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
            **{name: tuple(source.get(name, ())) for name in LIST_FIELDS},
            "date_kind": DateKind(kind) if (kind := source.get("date_kind")) else None,
            "captured": date.fromisoformat(seen) if (seen := source.get("captured")) else None,
            "earlier": tuple(EarlierVersion(**one) for one in source.get("earlier", ())),
        }
    )


def _to_plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, date):
        return f"{value.year:04d}-{value.month:02d}-{value.day:02d}"
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, StrEnum) else value
