"""Names and keys of tallies: links by source, counts by day and hour, failure groups."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from hashlib import sha256
from urllib.parse import urlsplit

from fonds.model.entry import LINK

ENTRIES_BY_SOURCE = "entries_by_source"
"""Links of followed sources by source, outcome, and step and reason together
(`encode_step_reason`).
"""
SOURCE_CHARACTERS, POLL_MIN_CHARS = 12, 19
"""Length of a source id, and of a poll id: `SOURCE.NUMBER`, the number with six digits or more."""
POINT = "."


def find_source_id(kind: str, input_id: str) -> str | None:
    """Return the id of the source whose poll found an entry; None if no poll found the entry."""
    is_poll = len(input_id) >= POLL_MIN_CHARS and input_id[SOURCE_CHARACTERS] == POINT
    return input_id[:SOURCE_CHARACTERS] if kind == LINK and is_poll else None


def encode_step_reason(outcome: str, step: str | None, reason: str | None) -> str:
    """Encode step and reason as one value; "" for pending entries, which have neither."""
    return "" if outcome == "pending" else f"{step or ''} {reason or ''}"


def decode_step_reason(value: str) -> tuple[str | None, str | None]:
    """Split a value from `encode_step_reason` into step and reason; None for a missing part."""
    step, _, reason = value.partition(" ")
    return step or None, reason or None


# Tallies by time, with day and hour in UTC.


ENTRIES_BY_DAY = "entries_by_day"
"""Entries by the day they entered, outcome and reason."""
INPUTS_BY_DAY = "inputs_by_day"
"""Items that inputs counted and did not emit, by the day the input was last read, and reason."""
FAILURES_BY_DAY = "failures_by_day"
"""Quarantined items by failure group and the day they failed."""
MESSAGES_BY_HOUR = "messages_by_hour"
"""Messages of a step by hour, once as `ARRIVED` when they were recorded and once as `ENDED`."""
ARRIVED, ENDED = "came", "ended"


def format_day(moment: datetime | date | None) -> str:
    """Format a date, or the UTC date of a time, as YYYY-MM-DD; "" for None."""
    if isinstance(moment, datetime):
        return moment.astimezone(UTC).date().isoformat()
    return moment.isoformat() if moment else ""


def format_hour(moment: datetime | None) -> str:
    """Format a time as YYYY-MM-DD HH in UTC; "" for None."""
    return moment.astimezone(UTC).isoformat(sep=" ")[:13] if moment else ""


# Failure groups: failures with a common cause, about which people decide together.


COUNTED_AS = "failure_groups"
"""Name of the tallies of failures by group, step and reason."""

CAUSE_MAX_CHARS = 200
HOST_MAX_CHARS = 253
GROUP_CHARACTERS = 16
_DETAIL_MAX_CHARS = 2_000
_MASK = "…"
_DIGEST = re.compile(
    r"(?<![A-Za-z0-9])(?:(?:[Ss][Hh][Aa]-?[0-9]{1,3}|[Mm][Dd]5)[:=][A-Za-z0-9+_-]{22,}={0,6}"
    r"|[A-Z2-7]{32,}={0,6}|(?=[a-z]*[2-7])[a-z2-7]{32,}={0,6}|[A-Za-z0-9+_-]{22,}={1,2})(?![A-Za-z0-9])"
)
"""A digest with its algorithm's name, which is masked too; or a bare one in base32, in either case
(SHA-1 has 32 characters, SHA-256 has 52), or in base64 with its padding.
"""
_HASH = re.compile(r"0x[0-9A-Fa-f]+|(?=[0-9A-Fa-f]*[0-9])[0-9A-Fa-f]{12,}|[A-Z2-7]{32}")
_NUMBER = re.compile(r"[0-9]+(?:[.,:][0-9]+)*")
_REPEATED_MASKS = re.compile(r"…(?:[ ,]*…)+")


def normalize_cause(detail: str) -> str:
    """Mask what differs between failures in a detail: addresses, paths, hashes, numbers.

    Each becomes an ellipsis. Spaces are collapsed, and at most 200 characters are kept.
    """
    words = (
        _MASK if "/" in word or "\\" in word else _mask_word(word)
        for word in detail[:_DETAIL_MAX_CHARS].split()
    )
    return _REPEATED_MASKS.sub(_MASK, " ".join(words))[:CAUSE_MAX_CHARS].rstrip()


def _mask_word(word: str) -> str:
    return _NUMBER.sub(_MASK, _HASH.sub(_MASK, _DIGEST.sub(_MASK, word)))


def find_host(url: str) -> str:
    """Return the host of an http(s) URL in lower case; "" without one."""
    try:
        parts = urlsplit(url)
        host = parts.hostname if parts.scheme in ("http", "https") else None
    except ValueError:
        return ""
    return (host or "")[:HOST_MAX_CHARS]


def compute_failure_group(step: str, reason: str, detail: str, url: str) -> str:
    """Return the id of a failure's group, 16 hex digits, from its step, reason, cause and host."""
    group_key = "\0".join((step, reason, normalize_cause(detail), find_host(url)))
    return sha256(group_key.encode("utf-8", "surrogatepass")).hexdigest()[:GROUP_CHARACTERS]
