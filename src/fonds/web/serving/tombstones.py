"""The one place where requests for files that are not shown are answered: reason class and date, no more."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import Request
from starlette.exceptions import HTTPException

from fonds.kinds.embargoes import embargoed
from fonds.library.tracing.taken_down import taken_down
from fonds.model.embargo import EXPLAINED, EmbargoReason
from fonds.model.keys import sha1_from_text
from fonds.model.takedown import ReasonClass
from fonds.web.rendering import OpenStores, day

NAMING = ("key",)
"""Parameters that name a thing, beside whatever stands in the path."""
ASKED_MAX, ASKED_MAX_CHARS = 20, 100


def not_hidden(request: Request, stores: OpenStores) -> None:
    """Raises HTTPException when a part of the address, or what is asked for by key, is the SHA-1 of a file
    that is not shown, in whatever spelling: 410 where it was taken down, 403 while it is under embargo."""
    asked = sorted(set(_asked(request)))
    if not asked:
        return
    for gone in taken_down(stores.records, asked).values():
        why = ReasonClass(gone.reason_class).explanation
        told = f"Taken down on {day(gone.row_created)} ({gone.reason_class}): {why}."
        raise HTTPException(410, told)
    for row in embargoed(stores.records, asked).values():
        why = EXPLAINED[EmbargoReason(row.reason_class)]
        told = f"Under embargo until {day(row.until)} ({row.reason_class}): {why}."
        raise HTTPException(403, told)


def _asked(request: Request) -> Iterator[str]:
    """The SHA-1s a request names, in hex; at most twenty are looked at."""
    values = [str(value) for value in request.path_params.values()]
    values += [value for name in NAMING for value in request.query_params.getlist(name)]
    for value in values[:ASKED_MAX]:
        raw = sha1_from_text(value[:ASKED_MAX_CHARS])
        if raw is not None:
            yield raw.hex()
