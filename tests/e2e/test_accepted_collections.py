"""Changes of collections and of the catalogue by another program: the remedies of the audit work."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.running import call
from fonds.config import load_settings
from fonds.grouping.names import parse
from fonds.grouping.tables import COLLECTIONS, CONFIGURATIONS, Tables
from fonds.papers.catalog.store import TITLE, Catalog, name_catalog_table
from fonds.stores.table.sqlite import SqliteTable
from journeys.material import write_catalogue


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    write_catalogue(tmp_path / "catalogue")
    assert call(home, "catalog", "load", str(tmp_path / "catalogue")).code == 0
    assert call(home, "collection", "create", "news/all", "--query", "kind:story").code == 0
    assert call(home, "configuration", "set", "news/few", "clusters=3").code == 0
    assert call(home, "audit", "--deep").code == 0
    return home


def test_a_changed_rule_and_a_removed_configuration_are_accepted(home: Path) -> None:
    table = SqliteTable(home / "table.sqlite")
    tables = Tables(table)
    name = parse("news/all")
    tables.put(COLLECTIONS, [(name.row, {"main:query": b"kind:pdf"})])
    ((configuration_row, _),) = tables.iter_rows(CONFIGURATIONS, b"")
    tables.delete(CONFIGURATIONS, [configuration_row])
    table.close()
    audit = call(home, "audit", "--json")
    assert audit.code == 1
    assert [fault["subject"] for fault in audit.last["faults"]] == ["news/all", "news/few"]
    assert {fault["check"] for fault in audit.last["faults"]} == {"collection-row"}
    assert "fonds repair --accept collections --yes" in audit.last["faults"][0]["remedy"]
    note = call(home, "repair", "--accept", "collections")
    assert note.code == 1
    assert "repair --accept collections --yes" in note.err
    assert call(home, "audit").code == 1
    accepted = call(home, "repair", "--accept", "collections", "--yes")
    assert (accepted.code, "accepted 2 changed rows" in accepted.err) == (0, True)
    assert call(home, "audit", "--deep").code == 0
    assert call(home, "collection", "show", "news/all", "--json").last["query"] == "kind:pdf"


def test_an_altered_catalogue_is_loaded_again(home: Path, tmp_path: Path) -> None:
    table, settings = SqliteTable(home / "table.sqlite"), load_settings(home, {})
    catalog = Catalog(table, name_catalog_table(settings.group, settings.env))
    table.delete(catalog.name, [table.scan(catalog.name, TITLE, count_max=1)[0][0]])
    table.close()
    assert call(home, "audit").code == 0
    audit = call(home, "audit", "--deep", "--json")
    assert (audit.code, [fault["check"] for fault in audit.last["faults"]]) == (1, ["catalog"])
    assert "fonds catalog load --again" in audit.last["faults"][0]["remedy"]
    assert call(home, "catalog", "load", str(tmp_path / "catalogue")).code == 0
    assert call(home, "audit", "--deep").code == 1
    assert call(home, "catalog", "load", "--again", str(tmp_path / "catalogue")).code == 0
    assert call(home, "audit", "--deep").code == 0
