"""Statements of a tdmrep.json for a path.

Source: TDM Reservation Protocol, "TDM file on the origin server".
Limits: the first 10,000 entries with locations of at most 2,000 characters; patterns are matched
piece by piece. The caller limits the text: 500 KiB of asterisks take 0.1 s per address.
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
    """Return reservation and policy of the longest location that matches a path with query.

    A text that is not an array of objects states nothing.
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
    """Return the locations of a file with their entries; cached, since all pages of a host use it."""
    try:
        decoded: Any = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return ()
    entries = decoded[:ENTRIES_MAX] if isinstance(decoded, list) else []
    return [
        (location, entry)
        for entry in entries
        if isinstance(entry, dict)
        and isinstance(location := entry.get("location"), str)
        and len(location) <= LOCATION_MAX_CHARS
    ]
