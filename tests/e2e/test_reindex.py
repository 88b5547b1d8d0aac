"""`fonds reindex` restores a damaged or lost index completely."""

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
from home_texts import change_text, list_text_keys
from sample import write_sample

pytestmark = pytest.mark.xdist_group("reindex")


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the sample crawl; tests use copies."""
    folder = tmp_path_factory.mktemp("reindex")
    write_sample(folder / "crawl")
    result = fonds(folder / "home", "ingest", "--json", "--collection", "sample", folder / "crawl")
    assert result.last["pending"] == 0, result.err
    return folder / "home"


@pytest.fixture
def home(ingested: Path, tmp_path: Path) -> Path:
    """A copy of the home. Absolute paths to the WARCs outside it stay valid."""
    return Path(shutil.copytree(ingested, tmp_path / "home"))


def export_rows(home: Path) -> list[dict[str, Any]]:
    result = call(home, "export")
    assert result.code == 0, result.err
    return result.lines


def search_all(home: Path) -> list[tuple[str, str]]:
    """Return all documents of the search, with the time they were indexed."""
    hits = call(home, "search", "--json", "--limit", "1000", "--collection", "sample").lines
    return sorted((hit["sha1hex"], hit["indexed_date"]) for hit in hits)


def has_no_traceback(result: CommandResult) -> bool:
    return "Traceback" not in result.err + result.out


def _delete_meta(index: Path) -> None:
    (index / "meta.json").unlink()


def _overwrite_segments(index: Path) -> None:
    for path in [*index.glob("*.store"), *index.glob("*.term")]:
        path.write_bytes(b"\xa5" * path.stat().st_size)


def _truncate_meta(index: Path) -> None:
    data = (index / "meta.json").read_bytes()
    (index / "meta.json").write_bytes(data[: len(data) // 2])


@pytest.mark.parametrize("wreck", [_delete_meta, _overwrite_segments, _truncate_meta])
def test_a_damaged_index_is_reported_moved_and_rebuilt(
    home: Path, wreck: Callable[[Path], None]
) -> None:
    before, hits = export_rows(home), search_all(home)
    assert len(hits) > 40
    wreck(home / "index")
    result = fonds(home, "search", "harbour")
    assert result.code == 2
    assert str(home / "index") in result.err
    assert "Run `fonds reindex`" in result.err
    assert has_no_traceback(result)

    result = fonds(home, "reindex", "--json")
    assert result.code == 0, result.err
    assert result.last.keys() == {"indexed", "removed", "remade", "seconds"}
    assert (result.last["indexed"], result.last["removed"]) == (len(hits), 0)
    assert str(home / "index.damaged-1") in result.err
    assert any((home / "index.damaged-1").iterdir())

    assert export_rows(home) == before
    assert search_all(home) == hits
    audit = call(home, "audit", "--json").last
    assert audit["balanced"], audit["missing"]


def test_a_deleted_index_is_rebuilt(home: Path) -> None:
    before, hits = export_rows(home), search_all(home)
    shutil.rmtree(home / "index")
    assert not call(home, "audit", "--json").last["balanced"]
    result = fonds(home, "reindex")
    assert (result.code, result.err) == (0, "")
    assert f"{len(hits)} documents in the index, 0 removed" in result.out
    assert (export_rows(home), search_all(home)) == (before, hits)
    assert call(home, "audit", "--json").last["balanced"]


def test_the_reindex_of_an_intact_index_changes_nothing(home: Path) -> None:
    before, hits = export_rows(home), search_all(home)
    result = fonds(home, "reindex", "--json")
    assert (result.code, result.last["removed"], result.err) == (0, 0, "")
    assert (export_rows(home), search_all(home)) == (before, hits)
    assert not list(home.glob("index.damaged-*"))


def test_a_reindex_removes_documents_that_no_store_has(home: Path) -> None:
    before = export_rows(home)
    (home / "index.damaged-1").mkdir()
    index = TantivyIndex(home / "index")
    row = before[0]
    (document,) = index.get([row["story_id"] or row["sha1hex"]]).values()
    strays = [replace(document, id=f"{n:040x}", sha1hex=f"{n:040x}") for n in range(3)]
    index.put(strays)
    index.close()
    result = fonds(home, "reindex", "--json")
    assert (result.code, result.last["removed"]) == (0, 3)
    assert "no other store has" in result.err
    assert str(home / "index.damaged-2") in result.err
    assert export_rows(home) == before
    status = fonds(home, "status", "--json").last
    assert status["searchable"] == status["done"]


def test_a_missing_text_is_reported_and_the_rest_indexed(home: Path) -> None:
    key = list_text_keys(home)[0]
    change_text(home, key, None)
    result = fonds(home, "reindex", "--json")
    assert result.code == 1
    assert Path(key).stem in result.err
    assert result.last["indexed"] > 40


def test_a_missing_home_or_one_in_use_is_refused(home: Path, tmp_path: Path) -> None:
    result = fonds(tmp_path / "none", "reindex")
    assert result.code == 2
    assert f"fonds --home {tmp_path / 'none'} ingest" in result.err
    assert not (tmp_path / "none").exists()
    with HomeLock(home):
        result = fonds(home, "reindex")
    assert result.code == 2
    assert "is in use by process" in result.err
