"""Links by the source that found them: what they are counted as, and which entries they are."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from hashlib import sha256
from urllib.parse import urlsplit

from fonds.model.entry import LINK

ENTRIES_BY_SOURCE = "entries_by_source"
"""Links of followed sources by source, outcome, and step and reason together (`encode_step_reason`)."""
SOURCE_CHARACTERS, POLL_MIN_CHARS = 12, 19
"""Of the id of a source, and of a poll: `SOURCE.NUMBER`, the number with six digits or more."""
POINT = "."


def find_source_id(kind: str, input_id: str) -> str | None:
    """The source whose poll found an entry of this kind and input; None for what no poll found."""
    is_poll = len(input_id) >= POLL_MIN_CHARS and input_id[SOURCE_CHARACTERS] == POINT
    return input_id[:SOURCE_CHARACTERS] if kind == LINK and is_poll else None


def encode_step_reason(outcome: str, step: str | None, reason: str | None) -> str:
    """Step and reason as one value; "" of those that are not over, for which neither is decided."""
    return "" if outcome == "pending" else f"{step or ''} {reason or ''}"


def decode_step_reason(value: str) -> tuple[str | None, str | None]:
    """Step and reason out of that value, None for none."""
    step, _, reason = value.partition(" ")
    return step or None, reason or None


# Tallies by time: what they are counted as, and the day and the hour a moment belongs to, both in UTC.


ENTRIES_BY_DAY = "entries_by_day"
"""Entries by the day they entered, outcome and reason."""
INPUTS_BY_DAY = "inputs_by_day"
"""What inputs counted and did not emit, by the day the input was last read, and reason."""
FAILURES_BY_DAY = "failures_by_day"
"""What is in quarantine by failure group and the day it failed."""
MESSAGES_BY_HOUR = "messages_by_hour"
"""Messages of a step by the hour, once as `ARRIVED` when they were promised and once as `ENDED` when over."""
ARRIVED, ENDED = "came", "ended"


def format_day(moment: datetime | date | None) -> str:
    """YYYY-MM-DD; "" for None."""
    if isinstance(moment, datetime):
        return moment.astimezone(UTC).date().isoformat()
    return moment.isoformat() if moment else ""


def format_hour(moment: datetime | None) -> str:
    """YYYY-MM-DD HH; "" for None."""
    return moment.astimezone(UTC).isoformat(sep=" ")[:13] if moment else ""


# What failures have in common: the cause their details tell of, and the group that is decided about.


COUNTED_AS = "failure_groups"
"""What the tallies of failures by group, step and reason are counted as."""

CAUSE_MAX_CHARS = 200
HOST_MAX_CHARS = 253
GROUP_CHARACTERS = 16
_DETAIL_MAX_CHARS = 2_000
_MASK = "…"
_DIGEST = re.compile(
    r"(?<![A-Za-z0-9])(?:(?:[Ss][Hh][Aa]-?[0-9]{1,3}|[Mm][Dd]5)[:=][A-Za-z0-9+_-]{22,}={0,6}"
    r"|[A-Z2-7]{32,}={0,6}|(?=[a-z]*[2-7])[a-z2-7]{32,}={0,6}|[A-Za-z0-9+_-]{22,}={1,2})(?![A-Za-z0-9])"
)
"""A digest behind the name of its algorithm, which goes with it; or one by itself in base32, in either case
(SHA-1 has 32 characters, SHA-256 has 52), or in base64 with its padding."""
_HASH = re.compile(r"0x[0-9A-Fa-f]+|(?=[0-9A-Fa-f]*[0-9])[0-9A-Fa-f]{12,}|[A-Z2-7]{32}")
_NUMBER = re.compile(r"[0-9]+(?:[.,:][0-9]+)*")
_REPEATED_MASKS = re.compile(r"…(?:[ ,]*…)+")


def normalize_cause(detail: str) -> str:
    """A detail without what differs from one failure to the next: addresses and paths, hashes, numbers.

    Each of them is an ellipsis; blanks are one blank, and at most 200 characters are left.
    """
    words = (
        _MASK if "/" in word or "\\" in word else _mask_word(word)
        for word in detail[:_DETAIL_MAX_CHARS].split()
    )
    return _REPEATED_MASKS.sub(_MASK, " ".join(words))[:CAUSE_MAX_CHARS].rstrip()


def _mask_word(word: str) -> str:
    return _NUMBER.sub(_MASK, _HASH.sub(_MASK, _DIGEST.sub(_MASK, word)))


def find_host(url: str) -> str:
    """The host an http(s) URL names, in lower case; "" for what has none."""
    try:
        parts = urlsplit(url)
        host = parts.hostname if parts.scheme in ("http", "https") else None
    except ValueError:
        return ""
    return (host or "")[:HOST_MAX_CHARS]


def compute_failure_group(step: str, reason: str, detail: str, url: str) -> str:
    """The id of the group a failure belongs to, 16 hex digits: its step, reason, cause and host."""
    what = "\0".join((step, reason, normalize_cause(detail), find_host(url)))
    return sha256(what.encode("utf-8", "surrogatepass")).hexdigest()[:GROUP_CHARACTERS]
