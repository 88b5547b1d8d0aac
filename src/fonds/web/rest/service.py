"""What the routes of the service are given, and how they answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import msgspec
from fastapi import Depends, Request
from starlette.responses import Response

from fonds.model.errors import LimitError
from fonds.web.problems import RefusedError
from fonds.wiring.recurring.collections import CollectionService


@contextmanager
def judged(pointer: str | None = None) -> Iterator[None]:
    """What a room says of values that are none, as a refusal: 413 for what is too large, 400 for the rest."""
    try:
        yield
    except LimitError as error:
        raise RefusedError(413, _sentence(str(error)), pointer=pointer) from error
    except ValueError as error:
        raise RefusedError(400, _sentence(str(error)), pointer=pointer) from error


def told(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A value as JSON."""
    return Response(msgspec.json.encode(value), status, headers, "application/json")


def _sentence(said: str) -> str:
    return f"{said[:1].upper()}{said[1:]}."


async def _service(request: Request) -> CollectionService:
    found: CollectionService = request.app.state.service
    return found


async def _body(request: Request) -> bytes:
    return await request.body()


TheService = Annotated[CollectionService, Depends(_service)]
Body = Annotated[bytes, Depends(_body)]
