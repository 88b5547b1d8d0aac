"""JSON of other programs is decoded, even if it is not quite valid."""

from __future__ import annotations

import json

import pytest

from fonds.model.encoding import decode_json


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1, 1.5, -0.0, 1e5, true, null, "\\u00fc"]}',
        "123456789012345678901234567890",
        '{"a": 1, "a": 2}',
        '"\\ud800"',
        "[1e400, Infinity]",
    ],
)
def test_json_is_decoded_as_python_does(text: str) -> None:
    for data in (text, text.encode(), text.encode("utf-16")):
        assert decode_json(data) == json.loads(data)


@pytest.mark.parametrize("text", ["", "{", "[1,]", "nothing", b"\xff junk"])
def test_other_texts_are_refused(text: str | bytes) -> None:
    with pytest.raises(ValueError):
        decode_json(text)
