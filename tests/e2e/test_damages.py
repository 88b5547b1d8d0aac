"""Every damage done to a balanced home is named by the audit, with what to do about it."""

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
    """A home and its crawl, as they are when nothing is wrong."""
    world = World(tmp_path_factory.mktemp("damages") / "world")
    world.root.mkdir()
    write_sample(world.crawl)
    ran = fonds(world.home, "ingest", "--json", world.crawl)
    assert ran.last["pending"] == 0, ran.err
    shutil.copytree(world.root, world.root.with_name("whole"), symlinks=True)
    return world


@pytest.fixture(scope="module")
def whole(ingested: World) -> dict[str, Any]:
    """The state of the home when nothing is wrong."""
    return state(ingested.home)


@pytest.fixture
def world(ingested: World) -> Iterator[World]:
    """Put back as it was: places are absolute paths, so it is always the same folder."""
    yield ingested
    shutil.rmtree(ingested.root)
    shutil.copytree(ingested.root.with_name("whole"), ingested.root, symlinks=True)


def named(world: World, *, deep: bool) -> tuple[list[str], list[str]]:
    """What the audit says, and the remedies; an error of a store is one thing said."""
    try:
        with world.stores() as stores:
            if deep:
                DeepAudit(stores, lambda: datetime.now(UTC), lambda: False).run(
                    None, lambda _: None
                )
            pipelines = list_used_readers(stores, load_settings(world.home, {}), None)
            audit = run_audit(stores, pipelines)
    except FondsError as error:
        return [str(error)], [str(error)]
    assert audit.is_balanced == (not audit.faults)
    return audit.fault_texts, [fault.remedy for fault in audit.faults]


def test_what_is_whole_balances(world: World) -> None:
    assert named(world, deep=True) == ([], [])


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda one: one.name)
def test_a_damage_is_named_with_what_to_do_about_it(world: World, damage: Damage) -> None:
    damage.act(world)
    told, remedies = named(world, deep=damage.deep)
    assert any(damage.fault in one for one in told), told
    assert all(remedies)


@pytest.mark.nightly
@pytest.mark.parametrize("damage", [one for one in DAMAGES if one.deep], ids=lambda one: one.name)
def test_what_only_reading_shows_the_deep_audit_alone_names(world: World, damage: Damage) -> None:
    """If the quick one did too, the list would claim too little for it."""
    damage.act(world)
    assert not any(damage.fault in one for one in named(world, deep=False)[0])


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
        "sha256",
        "done-to-dropped",
        "tally",
    }
)
"""One damage of each store and of each kind of remedy."""
SAME = (
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
    partly_nightly(DAMAGES, lambda one: one.name in REPAIRED_ON_PUSH),
    ids=lambda one: one.name,
)
def test_repair_makes_good_what_can_be_or_names_what_is_lost(
    whole: dict[str, Any], world: World, damage: Damage
) -> None:
    damage.act(world)
    flags = ["--deep"] if damage.deep else []
    ran = fonds(world.home, "repair", "--yes", *flags)
    assert "Traceback" not in ran.out + ran.err
    if damage.lost:
        assert ran.code != 0
        assert damage.lost in ran.out + ran.err
        return
    assert ran.code == 0, ran.out + ran.err
    assert named(world, deep=True) == ([], [])
    assert kept(state(world.home)) == kept(whole)


def kept(found: dict[str, Any]) -> dict[str, Any]:
    """What a repair leaves as it was. What is read again is read where it lies now, and says so."""
    where = ("rss_entry", "http_metadata")
    stories = [
        {**row, "story": {name: row["story"][name] for name in row["story"] if name not in where}}
        for row in found["stories"]
    ]
    return {part: found[part] for part in SAME} | {"stories": stories}


def test_without_being_told_to_repair_changes_nothing(world: World) -> None:
    DAMAGES[0].act(world)
    before = named(world, deep=False)
    ran = fonds(world.home, "repair")
    assert ran.code == 1
    assert f"fonds --home {world.home} repair --yes" in ran.out
    assert named(world, deep=False) == before
    assert not (world.home / "archive").exists()


def test_nothing_is_done_beside_records_that_were_lost(world: World) -> None:
    """Whoever worked on would cut from our WARCs what the records do not know."""
    next(damage for damage in DAMAGES if damage.name == "records-gone").act(world)
    marker = world.warc.with_name(f"{world.warc.name}.open")
    marker.touch()
    size = world.warc.stat().st_size
    for words in (
        ["ingest", world.crawl],
        ["ingest", "--enter-only", world.crawl],
        ["repair", "--yes"],
    ):
        ran = fonds(world.home, *words)
        assert ran.code == 2
        assert "the records contain no files" in ran.err
    assert world.warc.stat().st_size == size


def test_what_a_lost_row_of_an_open_warc_told_of_is_not_cut_off(world: World) -> None:
    """A killed process left the file open, and the last of its rows was lost besides."""
    (path, offset, size) = world.sql(
        "select warc_path, warc_offset, warc_csize from cdx where warc_path not like '%/%'"
        " and mimetype != 'warc/revisit' order by warc_path, warc_offset desc limit 1"
    )[0]
    warc = world.home / "archive" / path
    warc.with_name(warc.name.replace(".warc.gz", ".cdxj")).unlink()
    warc.with_name(f"{path}.open").touch()
    gone = "delete from cdx where warc_path = ? and warc_offset >= ?"
    world.sql(gone, path, offset)
    ran = fonds(world.home, "repair", "--yes")
    assert ran.code == 0, ran.out + ran.err
    assert warc.stat().st_size >= offset + size
    assert named(world, deep=True) == ([], [])


def test_what_a_killed_repair_left_on_its_way_is_worked_off_by_the_next(
    whole: dict[str, Any], world: World
) -> None:
    """What is on its way is not missing, so that only looking at faults would leave it there."""
    ran = fonds(world.home, "catchup", "pdf", "--reextract", "--enter-only", "--json")
    assert ran.last["sent"] >= 1, ran.err
    assert named(world, deep=False)[0] == []
    assert sum(state(world.home)["left"].values()) > 0
    ran = fonds(world.home, "repair", "--yes", "--json")
    assert ran.code == 0, ran.out + ran.err
    now = state(world.home)
    assert (now["left"], now["outcomes"]) == (whole["left"], whole["outcomes"])


def test_a_share_of_the_deep_audit_is_gone_on_from(world: World) -> None:
    total = world.get_value("select count(*) from file_meta")
    ran = fonds(world.home, "audit", "--deep", "--share", "5")
    assert ran.code == 0, ran.err
    assert "5 files were read and hashed, 0 faults; the next" in ran.out
    ran = fonds(world.home, "audit", "--deep", "--json")
    assert (ran.last["deep"]["checked"], ran.last["deep"]["finished"]) == (total, True)
    assert fonds(world.home, "audit", "--share", "5").code == 2


def test_the_list_is_as_long_as_it_is_said_to_be() -> None:
    assert len(DAMAGES) >= 46
    assert len({damage.name for damage in DAMAGES}) == len(DAMAGES)


def test_all_there_is_stays_where_it_was(ingested: World) -> None:
    """The audit writes nothing but what it says of itself."""
    before = {path: path.stat().st_size for path in Path(ingested.home / "archive").iterdir()}
    assert named(ingested, deep=False) == ([], [])
    assert {path: path.stat().st_size for path in (ingested.home / "archive").iterdir()} == before
