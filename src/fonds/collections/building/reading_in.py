"""The documents a clustering is built of, as they stood when it was begun."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from fonds.collections.changing.placing import set_apart
from fonds.collections.clusterings import Known
from fonds.collections.configurations import Configuration
from fonds.collections.documents import COLUMNS, document_of
from fonds.collections.names import Name
from fonds.collections.tables import ASSIGNMENTS, CLUSTERS, DOCUMENTS, Tables, text
from fonds.formats.grouping.keys import clustering_prefix, parts_of_cluster
from fonds.grouping.building import Before, Documents
from fonds.grouping.options import Algorithm, Options


@dataclass(slots=True)
class ReadIn:
    """What is grouped, in the order of ids, and what is apart from the start, with the reason."""

    ids: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    languages: list[str | None] = field(default_factory=list)
    times: list[int | None] = field(default_factory=list)
    apart: dict[str, str] = field(default_factory=dict)

    def documents(self) -> Documents:
        """As they are grouped; undated ones count as old as the oldest."""
        dated = [time for time in self.times if time is not None]
        oldest = min(dated, default=0)
        times = [oldest if time is None else time for time in self.times]
        return Documents(self.texts, self.languages, np.array(times, np.float64) if dated else None)


def read_in(
    tables: Tables,
    name: Name,
    until: int,
    configuration: Configuration,
    progress: Callable[[int], None],
) -> ReadIn:
    """The documents whose last change was `until` or before; later ones are caught up with afterwards.

    `progress` is told how many were read.
    """
    found = ReadIn()
    seen = 0
    for _, cells in tables.scan(DOCUMENTS, name.row, COLUMNS):
        seen += 1
        if seen % 500 == 0:
            progress(seen)
        kept = document_of(cells)
        one = kept.document
        if "main:id" not in cells or kept.sequence > until:
            continue
        reason = set_apart(configuration, one)
        if reason is not None:
            found.apart[one.id] = reason
            continue
        found.ids.append(one.id)
        found.texts.append(one.text)
        found.languages.append(one.language or None)
        found.times.append(one.time)
    progress(seen)
    return found


def read_before(tables: Tables, one: Known, ids: list[str]) -> Before:
    """The clustering before: where the documents were in it, and the ids of its clusters."""
    prefix = clustering_prefix(one.name.namespace, one.name.key, one.conf, one.timestamp)
    numbers: dict[str, int] = {}
    cluster_ids: list[str] = []
    for row, cells in tables.scan(CLUSTERS, prefix, ["main:id"]):
        numbers[parts_of_cluster(row)[4]] = len(cluster_ids)
        cluster_ids.append(text(cells, "main:id"))
    places = {
        parts_of_cluster(row)[4]: numbers.get(text(cells, "main:label"), -1)
        for row, cells in tables.scan(ASSIGNMENTS, prefix, ["main:label"])
    }
    members = np.array([places.get(id_, -1) for id_ in ids], dtype=np.int64)
    return Before(members, tuple(cluster_ids))


def options_of(made: Configuration) -> Options:
    """The parameters of the arithmetic in a configuration."""
    return Options(
        Algorithm(made.algorithm),
        made.clusters,
        made.clusters_max,
        made.granularities,
        made.threshold,
        made.half_life_s,
        made.size_min,
        made.seed,
    )
