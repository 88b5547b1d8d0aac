"""What a tdmrep.json states for a path.

Source: TDM Reservation Protocol, "TDM file on the origin server".
Bound: 10,000 entries; patterns matched piece by piece.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fonds.model.rights import StatedIn, Statement
from fonds.rights.preferences import policy_statements, reservation_statements
from fonds.rights.robots_txt import matches

ENTRIES_MAX = 10_000


def tdmrep_statements(text: str, target: str) -> tuple[Statement, ...]:
    """Return reservation and policy of the longest location that matches a path with its query.

    What is no array of objects states nothing.
    """
    try:
        found: Any = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return ()
    entries = (
        [one for one in found[:ENTRIES_MAX] if isinstance(one, dict)]
        if isinstance(found, list)
        else []
    )
    fitting = [
        (len(location), entry)
        for entry in entries
        if isinstance(location := entry.get("location"), str) and matches(location, target)
    ]
    if not fitting:
        return ()
    entry = max(fitting, key=lambda one: one[0])[1]
    where, policy = StatedIn.TDMREP, entry.get("tdm-policy")
    found = reservation_statements(str(entry.get("tdm-reservation", "")), where)
    found += policy_statements(policy, where) if isinstance(policy, str) else []
    return tuple(found)
