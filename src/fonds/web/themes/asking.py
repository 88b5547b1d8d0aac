"""What a page of themes is asked about: a collection, a configuration, a clustering; what is none is told."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

from fastapi import HTTPException
from pydantic import Field

from fonds.collections.configurations import every
from fonds.collections.names import DEFAULT, Name, checked
from fonds.collections.reading.clusterings import (
    Clustering,
    Collection,
    clusterings,
    collection,
)
from fonds.model.names import no_such
from fonds.model.numbers import EXACT_MAX
from fonds.web.parameters import shorten
from fonds.web.rendering import sentence
from fonds.web.themes.addresses import unpart
from fonds.wiring.recurring.collections import CollectionService

NAMES_MAX = 10_000
LEVELS_MAX = 10
SHOWN_CHARS = 100


CONF: Any = Field("", max_length=100, description="The configuration it was grouped by")
AT: Any = Field(
    None, ge=0, le=EXACT_MAX, description="The clustering of this time, in seconds since 1970"
)
LEVEL: Any = Field(0, ge=0, le=LEVELS_MAX, description="The granularity, 0 for the first")


class Chosen(Protocol):
    """Which clustering of a collection; without any word the one that is served."""

    @property
    def conf(self) -> str:
        """The configuration, empty for the usual one."""

    @property
    def at(self) -> int | None:
        """The clustering's time, None for the one that is served."""

    @property
    def level(self) -> int:
        """The granularity."""


@dataclass(frozen=True, slots=True)
class Served:
    """Of a configuration the clustering that is served."""

    conf: str
    at: int | None = None
    level: int = 0


@dataclass(frozen=True, slots=True)
class Asked:
    """The collection asked for, the configuration, and the clustering: None where none was built by it yet.

    `clusterings` are all of the configuration, the newest first; `before` is the one before that asked for,
    None where none is kept, and for other levels than the first.
    """

    collection: Collection
    conf: str
    confs: tuple[str, ...]
    level: int
    clusterings: tuple[Clustering, ...]
    clustering: Clustering | None
    before: Clustering | None

    @property
    def name(self) -> Name:
        """The collection's name."""
        return self.collection.name

    def params(self) -> dict[str, str | int | None]:
        """The same clustering in a link to another page of it; what is served needs no word."""
        at = self.clustering
        return {
            "conf": self.conf if self.conf != self.confs[0] else None,
            "at": None if at is None or at.is_served else at.timestamp,
            "level": self.level or None,
        }


def asked(themes: CollectionService, namespace: str, key: str, form: Chosen) -> Asked:
    """What is asked for. Raises HTTPException 404 for a collection there is not and 400 for a
    configuration, a time or a level there is not, naming the nearest."""
    found = _collection(themes, namespace, key)
    served = {one.conf for one in found.served}
    confs = tuple(sorted(served, key=lambda conf: (conf != DEFAULT, conf))) or (DEFAULT,)
    conf = form.conf or confs[0]
    if conf not in served:
        known = sorted(served | every(themes.tables, found.name.namespace).keys())
        if conf not in known:
            raise HTTPException(400, _sentence(no_such("configuration", conf, known)))
    there = tuple(clusterings(themes.tables, found.name, conf))
    at = _clustering(there, form.at)
    if at is not None and form.level >= at.levels:
        levels = map(str, range(at.levels))
        raise HTTPException(400, _sentence(no_such("level", str(form.level), levels)))
    older = [one for one in there if at is not None and one.timestamp < at.timestamp]
    before = older[0] if older and not form.level else None
    return Asked(found, conf, confs, form.level, there, at, before)


def _collection(themes: CollectionService, namespace: str, key: str) -> Collection:
    name = Name(unpart(namespace), unpart(key))
    try:
        checked(name)
    except ValueError as error:
        raise HTTPException(404, _sentence(str(error))) from error
    found = collection(themes.tables, name) if themes.are_there() else None
    if found is None:
        names = [str(one.name) for one in islice(themes.every(), NAMES_MAX)]
        raise HTTPException(404, _sentence(no_such("collection", str(name), names)))
    return found


def _clustering(there: tuple[Clustering, ...], at: int | None) -> Clustering | None:
    if at is None:
        return next((one for one in there if one.is_served), None)
    found = next((one for one in there if one.timestamp == at), None)
    if found is None:
        times = [str(one.timestamp) for one in there]
        raise HTTPException(400, _sentence(no_such("clustering of the time", str(at), times)))
    return found


def _sentence(said: str) -> str:
    return f"{sentence(shorten(said, 2_000))}."
