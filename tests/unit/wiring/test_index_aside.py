"""Moving an index aside that cannot be used: an empty one takes its place, the old one stays to be seen."""

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
    with open_home(tmp_path) as found:
        found.index.put([DOCUMENT])
        yield found


def test_the_old_index_lies_beside_and_the_new_one_is_empty_and_can_be_written(
    stores: Stores, tmp_path: Path
) -> None:
    renewed, aside = set_index_aside(stores, tmp_path, Settings())
    assert aside == tmp_path / "index.damaged-1"
    assert (aside / "meta.json").exists()
    assert renewed.index.count() == 0
    renewed.index.put([DOCUMENT])
    assert renewed.index.count() == 1
    assert renewed.records is stores.records
    close_stores(renewed)


def test_no_older_folder_is_ever_written_over(stores: Stores, tmp_path: Path) -> None:
    (tmp_path / "index.damaged-1").mkdir()
    (tmp_path / "index.damaged-2").symlink_to(tmp_path / "nowhere")
    renewed, aside = set_index_aside(stores, tmp_path, Settings())
    assert aside == tmp_path / "index.damaged-3"
    close_stores(renewed)


def test_what_cannot_be_moved_is_said_with_what_to_do(stores: Stores, tmp_path: Path) -> None:
    elsewhere = Settings(index="tantivy:not/there")
    with pytest.raises(ConfigurationError, match=r"Move it yourself"):
        set_index_aside(stores, tmp_path, elsewhere)
    on_a_server = Settings(index="elasticsearch://search.example")
    with pytest.raises(ConfigurationError, match="not a folder that can be moved"):
        set_index_aside(stores, tmp_path, on_a_server)
    assert stores.index.count() == 1
    stores.index.put([replace(DOCUMENT, id="b" * 40)])
    assert stores.index.count() == 2
