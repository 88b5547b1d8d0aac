"""What failures have in common: the cause their details tell of, and the group that is decided about."""

from __future__ import annotations

import re
from hashlib import sha256
from urllib.parse import urlsplit

COUNTED_AS = "failure_groups"
"""What the tallies of failures by group, step and reason are counted as."""

CAUSE_CHARACTERS_MAX = 200
HOST_CHARACTERS_MAX = 253
GROUP_CHARACTERS = 16
_DETAIL_CHARACTERS_MAX = 2_000
_GONE = "…"
_DIGEST = re.compile(
    r"(?<![A-Za-z0-9])(?:(?:[Ss][Hh][Aa]-?[0-9]{1,3}|[Mm][Dd]5)[:=][A-Za-z0-9+_-]{22,}={0,6}"
    r"|[A-Z2-7]{32,}={0,6}|(?=[a-z]*[2-7])[a-z2-7]{32,}={0,6}|[A-Za-z0-9+_-]{22,}={1,2})(?![A-Za-z0-9])"
)
"""A digest behind the name of its algorithm, which goes with it; or one by itself in base32, in either case
(SHA-1 has 32 characters, SHA-256 has 52), or in base64 with its padding."""
_HASH = re.compile(r"0x[0-9A-Fa-f]+|(?=[0-9A-Fa-f]*[0-9])[0-9A-Fa-f]{12,}|[A-Z2-7]{32}")
_NUMBER = re.compile(r"[0-9]+(?:[.,:][0-9]+)*")
_GONE_AGAIN = re.compile(r"…(?:[ ,]*…)+")


def cause(detail: str) -> str:
    """A detail without what differs from one failure to the next: addresses and paths, hashes, numbers.

    Each of them is an ellipsis; blanks are one blank, and at most 200 characters are left.
    """
    words = (
        _GONE if "/" in word or "\\" in word else _without(word)
        for word in detail[:_DETAIL_CHARACTERS_MAX].split()
    )
    return _GONE_AGAIN.sub(_GONE, " ".join(words))[:CAUSE_CHARACTERS_MAX].rstrip()


def _without(word: str) -> str:
    return _NUMBER.sub(_GONE, _HASH.sub(_GONE, _DIGEST.sub(_GONE, word)))


def host_of(url: str) -> str:
    """The host an http(s) URL names, in lower case; "" for what has none."""
    try:
        parts = urlsplit(url)
        host = parts.hostname if parts.scheme in ("http", "https") else None
    except ValueError:
        return ""
    return (host or "")[:HOST_CHARACTERS_MAX]


def failure_group(step: str, reason: str, detail: str, url: str) -> str:
    """The id of the group a failure belongs to, 16 hex digits: its step, reason, cause and host."""
    what = "\0".join((step, reason, cause(detail), host_of(url)))
    return sha256(what.encode("utf-8", "surrogatepass")).hexdigest()[:GROUP_CHARACTERS]
