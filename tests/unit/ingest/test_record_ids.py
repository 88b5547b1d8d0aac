"""`i` in `f:c`: the id of the record of ours it leads to, and revisits that name it."""

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
from unit.ingest.test_archive_body import heads, place_of, unarchived

KEY = build_row_key(page_file().sha1)
THEIRS = "urn:uuid:00000000-0000-4000-8000-00000000000a"


@pytest.fixture
def step(bench: Bench) -> ArchiveBodyStep:
    return create_archive_body(
        bench.archive, bench.records, bench.table, bench.blobs, JOURNAL, lambda: LATER
    )


def persist(bench: Bench, *, copy_bodies: bool = False) -> PersistFileStep:
    return PersistFileStep(bench.table, bench.records, JOURNAL, copy_bodies, lambda: LATER)


def seen(bench: Bench) -> dict[str, Any]:
    return dict(json.loads(bench.table.get(JOURNAL, [KEY])[KEY][F_C]))


def say(bench: Bench, **changed: object) -> None:
    """Others write into `f:c`; None takes a value out."""
    values = {name: one for name, one in (seen(bench) | changed).items() if one is not None}
    bench.table.put(JOURNAL, [(KEY, {F_C: json.dumps(values).encode()})])


def record_of(bench: Bench, capture: Capture) -> Payload:
    return bench.archive.read(place_of(bench, capture))


def record_noted(bench: Bench) -> Payload:
    """The record that file name and offset in `f:c` lead to."""
    return bench.archive.read(Place(PlaceKind.WARC, seen(bench)["f"], seen(bench)["o"]))


def refers_to(bench: Bench, capture: Capture) -> str | None:
    return record_of(bench, capture).warc_headers.get("WARC-Refers-To")


def test_the_cell_has_the_id_of_the_record_it_leads_to_without_brackets(
    step: ArchiveBodyStep, bench: Bench
) -> None:
    step([unarchived(bench)])
    told = seen(bench)["i"]
    assert told.startswith("urn:uuid:")
    assert record_noted(bench).warc_headers["WARC-Record-ID"] == f"<{told}>"


def test_a_repeat_names_the_record_and_the_cell_goes_on_to(
    step: ArchiveBodyStep, bench: Bench
) -> None:
    first = unarchived(bench)
    again = [unarchived(bench, repeat_of=first.capture.id) for _ in range(2)]
    step([first])
    before = seen(bench)
    for one in again:
        step([one])
    own = record_of(bench, first.capture).warc_headers["WARC-Record-ID"]
    assert [refers_to(bench, one.capture) for one in again] == [own, own]
    assert seen(bench) == {**before, "c": 3}


def test_of_a_row_without_an_id_a_repeat_is_written_as_before(
    step: ArchiveBodyStep, bench: Bench
) -> None:
    first, again = unarchived(bench), unarchived(bench)
    step([first])
    say(bench, i=None)
    step([replace(again, repeat_of=first.capture.id)])
    fields = record_of(bench, again.capture).warc_headers
    assert fields["WARC-Refers-To-Target-URI"] == first.capture.url
    assert "WARC-Refers-To" not in fields
    assert "i" not in seen(bench)


@pytest.mark.parametrize("told", [THEIRS, f"<{THEIRS}>"])
def test_what_others_noted_is_named_with_their_address_and_time(
    step: ArchiveBodyStep, bench: Bench, told: str
) -> None:
    first, again = unarchived(bench), unarchived(bench)
    step([first])
    say(bench, u="http://first.example/", d="2011-02-03T04:05:06Z", f="X.warc.gz", o=7, i=told)
    step([replace(again, repeat_of=first.capture.id)])
    fields = record_of(bench, again.capture).warc_headers
    assert fields["WARC-Refers-To-Target-URI"] == "http://first.example/"
    assert fields["WARC-Refers-To-Date"].startswith("2011-02-03T04:05:06")
    assert fields["WARC-Refers-To"] == f"<{THEIRS}>"


