"""The one place where requests for files that were taken down are answered: 410, reason class and date."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import Request
from starlette.exceptions import HTTPException

from fonds.library.tracing.taken_down import taken_down
from fonds.model.keys import sha1_from_text
from fonds.model.takedown import ReasonClass
from fonds.web.rendering import OpenStores, day

NAMING = ("key",)
"""Parameters that name a thing, beside whatever stands in the path."""
ASKED_MAX, ASKED_MAX_CHARS = 20, 100


def not_taken_down(request: Request, stores: OpenStores) -> None:
    """Raises HTTPException 410 when a part of the address, or what is asked for by key, is the SHA-1 of a
    file that was taken down, in whatever spelling."""
    asked = sorted(set(_asked(request)))
    found = taken_down(stores.records, asked) if asked else {}
    for row in found.values():
        why = ReasonClass(row.reason_class).explanation
        told = f"Taken down on {day(row.row_created)} ({row.reason_class}): {why}."
        raise HTTPException(410, told)


def _asked(request: Request) -> Iterator[str]:
    """The SHA-1s a request names, in hex; at most twenty are looked at."""
    values = [str(value) for value in request.path_params.values()]
    values += [value for name in NAMING for value in request.query_params.getlist(name)]
    for value in values[:ASKED_MAX]:
        raw = sha1_from_text(value[:ASKED_MAX_CHARS])
        if raw is not None:
            yield raw.hex()
