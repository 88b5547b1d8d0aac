"""Documents taken out of a theme by people, and put back.

Who is excluded leaves the theme at once, and goes to the nearest other theme within whose reach it is, or
into none for the reason `excluded`; a rebuild asks of every theme by its id, once ids are known.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from fonds.collections.changing.curating.naming import theme_called
from fonds.collections.changing.linking import Places, rearranged
from fonds.collections.changing.moving import cluster_key, move, placements_of
from fonds.collections.changing.placement import EXCLUDED, Placement
from fonds.collections.changing.redo import Writes, perform
from fonds.collections.changing.writing import DOCUMENTS_AT_ONCE, Changes, Held
from fonds.collections.clusterings import Known, is_served, known, processed
from fonds.collections.documents import COLUMNS, document_of, encoded_cells, member_of
from fonds.collections.names import Name, apart_conf
from fonds.collections.reading.curated import (
    FROM,
    Exclusion,
    exclusions_of,
    labels_of_ids,
)
from fonds.collections.tables import (
    CLUSTERS,
    COLLECTIONS,
    DOCUMENTS,
    EXCLUSIONS,
    number,
    to_json,
    utf8,
)

THEMES_MAX = 50
"""From so many themes of all configurations one document may be excluded."""

_SEQUENCE = "main:sequence"


@dataclass(frozen=True, slots=True)
class Excluded:
    """What came of it: the theme's id and label, and how many documents were taken out or put back."""

    id: str
    label: str
    documents: int


def exclude(changes: Changes, name: Name, conf: str, theme: str, ids: Sequence[str]) -> Excluded:
    """Take documents out of a theme, each whole; done twice it is as done once.

    `theme`: id, label or name. Raises ValueError with a sentence: for a theme or document there is not, one
    that is not in the theme, over 500 documents, and over 50 themes of one document.
    """
    wanted = _checked(ids)
    _read_model(changes, name, conf)
    with changes.held(name) as held:
        one, rows = _served(changes, held, conf), _rows(changes, name, wanted)
        found = theme_called(changes, name, conf, theme)
        told = exclusions_of(changes.tables, name, wanted)
        new = [id_ for id_ in wanted if (conf, found.id) not in told.get(id_, {})]
        before = placements_of(changes.tables, one, new)
        label = labels_of_ids(changes.tables, one, {found.id}).get(found.id)
        for id_ in new:
            if label is None or label not in _labels(one, before.get(id_, ())):
                raise ValueError(f"the document {id_[:200]!r} is not in the theme {found.label!r}")
            if len(told.get(id_, ())) >= THEMES_MAX:
                raise ValueError(f"{id_[:200]!r} is excluded from {THEMES_MAX} themes already")
        if not new:
            return Excluded(found.id, found.label, 0)
        writes, now = Writes(), changes.now()
        barred = {id_: _barred(changes, one, told.get(id_, {}), {found.id}) for id_ in new}
        for id_ in new:
            said = Exclusion(
                now, found.label, one.timestamp,
                number(rows[name.document(id_)], _SEQUENCE), _told(before[id_]),
            )  # fmt: skip
            cells = {"main:id": utf8(id_), f"{FROM}{conf}:{found.id}": to_json(said)}
            writes.put(EXCLUSIONS, name.document(id_), cells)
        put_elsewhere(changes, one, new, barred, writes)
        _perform(changes, held, one, new, writes)
    return Excluded(found.id, found.label, len(new))


def include(changes: Changes, name: Name, conf: str, theme: str, ids: Sequence[str]) -> Excluded:
    """Take back that documents are excluded from a theme, which may be gone; done twice it is as done once.

    A document goes back to where it was, if it and the clustering are as they were; else to where the model
    puts it. `theme`: id, label or name, of one that is gone its id. Raises ValueError as `exclude`.
    """
    wanted = _checked(ids)
    _read_model(changes, name, conf)
    with changes.held(name) as held:
        one = _served(changes, held, conf)
        rows = _rows(changes, name, wanted)
        told = exclusions_of(changes.tables, name, wanted)
        theme_id = _meant(changes, name, conf, theme, told)
        out = [id_ for id_ in wanted if (conf, theme_id) in told.get(id_, {})]
        label = next((told[id_][conf, theme_id].label for id_ in out), "")
        if not out:
            return Excluded(theme_id, label, 0)
        writes, barred, kept = Writes(), {}, {}
        for id_ in out:
            rest = {key: said for key, said in told[id_].items() if key != (conf, theme_id)}
            _forget(name, id_, conf, theme_id, writes, is_last=not rest)
            barred[id_] = _barred(changes, one, rest, set())
            kept[id_] = told[id_][conf, theme_id]
        if theme_id in labels_of_ids(changes.tables, one, {theme_id}):
            back = _as_before(changes, one, rows, kept, barred)
            put_elsewhere(changes, one, out, barred, writes, back)
        _perform(changes, held, one, out, writes)
    return Excluded(theme_id, label, len(out))


