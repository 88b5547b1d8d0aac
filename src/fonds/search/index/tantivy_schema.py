"""How a document lies in a tantivy index: the fields, and the way there and back.

What is searched and what is shown are kept apart: `*_words` hold folded words, `*_stems` what their forms
have in common, and nothing is stored of them; `earlier_*` are those of earlier versions of a story. `fields`
and `text_content` hold the document as it was put and are not searched. Filters and facets use raw fields.
Dates are whole days counted from year 1, because the library's own dates, in nanoseconds, end in 2262 and
begin in 1677 while documents claim any year; undated is 0. Each kind of date has its day, the same with
undated ones last, and its month.
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
from fonds.search.index.words import CUT_VERSIONS, build_earlier_words, build_words

WORD_MAX_BYTES = 200
UNDATED = 0
LAST_DAY = date.max.toordinal() + 1

_ANALYZER = "folded"
_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(prepare_type(IndexDocument))


def build_schema() -> tantivy.Schema:
    """The fields of the index; changing one needs a rebuild."""
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
    for name in (*NUMBER_FIELDS, CUT_VERSIONS, "order_key", "added_at"):
        builder.add_unsigned_field(name, fast=True)
    for one in DateOf:
        builder.add_unsigned_field(get_day_field(one), indexed=True, fast=True)
        builder.add_unsigned_field(get_sort_field(one), fast=True)
        builder.add_unsigned_field(get_month_field(one), fast=True)
    builder.add_bytes_field("fields", stored=True)
    builder.add_bytes_field("text_content", stored=True)
    return builder.build()


def register_analyzer(index: tantivy.Index) -> None:
    """Teach an opened index to split folded words; they are not kept in its files."""
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    index.register_tokenizer(
        _ANALYZER, builder.filter(tantivy.Filter.remove_long(WORD_MAX_BYTES)).build()
    )


def encode_document(document: IndexDocument, schema: tantivy.Schema) -> tantivy.Document:
    """One document for the writer. Lone surrogates, which UTF-8 cannot hold, are left out."""
    document = _clean_document(document)
    values: dict[str, object] = {
        "id": document.id,
        **build_words(document),
        **{field.name: list(field.read(document)) or [""] for field in INDEXED_EXACT_FIELDS},
        "order_key": compute_order_key(document.id),
        "added_at": max(0, int(document.indexed_date.timestamp() * 1_000_000)),
        **{name: count for name in NUMBER_FIELDS if (count := getattr(document, name)) is not None},
        **_build_date_fields(document),
        **build_earlier_words(document),
        **({CUT_VERSIONS: document.earlier_left_out} if document.earlier_left_out else {}),
        "fields": _ENCODER.encode(_strip_texts(document)),
        "text_content": document.text_content.encode("utf-8"),
    }
    return tantivy.Document.from_dict(values, schema)


def _strip_texts(document: IndexDocument) -> IndexDocument:
    earlier = tuple(replace(one, text="") for one in document.earlier)
    return replace(document, text_content="", earlier=earlier)


def _build_date_fields(document: IndexDocument) -> dict[str, int]:
    values = {}
    for one in DateOf:
        day = document.get_day(one)
        values[get_day_field(one)] = day.toordinal() if day else UNDATED
        values[get_sort_field(one)] = day.toordinal() if day else LAST_DAY
        values[get_month_field(one)] = _compute_month_number(day) if day else UNDATED
    return values


def get_day_field(date_of: DateOf) -> str:
    """The field with the days of this kind, from 1; 0 for undated."""
    return f"{date_of}_day"


def get_sort_field(date_of: DateOf) -> str:
    """The same with undated ones behind all others."""
    return f"{date_of}_last"


def get_month_field(date_of: DateOf) -> str:
    """The field with the months of this kind, since year 0; 0 for undated."""
    return f"{date_of}_month"


def decode_document(stored_value: tantivy.Document) -> tuple[IndexDocument, str]:
    """The document as it was put but for its text, and its text. Raises ValueError when damaged."""
    rest, text = stored_value.get_first("fields"), stored_value.get_first("text_content")
    if rest is None or text is None:
        raise ValueError("a document without its stored fields")
    return _DECODER.decode(rest), text.decode("utf-8")


def _compute_month_number(day: date) -> int:
    """Months since year 0; never 0, which stands for undated."""
    return day.year * 12 + day.month - 1


def format_day(number: int) -> str:
    """`YYYY-MM-DD` of a day, from 1."""
    return date.fromordinal(number).isoformat()


def format_month(number: int) -> str:
    """`YYYY-MM` of a month number."""
    return f"{number // 12:04d}-{number % 12 + 1:02d}"


def _clean_document(document: IndexDocument) -> IndexDocument:
    texts = {
        field.name: value
        for field in fields(document)
        if isinstance(value := getattr(document, field.name), str)
        and not isinstance(value, StrEnum)
    }
    cleaned = {name: remove_surrogates(text) for name, text in texts.items()}
    if cleaned != texts:
        document = replace(document, **cleaned)  # type: ignore[arg-type]
    if not document.earlier:
        return document
    earlier = [
        replace(
            one,
            title=one.title and remove_surrogates(one.title),
            text=remove_surrogates(one.text),
        )
        for one in document.earlier
    ]
    return replace(document, earlier=tuple(earlier))


def remove_surrogates(text: str) -> str:
    """`text` without the halves of broken pairs; the same object when there are none."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "ignore").decode("utf-8")
    return text
