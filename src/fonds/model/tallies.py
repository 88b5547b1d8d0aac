"""Names and keys of tallies (stored counts): links by source, counts by day and hour, and failure
groups.

A failure group is a set of failures with the same step, reason, cause and host.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from hashlib import sha256
from urllib.parse import urlsplit

from fonds.model.entry import LINK

ENTRIES_BY_SOURCE = "entries_by_source"
"""Name of the tally that counts the links of followed sources.

Its keys are the source, the outcome, and the step and reason as one text (`encode_step_reason`).
"""
SOURCE_CHARS, POLL_MIN_CHARS = 12, 19
"""Length of the id of a source, and minimum length of the id of a poll.

The id of a poll is `SOURCE.NUMBER`. Its number has six digits or more.
"""
POINT = "."


def find_source_id(kind: str, input_id: str) -> str | None:
    """Return the id of the followed source (such as a feed) that listed an entry; None if none did.

    `kind` is the kind of the entry. `input_id` is the id of its input; for a listed link, this is a
    poll, one request of the source.
    """
    is_poll = len(input_id) >= POLL_MIN_CHARS and input_id[SOURCE_CHARS] == POINT
    return input_id[:SOURCE_CHARS] if kind == LINK and is_poll else None


def encode_step_reason(outcome: str, step: str | None, reason: str | None) -> str:
    """Encode the step and reason of an entry's outcome as one text, `STEP REASON`.

    Returns "" for pending entries, which have neither.
    """
    return "" if outcome == "pending" else f"{step or ''} {reason or ''}"


def decode_step_reason(value: str) -> tuple[str | None, str | None]:
    """Split the text `STEP REASON` of an entry's outcome into step and reason. Each is None if
    missing.
    """
    step, _, reason = value.partition(" ")
    return step or None, reason or None


SEAL = "seal"
"""Name of the tallies that are no counts, but the seals of tables (`stores/records/seals.py`)."""


# Tallies by time, with day and hour in UTC.


ENTRIES_BY_DAY = "entries_by_day"
"""Name of the tally of entries by the day on which they entered, outcome and reason."""
INPUTS_BY_DAY = "inputs_by_day"
"""Name of the tally of items that were counted in an input but not processed further.

Its keys are the day on which the input was last read, and the reason.
"""
FAILURES_BY_DAY = "failures_by_day"
"""Name of the tally of quarantined entries by failure group and the day on which they failed."""
MESSAGES_BY_HOUR = "messages_by_hour"
"""Name of the tally of messages by step and hour.

Each message counts once as `ARRIVED`, when it was recorded, and once as `ENDED`.
"""
ARRIVED, ENDED = "came", "ended"


def format_day(moment: datetime | date | None) -> str:
    """Format a date, or the UTC date of an aware time, as YYYY-MM-DD; "" for None."""
    if isinstance(moment, datetime):
        return moment.astimezone(UTC).date().isoformat()
    return moment.isoformat() if moment else ""


def format_hour(moment: datetime | None) -> str:
    """Format an aware time as YYYY-MM-DD HH in UTC; "" for None."""
    return moment.astimezone(UTC).isoformat(sep=" ")[:13] if moment else ""


# Failure groups: failures with a common cause, about which people decide together.


COUNTED_AS = "failure_groups"
"""Name of the tally of failures by failure group, step and reason."""

CAUSE_MAX_CHARS = 200
HOST_MAX_CHARS = 253
GROUP_CHARS = 16
_DETAIL_MAX_CHARS = 2_000
_MASK = "…"
_DIGEST = re.compile(
    r"(?<![A-Za-z0-9])(?:(?:[Ss][Hh][Aa]-?[0-9]{1,3}|[Mm][Dd]5)[:=][A-Za-z0-9+_-]{22,}={0,6}"
    r"|[A-Z2-7]{32,}={0,6}|(?=[a-z]*[2-7])[a-z2-7]{32,}={0,6}|[A-Za-z0-9+_-]{22,}={1,2})(?![A-Za-z0-9])"
)
"""Matches a digest (hash as text), together with the name of its algorithm if that is in front.

A digest without a name is matched in base32, in either case (SHA-1 has 32 characters, SHA-256 has
52), or in base64 with its padding.
"""
_HASH = re.compile(r"0x[0-9A-Fa-f]+|(?=[0-9A-Fa-f]*[0-9])[0-9A-Fa-f]{12,}|[A-Z2-7]{32}")
_NUMBER = re.compile(r"[0-9]+(?:[.,:][0-9]+)*")
_REPEATED_MASKS = re.compile(r"…(?:[ ,]*…)+")


def normalize_cause(detail: str) -> str:
    """Return the detail of a failure with everything masked that differs between similar failures.

    URLs, paths, hashes and numbers become an ellipsis. White space is collapsed, and at most 200
    characters are kept. Equal results mean the same cause.
    """
    words = (
        _MASK if "/" in word or "\\" in word else _mask_word(word)
        for word in detail[:_DETAIL_MAX_CHARS].split()
    )
    return _REPEATED_MASKS.sub(_MASK, " ".join(words))[:CAUSE_MAX_CHARS].rstrip()


def _mask_word(word: str) -> str:
    return _NUMBER.sub(_MASK, _HASH.sub(_MASK, _DIGEST.sub(_MASK, word)))


def find_host(url: str) -> str:
    """Return the host of an http(s) URL in lower case; "" if there is none."""
    try:
        parts = urlsplit(url)
        host = parts.hostname if parts.scheme in ("http", "https") else None
    except ValueError:
        return ""
    return (host or "")[:HOST_MAX_CHARS]


def compute_failure_group(step: str, reason: str, detail: str, url: str) -> str:
    """Return the id of the failure group of a failure, as 16 hex digits.

    The id is a hash of the step, the reason, the normalized detail and the host of `url`.
    """
    group_key = "\0".join((step, reason, normalize_cause(detail), find_host(url)))
    return sha256(group_key.encode("utf-8", "surrogatepass")).hexdigest()[:GROUP_CHARS]
