"""A collection store in a folder of the test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kept_collections import CollectionStore, open_collection_store


@pytest.fixture
def store(tmp_path: Path, migrated: Path) -> Iterator[CollectionStore]:
    """A store with empty tables."""
    shutil.copy(migrated, tmp_path / "records.sqlite")
    opened = open_collection_store(tmp_path)
    yield opened
    opened.close()
