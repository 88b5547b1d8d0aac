"""`fonds search` by theme: filter by a theme, and counts by the themes of a collection."""

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
def _group_documents(home: Path, filled_home: FilledHome) -> None:
    """Group documents of the index with texts of two themes."""
    with open_home(home) as stores:
        tables = Tables(stores.table)
        tables.declare()
        leases = Leases(LeaseTable(stores.records), create_worker_name(), time.monotonic)
        writer = CollectionWriter(tables, leases, Clock())
        hits = stores.index.search(SearchQuery(count_max=30)).hits
        texts = themed_documents(40, seed=5, themes=2)
        ids = [hit.document.id for hit in hits] + [text.id for text in texts[len(hits) :]]
        writer.put(
            NAME, [Document(id_, themed.text) for id_, themed in zip(ids, texts, strict=True)]
        )
        rebuild(writer, NAME, threads=1)


def test_a_theme_finds_its_counted_documents(call: Call) -> None:
    lines = [
        json.loads(line)
        for line in call("--json", "search", "--themes-of", str(NAME)).out.splitlines()
    ]
    counts = next(line["themes"] for line in lines if "themes" in line)
    n_clustered = sum(count for _, count in counts["themes"])
    assert (
        counts["looked_at"]
        == counts["total"]
        == n_clustered + counts["unclustered"] + counts["outside"]
    )
    for label, count in counts["themes"]:
        query = f'theme:"{NAME}/{label}"'
        lines_of_hits = call("--json", "search", query, "--limit", "1000").out.splitlines()
        assert len(lines_of_hits) == count
        expected = {json.loads(line)["sha1hex"] for line in lines_of_hits}
        exported = _list_exported(call, query)
        assert len(exported) == count
        assert set(exported) == expected
        result = call("search", query, "--themes-of", str(NAME))
        assert f"{count:>9,}  {label}" in result.out
        assert "0 without a theme, 0 not in by/theme" in result.err


def _list_exported(call: Call, query: str) -> list[str]:
    rows = call("export", query, "--no-text").out.splitlines()
    return [json.loads(row)["sha1hex"] for row in rows]


def test_an_exported_theme_is_verified(call: Call, tmp_path: Path) -> None:
    out = call("--json", "search", "--themes-of", str(NAME)).out.splitlines()
    (label, count), *_ = json.loads(out[-1])["themes"]["themes"]
    file = str(tmp_path / "theme.csv")
    call("export", f'theme:"{NAME}/{label}"', "--format", "csv", "--out", file)
    verification = json.loads(call("--json", "verify", file).out)
    assert (verification["result_is_same"], verification["then"], verification["now"]) == (
        True,
        count,
        count,
    )


def test_an_unknown_theme_is_reported_with_its_position(call: Call) -> None:
    result = call("search", "theme:nothinglikethis")
    assert result.code == 2
    assert "no theme named 'nothinglikethis'. Known: " in result.err
    assert "^^^^^" in result.err
