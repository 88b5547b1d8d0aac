"""Setting an unusable index aside: an empty index replaces it, and the old folder is kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from filled_home import open_home
from fonds.config import Settings
from fonds.model.document import IndexDocument
from fonds.model.errors import ConfigurationError
from fonds.model.file import Kind
from fonds.ports import Stores
from fonds.wiring.stores import close_stores, set_index_aside

DOCUMENT = IndexDocument(
    "a" * 40, "a" * 40, Kind.STORY, "http://e.org/", "e.org", None, "en", "A page", "words",
    datetime(2024, 5, 6, tzinfo=UTC),
)  # fmt: skip


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    with open_home(tmp_path) as stores:
        stores.index.put([DOCUMENT])
        yield stores


def test_the_old_index_is_moved_and_the_new_one_is_empty(stores: Stores, tmp_path: Path) -> None:
    new_stores, old_folder = set_index_aside(stores, tmp_path, Settings())
    assert old_folder == tmp_path / "index.damaged-1"
    assert (old_folder / "meta.json").exists()
    assert new_stores.index.count() == 0
    new_stores.index.put([DOCUMENT])
    assert new_stores.index.count() == 1
    assert new_stores.records is stores.records
    close_stores(new_stores)


def test_older_folders_are_not_overwritten(stores: Stores, tmp_path: Path) -> None:
    (tmp_path / "index.damaged-1").mkdir()
    (tmp_path / "index.damaged-2").symlink_to(tmp_path / "nowhere")
    new_stores, old_folder = set_index_aside(stores, tmp_path, Settings())
    assert old_folder == tmp_path / "index.damaged-3"
    close_stores(new_stores)


def test_an_index_that_cannot_be_moved_is_reported_with_advice(
    stores: Stores, tmp_path: Path
) -> None:
    missing_folder = Settings(index="tantivy:not/there")
    with pytest.raises(ConfigurationError, match=r"Move it yourself"):
        set_index_aside(stores, tmp_path, missing_folder)
    on_server = Settings(index="elasticsearch://search.example")
    with pytest.raises(ConfigurationError, match="not a folder that can be moved"):
        set_index_aside(stores, tmp_path, on_server)
    assert stores.index.count() == 1
    stores.index.put([replace(DOCUMENT, id="b" * 40)])
    assert stores.index.count() == 2
