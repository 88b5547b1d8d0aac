"""Load files into the catalogue, resume interrupted loads and count the records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import msgspec

from fonds.model.encoding import prepare_type
from fonds.papers.catalog.records import RefusedRecord, iter_file_records, parse_work
from fonds.papers.catalog.store import LOADED, MARK, Catalog, build_checksum_cells, build_mark_key
from fonds.papers.catalog.work import Work
from fonds.ports.scan import iter_rows

BATCH = 2_000
EXAMPLES_MAX, EXAMPLE_CHARS = 3, 300


class LoadProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of loading one file into the catalogue.

    - `path`: path of the file.
    - `fingerprint`: value that changes if the file changes.
    - `position`: number of records read.
    - `finished`: whether the whole file was loaded.
    - `counts`: number of loaded records by source, and of refused records by reason.
    - `examples`: descriptions of the first refused records, by reason.
    """

    path: str
    fingerprint: str
    position: int = 0
    finished: bool = False
    counts: dict[str, int] = {}
    examples: dict[str, list[str]] = {}


def load_progress(catalog: Catalog, name: str, fingerprint: str) -> LoadProgress:
    """Return the stored progress of loading a file into the catalogue.

    If none is stored, or the file's fingerprint has changed, the progress is zero.
    """
    key = build_mark_key(name)
    progress = decode_mark(catalog.table.get(catalog.name, [key], [MARK]).get(key, {}).get(MARK))
    if progress is None or progress.fingerprint != fingerprint:
        return LoadProgress(path=_shorten_name(name), fingerprint=fingerprint)
    return progress


def load(
    catalog: Catalog,
    path: Path,
    fingerprint: str,
    tick: Callable[[LoadProgress], None],
    name: str | None = None,
    *,
    loads_again: bool = False,
) -> LoadProgress:
    """Load a file into the catalogue from its last position, unless it is loaded completely
    already.

    - `tick`: function that is called with the progress after each batch.
    - `name`: name under which the progress of the file is stored, such as the URL it was fetched
      from; None to use its path.
    - `loads_again`: whether to load it from the start, even if it is loaded completely.

    Each batch is written before the progress. If the process is killed in between, the batch is
    written again, which changes nothing. Raises OSError if the file cannot be read.
    """
    name = name or str(path)
    key, progress = build_mark_key(name), load_progress(catalog, name, fingerprint)
    if loads_again:
        progress = LoadProgress(path=_shorten_name(name), fingerprint=fingerprint)
    if progress.finished:
        return progress
    records = islice(iter_file_records(path), progress.position, None)
    while batch := list(islice(records, BATCH)):
        progress = _load_batch(catalog, progress, batch)
        _write_mark(catalog, key, progress)
        tick(progress)
    progress = msgspec.structs.replace(progress, finished=True)
    _write_mark(catalog, key, progress)
    return progress


def _write_mark(catalog: Catalog, key: bytes, progress: LoadProgress) -> None:
    cells = build_checksum_cells(key, {MARK: msgspec.json.encode(progress)})
    catalog.table.put(catalog.name, [(key, cells)])


def iter_loaded_files(catalog: Catalog) -> Iterator[LoadProgress]:
    """Yield the progress of each file that was loaded, fully or in part."""
    for _, cells in iter_rows(catalog.table, catalog.name, LOADED, columns=[MARK]):
        if (progress := decode_mark(cells.get(MARK))) is not None:
            yield progress


def _load_batch(
    catalog: Catalog, progress: LoadProgress, batch: list[tuple[str, object]]
) -> LoadProgress:
    works, counts = [], dict(progress.counts)
    examples = {
        reason: list(reason_examples) for reason, reason_examples in progress.examples.items()
    }
    for location, record in batch:
        result = record if isinstance(record, RefusedRecord) else parse_work(record)
        if isinstance(result, Work):
            works.append(result)
            counts[result.source] = counts.get(result.source, 0) + 1
            continue
        counts[str(result.reason)] = counts.get(str(result.reason), 0) + 1
        reason_examples = examples.setdefault(str(result.reason), [])
        if len(reason_examples) < EXAMPLES_MAX:
            reason_examples.append(
                f"{progress.path}, {location}: {result.detail or result.reason.explanation}"[
                    :EXAMPLE_CHARS
                ]
            )
    catalog.put(works)
    position = progress.position + len(batch)
    return msgspec.structs.replace(progress, position=position, counts=counts, examples=examples)


def decode_mark(cell: bytes | None) -> LoadProgress | None:
    """Decode the progress of a file from a table cell.

    Returns None without a cell, and for a cell that cannot be decoded, so that the file is loaded
    again.
    """
    if cell is None:
        return None
    try:
        return msgspec.json.decode(cell, type=prepare_type(LoadProgress))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _shorten_name(name: str) -> str:
    return name.encode("utf-8", "replace").decode()
