"""`fonds search` by theme: narrowed to one, and counted by those of a collection."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from calls import Call
from filled_home import FilledHome, open_home
from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.document import Document
from fonds.grouping.names import CollectionName
from fonds.grouping.rebuild.rebuild import rebuild
from fonds.grouping.tables import Tables
from fonds.isolation.process_identity import create_worker_name
from fonds.leases.cells import LeaseTable
from fonds.leases.leases import Leases
from fonds.model.search import SearchQuery
from kept_collections import Clock, themed_documents

NAME = CollectionName("by", "theme")


@pytest.fixture(scope="module", autouse=True)
def _grouped(home: Path, filled: FilledHome) -> None:
    """Documents of the index under texts on two themes."""
    with open_home(home) as stores:
        tables = Tables(stores.table)
        tables.declare()
        leases = Leases(LeaseTable(stores.records), create_worker_name(), time.monotonic)
        changes = CollectionWriter(tables, leases, Clock())
        hits = stores.index.search(SearchQuery(count_max=30)).hits
        texts = themed_documents(40, seed=5, themes=2)
        ids = [hit.document.id for hit in hits] + [text.id for text in texts[len(hits) :]]
        changes.put(NAME, [Document(id_, one.text) for id_, one in zip(ids, texts, strict=True)])
        rebuild(changes, NAME, threads=1)


def test_a_theme_finds_as_many_as_are_counted(call: Call) -> None:
    lines = [
        json.loads(line)
        for line in call("--json", "search", "--themes-of", str(NAME)).out.splitlines()
    ]
    counts = next(line["themes"] for line in lines if "themes" in line)
    inside = sum(count for _, count in counts["themes"])
    assert (
        counts["looked_at"] == counts["total"] == inside + counts["unclustered"] + counts["outside"]
    )
    for label, count in counts["themes"]:
        asked = f'theme:"{NAME}/{label}"'
        found = call("--json", "search", asked, "--limit", "1000").out.splitlines()
        assert len(found) == count
        wanted = {json.loads(line)["sha1hex"] for line in found}
        exported = _exported(call, asked)
        assert len(exported) == count
        assert set(exported) == wanted
        told = call("search", asked, "--themes-of", str(NAME))
        assert f"{count:>9,}  {label}" in told.out
        assert "0 without a theme, 0 not in by/theme" in told.err


def _exported(call: Call, asked: str) -> list[str]:
    rows = call("export", asked, "--no-text").out.splitlines()
    return [json.loads(row)["sha1hex"] for row in rows]


def test_an_exported_theme_is_taken_back(call: Call, tmp_path: Path) -> None:
    out = call("--json", "search", "--themes-of", str(NAME)).out.splitlines()
    (label, count), *_ = json.loads(out[-1])["themes"]["themes"]
    file = str(tmp_path / "theme.csv")
    call("export", f'theme:"{NAME}/{label}"', "--format", "csv", "--out", file)
    told = json.loads(call("--json", "verify", file).out)
    assert (told["result_is_same"], told["then"], told["now"]) == (True, count, count)


def test_a_theme_there_is_not_is_pointed_at(call: Call) -> None:
    told = call("search", "theme:nothinglikethis")
    assert told.code == 2
    assert "no theme named 'nothinglikethis'. Known: " in told.err
    assert "^^^^^" in told.err
