"""Files loaded into the catalogue, each from where it was left, and what became of their records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import msgspec

from fonds.catalog.files import records_of
from fonds.catalog.keys import LOADED, MARK, mark_key
from fonds.catalog.store import Catalog
from fonds.catalog.works.reading import Refused, work_in
from fonds.catalog.works.work import Work
from fonds.model.prepared import prepared
from fonds.ports.walking import walk_rows

BATCH = 2_000
EXAMPLES_MAX, EXAMPLE_CHARS = 3, 300


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """How far a file was loaded. `counts` are by source for records that were taken and by reason for the
    others, of which the first few are in `examples`."""

    path: str
    fingerprint: str
    position: int = 0
    finished: bool = False
    counts: dict[str, int] = {}
    examples: dict[str, list[str]] = {}


def mark_of(catalog: Catalog, name: str, fingerprint: str) -> Loaded:
    """Return how far the file of this name was loaded as it is now."""
    key = mark_key(name)
    at = _mark(catalog.table.get(catalog.name, [key], [MARK]).get(key, {}).get(MARK))
    if at is None or at.fingerprint != fingerprint:
        return Loaded(path=_shown(name), fingerprint=fingerprint)
    return at


def load(
    catalog: Catalog,
    path: Path,
    fingerprint: str,
    tick: Callable[[Loaded], None],
    name: str | None = None,
) -> Loaded:
    """Load a file from where it was left, unless it was loaded whole as it is; `tick` hears of each batch.

    `name` is what the file is called if it was fetched from a URL. A batch is put before the mark says so:
    killed in between, it is put again, which changes nothing. Raises OSError where the file cannot be read.
    """
    name = name or str(path)
    key, at = mark_key(name), mark_of(catalog, name, fingerprint)
    if at.finished:
        return at
    records = islice(records_of(path), at.position, None)
    while batch := list(islice(records, BATCH)):
        at = _take(catalog, at, batch)
        catalog.table.put(catalog.name, [(key, {MARK: msgspec.json.encode(at)})])
        tick(at)
    at = msgspec.structs.replace(at, finished=True)
    catalog.table.put(catalog.name, [(key, {MARK: msgspec.json.encode(at)})])
    return at


def loaded(catalog: Catalog) -> Iterator[Loaded]:
    """What was loaded so far, file by file."""
    for _, cells in walk_rows(catalog.table, catalog.name, LOADED, columns=[MARK]):
        if (found := _mark(cells.get(MARK))) is not None:
            yield found


def _take(catalog: Catalog, at: Loaded, batch: list[tuple[str, object]]) -> Loaded:
    works, counts = [], dict(at.counts)
    examples = {reason: list(told) for reason, told in at.examples.items()}
    for where, record in batch:
        found = record if isinstance(record, Refused) else work_in(record)
        if isinstance(found, Work):
            works.append(found)
            counts[found.source] = counts.get(found.source, 0) + 1
            continue
        counts[str(found.reason)] = counts.get(str(found.reason), 0) + 1
        told = examples.setdefault(str(found.reason), [])
        if len(told) < EXAMPLES_MAX:
            told.append(
                f"{at.path}, {where}: {found.detail or found.reason.explanation}"[:EXAMPLE_CHARS]
            )
    catalog.put(works)
    position = at.position + len(batch)
    return msgspec.structs.replace(at, position=position, counts=counts, examples=examples)


def _mark(cell: bytes | None) -> Loaded | None:
    """None also for a mark that cannot be read: then the file is loaded again."""
    if cell is None:
        return None
    try:
        return msgspec.json.decode(cell, type=prepared(Loaded))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _shown(name: str) -> str:
    return name.encode("utf-8", "replace").decode()
