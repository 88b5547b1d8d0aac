"""The index lost in every way, and built again from the command line: the library is as it was before."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from e2e.running import CommandResult, call, fonds
from fonds.search.index.tantivy_index import TantivyIndex
from fonds.stores.home_lock import HomeLock
from sample import write_sample

pytestmark = pytest.mark.xdist_group("reindex")


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the sample crawl in it, to be copied."""
    folder = tmp_path_factory.mktemp("reindex")
    write_sample(folder / "crawl")
    ran = fonds(folder / "home", "ingest", "--json", "--collection", "sample", folder / "crawl")
    assert ran.last["pending"] == 0, ran.err
    return folder / "home"


@pytest.fixture
def home(ingested: Path, tmp_path: Path) -> Path:
    """WARCs outside the home are referred to by absolute paths, so a copy is as good."""
    return Path(shutil.copytree(ingested, tmp_path / "home"))


def exported(home: Path) -> list[dict[str, Any]]:
    ran = call(home, "export")
    assert ran.code == 0, ran.err
    return ran.lines


def found(home: Path) -> list[tuple[str, str]]:
    """Every document the search shows, with the time it was indexed."""
    hits = call(home, "search", "--json", "--limit", "1000", "--collection", "sample").lines
    return sorted((hit["sha1hex"], hit["indexed_date"]) for hit in hits)


def calm(ran: CommandResult) -> bool:
    return "Traceback" not in ran.err + ran.out


def _without_heart(index: Path) -> None:
    (index / "meta.json").unlink()


def _overwritten(index: Path) -> None:
    for path in [*index.glob("*.store"), *index.glob("*.term")]:
        path.write_bytes(b"\xa5" * path.stat().st_size)


def _half_a_heart(index: Path) -> None:
    data = (index / "meta.json").read_bytes()
    (index / "meta.json").write_bytes(data[: len(data) // 2])


@pytest.mark.parametrize("wreck", [_without_heart, _overwritten, _half_a_heart])
def test_a_wrecked_index_is_named_moved_aside_and_built_again(
    home: Path, wreck: Callable[[Path], None]
) -> None:
    before, hits = exported(home), found(home)
    assert len(hits) > 40
    wreck(home / "index")
    ran = fonds(home, "search", "harbour")
    assert ran.code == 2
    assert str(home / "index") in ran.err
    assert "Run `fonds reindex`" in ran.err
    assert calm(ran)

    ran = fonds(home, "reindex", "--json")
    assert ran.code == 0, ran.err
    assert ran.last.keys() == {"indexed", "removed", "remade", "seconds"}
    assert (ran.last["indexed"], ran.last["removed"]) == (len(hits), 0)
    assert str(home / "index.damaged-1") in ran.err
    assert any((home / "index.damaged-1").iterdir())

    assert exported(home) == before
    assert found(home) == hits
    audit = call(home, "audit", "--json").last
    assert audit["balanced"], audit["missing"]


def test_an_index_that_is_gone_is_built_again_without_more_ado(home: Path) -> None:
    before, hits = exported(home), found(home)
    shutil.rmtree(home / "index")
    assert not call(home, "audit", "--json").last["balanced"]
    ran = fonds(home, "reindex")
    assert (ran.code, ran.err) == (0, "")
    assert f"{len(hits)} documents in the index, 0 removed" in ran.out
    assert (exported(home), found(home)) == (before, hits)
    assert call(home, "audit", "--json").last["balanced"]


def test_a_whole_index_is_the_same_afterwards_and_no_folder_is_moved(home: Path) -> None:
    before, hits = exported(home), found(home)
    ran = fonds(home, "reindex", "--json")
    assert (ran.code, ran.last["removed"], ran.err) == (0, 0, "")
    assert (exported(home), found(home)) == (before, hits)
    assert not list(home.glob("index.damaged-*"))


def test_documents_nothing_else_knows_are_gone_afterwards(home: Path) -> None:
    before = exported(home)
    (home / "index.damaged-1").mkdir()
    index = TantivyIndex(home / "index")
    one = before[0]
    (document,) = index.get([one["story_id"] or one["sha1hex"]]).values()
    strays = [replace(document, id=f"{n:040x}", sha1hex=f"{n:040x}") for n in range(3)]
    index.put(strays)
    index.close()
    ran = fonds(home, "reindex", "--json")
    assert (ran.code, ran.last["removed"]) == (0, 3)
    assert "no other store has" in ran.err
    assert str(home / "index.damaged-2") in ran.err
    assert exported(home) == before
    status = fonds(home, "status", "--json").last
    assert status["searchable"] == status["done"]


def test_a_missing_text_is_told_of_and_the_rest_is_indexed(home: Path) -> None:
    text = next(path for path in (home / "blobs").rglob("*.txt"))
    text.unlink()
    ran = fonds(home, "reindex", "--json")
    assert ran.code == 1
    assert text.stem in ran.err
    assert ran.last["indexed"] > 40


def test_a_home_that_is_not_there_or_in_use_is_left_alone(home: Path, tmp_path: Path) -> None:
    ran = fonds(tmp_path / "none", "reindex")
    assert ran.code == 2
    assert f"fonds --home {tmp_path / 'none'} ingest" in ran.err
    assert not (tmp_path / "none").exists()
    with HomeLock(home):
        ran = fonds(home, "reindex")
    assert ran.code == 2
    assert "is in use by process" in ran.err
