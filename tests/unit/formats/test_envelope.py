"""Stories as JSON: liberal in what is accepted, and damage told as such."""

from __future__ import annotations

import pytest

from fonds.formats.envelope import story_from_json
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError


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
        story_from_json(data)
    assert raised.value.reason is Reason.DAMAGED_RECORD
