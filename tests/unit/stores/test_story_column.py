"""Stories in SQLite: compressed JSON that can be read forever."""

from __future__ import annotations

import json
from base64 import b64decode

import pytest

from fonds.model.story import ContentMetadata, Story
from fonds.model.story_json import build_story, encode_story
from fonds.stores.records.story_column import compress_json, decompress_json

STORY = Story(
    schema_version=1,
    content_metadata=ContentMetadata(
        url="http://a.example/ä", language="en", is_homepage=False, article_title="Fähre"
    ),
)


def test_a_compressed_story_is_a_fraction_of_its_json() -> None:
    data = encode_story(STORY, omits_missing=True)
    compressed = compress_json(data)
    assert build_story(decompress_json(compressed)) == STORY
    assert len(compressed) * 2 < len(json.dumps(data))


def test_stories_that_were_compressed_before_can_be_read() -> None:
    """Other processes wrote the stored values, possibly years ago."""
    compressed = b64decode(
        "SKiP/JdKI5h9seQoHCkfJe0m6qVWADNWTqr+4SVYUiR6gnE7vCSjKBVrssEWo0hhXVsLAPMeRls="
    )
    assert build_story(decompress_json(compressed)) == STORY


@pytest.mark.parametrize("position", [0, 9, 20, 40])
def test_a_damaged_story_is_not_read(position: int) -> None:
    data = bytearray(compress_json(encode_story(STORY)))
    data[position] ^= 0x55
    with pytest.raises(ValueError, match=r"damaged|JSON|invalid|Expecting|decode"):
        decompress_json(bytes(data))
