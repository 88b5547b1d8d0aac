"""The JSON that an ingest stores in rows is exactly what their types express."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from shutil import copytree
from typing import Any, get_args, get_type_hints

import pytest
from starlette.testclient import TestClient

from e2e.running import fonds
from filled_home import open_home
from fixtures.jats import jats
from fonds.model.rows import (
    BibliographyRow,
    FileRightsRow,
    InputRow,
    JatsRow,
    PdfMetaRow,
    Row,
    StoryMetaRow,
)
from fonds.model.stored_json import UNKNOWN, encode_stored, is_stored_type
from fonds.model.story import Story
from fonds.model.story_json import build_story, encode_story
from fonds.ports import Stores
from fonds.stores.records.story_column import DICTIONARY
from fonds.web.app import create_app
from sample import write_sample

LICENSE = (
    "<permissions><copyright-holder>Ada Example</copyright-holder><license license-type="
    "'open-access'><license-p>Creative Commons Attribution 4.0</license-p></license></permissions>"
)
KINDS = (BibliographyRow, FileRightsRow, InputRow, JatsRow, PdfMetaRow, StoryMetaRow)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stored")
    write_sample(folder / "crawl")
    (folder / "air.xml").write_bytes(jats(meta=LICENSE))
    fonds(folder / "home", "ingest", folder / "crawl", folder / "air.xml")
    return folder / "home"


@pytest.fixture(scope="module")
def stores(home: Path) -> Iterator[Stores]:
    with open_home(home) as open_stores:
        yield open_stores


def list_stored_columns(kind: type[Row]) -> list[str]:
    hints = get_type_hints(kind)
    return [
        column.name
        for column in fields(kind)  # type: ignore[arg-type]
        if any(map(is_stored_type, [hints[column.name], *get_args(hints[column.name])]))
    ]


def encode_as_stored(value: object) -> str:
    """Return the JSON text that a column has for a value. A story has no missing fields in it."""
    is_story = isinstance(value, Story)
    data = encode_story(value, omits_missing=True) if is_story else encode_stored(value)
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def read_json(stored: str | bytes | None) -> str | None:
    """Return the JSON text of a stored value, which is compressed if it is a story."""
    if not isinstance(stored, bytes):
        return stored
    return zlib.decompressobj(zdict=DICTIONARY).decompress(stored).decode()


@pytest.mark.parametrize("kind", KINDS)
def test_a_stored_value_is_encoded_unchanged(home: Path, stores: Stores, kind: Any) -> None:
    (column,) = list_stored_columns(kind)
    keys = ", ".join(kind.KEY)
    with closing(sqlite3.connect(home / "records.sqlite")) as database:
        values = database.execute(f"select {column}, {keys} from {kind.TABLE}").fetchall()
    stored = {tuple(key): read_json(value) for value, *key in values}
    rows = list(stores.records.find(kind))
    assert len(rows) == len(stored) > 0
    for row in rows:
        text = stored[tuple(getattr(row, name) for name in kind.KEY)]
        value = getattr(row, column)
        assert (None if value is None else encode_as_stored(value)) == text
        assert not getattr(value, UNKNOWN, None)


@pytest.mark.parametrize(
    ("kind", "name", "column"),
    [
        (PdfMetaRow, "pdf", "metadata"),
        (BibliographyRow, "bibliography", "metadata"),
        (JatsRow, "jats", "metadata"),
        (StoryMetaRow, "story", "story"),
    ],
)
def test_api_and_show_return_stored_values_unchanged(
    home: Path, stores: Stores, kind: Any, name: str, column: str
) -> None:
    row = next(row for row in stores.records.find(kind) if getattr(row, column))
    with closing(sqlite3.connect(home / "records.sqlite")) as database:
        query = f"select {column} from {kind.TABLE} where sha1hex = ?"
        (text,) = database.execute(query, [row.sha1hex]).fetchone()
    with TestClient(create_app(stores), base_url="http://localhost:8765") as client:
        response = client.get(f"/api/files/{row.sha1hex}").json()
    (printed,) = fonds(home, "show", row.sha1hex, "--json").lines
    expected = json.loads(read_json(text) or "")
    if kind is StoryMetaRow:
        # The missing fields, which are not stored, are returned as null.
        expected = json.loads(json.dumps(encode_story(build_story(expected))))
        assert None in expected["page_metadata"].values()
    for file_data in (response, printed):
        assert file_data["derivatives"][name][column] == expected
        assert file_data["derivatives"][name]["sha1hex"] == row.sha1hex


def test_fields_of_other_programs_are_kept_and_shown(home: Path, tmp_path: Path) -> None:
    home = Path(copytree(home, tmp_path / "home"))
    with closing(sqlite3.connect(home / "records.sqlite")) as database:
        query = "select sha1hex, metadata from pdf_meta where metadata is not null"
        sha1hex, text = database.execute(query).fetchone()
        changed = {**json.loads(text), "title": None, "Trapped": "yes", "keywords": ["a", 1]}
        database.execute(
            "update pdf_meta set metadata = ? where sha1hex = ?", (json.dumps(changed), sha1hex)
        )
        database.commit()
    with open_home(home) as stores:
        (row,) = stores.records.get(PdfMetaRow, [sha1hex])
        assert row.metadata is not None
        assert (row.metadata.title, row.metadata.keywords) == (None, None)
        assert encode_stored(row.metadata) == changed
        stores.records.put([row])
        (second_row,) = stores.records.get(PdfMetaRow, [sha1hex])
        assert second_row == row
    result = fonds(home, "show", sha1hex)
    assert result.code == 0
    assert "trapped" in result.out.lower()
