"""Stories as JSON: unknown fields are kept, wrong fields are dropped, and damaged JSON raises."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError
from fonds.model.message import Message
from fonds.model.story import SCHEMA_VERSION, ParsedPage, Story, UnarchivedBody
from fonds.model.story_json import build_story, decode_story, encode_story
from fonds.queues.messages.envelope import (
    decode,
    encode,
)
from step_bench import MOMENT, page_file

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3)
    ),
    max_leaves=8,
)
PARTS = ("rss_entry", "http_metadata", "content_metadata", "page_metadata")
NAMES = st.text(min_size=1, max_size=12).filter(
    lambda name: name not in (*PARTS, "raw_html", "exchange", "schema_version")
)
UNKNOWN = st.dictionaries(NAMES, JSON, max_size=4)
"""Unknown fields: sub-objects, lists and plain values."""

FIELDS = st.dictionaries(NAMES.map(lambda name: f"x_{name}"), JSON, max_size=3)
"""Unknown fields in known sub-objects."""


def send_through_queue(payload: ParsedPage | UnarchivedBody) -> ParsedPage | UnarchivedBody:
    """Return the payload after encoding and decoding, as every queue does."""
    message = Message("m", encode(payload))
    decoded = decode(message, type(payload))
    assert isinstance(decoded, ParsedPage | UnarchivedBody)
    return decoded


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b'{"rss_entry": ',
        b'{"rss_entry": "\xff"}',
        b"\x80",
        b'{"a": ' * 5_000,
    ],
)
def test_damaged_json_raises(data: bytes) -> None:
    with pytest.raises(DamagedInputError) as raised:
        decode_story(data)
    assert raised.value.reason is Reason.DAMAGED_RECORD


@given(unknown=UNKNOWN, unknown_fields=st.dictionaries(st.sampled_from(PARTS), FIELDS, max_size=4))
def test_unknown_fields_survive_queues_and_archives(
    unknown: dict[str, object], unknown_fields: dict[str, dict[str, object]]
) -> None:
    document = {**unknown, **unknown_fields, "schema_version": 7}
    capture = Capture("c", "i", Place(PlaceKind.WARC, "/w", 0), "http://a/", MOMENT, "response")
    story = decode_story(msgspec.json.encode(document))
    parsed = send_through_queue(ParsedPage(capture, page_file(), story, "id", "reader 1"))
    assert isinstance(parsed, ParsedPage)
    unarchived = send_through_queue(UnarchivedBody(capture, page_file(), parsed.story))
    assert isinstance(unarchived, UnarchivedBody)
    assert unarchived.story is not None
    decoded = decode_story(msgspec.json.encode(encode_story(unarchived.story)))
    assert decoded == story
    encoded = encode_story(decoded)
    assert {name: encoded[name] for name in unknown} == unknown
    for name, fields in unknown_fields.items():
        assert {field: encoded[name][field] for field in fields} == fields
    assert encoded["schema_version"] == 7


def test_our_stories_have_a_schema_version_and_foreign_ones_have_none() -> None:
    assert encode_story(Story())["schema_version"] == SCHEMA_VERSION
    foreign_story = decode_story(b'{"rss_entry": {"link": "http://a/"}}')
    assert foreign_story.schema_version == 0
    assert "schema_version" not in encode_story(foreign_story)


@pytest.mark.parametrize("stated", ["1", "null", "-1", "true", "[1]", '"2"', "1e300", "99999999"])
def test_an_invalid_schema_version_is_zero(stated: str) -> None:
    version = decode_story(f'{{"schema_version": {stated}}}'.encode()).schema_version
    assert version == (1 if stated == "1" else 0)


def test_an_invalid_sub_object_is_empty_and_an_invalid_field_is_absent() -> None:
    story = decode_story(b'{"rss_entry": 5, "http_metadata": {"response_code": "x", "more": 1}}')
    assert (story.rss_entry.link, story.http_metadata.response_code) == (None, None)
    assert story.unknown == {"http_metadata": {"more": 1}}


@given(unknown=UNKNOWN, unknown_fields=st.dictionaries(st.sampled_from(PARTS), FIELDS, max_size=4))
def test_a_story_without_its_missing_fields_is_the_same_story(
    unknown: dict[str, object], unknown_fields: dict[str, dict[str, object]]
) -> None:
    values = {"page_kind": "article", "authors_source": None, "is_paywalled": False}
    page = {**unknown_fields.get("page_metadata", {}), **values}
    story = build_story({**unknown, **unknown_fields, "page_metadata": page})
    short = encode_story(story, omits_missing=True)
    assert build_story(short) == story
    assert {name: short[name] for name in unknown} == unknown
    assert "authors_source" not in short["page_metadata"]
    assert short["page_metadata"]["is_paywalled"] is False
