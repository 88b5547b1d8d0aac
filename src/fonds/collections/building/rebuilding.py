"""A full rebuild: built of the documents as they stood, caught up with, made visible by one cell.

Source: Grouperfish's HBase layout, v0.2 (`configuration:$conf:rebuilt`), where a new clustering is stored
while the one before is served.

Killed at any moment it leaves what is served as it was; the next rebuild or sweep removes its rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from threadpoolctl import threadpool_limits

from fonds.collections.building.models import Served, put_model, read_model
from fonds.collections.building.new_rows import (
    Placed,
    labels_of,
    put_places,
    put_rows,
)
from fonds.collections.building.reading_in import (
    Keep,
    ReadIn,
    options_of,
    read_before,
    read_in,
)
from fonds.collections.building.settling import grouped_vectors, settle
from fonds.collections.building.sweeping import drop_leavings
from fonds.collections.changing.encoding import check_encoder, keep
from fonds.collections.changing.linking import rearranged
from fonds.collections.changing.moving import move
from fonds.collections.changing.placing import counted_terms, place
from fonds.collections.changing.redo import (
    SEQUENCE,
    Writes,
    changed_ids,
    chunks,
    forget,
    needed_after,
)
from fonds.collections.changing.writing import Changes, Held
from fonds.collections.claims import TakenError
from fonds.collections.clusterings import Known, building, known, processed, rebuilt
from fonds.collections.configurations import Configuration, get
from fonds.collections.documents import COLUMNS, Document, EncodedCells, document_of, encoded_cells
from fonds.collections.names import DEFAULT, Name, claim_of_rebuild
from fonds.collections.reading.clusters import clusters
from fonds.collections.reading.curated import barred_of, excluded_ids
from fonds.collections.tables import (
    CLUSTERINGS,
    COLLECTIONS,
    DOCUMENTS,
    Tables,
    number,
    to_json,
    utf8,
)
from fonds.grouping.building import build
from fonds.grouping.clustering import Clustering
from fonds.model.errors import ConfigurationError

CAUGHT_UP_AT = 100
"""With so few documents left, the rest is done while nobody else may change the collection."""

ROUNDS_MAX = 50
TOLD_EVERY_S = 0.5

Progress = Callable[[str, int, int], None]
"""Told of a stage by its name, how many documents are done, and of how many; 0 where it is not known."""


@dataclass(frozen=True, slots=True)
class Passes:
    """How the two passes over all documents are made: here, one row after the other, or by an engine.

    `read` gives the documents of a clustering that were last changed by the change of a number or before, and
    what was encoded of them to who keeps it; `put` writes where they are. Both come to the same
    whoever makes them.
    """

    read: Callable[[Tables, Known, int, Configuration, Callable[[int], None], Keep], ReadIn] = (
        read_in
    )
    put: Callable[[Tables, Known, Iterator[Placed], Callable[[int], None]], None] = put_places


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What came of a rebuild: the clustering's time, documents in clusters of the first level, how many
    clusters, documents in none (also those people took out of a theme), as it is served; and how many came or
    changed while it was built."""

    timestamp: int
    documents: int
    clusters: int
    apart: int
    caught_up: int


def rebuild(
    changes: Changes,
    name: Name,
    conf: str = DEFAULT,
    *,
    threads: int | None = None,
    progress: Progress = lambda stage, done, total: None,
    passes: Passes | None = None,
) -> Rebuilt:
    """Build a clustering anew, and serve it when it is complete.

    `threads`: how many the arithmetic may use, None for as many as there are cores; `passes`: None for those
    made here. Raises TakenError when it is being rebuilt already, ValueError for a configuration there is
    not, ConfigurationError for a collection there is not, or an encoder that is not installed.
    """
    configuration = get(changes.tables, name.namespace, conf)
    check_encoder(configuration)
    with changes.claims.renewed(claim_of_rebuild(name, conf)) as claim:
        drop_leavings(changes, name, conf)
        made = _Building(changes, name, conf, configuration, progress, passes or Passes())
        until = made.begin()
        read = made.read(until)
        with threadpool_limits(threads):
            built = made.build(read)
        served = made.write(read, built)
        made.respect(served)
        caught_up = made.catch_up(served, until)
        if claim.lost.is_set():
            raise TakenError(f"{name} by {conf}: another process rebuilds it now")
        try:
            caught_up += made.swap(served)
        except TakenError:
            drop_leavings(changes, name, conf)
            raise
        settle(changes, made.known, grouped_vectors(read, built, made.timestamp), until, made.tell)
    found = clusters(changes.tables, name, conf, made.timestamp, top=0)
    if found is None:
        raise TakenError(f"{name} was removed as soon as it was rebuilt")
    grouped, apart = sum(one.size for one in found.clusters), sum(found.apart.values())
    return Rebuilt(made.timestamp, grouped, len(found.clusters), apart, caught_up)


