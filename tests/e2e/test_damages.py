"""The audit reports every damage to a balanced home, with a remedy."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from damaged_world import Damage, World
from damages import DAMAGES
from depth import partly_nightly
from e2e.running import fonds
from e2e.states import state
from fonds.audit.audit import run_audit
from fonds.audit.bodies import DeepAudit
from fonds.config import load_settings
from fonds.model.errors import FondsError
from fonds.wiring.pipeline_names import list_used_readers
from sample import write_sample


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> World:
    """An undamaged home and its crawl."""
    world = World(tmp_path_factory.mktemp("damages") / "world")
    world.root.mkdir()
    write_sample(world.crawl)
    result = fonds(world.home, "ingest", "--json", world.crawl)
    assert result.last["pending"] == 0, result.err
    shutil.copytree(world.root, world.root.with_name("whole"), symlinks=True)
    return world


@pytest.fixture(scope="module")
def undamaged_state(ingested: World) -> dict[str, Any]:
    """The state of the undamaged home."""
    return state(ingested.home)


@pytest.fixture
def world(ingested: World) -> Iterator[World]:
    """The home; restored afterwards. It is always the same folder, because places are absolute paths."""
    yield ingested
    shutil.rmtree(ingested.root)
    shutil.copytree(ingested.root.with_name("whole"), ingested.root, symlinks=True)


def find_faults(world: World, *, deep: bool) -> tuple[list[str], list[str]]:
    """Return the faults of the audit and their remedies. The error of a store counts as a fault."""
    try:
        with world.stores() as stores:
            if deep:
                DeepAudit(stores, lambda: datetime.now(UTC), lambda: False).run(
                    None, lambda _: None
                )
            pipelines = list_used_readers(
                stores.records, stores.queue, load_settings(world.home, {})
            )
            audit = run_audit(stores, pipelines)
    except FondsError as error:
        return [str(error)], [str(error)]
    assert audit.is_balanced == (not audit.faults)
    return audit.fault_texts, [fault.remedy for fault in audit.faults]


def test_an_undamaged_home_has_no_faults(world: World) -> None:
    assert find_faults(world, deep=True) == ([], [])


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_the_audit_reports_each_damage_with_a_remedy(world: World, damage: Damage) -> None:
    damage.act(world)
    faults, remedies = find_faults(world, deep=damage.deep)
    assert any(damage.fault in fault for fault in faults), faults
    assert all(remedies)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "damage", [damage for damage in DAMAGES if damage.deep], ids=lambda damage: damage.name
)
def test_only_the_deep_audit_reports_damaged_content(world: World, damage: Damage) -> None:
    """If the quick audit reported it too, `deep` would be wrong in the list."""
    damage.act(world)
    assert not any(damage.fault in fault for fault in find_faults(world, deep=False)[0])


REPAIRED_ON_PUSH = frozenset(
    {
        "archive-gone",
        "source-gone",
        "warc-flipped",
        "cdxj-line-gone",
        "pdf-row-gone",
        "story-row-gone",
        "cdx-row-gone",
        "entry-gone",
        "input-of-index-gone",
        "input-path",
        "cdx-capture-id",
        "sha256",
        "done-to-dropped",
        "tally",
    }
)
"""One damage of each store and of each kind of remedy."""
RESTORED_PARTS = (
    "files",
    "pdfs",
    "stories",
    "captures",
    "documents",
    "indexed",
    "table",
    "blobs",
    "outcomes",
)


@pytest.mark.parametrize(
    "damage",
    partly_nightly(DAMAGES, lambda damage: damage.name in REPAIRED_ON_PUSH),
    ids=lambda damage: damage.name,
)
def test_repair_restores_the_state_or_reports_the_loss(
    undamaged_state: dict[str, Any], world: World, damage: Damage
) -> None:
    damage.act(world)
    faults, _ = find_faults(world, deep=damage.deep)
    counts = count_rows(world) if damage.adds_nothing else {}
    flags = ["--deep"] if damage.deep else []
    result = fonds(world.home, "repair", "--yes", *flags)
    assert "Traceback" not in result.out + result.err
    if damage.lost:
        assert result.code != 0
        assert damage.lost in result.out + result.err
        assert len(find_faults(world, deep=damage.deep)[0]) <= len(faults)
        if damage.adds_nothing:
            assert count_rows(world) == counts
        return
    assert result.code == 0, result.out + result.err
    assert find_faults(world, deep=True) == ([], [])
    assert select_restored(state(world.home)) == select_restored(undamaged_state)


def count_rows(world: World) -> dict[str, int]:
    """Return the number of rows of the tables that a repair could fill with wrong rows."""
    tables = ("entries", "inputs", "cdx", "file_meta")
    return {table: world.get_value(f"select count(*) from {table}") for table in tables}


def select_restored(full_state: dict[str, Any]) -> dict[str, Any]:
    """Return what a repair must restore. Places may differ, because files are read again."""
    place_fields = ("rss_entry", "http_metadata")
    stories = [
        {
            **row,
            "story": {
                name: row["story"][name] for name in row["story"] if name not in place_fields
            },
        }
        for row in full_state["stories"]
    ]
    return {part: full_state[part] for part in RESTORED_PARTS} | {"stories": stories}


def test_repair_without_yes_changes_nothing(world: World) -> None:
    DAMAGES[0].act(world)
    before = find_faults(world, deep=False)
    result = fonds(world.home, "repair")
    assert result.code == 1
    assert f"fonds --home {world.home} repair --yes" in result.out
    assert find_faults(world, deep=False) == before
    assert not (world.home / "archive").exists()


def test_commands_refuse_a_home_with_lost_records(world: World) -> None:
    """Otherwise Fonds would truncate its WARCs to the records that are known."""
    next(damage for damage in DAMAGES if damage.name == "records-gone").act(world)
    marker = world.warc.with_name(f"{world.warc.name}.open")
    marker.touch()
    size = world.warc.stat().st_size
    for words in (
        ["ingest", world.crawl],
        ["ingest", "--enter-only", world.crawl],
        ["repair", "--yes"],
    ):
        result = fonds(world.home, *words)
        assert result.code == 2
        assert "the records contain no files" in result.err
    assert world.warc.stat().st_size == size


def test_repair_keeps_records_of_an_open_warc_with_lost_rows(world: World) -> None:
    """A killed process left the WARC open, and its last row was lost."""
    (path, offset, size) = world.sql(
        "select warc_path, warc_offset, warc_csize from cdx where warc_path not like '%/%'"
        " and mimetype != 'warc/revisit' order by warc_path, warc_offset desc limit 1"
    )[0]
    warc = world.home / "archive" / path
    warc.with_name(warc.name.replace(".warc.gz", ".cdxj")).unlink()
    warc.with_name(f"{path}.open").touch()
    statement = "delete from cdx where warc_path = ? and warc_offset >= ?"
    world.sql(statement, path, offset)
    result = fonds(world.home, "repair", "--yes")
    assert result.code == 0, result.out + result.err
    assert warc.stat().st_size >= offset + size
    assert find_faults(world, deep=True) == ([], [])


def test_a_repair_processes_messages_of_a_killed_one(
    undamaged_state: dict[str, Any], world: World
) -> None:
    """Pending messages are not faults, so a repair of faults alone would leave them pending."""
    result = fonds(world.home, "catchup", "pdf", "--reextract", "--enter-only", "--json")
    assert result.last["sent"] >= 1, result.err
    assert find_faults(world, deep=False)[0] == []
    assert sum(state(world.home)["left"].values()) > 0
    result = fonds(world.home, "repair", "--yes", "--json")
    assert result.code == 0, result.out + result.err
    now = state(world.home)
    assert (now["left"], now["outcomes"]) == (undamaged_state["left"], undamaged_state["outcomes"])


def test_a_deep_audit_continues_after_a_share(world: World) -> None:
    total = world.get_value("select count(*) from file_meta")
    result = fonds(world.home, "audit", "--deep", "--share", "5")
    assert result.code == 0, result.err
    assert "5 files were read and hashed, 0 faults; the next" in result.out
    result = fonds(world.home, "audit", "--deep", "--json")
    assert (result.last["deep"]["checked"], result.last["deep"]["finished"]) == (total, True)
    assert fonds(world.home, "audit", "--share", "5").code == 2


def test_the_list_of_damages_is_complete_and_unique() -> None:
    assert len(DAMAGES) >= 46
    assert len({damage.name for damage in DAMAGES}) == len(DAMAGES)


def test_an_audit_does_not_change_the_archive(ingested: World) -> None:
    """The audit writes only its own results."""
    before = {path: path.stat().st_size for path in Path(ingested.home / "archive").iterdir()}
    assert find_faults(ingested, deep=False) == ([], [])
    assert {path: path.stat().st_size for path in (ingested.home / "archive").iterdir()} == before
