"""What a person changes by a command is noted, as what is changed over the web is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from fonds.access.acts import REFUSED, Acts
from fonds.model.errors import FondsError
from fonds.model.secrets import without_secrets
from fonds.ports import Records
from fonds.process_identity import logged_in
from fonds.wiring.backends import now


@contextmanager
def noted(records: Records, what: str) -> Iterator[None]:
    """Note an act before it is done, and how it ended; one that was broken off has no end."""
    acts = Acts(records, now)
    act = acts.begin(local_user(), without_secrets(what))
    try:
        yield
    except (ValueError, FondsError, click.ClickException):
        acts.end(act, REFUSED)
        raise
    acts.end(act)


def local_user() -> str:
    """Who runs this command, as acts name them: no key has a name with a colon."""
    return f"local:{logged_in()}"
