"""Loading catalogue records: all forms are read, loading resumes, and refused records are counted."""

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


def build_record(number: int) -> dict[str, object]:
    return {"DOI": f"10.5555/{number}", "title": [f"The river of number {number}"], "type": "book"}


def build_lines(*numbers: int) -> bytes:
    return b"".join(json.dumps(build_record(number)).encode() + b"\n" for number in numbers)


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    table = SqliteTable(tmp_path / "table.sqlite")
    opened = Catalog(table, "c")
    opened.declare()
    yield opened
    table.close()


def ignore_progress(progress: LoadProgress) -> None:
    """Ignore the progress."""


@pytest.mark.parametrize(
    "data",
    [
        build_lines(1, 2, 3),
        gzip.compress(build_lines(1, 2, 3)),
        json.dumps({"items": [build_record(number) for number in (1, 2, 3)]}).encode(),
        json.dumps({"items": [build_record(number) for number in (1, 2, 3)]}, indent=1).encode(),
        gzip.compress(
            json.dumps([build_record(number) for number in (1, 2, 3)], indent=1).encode()
        ),
        json.dumps(
            {
                "status": "ok",
                "message": {"items": [build_record(1), build_record(2), build_record(3)]},
            }
        ).encode(),
        b"\n\n" + build_lines(1) + b"\n" + build_lines(2, 3).rstrip(),
    ],
)
def test_records_are_read_from_every_form(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "records"
    path.write_bytes(data)
    assert [parsed["DOI"] for _, parsed in iter_file_records(path)] == [
        f"10.5555/{number}" for number in (1, 2, 3)
    ]


def test_bad_lines_are_reported_by_number_and_the_others_are_loaded(
    tmp_path: Path, catalog: Catalog
) -> None:
    path = tmp_path / "works.jsonl"
    path.write_bytes(b"{\n" + build_lines(1) + b"[]\n7\n" + b'{"DOI": "none"}\n' + build_lines(2))
    done = load(catalog, path, "1", ignore_progress)
    assert done.finished
    assert done.counts == {"crossref": 2, "not-json": 1, "not-a-record": 1, "no-identifier": 1}
    assert "line 1:" in done.examples["not-json"][0]
    assert "line 4: 7" in done.examples["not-a-record"][0]
    assert set(catalog.load_works(["doi:10.5555/1", "doi:10.5555/2"])) == {
        "doi:10.5555/1",
        "doi:10.5555/2",
    }


def test_overlong_lines_bombs_and_truncated_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "LINE_MAX_BYTES", 200)
    monkeypatch.setattr(records, "UNPACKED_MIN_BYTES", 1_000)
    path = tmp_path / "works.jsonl"

    def list_refusals() -> list[RefusalReason]:
        return [
            refused_record.reason
            for _, refused_record in iter_file_records(path)
            if isinstance(refused_record, RefusedRecord)
        ]

    path.write_bytes(build_lines(1) + b'{"x": "' + b"y" * 999 + b'"}\n' + build_lines(2))
    assert list_refusals() == [RefusalReason.TOO_LONG]
    assert len(list(iter_file_records(path))) == 3
    path.write_bytes(gzip.compress(build_lines(1) + build_lines(2) * 5_000))
    assert list_refusals() == [RefusalReason.TOO_LONG]
    path.write_bytes(gzip.compress(build_lines(*range(500)))[:-20])
    assert list_refusals() == [RefusalReason.UNPACKING]


def test_a_killed_load_resumes_and_stores_the_same_rows(
    tmp_path: Path, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loader, "BATCH", 2)
    path = tmp_path / "works.jsonl"
    path.write_bytes(build_lines(*range(9)) + b"?\n")

    class Killed(Exception):
        """The process ended."""

    def stop_after_4(progress: LoadProgress) -> None:
        if progress.position == 4:
            raise Killed

    with pytest.raises(Killed):
        load(catalog, path, "1", stop_after_4)
    (progress,) = iter_loaded_files(catalog)
    assert (progress.position, progress.finished) == (4, False)
    positions: list[int] = []
    done = load(catalog, path, "1", lambda progress: positions.append(progress.position))
    assert positions == [6, 8, 10]
    assert done.counts == {"crossref": 9, "not-json": 1}
    assert load(catalog, path, "1", lambda progress: positions.append(-1)) == done
    assert -1 not in positions
    other_catalog = Catalog(SqliteTable(tmp_path / "other.sqlite"), "c")
    other_catalog.declare()
    load(other_catalog, path, "1", ignore_progress)
    assert other_catalog.table.scan("c") == catalog.table.scan("c")
    other_catalog.table.close()  # type: ignore[attr-defined]


def test_a_changed_file_is_loaded_again(tmp_path: Path, catalog: Catalog) -> None:
    path = tmp_path / "works.jsonl"
    path.write_bytes(build_lines(1))
    load(catalog, path, "1", ignore_progress)
    path.write_bytes(build_lines(1, 2))
    assert load(catalog, path, "2", ignore_progress).counts == {"crossref": 2}
