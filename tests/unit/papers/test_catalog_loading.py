"""Files of records: whatever form they have, from where they were left, and what was refused is told."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from fonds.papers.catalog import loader, records
from fonds.papers.catalog.loader import LoadProgress, iter_loaded_files, load
from fonds.papers.catalog.records import RefusalReason, RefusedRecord, iter_file_records
from fonds.papers.catalog.store import Catalog
from fonds.stores.table.sqlite import SqliteTable


def record(number: int) -> dict[str, object]:
    return {"DOI": f"10.5555/{number}", "title": [f"The river of number {number}"], "type": "book"}


def lines(*numbers: int) -> bytes:
    return b"".join(json.dumps(record(number)).encode() + b"\n" for number in numbers)


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    table = SqliteTable(tmp_path / "table.sqlite")
    made = Catalog(table, "c")
    made.declare()
    yield made
    table.close()


def quiet(at: LoadProgress) -> None:
    """Nobody listens."""


@pytest.mark.parametrize(
    "data",
    [
        lines(1, 2, 3),
        gzip.compress(lines(1, 2, 3)),
        json.dumps({"items": [record(one) for one in (1, 2, 3)]}).encode(),
        json.dumps({"items": [record(one) for one in (1, 2, 3)]}, indent=1).encode(),
        gzip.compress(json.dumps([record(one) for one in (1, 2, 3)], indent=1).encode()),
        json.dumps(
            {"status": "ok", "message": {"items": [record(1), record(2), record(3)]}}
        ).encode(),
        b"\n\n" + lines(1) + b"\n" + lines(2, 3).rstrip(),
    ],
)
def test_records_come_out_of_every_form(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "records"
    path.write_bytes(data)
    assert [found["DOI"] for _, found in iter_file_records(path)] == [
        f"10.5555/{one}" for one in (1, 2, 3)
    ]


def test_bad_lines_are_told_by_their_number_and_the_others_are_taken(
    tmp_path: Path, catalog: Catalog
) -> None:
    path = tmp_path / "works.jsonl"
    path.write_bytes(b"{\n" + lines(1) + b"[]\n7\n" + b'{"DOI": "none"}\n' + lines(2))
    done = load(catalog, path, "1", quiet)
    assert done.finished
    assert done.counts == {"crossref": 2, "not-json": 1, "not-a-record": 1, "no-identifier": 1}
    assert "line 1:" in done.examples["not-json"][0]
    assert "line 4: 7" in done.examples["not-a-record"][0]
    assert set(catalog.load_works(["doi:10.5555/1", "doi:10.5555/2"])) == {
        "doi:10.5555/1",
        "doi:10.5555/2",
    }


def test_long_lines_bombs_and_torn_files_are_refused_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "LINE_MAX_BYTES", 200)
    monkeypatch.setattr(records, "UNPACKED_MIN_BYTES", 1_000)
    path = tmp_path / "works.jsonl"

    def refused() -> list[RefusalReason]:
        return [one.reason for _, one in iter_file_records(path) if isinstance(one, RefusedRecord)]

    path.write_bytes(lines(1) + b'{"x": "' + b"y" * 999 + b'"}\n' + lines(2))
    assert refused() == [RefusalReason.TOO_LONG]
    assert len(list(iter_file_records(path))) == 3
    path.write_bytes(gzip.compress(lines(1) + lines(2) * 5_000))
    assert refused() == [RefusalReason.TOO_LONG]
    path.write_bytes(gzip.compress(lines(*range(500)))[:-20])
    assert refused() == [RefusalReason.UNPACKING]


def test_killed_anywhere_it_goes_on_and_leaves_the_same(
    tmp_path: Path, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loader, "BATCH", 2)
    path = tmp_path / "works.jsonl"
    path.write_bytes(lines(*range(9)) + b"?\n")

    class Killed(Exception):
        """The process ended."""

    def once(at: LoadProgress) -> None:
        if at.position == 4:
            raise Killed

    with pytest.raises(Killed):
        load(catalog, path, "1", once)
    (at,) = iter_loaded_files(catalog)
    assert (at.position, at.finished) == (4, False)
    seen: list[int] = []
    done = load(catalog, path, "1", lambda at: seen.append(at.position))
    assert seen == [6, 8, 10]
    assert done.counts == {"crossref": 9, "not-json": 1}
    assert load(catalog, path, "1", lambda at: seen.append(-1)) == done
    assert -1 not in seen
    other = Catalog(SqliteTable(tmp_path / "other.sqlite"), "c")
    other.declare()
    load(other, path, "1", quiet)
    assert other.table.scan("c") == catalog.table.scan("c")
    other.table.close()  # type: ignore[attr-defined]


def test_a_file_that_changed_is_loaded_again(tmp_path: Path, catalog: Catalog) -> None:
    path = tmp_path / "works.jsonl"
    path.write_bytes(lines(1))
    load(catalog, path, "1", quiet)
    path.write_bytes(lines(1, 2))
    assert load(catalog, path, "2", quiet).counts == {"crossref": 2}
