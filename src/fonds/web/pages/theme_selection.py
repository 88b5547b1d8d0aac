"""Resolve the collection, configuration and clustering that a request for a page of themes
selects.
"""

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


CONF: Any = Field(
    "", max_length=100, description="Name of the configuration; empty for the default"
)
TIMESTAMP_FIELD: Any = Field(
    None, ge=0, le=EXACT_MAX, description="Time of the clustering, in seconds since 1970"
)
LEVEL: Any = Field(
    0,
    ge=0,
    le=LEVELS_MAX,
    description="Level of the clustering: 0 for the main level, then one for each of `granularities`",
)


class SelectionForm(Protocol):
    """Query parameters that select one clustering of a collection, by default the current one."""

    @property
    def conf(self) -> str:
        """Return the name of the requested configuration, '' for the default."""

    @property
    def at(self) -> int | None:
        """Return the time of the requested clustering, None for the current one."""

    @property
    def level(self) -> int:
        """Return the requested level (granularity) of the clustering; 0 is the first."""


@dataclass(frozen=True, slots=True)
class ServedConfiguration:
    """Query parameters that select the current clustering of a configuration."""

    conf: str
    at: int | None = None
    level: int = 0


@dataclass(frozen=True, slots=True)
class Selection:
    """The collection, configuration and clustering that a request selects.

    `clusterings`: all clusterings of the configuration, newest first.
    `clustering`: the selected clustering, None if the configuration has none yet.
    `previous`: the clustering before the selected one, None if none is stored and for levels other
        than the first.
    """

    collection: CollectionView
    conf: str
    confs: tuple[str, ...]
    level: int
    clusterings: tuple[ClusteringView, ...]
    clustering: ClusteringView | None
    previous: ClusteringView | None

    @property
    def name(self) -> CollectionName:
        """Return the namespace and key of the collection."""
        return self.collection.name

    def build_params(self) -> dict[str, str | int | None]:
        """Return the query parameters that select this clustering, for links. Parameters with
        default values are None.
        """
        clustering = self.clustering
        return {
            "conf": self.conf if self.conf != self.confs[0] else None,
            "at": None if clustering is None or clustering.is_served else clustering.timestamp,
            "level": self.level or None,
        }


def resolve_selection(
    collections: CollectionService, namespace: str, key: str, form: SelectionForm
) -> Selection:
    """Resolve the collection, configuration and clustering of a request.

    Raises HTTPException 404 for an unknown collection and 400 for an unknown configuration, time or
    level; the message names the nearest known one.
    """
    collection = _find_collection(collections, namespace, key)
    served_confs = {item.conf for item in collection.served}
    confs = tuple(sorted(served_confs, key=lambda conf: (conf != DEFAULT, conf))) or (DEFAULT,)
    conf = form.conf or confs[0]
    if conf not in served_confs:
        known_confs = sorted(
            served_confs | list_configurations(collections.tables, collection.name.namespace).keys()
        )
        if conf not in known_confs:
            raise HTTPException(
                400, _format_sentence(format_unknown_name("configuration", conf, known_confs))
            )
    clusterings = tuple(list_clusterings(collections.tables, collection.name, conf))
    clustering = _find_clustering(clusterings, form.at)
    if clustering is not None and form.level >= clustering.levels:
        levels = map(str, range(clustering.levels))
        raise HTTPException(
            400, _format_sentence(format_unknown_name("level", str(form.level), levels))
        )
    older = [
        item
        for item in clusterings
        if clustering is not None and item.timestamp < clustering.timestamp
    ]
    previous = older[0] if older and not form.level else None
    return Selection(collection, conf, confs, form.level, clusterings, clustering, previous)


def _find_collection(collections: CollectionService, namespace: str, key: str) -> CollectionView:
    name = CollectionName(unquote_part(namespace), unquote_part(key))
    try:
        validate_name(name)
    except ValueError as error:
        raise HTTPException(404, _format_sentence(str(error))) from error
    collection = find_collection(collections.tables, name) if collections.has_tables() else None
    if collection is None:
        names = [str(view.name) for view in islice(collections.iter_collections(), NAMES_MAX)]
        raise HTTPException(
            404, _format_sentence(format_unknown_name("collection", str(name), names))
        )
    return collection


def _find_clustering(
    clusterings: tuple[ClusteringView, ...], timestamp: int | None
) -> ClusteringView | None:
    if timestamp is None:
        return next((candidate for candidate in clusterings if candidate.is_served), None)
    clustering = next(
        (candidate for candidate in clusterings if candidate.timestamp == timestamp), None
    )
    if clustering is None:
        times = [str(candidate.timestamp) for candidate in clusterings]
        raise HTTPException(
            400,
            _format_sentence(
                format_unknown_name("clustering with the time", str(timestamp), times)
            ),
        )
    return clustering


def _format_sentence(message: str) -> str:
    return f"{capitalize(shorten(message, 2_000))}."