def put_elsewhere(
    changes: Changes,
    one: Known,
    ids: Sequence[str],
    barred: Mapping[str, Collection[str]],
    writes: Writes,
    back: Places | None = None,
) -> None:
    """Add to `writes` what brings documents to where they may be: to `back` those it has, the others to where
    the model puts them. For who holds the collection's claim."""
    from fonds.collections.changing.placing import place

    tables, own = changes.tables, dict(back or {})
    left = [id_ for id_ in ids if id_ not in own]
    served = changes.models.of(tables, one) if left else None
    if served is not None:
        rows = tables.rows(DOCUMENTS, [one.name.document(id_) for id_ in left], COLUMNS)
        documents = [document_of(cells).document for cells in rows.values()]
        placed = place(served, documents, encoded_cells(rows), barred)
        for document, places in zip(documents, placed.placements, strict=True):
            own[document.id] = places
        for id_, cells in placed.encoded.items():
            writes.put(DOCUMENTS, one.name.document(id_), cells)
    before, after = rearranged(tables, one, list(own), own, {}, barred)
    move(tables, one, before, after, writes)
    for id_, places in own.items():
        label = next((at.label for at in places if at.conf == one.conf), "")
        writes.put(DOCUMENTS, one.name.document(id_), {member_of(one.conf): utf8(label)})
    writes.put(CLUSTERS, *_reason(one))


def _reason(one: Known) -> tuple[bytes, dict[str, bytes]]:
    """What the row of those apart for this reason says of itself: a clustering of before it was thought of
    has none."""
    cells = {
        "main:namespace": utf8(one.name.namespace),
        "main:collection_key": utf8(one.name.key),
        "main:conf": utf8(one.conf),
        "main:timestamp": utf8(one.timestamp),
        "main:label": utf8(EXCLUDED),
    }
    return cluster_key(one.name, apart_conf(one.conf), one.timestamp, EXCLUDED), cells


def _as_before(
    changes: Changes,
    one: Known,
    rows: Mapping[bytes, Mapping[str, bytes]],
    kept: Mapping[str, Exclusion],
    barred: Mapping[str, Collection[str]],
) -> Places:
    """Where documents were when they were excluded, of those that and whose clustering are as they were, and
    that may be there."""
    found: Places = {}
    for id_, said in kept.items():
        same = number(rows[one.name.document(id_)], _SEQUENCE) == said.sequence
        same = same and said.timestamp == one.timestamp
        places = [
            Placement(conf, label, score.encode(), of) for conf, label, score, of in said.places
        ]
        if same and not set(_labels(one, places)) & set(barred[id_]):
            found[id_] = places
    originals = sorted({at.original for some in found.values() for at in some if at.original})
    there = placements_of(changes.tables, one, originals)
    return {id_: _linked(some, there) for id_, some in found.items()}


def _linked(places: list[Placement], there: Places) -> list[Placement]:
    """The same places: of a near-duplicate only where its original is beside it on each, and is none
    itself."""
    beside = {
        (of, one.conf, one.label) for of, some in there.items() for one in some if not one.original
    }
    if all((at.original, at.conf, at.label) in beside for at in places if at.original):
        return places
    return [replace(at, original="") for at in places]


def _meant(
    changes: Changes,
    name: Name,
    conf: str,
    theme: str,
    told: Mapping[str, Mapping[tuple[str, str], Exclusion]],
) -> str:
    if any((conf, theme) in some for some in told.values()):
        return theme
    return theme_called(changes, name, conf, theme).id


def _forget(
    name: Name, id_: str, conf: str, theme_id: str, writes: Writes, *, is_last: bool
) -> None:
    row = name.document(id_)
    if is_last:
        writes.remove(EXCLUSIONS, row)
    else:
        writes.remove_cell(EXCLUSIONS, row, f"{FROM}{conf}:{theme_id}")


def _barred(
    changes: Changes, one: Known, told: Mapping[tuple[str, str], Exclusion], more: set[str]
) -> set[str]:
    """The labels of the themes of a clustering a document may not be in."""
    ids = {theme_id for conf, theme_id in told if conf == one.conf} | more
    return set(labels_of_ids(changes.tables, one, ids).values()) if ids else set()


def _labels(one: Known, places: Sequence[Placement]) -> list[str]:
    return [at.label for at in places if at.conf == one.conf]


def _told(places: Sequence[Placement]) -> tuple[tuple[str, str, str, str], ...]:
    return tuple((at.conf, at.label, at.score.decode(), at.original) for at in places)


def _checked(ids: Sequence[str]) -> list[str]:
    wanted = list(dict.fromkeys(ids))
    if not 0 < len(wanted) <= DOCUMENTS_AT_ONCE:
        raise ValueError(f"name 1 to {DOCUMENTS_AT_ONCE} documents at once, not {len(wanted):,}")
    return wanted


def _rows(changes: Changes, name: Name, ids: Sequence[str]) -> dict[bytes, dict[str, bytes]]:
    rows = changes.tables.rows(
        DOCUMENTS, [name.document(id_) for id_ in ids], ["main:id", _SEQUENCE]
    )
    for id_ in ids:
        if "main:id" not in rows.get(name.document(id_), {}):
            raise ValueError(f"{name} has no document of the id {id_[:200]!r}")
    return rows


def _served(changes: Changes, held: Held, conf: str) -> Known:
    for one in known(changes.tables, held.name):
        if one.conf == conf and is_served(one, held.cells):
            return one
    raise ValueError(f"{held.name} was not grouped by {conf} yet")


def _read_model(changes: Changes, name: Name, conf: str) -> None:
    """Read what takes a while to read before others have to wait for it."""
    cells = changes.tables.row(COLLECTIONS, name.row, ["main:"]) or {}
    for one in known(changes.tables, name):
        if one.conf == conf and is_served(one, cells):
            changes.models.of(changes.tables, one)


def _perform(changes: Changes, held: Held, one: Known, ids: Sequence[str], writes: Writes) -> None:
    moment = {processed(one.conf): utf8(changes.now())}
    writes.put(COLLECTIONS, held.name.row, moment)
    perform(changes.tables, held.name, held.cells, ids, writes, changes.claims, held.claim)