@pytest.mark.parametrize(
    "evil",
    [
        f"{THEIRS}>\r\nWARC-Type: response\r\nX: <",
        f"<{THEIRS}>\r\n\r\nHTTP/1.1 200 OK",
        f"{THEIRS}\n",
        "<urn:uuid:x>",
        "\ud800",
        "",
    ],
)
def test_what_is_no_id_never_comes_into_a_header(
    step: ArchiveBodyStep, bench: Bench, evil: str
) -> None:
    first, again = unarchived(bench), unarchived(bench)
    step([first])
    say(bench, i=evil)
    step([replace(again, repeat_of=first.capture.id)])
    fields = record_of(bench, again.capture).warc_headers
    assert fields["WARC-Type"] == "revisit"
    assert fields["WARC-Refers-To-Target-URI"] == first.capture.url
    assert "WARC-Refers-To" not in fields
    assert "X" not in fields


class Dying:
    """A store, in a process that is killed when `method` of it has done its work."""

    def __init__(self, real: Any, method: str) -> None:
        self._real, self._method = real, method

    def __getattr__(self, name: str) -> Any:
        called = getattr(self._real, name)

        def act(*args: Any, **named: Any) -> Any:
            done = called(*args, **named)
            if name == self._method:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        return act


def work_until_killed(home: Path, store: str) -> None:
    """The step in a process of its own, which dies behind the WARC or behind the cells."""
    archive: Any = FolderArchive(home / "archive", ArchiveOptions())
    table: Any = SqliteTable(home / "table.sqlite")
    table.declare(JOURNAL, SCHEMA.names)
    records, blobs = open_records(home / "records.sqlite"), FolderBlobs(home / "blobs")
    archive = Dying(archive, "write") if store == "archive" else archive
    table = Dying(table, "put") if store == "table" else table
    create_archive_body(archive, records, table, blobs, JOURNAL, lambda: LATER)([loose(home)])


def loose(home: Path) -> UnarchivedBody:
    path = home / "loose"
    path.write_bytes(PAGE)
    place = Place(PlaceKind.FILE, str(path))
    capture = Capture("f1", "f1", place, path.as_uri(), MOMENT, "file", mime="text/html")
    return UnarchivedBody(capture, page_file())


@pytest.mark.parametrize("store", ["archive", "table"])
def test_after_a_kill_between_warc_and_row_the_cell_has_the_id_of_the_record_it_leads_to(
    tmp_path: Path, store: str
) -> None:
    process = multiprocessing.get_context("fork").Process(
        target=work_until_killed, args=(tmp_path, store)
    )
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    bench = open_bench(tmp_path)
    noted = bench.table.get(JOURNAL, [KEY])
    assert bench.cdx() == {}
    assert bool(noted) == (store == "table")
    bench.archive.recover(lambda _: None)
    item = loose(tmp_path)
    create_archive_body(
        bench.archive, bench.records, bench.table, bench.blobs, JOURNAL, lambda: LATER
    )([item])
    place, told = place_of(bench, item.capture), seen(bench)
    assert (told["f"], told["o"]) == (place.path, place.offset)
    assert record_noted(bench).warc_headers["WARC-Record-ID"] == f"<{told['i']}>"
    assert noted.get(KEY, {}).get(F_C) != bench.table.get(JOURNAL, [KEY])[KEY][F_C]
    assert len(heads(bench)) == 1
    bench.close()


def test_a_body_that_is_copied_out_of_another_warc_gets_the_id_of_our_record(
    step: ArchiveBodyStep, bench: Bench
) -> None:
    (capture,) = bench.in_warc(PAGE)
    bench.enter(capture)
    persist(bench, copy_bodies=True)([identify_capture(capture)])
    step([UnarchivedBody(capture, page_file())])
    assert seen(bench)["f"] != Path(capture.place.path).name
    assert record_noted(bench).warc_headers["WARC-Record-ID"] == f"<{seen(bench)['i']}>"


def test_what_a_crawler_noted_of_the_very_record_stays_when_it_is_read_here(bench: Bench) -> None:
    (capture,) = bench.in_warc(PAGE)
    persist(bench)([identify_capture(capture)])
    assert "i" not in seen(bench)
    say(bench, i=THEIRS)
    before = seen(bench)
    persist(bench)([identify_capture(capture)])
    assert seen(bench) == before


@pytest.mark.parametrize("changed", [{"u": "http://x.example/"}, {"f": "X.warc.gz"}, {"o": 7}])
def test_the_id_of_another_record_goes_with_what_was_said_of_it(
    bench: Bench, changed: dict[str, object]
) -> None:
    (capture,) = bench.in_warc(PAGE)
    persist(bench)([identify_capture(capture)])
    own = seen(bench)
    say(bench, i=THEIRS, **changed)
    persist(bench)([identify_capture(capture)])
    assert seen(bench) == own
