"""A home to work on by itself, as commands do: with stores of its own, so that none of them stays in the
hands of the server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fastapi import Request

from fonds.config import Settings
from fonds.model.errors import ConfigurationError
from fonds.ports import Stores
from fonds.runtime.homelock import HomeLock
from fonds.web.problems import RefusedError
from fonds.wiring.backends import all_shared, close_stores, open_stores


@contextmanager
def alone(request: Request, settings: Settings) -> Iterator[Stores]:
    """Stores to be changed. Raises RefusedError 409 while another process works on the home alone, and for
    what keeps the home from being worked on."""
    home: Path | None = request.app.state.home
    if home is None:
        whole: Stores = request.app.state.whole_stores
        yield whole
        return
    try:
        with HomeLock(home, shared=all_shared(settings)):
            stores = open_stores(home, settings)
            try:
                yield stores
            finally:
                close_stores(stores)
    except ConfigurationError as error:
        raise RefusedError(409, f"Nothing was done: {error}") from error
