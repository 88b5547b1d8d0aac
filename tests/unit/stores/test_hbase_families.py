"""What an HBase table is made with: told to a Thrift server that only writes down what it hears."""

from __future__ import annotations

from typing import Any

import happybase
import pytest

from fonds.model.errors import ConfigurationError
from fonds.stores.table.hbase import HbaseTable

NAME = "g-journal-extract-0-qa"
CACHED = {"bloom_filter_type": "ROW", "block_cache_enabled": True}


class Server:
    """A connection to a cluster whose tables are those made over it."""

    made: dict[str, dict[str, dict[str, Any]]]

    def __init__(self, *_: object, **__: object) -> None:
        self.transport = self

    def open(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""

    def is_open(self) -> bool:
        return True

    def tables(self) -> list[bytes]:
        return [name.encode() for name in self.made]

    def table(self, name: str, **_: object) -> Any:
        families = self.made.get(name)

        class Known:
            def families(self) -> dict[bytes, object]:
                return {f"{one}".encode(): {} for one in families or ()}

        return Known()

    def create_table(self, name: str, families: dict[str, dict[str, Any]]) -> None:
        self.made[name] = families


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, dict[str, Any]]]:
    Server.made = {}
    monkeypatch.setattr(happybase, "Connection", Server)
    return Server.made


def test_families_have_a_bloom_filter_and_the_block_cache(
    made: dict[str, dict[str, dict[str, Any]]],
) -> None:
    HbaseTable("hbase://host:9090?in_memory=f").declare(
        NAME, ["f", "file"], compressions={"file": "SNAPPY"}
    )
    assert made[NAME] == {
        "f": {"max_versions": 1, "compression": "GZ", **CACHED, "in_memory": True},
        "file": {"max_versions": 1, "compression": "SNAPPY", **CACHED, "in_memory": False},
    }


def test_a_table_with_regions_is_made_in_the_shell(
    made: dict[str, dict[str, dict[str, Any]]],
) -> None:
    table = HbaseTable("hbase://host:9090?regions=2&in_memory=f")
    with pytest.raises(ConfigurationError) as error:
        table.declare(NAME, ["f"])
    assert str(error.value).endswith(
        f"create '{NAME}', {{NAME => 'f', VERSIONS => 1, BLOOMFILTER => 'ROW', BLOCKCACHE => true,"
        r""" COMPRESSION => 'GZ', IN_MEMORY => true}, SPLITS => ["\x80\x00"]"""
    )
    table.declare("g-other-0-qa", ["f"])
    assert list(made) == ["g-other-0-qa"]


@pytest.mark.parametrize("regions", ["0", "many", "5000"])
def test_regions_are_a_number(regions: str) -> None:
    with pytest.raises(ConfigurationError, match="regions"):
        HbaseTable(f"hbase://host:9090?regions={regions}")
