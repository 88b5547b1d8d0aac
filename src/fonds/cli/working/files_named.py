"""Files named on the command line by their SHA-1s, and what is noted with them."""

from __future__ import annotations

from collections.abc import Sequence

import click

from fonds.model.embargo import NOTE_CHARACTERS_MAX
from fonds.model.keys import sha1_from_text

AT_ONCE_MAX = 1_000


def files_named(keys: Sequence[str]) -> list[str]:
    """The SHA-1s in hex, each once. Raises click.UsageError for what is none, and for too many."""
    found = {key: sha1_from_text(key) for key in keys}
    for key, raw in found.items():
        if raw is None:
            raise click.UsageError(f"{key[:100]!r} is not a SHA-1 in hex or base32")
    if len(found) > AT_ONCE_MAX:
        raise click.UsageError(f"at most {AT_ONCE_MAX:,} at once")
    return list(dict.fromkeys(raw.hex() for raw in found.values() if raw is not None))


def checked_note(note: str) -> str:
    """The note itself. Raises click.UsageError for a long one."""
    if len(note) > NOTE_CHARACTERS_MAX:
        raise click.UsageError(f"--note has at most {NOTE_CHARACTERS_MAX} characters")
    return note
