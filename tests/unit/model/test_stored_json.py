"""Typed values of rows as JSON: nothing is lost, and invalid values do not raise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.model.bibliography import Author, PaperSummary
from fonds.model.capture import RssEntry
from fonds.model.pdf_metadata import PdfMetadata
from fonds.model.rights import StatedRights, Statement, StatementSource, Subject
from fonds.model.source import Backfill, DayCounts, ListingHints, StoredPace
from fonds.model.stored_json import decode_stored, encode_stored
from fonds.model.story import Story

LICENSE = Statement(Subject.LICENSE, "cc-by-4.0", "CC BY 4.0", StatementSource.XMP)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
NAMES = st.sampled_from(
    ["title", "authors", "rights", "page0_rotation", "CrossMarkDomains", "biblio", "unknown", "x"]
)


def encode_statement(statement: Statement) -> dict[str, str]:
    return {
        "subject": str(statement.subject),
        "value": statement.value,
        "raw": statement.raw,
        "stated_in": str(statement.stated_in),
        "name": statement.name,
    }


@pytest.mark.parametrize("kind", [PdfMetadata, PaperSummary])
@given(value=st.dictionaries(NAMES | st.text(), JSON))
def test_values_of_other_programs_are_encoded_unchanged(
    kind: type[Any], value: dict[str, Any]
) -> None:
    assert encode_stored(decode_stored(kind, value)) == value


def test_missing_fields_are_omitted_from_the_json() -> None:
    assert encode_stored(PdfMetadata()) == {}
    metadata = PdfMetadata(title="A", crossmark_domains="a.example", rights=(LICENSE,))
    stored = {"title": "A", "CrossMarkDomains": "a.example", "rights": [encode_statement(LICENSE)]}
    assert encode_stored(metadata) == stored
    assert decode_stored(PdfMetadata, stored) == metadata


def test_a_field_of_another_type_gets_its_default_and_is_kept() -> None:
    stored = {"title": 5, "language": "de", "author": None}
    decoded = decode_stored(PdfMetadata, stored)
    assert (decoded.title, decoded.language, decoded.author) == (None, "de", None)
    assert decoded.unknown == {"title": 5, "author": None}


def test_only_valid_elements_of_a_list_are_read() -> None:
    stored = {"rights": [{"subject": "fame"}, encode_statement(LICENSE)]}
    decoded = decode_stored(PdfMetadata, stored)
    assert decoded.rights == (LICENSE,)
    assert encode_stored(decoded) == stored


def test_unknown_fields_inside_a_field_are_kept() -> None:
    stored = {
        "biblio": {"title": "A", "authors": [{"name": "Ada", "role": "editor"}], "date": 2020},
        "reference_count": 3,
    }
    decoded = decode_stored(PaperSummary, stored)
    assert (decoded.head.title, decoded.head.authors, decoded.head.date) == (
        "A",
        (Author(name="Ada"),),
        None,
    )
    assert encode_stored(decoded) == stored


@pytest.mark.parametrize("value", [[], "text", 5, [{"title": "A"}]])
def test_a_value_that_is_not_an_object_is_read_as_empty(value: object) -> None:
    assert decode_stored(PdfMetadata, value) == PdfMetadata()


def test_counts_and_rate_limits_are_stored_as_lists() -> None:
    days = {"2026-11-20": DayCounts(2, 1, 4, 1)}
    assert encode_stored(days) == {"2026-11-20": [2, 1, 4, 1]}
    assert decode_stored(Mapping[str, DayCounts], encode_stored(days)) == days
    paces = {"": StoredPace(1.5, 2.0, 0.25, 0.0, 3.0)}
    assert encode_stored(paces) == {"": [1.5, 2.0, 0.25, 0.0, 3.0]}
    stored = {**encode_stored(paces), "a.example": [None, 1.0], "b.example": "soon"}
    assert decode_stored(Mapping[str, StoredPace], stored) == paces


def test_hints_are_stored_completely_and_older_rows_are_read() -> None:
    assert encode_stored(ListingHints(ttl_s=60, hubs=("https://h.example/",), older="")) == {
        "ttl_s": 60,
        "update_s": None,
        "hubs": ["https://h.example/"],
        "cloud": "",
        "self_url": "",
        "children": 0,
        "older": "",
        "complete": False,
    }
    assert decode_stored(ListingHints, {"ttl_s": 60}).older is None
    assert decode_stored(ListingHints, {"complete": True}).is_complete


def test_a_backfill_without_dates_is_refused() -> None:
    noon = datetime(2026, 11, 20, 12, tzinfo=UTC)
    backfill = Backfill(date(2026, 1, 1), date(2026, 2, 1), False, noon, "ann", noon)
    stored = encode_stored(backfill)
    assert (stored["first"], stored["due_at"], stored["state"]) == (
        "2026-01-01",
        "2026-11-20T12:00:00Z",
        "running",
    )
    assert decode_stored(Backfill, {**stored, "added_later": 1}) == backfill
    with pytest.raises(ValueError, match="Backfill"):
        decode_stored(Backfill, {"first": "2026-01-01"})


def test_statements_are_stored_with_all_their_fields() -> None:
    stated = StatedRights((LICENSE,))
    assert encode_stored(stated) == {"statements": [encode_statement(LICENSE)]}
    assert decode_stored(StatedRights, encode_stored(stated)) == stated


def test_a_story_keeps_its_unknown_fields() -> None:
    story = Story(rss_entry=RssEntry(link="http://a.example/"), unknown={"rss_entry": {"more": 1}})
    stored = encode_stored(story)
    assert stored["rss_entry"]["more"] == 1
    assert decode_stored(Story, stored) == story
    assert decode_stored(Story, {**stored, "http_metadata": {"response_code": "x"}}) == replace(
        story, schema_version=1
    )
