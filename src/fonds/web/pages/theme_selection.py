"""What a page of themes is asked about: a collection, a configuration, a clustering; what is none is told."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

from fastapi import HTTPException
from pydantic import Field

from fonds.grouping.configuration import list_configurations
from fonds.grouping.names import DEFAULT, CollectionName, validate_name
from fonds.grouping.views.clusterings import (
    ClusteringView,
    CollectionView,
    find_collection,
    list_clusterings,
)
from fonds.model.encoding import EXACT_MAX
from fonds.model.suggestions import format_unknown_name
from fonds.web.html.rendering import capitalize
from fonds.web.pages.theme_links import unquote_part
from fonds.web.serving.parameters import shorten
from fonds.wiring.collections import CollectionService

NAMES_MAX = 10_000
LEVELS_MAX = 10
EXCERPT_CHARS = 100


CONF: Any = Field("", max_length=100, description="The configuration it was grouped by")
TIMESTAMP_FIELD: Any = Field(
    None, ge=0, le=EXACT_MAX, description="The clustering of this time, in seconds since 1970"
)
LEVEL: Any = Field(0, ge=0, le=LEVELS_MAX, description="The granularity, 0 for the first")


class SelectionForm(Protocol):
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
class ServedConfiguration:
    """Of a configuration the clustering that is served."""

    conf: str
    at: int | None = None
    level: int = 0


@dataclass(frozen=True, slots=True)
class Selection:
    """The collection asked for, the configuration, and the clustering: None where none was built by it yet.

    `clusterings` are all of the configuration, the newest first; `previous` is the one before that
    asked for, None where none is kept, and for other levels than the first."""

    collection: CollectionView
    conf: str
    confs: tuple[str, ...]
    level: int
    clusterings: tuple[ClusteringView, ...]
    clustering: ClusteringView | None
    previous: ClusteringView | None

    @property
    def name(self) -> CollectionName:
        """The collection's name."""
        return self.collection.name

    def build_params(self) -> dict[str, str | int | None]:
        """The same clustering in a link to another page of it; what is served needs no word."""
        at = self.clustering
        return {
            "conf": self.conf if self.conf != self.confs[0] else None,
            "at": None if at is None or at.is_served else at.timestamp,
            "level": self.level or None,
        }


def resolve_selection(
    collections: CollectionService, namespace: str, key: str, form: SelectionForm
) -> Selection:
    """What is asked for. Raises HTTPException 404 for a collection there is not and 400 for a
    configuration, a time or a level there is not, naming the nearest."""
    found = _find_collection(collections, namespace, key)
    served = {one.conf for one in found.served}
    confs = tuple(sorted(served, key=lambda conf: (conf != DEFAULT, conf))) or (DEFAULT,)
    conf = form.conf or confs[0]
    if conf not in served:
        known = sorted(
            served | list_configurations(collections.tables, found.name.namespace).keys()
        )
        if conf not in known:
            raise HTTPException(
                400, _format_sentence(format_unknown_name("configuration", conf, known))
            )
    there = tuple(list_clusterings(collections.tables, found.name, conf))
    at = _find_clustering(there, form.at)
    if at is not None and form.level >= at.levels:
        levels = map(str, range(at.levels))
        raise HTTPException(
            400, _format_sentence(format_unknown_name("level", str(form.level), levels))
        )
    older = [one for one in there if at is not None and one.timestamp < at.timestamp]
    before = older[0] if older and not form.level else None
    return Selection(found, conf, confs, form.level, there, at, before)


def _find_collection(collections: CollectionService, namespace: str, key: str) -> CollectionView:
    name = CollectionName(unquote_part(namespace), unquote_part(key))
    try:
        validate_name(name)
    except ValueError as error:
        raise HTTPException(404, _format_sentence(str(error))) from error
    found = find_collection(collections.tables, name) if collections.are_there() else None
    if found is None:
        names = [str(one.name) for one in islice(collections.every(), NAMES_MAX)]
        raise HTTPException(
            404, _format_sentence(format_unknown_name("collection", str(name), names))
        )
    return found


def _find_clustering(
    clusterings: tuple[ClusteringView, ...], timestamp: int | None
) -> ClusteringView | None:
    if timestamp is None:
        return next((one for one in clusterings if one.is_served), None)
    found = next((one for one in clusterings if one.timestamp == timestamp), None)
    if found is None:
        times = [str(one.timestamp) for one in clusterings]
        raise HTTPException(
            400,
            _format_sentence(format_unknown_name("clustering of the time", str(timestamp), times)),
        )
    return found


def _format_sentence(message: str) -> str:
    return f"{capitalize(shorten(message, 2_000))}."
