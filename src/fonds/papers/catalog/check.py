"""Check of the catalogue: records against their checksums, and lookup keys against records."""

from __future__ import annotations

from collections.abc import Iterator

from fonds.papers.catalog.loader import decode_mark
from fonds.papers.catalog.store import (
    AUTHOR,
    IDENTIFIER,
    LOADED,
    MARK,
    POINTER,
    RECORD_COLUMNS,
    TITLE,
    WORK,
    Catalog,
    build_checksum_cells,
    build_work_key,
    collect_pointers,
    decode_work_id,
    read_records,
)
from fonds.ports.scan import Page, iter_pages


def iter_catalog_faults(catalog: Catalog) -> Iterator[str]:
    """Read the whole catalogue and yield a message for each row that is altered or missing.

    A load that was interrupted may have written lookup keys without records. Loading the files
    again corrects all faults.
    """
    for page in iter_pages(catalog.table, catalog.name, WORK):
        yield from _check_works(catalog, page)
    for prefix in (IDENTIFIER, TITLE, AUTHOR):
        for page in iter_pages(catalog.table, catalog.name, prefix):
            yield from _check_pointers(catalog, page)
    for page in iter_pages(catalog.table, catalog.name, LOADED):
        for key, cells in page:
            if cells != build_checksum_cells(key, {MARK: cells.get(MARK, b"")}):
                progress = decode_mark(cells.get(MARK))
                path = "a file" if progress is None else progress.path
                yield f"the progress of loading {path} was changed by another program"


def _check_works(catalog: Catalog, page: Page) -> Iterator[str]:
    pointers_by_id: dict[str, set[bytes]] = {}
    for key, cells in page:
        id_ = key.removeprefix(WORK).decode("utf-8", "replace")
        records = {column: cells[column] for column in RECORD_COLUMNS if column in cells}
        if cells != build_checksum_cells(key, records):
            yield f"the work {id_} was changed by another program"
        else:
            pointers_by_id[id_] = collect_pointers(read_records(cells))
    existing = catalog.table.get(
        catalog.name, sorted(set().union(*pointers_by_id.values())), [POINTER]
    )
    for id_, pointers in pointers_by_id.items():
        if pointers - existing.keys():
            yield f"the work {id_} lacks a lookup key"


def _check_pointers(catalog: Catalog, page: Page) -> Iterator[str]:
    ids = [decode_work_id(pointer) for pointer, _ in page]
    keys = list(map(build_work_key, ids))
    rows = catalog.table.get(catalog.name, sorted(set(keys)), RECORD_COLUMNS)
    pointers_by_key = {key: collect_pointers(read_records(cells)) for key, cells in rows.items()}
    for (pointer, cells), id_, key in zip(page, ids, keys, strict=True):
        if pointer not in pointers_by_key.get(key, ()):
            yield f"a lookup key of the work {id_} has no record"
        elif cells != {POINTER: b""}:
            yield f"a lookup key of the work {id_} was changed"
