"""Read the statements of a tdmrep.json for a URL path. The file states rights for text and data
mining.

Source: TDM Reservation Protocol, "TDM file on the origin server".
Limits: the first 10,000 entries, with path patterns of at most 2,000 characters; patterns are
matched piece by piece. The caller limits the text: 500 KiB of asterisks take 0.1 s per URL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from fonds.model.rights import Statement, StatementSource
from fonds.rights.preferences import parse_policy, parse_reservation
from fonds.rights.robots_txt import matches_pattern

ENTRIES_MAX = 10_000
LOCATION_MAX_CHARS = 2_000


def read_tdmrep_statements(text: str, target: str) -> tuple[Statement, ...]:
    """Return reservation and policy of the tdmrep.json entry with the longest pattern that matches
    a path with query.

    Return () for a text that is not a JSON array of objects.
    """
    matches = [item for item in _parse_entries(text) if matches_pattern(item[0], target)]
    if not matches:
        return ()
    entry = max(matches, key=lambda item: len(item[0]))[1]
    source, policy = StatementSource.TDMREP, entry.get("tdm-policy")
    statements = parse_reservation(str(entry.get("tdm-reservation", "")), source)
    statements += parse_policy(policy, source) if isinstance(policy, str) else []
    return tuple(statements)


@lru_cache(maxsize=16)
def _parse_entries(text: str) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """Return the path pattern and content of each entry in a tdmrep.json. The result is cached,
    because all pages of a host use the file.
    """
    try:
        decoded_json: Any = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return ()
    entries = decoded_json[:ENTRIES_MAX] if isinstance(decoded_json, list) else []
    return [
        (location, entry)
        for entry in entries
        if isinstance(entry, dict)
        and isinstance(location := entry.get("location"), str)
        and len(location) <= LOCATION_MAX_CHARS
    ]
