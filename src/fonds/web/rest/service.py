"""What the routes of the service are given: tables, who changes them, and who builds what is asked for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated

import msgspec
from fastapi import Depends, Request
from starlette.responses import Response

from fonds.collections import configurations
from fonds.collections.changing.writing import Changes
from fonds.collections.configurations import Configuration
from fonds.collections.names import DEFAULT, Name
from fonds.collections.reading.alike import SimilarPairsCache
from fonds.collections.reading.clusterings import (
    Collection,
    collection,
    collections,
    served_timestamp,
)
from fonds.collections.reading.curated import ids_there
from fonds.collections.reading.times import Times
from fonds.collections.tables import Tables
from fonds.model.errors import LimitError
from fonds.model.names import nearest, no_such
from fonds.ports import Stores
from fonds.web.problems import RefusedError
from fonds.web.rest.paths import conf_named, named
from fonds.web.rest.running import Runs
from fonds.wiring.recurring.collections import changes_of

NAMES_MAX = 1000
"""So many names are looked at to find the one that was meant."""


@dataclass(slots=True)
class Service:
    """Collections over the stores of a home. Safe for several threads."""

    changes: Changes
    runs: Runs
    times: Times = field(default_factory=Times)
    similar_pairs: SimilarPairsCache = field(default_factory=SimilarPairsCache)
    _declared: bool = False
    _complete: bool = False
    _guard: threading.Lock = field(default_factory=threading.Lock)

    @property
    def tables(self) -> Tables:
        """The tables; they may not be there, in a home where nobody made a collection."""
        return self.changes.tables

    def are_there(self) -> bool:
        """Whether somebody made the tables."""
        self._declared = self._declared or self.tables.are_there()
        return self._declared

    def writing(self) -> Changes:
        """What changes collections, the tables made where they are not there."""
        with self._guard:
            if not self._complete and not self.tables.are_complete():
                self.tables.declare()
            self._complete = True
        return self.changes

    def has_theme(self, name: Name, conf: str, theme_id: str) -> bool:
        """Whether what is served of a collection has a theme of this id."""
        at = served_timestamp(self.tables, name, conf)
        return at is not None and theme_id in ids_there(self.tables, name, conf, at)

    def every(
        self, namespace: str | None = None, after: Name | None = None
    ) -> Iterator[Collection]:
        """All collections, or those of a namespace, behind one."""
        return collections(self.tables, namespace, after) if self.are_there() else iter(())

    def collection(self, namespace: str, key: str) -> Collection:
        """A collection. Raises RefusedError 404 that names the nearest."""
        name = named(namespace, key)
        found = collection(self.tables, name) if self.are_there() else None
        if found is not None:
            return found
        keys = [
            one.name.key for one, _ in zip(self.every(namespace), range(NAMES_MAX), strict=False)
        ]
        near = nearest(key, keys)
        said = no_such(f"collection in the namespace {namespace!r} with the key", key, keys)
        raise RefusedError(404, _sentence(said), parameter="key", nearest=near)

    def configuration(self, namespace: str, conf: str, parameter: str = "conf") -> Configuration:
        """A configuration. Raises RefusedError 404 that names the nearest."""
        named(namespace, "-")
        conf_named(conf, parameter)
        if not self.are_there() and conf == DEFAULT:
            return Configuration()
        try:
            if not self.are_there():
                raise ValueError(no_such("configuration", conf, [DEFAULT]))
            return configurations.get(self.tables, namespace, conf)
        except ValueError as error:
            known = configurations.every(self.tables, namespace) if self.are_there() else ()
            near = nearest(conf, [*known, DEFAULT])
            raise RefusedError(
                404, _sentence(str(error)), parameter=parameter, nearest=near
            ) from error


def make_service(stores: Stores, prefix: str = "", threads: int | None = None) -> Service:
    """The service of this process over `stores`; `prefix` stands before the names of its tables."""
    changes = changes_of(stores, Tables(stores.table, prefix))
    return Service(changes, Runs(changes, threads))


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


async def _service(request: Request) -> Service:
    found: Service = request.app.state.service
    return found


async def _body(request: Request) -> bytes:
    return await request.body()


TheService = Annotated[Service, Depends(_service)]
Body = Annotated[bytes, Depends(_body)]
