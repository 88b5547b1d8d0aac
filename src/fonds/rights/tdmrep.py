"""What a tdmrep.json states for a path.

Source: TDM Reservation Protocol, "TDM file on the origin server".
Bound: the first 10,000 entries, each with a location of at most 2,000 characters; patterns matched piece by
piece. The caller limits the text: 500 KiB of stars take 0.1 s for an address.
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
    """Return reservation and policy of the longest location that matches a path with its query.

    What is no array of objects states nothing.
    """
    fitting = [one for one in _parse_entries(text) if matches_pattern(one[0], target)]
    if not fitting:
        return ()
    entry = max(fitting, key=lambda one: len(one[0]))[1]
    where, policy = StatementSource.TDMREP, entry.get("tdm-policy")
    found = parse_reservation(str(entry.get("tdm-reservation", "")), where)
    found += parse_policy(policy, where) if isinstance(policy, str) else []
    return tuple(found)


@lru_cache(maxsize=16)
def _parse_entries(text: str) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """The locations of a file with what is stated for each; all pages of a host ask for the same."""
    try:
        found: Any = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return ()
    entries = found[:ENTRIES_MAX] if isinstance(found, list) else []
    return [
        (location, entry)
        for entry in entries
        if isinstance(entry, dict)
        and isinstance(location := entry.get("location"), str)
        and len(location) <= LOCATION_MAX_CHARS
    ]
