"""What a person changes by a command is noted, as what is changed over the web is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from fonds.access.acts import REFUSED, ActLog
from fonds.isolation.process_identity import find_login_name
from fonds.model.errors import FondsError
from fonds.model.keys import parse_sha1
from fonds.model.restrictions import NOTE_MAX_CHARS
from fonds.model.secrets import redact_secrets
from fonds.ports import Records
from fonds.wiring.stores import get_utc_now


@contextmanager
def record_act(records: Records, description: str) -> Iterator[None]:
    """Note an act before it is done, and how it ended; one that was broken off has no end."""
    acts = ActLog(records, get_utc_now)
    act = acts.begin(find_local_user(), redact_secrets(description))
    try:
        yield
    except (ValueError, FondsError, click.ClickException):
        acts.end(act, REFUSED)
        raise
    acts.end(act)


def find_local_user() -> str:
    """Who runs this command, as acts name them: no key has a name with a colon."""
    return f"local:{find_login_name()}"


# Files named on the command line by their SHA-1s, and what is noted with them.


FILES_MAX = 1_000


def parse_sha1s(keys: Sequence[str]) -> list[str]:
    """The SHA-1s in hex, each once. Raises click.UsageError for what is none, and for too many."""
    found = {key: parse_sha1(key) for key in keys}
    for key, raw in found.items():
        if raw is None:
            raise click.UsageError(f"{key[:100]!r} is not a SHA-1 in hex or base32")
    if len(found) > FILES_MAX:
        raise click.UsageError(f"at most {FILES_MAX:,} at once")
    return list(dict.fromkeys(raw.hex() for raw in found.values() if raw is not None))


def validate_note(note: str) -> str:
    """The note itself. Raises click.UsageError for a long one."""
    if len(note) > NOTE_MAX_CHARS:
        raise click.UsageError(f"--note has at most {NOTE_MAX_CHARS} characters")
    return note
