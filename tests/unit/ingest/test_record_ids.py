"""`i` in `f:c`: the id of our record that the cell points to, and revisits that refer to it."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from archive_bodies import create_archive_body
from empty_records import open_records
from fonds.archive.store.folder import FolderArchive
from fonds.archive.store.options import ArchiveOptions
from fonds.ingest.steps.archive_body import ArchiveBodyStep
from fonds.ingest.steps.persist_file import PersistFileStep
from fonds.model.archive import Payload
from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.story import UnarchivedBody
from fonds.stores.blobs import FolderBlobs
from fonds.stores.journal_table.cells import F_C
from fonds.stores.journal_table.keys import build_row_key
from fonds.stores.journal_table.schema import JOURNAL as SCHEMA
from fonds.stores.table.sqlite import SqliteTable
from step_bench import JOURNAL, LATER, MOMENT, PAGE, Bench, identify_capture, open_bench, page_file
from unit.ingest.test_archive_body import get_place, list_record_heads, write_unarchived

KEY = build_row_key(page_file().sha1)
FOREIGN_ID = "urn:uuid:00000000-0000-4000-8000-00000000000a"


@pytest.fixture
def step(bench: Bench) -> ArchiveBodyStep:
    return create_archive_body(
        bench.archive, bench.records, bench.table, bench.blobs, JOURNAL, lambda: LATER
    )


def persist(bench: Bench, *, copy_bodies: bool = False) -> PersistFileStep:
    return PersistFileStep(bench.table, bench.records, JOURNAL, copy_bodies, lambda: LATER)


def get_first_cell(bench: Bench) -> dict[str, Any]:
    return dict(json.loads(bench.table.get(JOURNAL, [KEY])[KEY][F_C]))


def change_first_cell(bench: Bench, **changed: object) -> None:
    """Change `f:c` as another program would. None removes a value."""
    values = {
        name: value
        for name, value in (get_first_cell(bench) | changed).items()
        if value is not None
    }
    bench.table.put(JOURNAL, [(KEY, {F_C: json.dumps(values).encode()})])


def read_record(bench: Bench, capture: Capture) -> Payload:
    return bench.archive.read(get_place(bench, capture))


def read_first_record(bench: Bench) -> Payload:
    """Return the record at the file name and offset in `f:c`."""
    return bench.archive.read(
        Place(PlaceKind.WARC, get_first_cell(bench)["f"], get_first_cell(bench)["o"])
    )


def get_reference(bench: Bench, capture: Capture) -> str | None:
    return read_record(bench, capture).warc_headers.get("WARC-Refers-To")


def test_the_cell_has_the_id_of_its_record_without_brackets(
    step: ArchiveBodyStep, bench: Bench
) -> None:
    step([write_unarchived(bench)])
    record_id = get_first_cell(bench)["i"]
    assert record_id.startswith("urn:uuid:")
    assert read_first_record(bench).warc_headers["WARC-Record-ID"] == f"<{record_id}>"


def test_a_repeat_refers_to_the_record_in_the_cell(step: ArchiveBodyStep, bench: Bench) -> None:
    first = write_unarchived(bench)
    repeats = [write_unarchived(bench, repeat_of=first.capture.id) for _ in range(2)]
    step([first])
    before = get_first_cell(bench)
    for repeat in repeats:
        step([repeat])
    own = read_record(bench, first.capture).warc_headers["WARC-Record-ID"]
    assert [get_reference(bench, repeat.capture) for repeat in repeats] == [own, own]
    assert get_first_cell(bench) == {**before, "c": 3}


def test_a_repeat_of_a_cell_without_id_has_no_record_reference(
    step: ArchiveBodyStep, bench: Bench
) -> None:
    first, repeat = write_unarchived(bench), write_unarchived(bench)
    step([first])
    change_first_cell(bench, i=None)
    step([replace(repeat, repeat_of=first.capture.id)])
    fields = read_record(bench, repeat.capture).warc_headers
    assert fields["WARC-Refers-To-Target-URI"] == first.capture.url
    assert "WARC-Refers-To" not in fields
    assert "i" not in get_first_cell(bench)


@pytest.mark.parametrize("record_id", [FOREIGN_ID, f"<{FOREIGN_ID}>"])
def test_a_repeat_refers_to_the_capture_that_another_program_recorded(
    step: ArchiveBodyStep, bench: Bench, record_id: str
) -> None:
    first, repeat = write_unarchived(bench), write_unarchived(bench)
    step([first])
    change_first_cell(
        bench, u="http://first.example/", d="2011-02-03T04:05:06Z", f="X.warc.gz", o=7, i=record_id
    )
    step([replace(repeat, repeat_of=first.capture.id)])
    fields = read_record(bench, repeat.capture).warc_headers
    assert fields["WARC-Refers-To-Target-URI"] == "http://first.example/"
    assert fields["WARC-Refers-To-Date"].startswith("2011-02-03T04:05:06")
    assert fields["WARC-Refers-To"] == f"<{FOREIGN_ID}>"


@pytest.mark.parametrize(
    "evil",
    [
        f"{FOREIGN_ID}>\r\nWARC-Type: response\r\nX: <",
        f"<{FOREIGN_ID}>\r\n\r\nHTTP/1.1 200 OK",
        f"{FOREIGN_ID}\n",
        "<urn:uuid:x>",
        "\ud800",
        "",
    ],
)
def test_an_invalid_id_is_never_written_to_a_header(
    step: ArchiveBodyStep, bench: Bench, evil: str
) -> None:
    first, repeat = write_unarchived(bench), write_unarchived(bench)
    step([first])
    change_first_cell(bench, i=evil)
    step([replace(repeat, repeat_of=first.capture.id)])
    fields = read_record(bench, repeat.capture).warc_headers
    assert fields["WARC-Type"] == "revisit"
    assert fields["WARC-Refers-To-Target-URI"] == first.capture.url
    assert "WARC-Refers-To" not in fields
    assert "X" not in fields


class KillingStore:
    """A store that kills its process after `method`."""

    def __init__(self, real: Any, method: str) -> None:
        self._real, self._method = real, method

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._real, name)

        def act(*args: Any, **named: Any) -> Any:
            result = method(*args, **named)
            if name == self._method:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return act


def work_until_killed(home: Path, store: str) -> None:
    """Run the step. The process dies after the WARC or the cells are written."""
    archive: Any = FolderArchive(home / "archive", ArchiveOptions())
    table: Any = SqliteTable(home / "table.sqlite")
    table.declare(JOURNAL, SCHEMA.names)
    records, blobs = open_records(home / "records.sqlite"), FolderBlobs(home / "blobs")
    archive = KillingStore(archive, "write") if store == "archive" else archive
    table = KillingStore(table, "put") if store == "table" else table
    create_archive_body(archive, records, table, blobs, JOURNAL, lambda: LATER)(
        [write_loose_body(home)]
    )


def write_loose_body(home: Path) -> UnarchivedBody:
    path = home / "loose"
    path.write_bytes(PAGE)
    place = Place(PlaceKind.FILE, str(path))
    capture = Capture("f1", "f1", place, path.as_uri(), MOMENT, "file", mime="text/html")
    return UnarchivedBody(capture, page_file())


@pytest.mark.parametrize("store", ["archive", "table"])
def test_after_a_kill_between_warc_and_row_the_cell_points_to_its_record(
    tmp_path: Path, store: str
) -> None:
    process = multiprocessing.get_context("fork").Process(
        target=work_until_killed, args=(tmp_path, store)
    )
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    bench = open_bench(tmp_path)
    cells_after_kill = bench.table.get(JOURNAL, [KEY])
    assert bench.cdx() == {}
    assert bool(cells_after_kill) == (store == "table")
    bench.archive.recover(lambda _: None)
    item = write_loose_body(tmp_path)
    create_archive_body(
        bench.archive, bench.records, bench.table, bench.blobs, JOURNAL, lambda: LATER
    )([item])
    place, cell = get_place(bench, item.capture), get_first_cell(bench)
    assert (cell["f"], cell["o"]) == (place.path, place.offset)
    assert read_first_record(bench).warc_headers["WARC-Record-ID"] == f"<{cell['i']}>"
    assert cells_after_kill.get(KEY, {}).get(F_C) != bench.table.get(JOURNAL, [KEY])[KEY][F_C]
    assert len(list_record_heads(bench)) == 1
    bench.close()


def test_a_body_copied_from_another_warc_gets_the_id_of_our_record(
    step: ArchiveBodyStep, bench: Bench
) -> None:
    (capture,) = bench.in_warc(PAGE)
    bench.enter(capture)
    persist(bench, copy_bodies=True)([identify_capture(capture)])
    step([UnarchivedBody(capture, page_file())])
    assert get_first_cell(bench)["f"] != Path(capture.place.path).name
    assert (
        read_first_record(bench).warc_headers["WARC-Record-ID"] == f"<{get_first_cell(bench)['i']}>"
    )


def test_the_id_that_a_crawler_recorded_for_the_same_record_is_kept(bench: Bench) -> None:
    (capture,) = bench.in_warc(PAGE)
    persist(bench)([identify_capture(capture)])
    assert "i" not in get_first_cell(bench)
    change_first_cell(bench, i=FOREIGN_ID)
    before = get_first_cell(bench)
    persist(bench)([identify_capture(capture)])
    assert get_first_cell(bench) == before


@pytest.mark.parametrize("changed", [{"u": "http://x.example/"}, {"f": "X.warc.gz"}, {"o": 7}])
def test_the_id_of_another_record_is_removed(bench: Bench, changed: dict[str, object]) -> None:
    (capture,) = bench.in_warc(PAGE)
    persist(bench)([identify_capture(capture)])
    own = get_first_cell(bench)
    change_first_cell(bench, i=FOREIGN_ID, **changed)
    persist(bench)([identify_capture(capture)])
    assert get_first_cell(bench) == own
