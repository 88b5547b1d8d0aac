"""Every damage done to a balanced home is named by the audit, with what to do about it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from damaged_world import Damage, World
from damages import DAMAGES
from e2e.running import fonds
from fonds.cli.commands.status import used_pipelines
from fonds.config import load_settings
from fonds.library.audit import audit
from fonds.library.checks.bodies import DeepAudit
from fonds.model.errors import FondsError
from sample import write_sample

pytestmark = pytest.mark.slow


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
            pipelines = used_pipelines(stores, load_settings(world.home, {}), None)
            found = audit(stores, pipelines)
    except FondsError as error:
        return [str(error)], [str(error)]
    assert found.balanced == (not found.faults)
    return found.missing, [fault.remedy for fault in found.faults]


def test_what_is_whole_balances(world: World) -> None:
    assert named(world, deep=True) == ([], [])


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda one: one.name)
def test_a_damage_is_named_with_what_to_do_about_it(world: World, damage: Damage) -> None:
    damage.act(world)
    told, remedies = named(world, deep=damage.deep)
    assert any(damage.told in one for one in told), told
    assert all(remedies)


@pytest.mark.parametrize("damage", [one for one in DAMAGES if one.deep], ids=lambda one: one.name)
def test_what_only_reading_shows_the_deep_audit_alone_names(world: World, damage: Damage) -> None:
    """If the quick one did too, the list would claim too little for it."""
    damage.act(world)
    assert not any(damage.told in one for one in named(world, deep=False)[0])


def test_the_list_is_as_long_as_it_is_said_to_be() -> None:
    assert len(DAMAGES) >= 46
    assert len({one.name for one in DAMAGES}) == len(DAMAGES)


def test_all_there_is_stays_where_it_was(ingested: World) -> None:
    """The audit writes nothing but what it says of itself."""
    before = {path: path.stat().st_size for path in Path(ingested.home / "archive").iterdir()}
    assert named(ingested, deep=False) == ([], [])
    assert {path: path.stat().st_size for path in (ingested.home / "archive").iterdir()} == before
