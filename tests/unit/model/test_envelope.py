"""Stories as JSON: liberal in what is accepted, damage told as such, what others added kept and passed on."""

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
from fonds.model.story_json import decode_story, encode_story
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
OTHERS = st.dictionaries(NAMES, JSON, max_size=4)
"""What nobody here knows: further sub-objects, lists, plain values."""

FIELDS = st.dictionaries(NAMES.map(lambda name: f"x_{name}"), JSON, max_size=3)
"""Further fields of the sub-objects that are known."""


def carried(payload: ParsedPage | UnarchivedBody) -> ParsedPage | UnarchivedBody:
    """The payload as it comes off a queue: all of them carry these bytes."""
    message = Message("m", encode(payload))
    found = decode(message, type(payload))
    assert isinstance(found, ParsedPage | UnarchivedBody)
    return found


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
def test_what_is_no_json_object_is_damage(data: bytes) -> None:
    with pytest.raises(DamagedInputError) as raised:
        decode_story(data)
    assert raised.value.reason is Reason.DAMAGED_RECORD


@given(others=OTHERS, further=st.dictionaries(st.sampled_from(PARTS), FIELDS, max_size=4))
def test_what_others_added_comes_through_queues_and_archives_as_it_was(
    others: dict[str, object], further: dict[str, dict[str, object]]
) -> None:
    told = {**others, **further, "schema_version": 7}
    capture = Capture("c", "i", Place(PlaceKind.WARC, "/w", 0), "http://a/", MOMENT, "response")
    story = decode_story(msgspec.json.encode(told))
    parsed = carried(ParsedPage(capture, page_file(), story, "id", "reader 1"))
    assert isinstance(parsed, ParsedPage)
    waiting = carried(UnarchivedBody(capture, page_file(), parsed.story))
    assert isinstance(waiting, UnarchivedBody)
    assert waiting.story is not None
    again = decode_story(msgspec.json.encode(encode_story(waiting.story)))
    assert again == story
    written = encode_story(again)
    assert {name: written[name] for name in others} == others
    for name, fields in further.items():
        assert {field: written[name][field] for field in fields} == fields
    assert written["schema_version"] == 7


def test_ours_says_the_version_of_its_form_and_media_clouds_says_none() -> None:
    assert encode_story(Story())["schema_version"] == SCHEMA_VERSION
    theirs = decode_story(b'{"rss_entry": {"link": "http://a/"}}')
    assert theirs.schema_version == 0
    assert "schema_version" not in encode_story(theirs)


@pytest.mark.parametrize("said", ["1", "null", "-1", "true", "[1]", '"2"', "1e300", "99999999"])
def test_a_version_that_is_none_is_one_of_both(said: str) -> None:
    version = decode_story(f'{{"schema_version": {said}}}'.encode()).schema_version
    assert version == (1 if said == "1" else 0)


def test_a_sub_object_that_is_none_is_empty_and_a_wrong_field_is_absent() -> None:
    story = decode_story(b'{"rss_entry": 5, "http_metadata": {"response_code": "x", "more": 1}}')
    assert (story.rss_entry.link, story.http_metadata.response_code) == (None, None)
    assert story.unknown == {"http_metadata": {"more": 1}}
