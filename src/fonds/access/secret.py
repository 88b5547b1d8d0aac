"""Secrets of keys and sessions: made, recognised, and compared by what is stored of them.

A secret has 256 random bits, so that SHA-256 of it is enough: a slow hash makes up for what people choose,
and would cost every request what it costs an attacker.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from hashlib import sha256
from hmac import compare_digest
from secrets import choice, token_urlsafe

SECRET_BYTES = 32
PREFIX_CHARACTERS = 8
_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_TOKEN = re.compile(r"(fonds|session)_([a-z2-7]{8,16})_[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class Token:
    """A secret as it is carried about: its kind, `prefix`, and what nobody can guess. `text` is the whole."""

    kind: str
    prefix: str
    text: str = field(repr=False)

    @property
    def sha256hex(self) -> str:
        """What is stored of it."""
        return sha256(self.text.encode()).hexdigest()

    def is_known_by(self, sha256hex: str) -> bool:
        """Whether this is the secret that was stored so; the time it takes tells nothing of either."""
        return compare_digest(self.sha256hex, sha256hex)


def new_token(kind: str, prefix_characters: int = PREFIX_CHARACTERS) -> Token:
    """One nobody had before."""
    prefix = "".join(choice(_ALPHABET) for _ in range(prefix_characters))
    return Token(kind, prefix, f"{kind}_{prefix}_{token_urlsafe(SECRET_BYTES)}")


def token_of(kind: str, text: str) -> Token | None:
    """The secret somebody showed; None for what is none of this kind."""
    match = _TOKEN.fullmatch(text)
    return Token(kind, match[2], text) if match and match[1] == kind else None
