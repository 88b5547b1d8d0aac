"""A deep audit notices each alteration of the catalogue, and loading again corrects it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fonds.papers.catalog.check import iter_catalog_faults
from fonds.papers.catalog.loader import load
from fonds.papers.catalog.store import (
    AUTHOR,
    IDENTIFIER,
    LOADED,
    MARK,
    POINTER,
    TITLE,
    Catalog,
    build_column,
    build_work_key,
    name_catalog_table,
)
from fonds.stores.table.sqlite import SqliteTable

RECORDS = [
    {
        "DOI": f"10.5555/work.{number}",
        "type": "journal-article",
        "title": [f"On the slow meandering of river {number}"],
        "author": [{"family": "Stroom", "given": "Ada"}],
        "issued": {"date-parts": [[1950 + number]]},
    }
    for number in range(3)
]
KEY = build_work_key("doi:10.5555/work.1")
CROSSREF = build_column("crossref")


def find_key(catalog: Catalog, prefix: bytes) -> bytes:
    return catalog.table.scan(catalog.name, prefix, count_max=1)[0][0]


def put_cell(column: str, value: bytes, prefix: bytes = KEY) -> Callable[[Catalog], None]:
    return lambda catalog: catalog.table.put(
        catalog.name, [(find_key(catalog, prefix), {column: value})]
    )


def remove_row(prefix: bytes) -> Callable[[Catalog], None]:
    return lambda catalog: catalog.table.delete(catalog.name, [find_key(catalog, prefix)])


def change_title(catalog: Catalog) -> None:
    cells = catalog.table.get(catalog.name, [KEY])[KEY]
    value = cells[CROSSREF].replace(b"slow", b"fast")
    catalog.table.put(catalog.name, [(KEY, {CROSSREF: value})])


ALTERATIONS = {
    "record": (change_title, "the work doi:10.5555/work.1 was changed by another program"),
    "no JSON": (put_cell(CROSSREF, b"{"), "the work doi:10.5555/work.1 was changed"),
    "checksum": (put_cell(f"{CROSSREF}:checksum", b"17"), "the work doi:10.5555/work.1 was"),
    "work": (remove_row(KEY), "a lookup key of the work doi:10.5555/work.1 has no record"),
    "title": (remove_row(TITLE), "the work doi:10.5555/work.0 lacks a lookup key"),
    "author": (remove_row(AUTHOR), "the work doi:10.5555/work.0 lacks a lookup key"),
    "lookup key": (put_cell(POINTER, b"1", AUTHOR), "a lookup key of the work doi:10.5555/work.0"),
    "progress": (put_cell(MARK, b"{}", LOADED), "the progress of loading a file was changed"),
}


@pytest.fixture
def works_file(tmp_path: Path) -> Path:
    file = tmp_path / "works.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    return file


@pytest.fixture
def catalog(tmp_path: Path, works_file: Path) -> Iterator[Catalog]:
    table = SqliteTable(tmp_path / "table.sqlite")
    opened = Catalog(table, name_catalog_table("fonds", "test"))
    opened.declare()
    load(opened, works_file, "1", lambda _: None)
    yield opened
    table.close()


@pytest.mark.parametrize("name", ALTERATIONS)
def test_an_alteration_is_noticed_and_loading_again_corrects_it(
    catalog: Catalog, works_file: Path, name: str
) -> None:
    assert list(iter_catalog_faults(catalog)) == []
    rows = catalog.table.scan(catalog.name, count_max=1000)
    alter, message = ALTERATIONS[name]
    alter(catalog)
    faults = list(iter_catalog_faults(catalog))
    assert any(fault.startswith(message) for fault in faults), faults
    load(catalog, works_file, "1", lambda _: None, loads_again=True)
    assert list(iter_catalog_faults(catalog)) == []
    assert catalog.table.scan(catalog.name, count_max=1000) == rows


def test_works_have_each_kind_of_lookup_key(catalog: Catalog) -> None:
    kinds = {key[:1] for key, _ in catalog.table.scan(catalog.name, count_max=1000)}
    assert kinds >= {AUTHOR, TITLE} - {IDENTIFIER}
