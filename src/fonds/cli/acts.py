"""Record the actions of commands in the same log as the actions of the web pages.

Also validate the SHA-1s and notes that commands which change the library accept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from fonds.access.action_log import REFUSED, ActionLog
from fonds.isolation.process_identity import find_login_name
from fonds.model.errors import FondsError
from fonds.model.keys import parse_sha1
from fonds.model.restrictions import NOTE_MAX_CHARS
from fonds.model.rows import ActRow
from fonds.model.secrets import redact_secrets
from fonds.ports import Records
from fonds.wiring.stores import get_utc_now

EXPORT_ACT = "fonds export --out "


@contextmanager
def record_act(records: Records, description: str) -> Iterator[None]:
    """Context manager that records an action in the action log: its start, and its outcome at the
    end.

    `description` is the command line; passwords in it are hidden. The outcome says that the action
    was refused if a ValueError, FondsError or click error ends it. An action that ends with any
    other error or is killed has no outcome.
    """
    acts = ActionLog(records, get_utc_now)
    act = acts.begin(find_local_user(), redact_secrets(description))
    try:
        yield
    except (ValueError, FondsError, click.ClickException):
        acts.end(act, REFUSED)
        raise
    acts.end(act)


def record_export(records: Records, path: Path) -> None:
    """Record the path of an export in the action log, so that a takedown can name it. A home that
    is read-only records nothing.
    """
    with suppress(FondsError), record_act(records, f"{EXPORT_ACT}{path.absolute()}"):
        pass


def list_export_paths(records: Records) -> list[str]:
    """Return the paths of earlier exports in the action log that exist, without duplicates."""
    paths = {
        row.what.removeprefix(EXPORT_ACT)
        for row in records.find(ActRow)
        if row.what.startswith(EXPORT_ACT)
    }
    return sorted(path for path in paths if Path(path).exists())


def find_local_user() -> str:
    """Return the name of the local user for the action log: `local:` and the login name.

    Names of access keys contain no colon, so no key has the same name in the log.
    """
    return f"local:{find_login_name()}"


FILES_MAX = 1_000


def parse_sha1s(keys: Sequence[str]) -> list[str]:
    """Return SHA-1s, given in hex or base32, in hex without duplicates.

    Raises click.UsageError for an invalid SHA-1, and for more than 1,000 SHA-1s.
    """
    digests = {key: parse_sha1(key) for key in keys}
    for key, raw in digests.items():
        if raw is None:
            raise click.UsageError(f"{key[:100]!r} is not a SHA-1 in hex or base32.")
    if len(digests) > FILES_MAX:
        raise click.UsageError(f"At most {FILES_MAX:,} files per command.")
    return list(dict.fromkeys(raw.hex() for raw in digests.values() if raw is not None))


def validate_note(note: str) -> str:
    """Return the text of a user's note unchanged. Raises click.UsageError if it is too long."""
    if len(note) > NOTE_MAX_CHARS:
        raise click.UsageError(f"--note can have at most {NOTE_MAX_CHARS} characters.")
    return note
