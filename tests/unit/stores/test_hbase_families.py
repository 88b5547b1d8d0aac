"""The families of an HBase table, as sent to a Thrift server that records its requests."""

from __future__ import annotations

from typing import Any

import happybase
import pytest

from fonds.model.errors import ConfigurationError
from fonds.stores.table.hbase import HbaseTable

NAME = "g-journal-extract-0-qa"
CACHE_OPTIONS = {"bloom_filter_type": "ROW", "block_cache_enabled": True}


class RecordingConnection:
    """Connection to a cluster that has only the tables created through it."""

    created_tables: dict[str, dict[str, dict[str, Any]]]

    def __init__(self, *_: object, **__: object) -> None:
        self.transport = self

    def open(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""

    def is_open(self) -> bool:
        return True

    def tables(self) -> list[bytes]:
        return [name.encode() for name in self.created_tables]

    def table(self, name: str, **_: object) -> Any:
        families = self.created_tables.get(name)

        class KnownTable:
            def families(self) -> dict[bytes, object]:
                return {f"{family}".encode(): {} for family in families or ()}

        return KnownTable()

    def create_table(self, name: str, families: dict[str, dict[str, Any]]) -> None:
        self.created_tables[name] = families


@pytest.fixture
def created_tables(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, dict[str, Any]]]:
    RecordingConnection.created_tables = {}
    monkeypatch.setattr(happybase, "Connection", RecordingConnection)
    return RecordingConnection.created_tables


def test_families_have_a_bloom_filter_and_the_block_cache(
    created_tables: dict[str, dict[str, dict[str, Any]]],
) -> None:
    HbaseTable("hbase://host:9090?in_memory=f").declare(
        NAME, ["f", "file"], compressions={"file": "SNAPPY"}
    )
    assert created_tables[NAME] == {
        "f": {"max_versions": 1, "compression": "GZ", **CACHE_OPTIONS, "in_memory": True},
        "file": {"max_versions": 1, "compression": "SNAPPY", **CACHE_OPTIONS, "in_memory": False},
    }


def test_declaring_a_table_with_regions_shows_the_shell_command(
    created_tables: dict[str, dict[str, dict[str, Any]]],
) -> None:
    table = HbaseTable("hbase://host:9090?regions=2&in_memory=f")
    with pytest.raises(ConfigurationError) as error:
        table.declare(NAME, ["f"])
    assert str(error.value).endswith(
        f"create '{NAME}', {{NAME => 'f', VERSIONS => 1, BLOOMFILTER => 'ROW', BLOCKCACHE => true,"
        r""" COMPRESSION => 'GZ', IN_MEMORY => true}, SPLITS => ["\x80\x00"]"""
    )
    table.declare("g-other-0-qa", ["f"])
    assert list(created_tables) == ["g-other-0-qa"]


@pytest.mark.parametrize("regions", ["0", "many", "5000"])
def test_invalid_numbers_of_regions_are_refused(regions: str) -> None:
    with pytest.raises(ConfigurationError, match="regions"):
        HbaseTable(f"hbase://host:9090?regions={regions}")