class _Building:
    """A clustering while it is built."""

    def __init__(
        self,
        changes: Changes,
        name: Name,
        conf: str,
        configuration: Configuration,
        progress: Progress,
        passes: Passes,
    ) -> None:
        self.changes, self.tables = changes, changes.tables
        self.name, self.conf, self.configuration = name, conf, configuration
        self.timestamp = 0
        self._levels = 1
        self._before: Known | None = None
        self._reached = 0
        self._progress, self._passes = progress, passes
        self._told_s = 0.0
        self._stage = ""

    @property
    def known(self) -> Known:
        """The clustering as others know it by its rows."""
        return Known(self.name, self.conf, self.timestamp, self._levels, {})

    def begin(self) -> int:
        """Enter the clustering, so that changes are kept for it; the number of the last change before."""
        with self.changes.held(self.name) as held:
            if not held.cells or "main:removed" in held.cells:
                raise ConfigurationError(f"there is no collection {self.name}")
            there = [one for one in known(self.tables, self.name) if one.conf == self.conf]
            last = max((one.timestamp for one in there), default=0)
            self.timestamp = max(self.changes.now(), last + 1)
            serving = number(held.cells, rebuilt(self.conf), -1)
            self._before = next((one for one in there if one.timestamp == serving), None)
            cells = {
                "main:namespace": utf8(self.name.namespace),
                "main:collection_key": utf8(self.name.key),
                "main:conf": utf8(self.conf),
                "main:timestamp": utf8(self.timestamp),
                "main:configuration": to_json(self.configuration),
                "main:begun": utf8(self.changes.now()),
            }
            self.tables.put(CLUSTERINGS, [(self.known.row, cells)])
            mark = {building(self.conf): utf8(self.timestamp)}
            self.tables.put(COLLECTIONS, [(self.name.row, mark)])
            return number(held.cells, SEQUENCE)

    def tell(self, stage: str, done: int = 0, total: int = 0) -> None:
        """Say how far it is, to whoever began it, and in the clustering's row."""
        self._progress(stage, done, total)
        now_s = time.monotonic()
        if stage == self._stage and now_s - self._told_s < TOLD_EVERY_S:
            return
        self._stage, self._told_s = stage, now_s
        cells = {
            "main:stage": utf8(stage),
            "main:done": utf8(done),
            "main:total": utf8(total),
            "main:moved": utf8(self.changes.now()),
        }
        self.tables.put(CLUSTERINGS, [(self.known.row, cells)])

    def read(self, until: int) -> ReadIn:
        """What is grouped."""
        return self._passes.read(
            self.tables,
            self.known,
            until,
            self.configuration,
            lambda done: self.tell("read documents", done, 0),
            self._keep,
        )

    def _keep(self, made: EncodedCells) -> None:
        if made:
            with self.changes.held(self.name):
                keep(self.tables, self.name, made)

    def build(self, read: ReadIn) -> Clustering:
        """The clustering of what was read, beginning with the one that is served."""
        before = None
        if self._before is not None:
            before = read_before(self.tables, self._before, read)
        return build(
            read.counted(),
            options_of(self.configuration),
            version=self.timestamp,
            before=before,
            progress=lambda stage: self.tell(stage, 0, len(read.ids)),
        )

    def write(self, read: ReadIn, built: Clustering) -> Served:
        """Write its rows and its model; what places further documents in it."""
        self._levels = len(built.levels)
        labels = [labels_of(level) for level in built.levels]
        outliers = int((built.levels[0].members < 0).sum())
        cells = {
            "main:levels": utf8(self._levels),
            "main:documents": utf8(len(read.ids) + len(read.apart)),
            "main:outliers": utf8(outliers),
            "main:clusters": utf8(len(built.levels[0].clusters)),
            "main:events": to_json([[e.change, e.before, e.after] for e in built.events]),
        }
        self.tables.put(CLUSTERINGS, [(self.known.row, cells)])
        grouped = sum(int((level.members >= 0).sum()) for level in built.levels)
        total = grouped + outliers + len(read.apart)
        placed = put_rows(self.tables, self.known, read, built, labels, self._before)
        self._passes.put(
            self.tables, self.known, placed, lambda done: self.tell("write", done, total)
        )
        put_model(self.tables, self.name, self.conf, self.timestamp, built, labels)
        served = read_model(self.tables, self.name, self.conf, self.timestamp)
        if served is None:
            raise TakenError(f"{self.name}: {self.timestamp} was removed meanwhile")
        known_terms, unknown = _known_share(served, read)
        told = {"main:terms": utf8(known_terms), "main:unknown": utf8(unknown)}
        self.tables.put(CLUSTERINGS, [(self.known.row, told)])
        return served

    def respect(self, served: Served) -> None:
        """Take documents out of the themes people said they do not belong in, now that ids are known."""
        for ids in excluded_ids(self.tables, self.known):
            self._bring_in(served, ids, self._keep)

    def catch_up(self, served: Served, until: int) -> int:
        """Bring in what changed since, until little is left; how many documents."""
        count, self._reached = 0, until
        for _ in range(ROUNDS_MAX):
            ids, last = changed_ids(self.tables, self.name, self._reached)
            if len(ids) <= CAUGHT_UP_AT:
                break
            count += self._bring_in(served, ids, self._keep)
            self._reached = last
        return count

    def swap(self, served: Served) -> int:
        """Bring in the rest, and serve it: one row is written, and in it one cell decides."""
        with self.changes.held(self.name) as held:
            ids, last = changed_ids(self.tables, self.name, self._reached)
            count = self._bring_in(served, ids, lambda made: keep(self.tables, self.name, made))
            moment = utf8(self.changes.now())
            self.tables.put(CLUSTERINGS, [(self.known.row, {"main:ended": moment})])
            self.changes.claims.check(held.claim)
            if number(held.cells, building(self.conf), -1) != self.timestamp:
                raise TakenError(f"{self.name} was removed while it was rebuilt")
            cells = {
                rebuilt(self.conf): utf8(self.timestamp),
                processed(self.conf): moment,
                building(self.conf): b"",
            }
            self.tables.put(COLLECTIONS, [(self.name.row, cells)])
            _forget_changes(self.changes, held, self.conf, last)
        return count

    def _bring_in(self, served: Served, ids: Sequence[str], keep: Keep) -> int:
        for done, some in enumerate(chunks(ids, 500)):
            self.tell("catch up", 500 * done, len(ids))
            documents, encoded = current(self.changes, self.name, some)
            barred = barred_of(self.tables, self.known, some)
            placed = place(served, documents, encoded, barred)
            keep(placed.encoded)
            cells = self.tables.row(COLLECTIONS, self.name.row, ["main:"]) or {}
            alike = self.changes.finders.of(self.name).of(self.tables, cells, documents)
            own = dict(zip([one.id for one in documents], placed.placements, strict=True))
            before, after = rearranged(self.tables, self.known, some, own, alike, barred)
            writes = Writes()
            move(self.tables, self.known, before, after, writes)
            writes.apply(self.tables)
        return len(ids)


def current(
    changes: Changes, name: Name, ids: Sequence[str]
) -> tuple[list[Document], EncodedCells]:
    """Those of these documents that are there, as they are now, and what is kept encoded of them."""
    rows = changes.tables.rows(DOCUMENTS, [name.document(id_) for id_ in ids], COLUMNS)
    return [document_of(cells).document for cells in rows.values()], encoded_cells(rows)


def _forget_changes(changes: Changes, held: Held, conf: str, until: int) -> None:
    """Changes nobody follows any more are removed."""
    cells = {**held.cells, building(conf): b"", rebuilt(conf): b"1"}
    forget(changes.tables, held.name, needed_after(cells, until))


def _known_share(served: Served, read: ReadIn) -> tuple[int, int]:
    """How many terms some of the grouped documents have, and how many the dictionary leaves out."""
    step = max(1, len(read.ids) // 500)
    ids, languages = read.ids[::step], read.languages[::step]
    some = [
        Document(id_, text, language=language)
        for id_, text, language in zip(ids, read.texts(ids), languages, strict=True)
    ]
    return counted_terms(served, some)
