"""Links by the source that found them: what they are counted as, and which entries they are."""

from __future__ import annotations

from fonds.model.entry import LINK

ENTRIES_BY_SOURCE = "entries_by_source"
"""Links of followed sources by source, outcome, and step and reason together (`told`)."""
SOURCE_CHARACTERS, POLL_CHARACTERS_MIN = 12, 19
"""Of the id of a source, and of a poll: `SOURCE.NUMBER`, the number with six digits or more."""
POINT = "."


def source_of(kind: str, input_id: str) -> str | None:
    """The source whose poll found an entry of this kind and input; None for what no poll found."""
    is_poll = len(input_id) >= POLL_CHARACTERS_MIN and input_id[SOURCE_CHARACTERS] == POINT
    return input_id[:SOURCE_CHARACTERS] if kind == LINK and is_poll else None


def told(outcome: str, step: str | None, reason: str | None) -> str:
    """Step and reason as one value; "" of those that are not over, for which neither is decided."""
    return "" if outcome == "pending" else f"{step or ''} {reason or ''}"


def untold(value: str) -> tuple[str | None, str | None]:
    """Step and reason out of that value, None for none."""
    step, _, reason = value.partition(" ")
    return step or None, reason or None
