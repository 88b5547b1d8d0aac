"""Files loaded into the catalogue, each from where it was left, and what became of their records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import msgspec

from fonds.model.encoding import prepare_type
from fonds.papers.catalog.records import RefusedRecord, iter_file_records, parse_work
from fonds.papers.catalog.store import LOADED, MARK, Catalog, build_mark_key
from fonds.papers.catalog.work import Work
from fonds.ports.scan import iter_rows

BATCH = 2_000
EXAMPLES_MAX, EXAMPLE_CHARS = 3, 300


class LoadProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a file was loaded. `counts` are by source for records that were taken and by reason for the
    others, of which the first few are in `examples`."""

    path: str
    fingerprint: str
    position: int = 0
    finished: bool = False
    counts: dict[str, int] = {}
    examples: dict[str, list[str]] = {}


def load_progress(catalog: Catalog, name: str, fingerprint: str) -> LoadProgress:
    """Return how far the file of this name was loaded as it is now."""
    key = build_mark_key(name)
    at = _decode_mark(catalog.table.get(catalog.name, [key], [MARK]).get(key, {}).get(MARK))
    if at is None or at.fingerprint != fingerprint:
        return LoadProgress(path=_shorten_name(name), fingerprint=fingerprint)
    return at


def load(
    catalog: Catalog,
    path: Path,
    fingerprint: str,
    tick: Callable[[LoadProgress], None],
    name: str | None = None,
) -> LoadProgress:
    """Load a file from where it was left, unless it was loaded whole as it is; `tick` hears of each batch.

    `name` is what the file is called if it was fetched from a URL. A batch is put before the mark says so:
    killed in between, it is put again, which changes nothing. Raises OSError where the file cannot be read.
    """
    name = name or str(path)
    key, at = build_mark_key(name), load_progress(catalog, name, fingerprint)
    if at.finished:
        return at
    records = islice(iter_file_records(path), at.position, None)
    while batch := list(islice(records, BATCH)):
        at = _load_batch(catalog, at, batch)
        catalog.table.put(catalog.name, [(key, {MARK: msgspec.json.encode(at)})])
        tick(at)
    at = msgspec.structs.replace(at, finished=True)
    catalog.table.put(catalog.name, [(key, {MARK: msgspec.json.encode(at)})])
    return at


def iter_loaded_files(catalog: Catalog) -> Iterator[LoadProgress]:
    """What was loaded so far, file by file."""
    for _, cells in iter_rows(catalog.table, catalog.name, LOADED, columns=[MARK]):
        if (found := _decode_mark(cells.get(MARK))) is not None:
            yield found


def _load_batch(
    catalog: Catalog, at: LoadProgress, batch: list[tuple[str, object]]
) -> LoadProgress:
    works, counts = [], dict(at.counts)
    examples = {reason: list(told) for reason, told in at.examples.items()}
    for where, record in batch:
        found = record if isinstance(record, RefusedRecord) else parse_work(record)
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


def _decode_mark(cell: bytes | None) -> LoadProgress | None:
    """None also for a mark that cannot be read: then the file is loaded again."""
    if cell is None:
        return None
    try:
        return msgspec.json.decode(cell, type=prepare_type(LoadProgress))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _shorten_name(name: str) -> str:
    return name.encode("utf-8", "replace").decode()
