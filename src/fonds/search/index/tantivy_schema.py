"""Schema of the tantivy index, and encoding and decoding of documents.

- `*_words` and `*_stems`: folded words and their stems. They are searched but not stored.
- `earlier_*`: the same fields for earlier versions of a story.
- `fields` and `text_content`: the document as it was put. They are stored but not searched.
- Raw fields: whole values, used by filters and facets.
- Dates: day numbers from year 1; undated is 0. The library's own dates, in nanoseconds, only cover
  1677 to 2262, but documents claim any year. Each kind of date has its day, its month, and its day
  with undated documents last.
"""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import date
from enum import StrEnum

import msgspec
import tantivy

from fonds.model.document import DateOf, IndexDocument
from fonds.model.encoding import prepare_type
from fonds.model.keys import compute_order_key
from fonds.search.fields import (
    FACET_FIELDS,
    INDEXED_EXACT_FIELDS,
    NUMBER_FIELDS,
    STEM_FIELDS,
    VALUE_FIELDS,
    WORD_FIELDS,
)
from fonds.search.index.words import CUT_VERSIONS_FIELD, build_earlier_words, build_words

WORD_MAX_BYTES = 200
UNDATED = 0
LAST_DAY = date.max.toordinal() + 1

_ANALYZER = "folded"
_ENCODER = msgspec.json.Encoder()
_DOCUMENT_FIELDS = tuple(field.name for field in fields(IndexDocument))
_DECODER = msgspec.json.Decoder(prepare_type(IndexDocument))


def build_schema() -> tantivy.Schema:
    """Return the tantivy schema of the index.

    After a change of the schema, the index must be rebuilt.
    """
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", tokenizer_name="raw", index_option="basic")
    for name in FACET_FIELDS:
        builder.add_text_field(name, fast=True, tokenizer_name="raw", index_option="basic")
    for name in WORD_FIELDS.values():
        builder.add_text_field(name, tokenizer_name=_ANALYZER, index_option="position")
    for name in STEM_FIELDS.values():
        builder.add_text_field(name, tokenizer_name=_ANALYZER, index_option="freq")
    for field in VALUE_FIELDS:
        builder.add_text_field(field.name, tokenizer_name="raw", index_option="basic")
    for name in (*NUMBER_FIELDS, CUT_VERSIONS_FIELD, "order_key", "added_at"):
        builder.add_unsigned_field(name, fast=True)
    for date_of in DateOf:
        builder.add_unsigned_field(get_day_field(date_of), indexed=True, fast=True)
        builder.add_unsigned_field(get_sort_field(date_of), fast=True)
        builder.add_unsigned_field(get_month_field(date_of), fast=True)
    builder.add_bytes_field("fields", stored=True)
    builder.add_bytes_field("text_content", stored=True)
    return builder.build()


def register_analyzer(index: tantivy.Index) -> None:
    """Register the tokenizer for folded words in an opened index.

    Index files do not store tokenizers.
    """
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    index.register_tokenizer(
        _ANALYZER, builder.filter(tantivy.Filter.remove_long(WORD_MAX_BYTES)).build()
    )


def encode_document(document: IndexDocument, schema: tantivy.Schema) -> tantivy.Document:
    """Encode a document for the tantivy writer."""
    return tantivy.Document.from_dict(build_values(document), schema)


def build_values(document: IndexDocument) -> dict[str, object]:
    """Return the values of a document by name of index field.

    Lone surrogates, which UTF-8 cannot encode, are removed.
    """
    document = _clean_document(document)
    return {
        "id": document.id,
        **build_words(document),
        **{field.name: list(field.read(document)) or [""] for field in INDEXED_EXACT_FIELDS},
        "order_key": compute_order_key(document.id),
        "added_at": max(0, int(document.indexed_date.timestamp() * 1_000_000)),
        **{name: count for name in NUMBER_FIELDS if (count := getattr(document, name)) is not None},
        **_build_date_fields(document),
        **build_earlier_words(document),
        **({CUT_VERSIONS_FIELD: document.earlier_left_out} if document.earlier_left_out else {}),
        "fields": _encode_without_texts(document),
        "text_content": document.text_content.encode("utf-8"),
    }


def _encode_without_texts(document: IndexDocument) -> bytes:
    """Encode a document as JSON with "" in place of its texts.

    A dict has the same JSON as the document, and is faster to make than a copy of the document.
    """
    values = {name: getattr(document, name) for name in _DOCUMENT_FIELDS}
    values["text_content"] = ""
    values["earlier"] = tuple(replace(version, text="") for version in document.earlier)
    return _ENCODER.encode(values)


def _build_date_fields(document: IndexDocument) -> dict[str, int]:
    values = {}
    for date_of, (day_field, sort_field, month_field) in _DATE_FIELDS.items():
        day = document.get_day(date_of)
        values[day_field] = day.toordinal() if day else UNDATED
        values[sort_field] = day.toordinal() if day else LAST_DAY
        values[month_field] = _compute_month_number(day) if day else UNDATED
    return values


def get_day_field(date_of: DateOf) -> str:
    """Return the name of the index field with the day numbers of a kind of date; 0 means undated.

    Day 1 is 0001-01-01.
    """
    return f"{date_of}_day"


def get_sort_field(date_of: DateOf) -> str:
    """Return the name of the index field that sorts by a kind of date, undated documents last."""
    return f"{date_of}_last"


def get_month_field(date_of: DateOf) -> str:
    """Return the name of the index field with the months of a kind of date; 0 means undated.

    Months are counted from year 0.
    """
    return f"{date_of}_month"


_DATE_FIELDS = {
    date_of: (get_day_field(date_of), get_sort_field(date_of), get_month_field(date_of))
    for date_of in DateOf
}


def decode_document(stored_value: tantivy.Document) -> tuple[IndexDocument, str]:
    """Split a stored document into the document without its text and the text. Return both.

    Raises ValueError if the stored document is damaged.
    """
    field_values, text = stored_value.get_first("fields"), stored_value.get_first("text_content")
    if field_values is None or text is None:
        raise ValueError("a document without its stored fields")
    return _DECODER.decode(field_values), text.decode("utf-8")


def _compute_month_number(day: date) -> int:
    """Return the number of months since year 0. It is never 0, which means undated."""
    return day.year * 12 + day.month - 1


def format_day(number: int) -> str:
    """Format a day number (1 is 0001-01-01) as `YYYY-MM-DD`."""
    return date.fromordinal(number).isoformat()


def format_month(number: int) -> str:
    """Format a month number (months since year 0) as `YYYY-MM`."""
    return f"{number // 12:04d}-{number % 12 + 1:02d}"


def _clean_document(document: IndexDocument) -> IndexDocument:
    texts = {
        name: value
        for name in _DOCUMENT_FIELDS
        if isinstance(value := getattr(document, name), str)
        and not isinstance(value, StrEnum)
        and not value.isascii()
    }
    cleaned_texts = {name: remove_surrogates(text) for name, text in texts.items()}
    if cleaned_texts != texts:
        document = replace(document, **cleaned_texts)  # type: ignore[arg-type]
    if not document.earlier:
        return document
    earlier = [
        replace(
            version,
            title=version.title and remove_surrogates(version.title),
            text=remove_surrogates(version.text),
        )
        for version in document.earlier
    ]
    return replace(document, earlier=tuple(earlier))


def remove_surrogates(text: str) -> str:
    """Remove lone surrogates from a text. A text without any is returned unchanged."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "ignore").decode("utf-8")
    return text
