"""Which robots.txt and tdmrep.json are in force for responses of others, in whatever order they come in."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from fonds.extract.mime import describe
from fonds.ingest.steps.identify import IdentifyStep
from fonds.ingest.steps.persist_file import PersistFileStep
from fonds.model.capture import Capture
from fonds.model.disposition import Reason
from fonds.model.file import ROBOTS_TXT, TDMREP, IdentifiedCapture, Kind, UnindexedFile
from fonds.model.keys import encode_sha1_base32
from fonds.model.rights import Rights
from fonds.model.rows import (
    CaptureRightsRow,
    FileMetaRow,
    HostCaptureRow,
    HostFileRow,
    HostTextRow,
    TakedownRow,
)
from fonds.model.rows.row import Row
from fonds.restrictions.traces import iter_file_rows
from fonds.rights.capture_rights import load_capture_rights
from fonds.rights.host_files import withdraw_files
from fonds.stores.records.sql import SqlRecords
from step_bench import JOURNAL, LATER, MOMENT, PAGE, Bench

SITE = "http://news.example"
OPEN = b"User-agent: *\nAllow: /a\nContent-Usage: train-ai=y\n"
SHUT = b"User-agent: *\nDisallow: /private\nContent-Usage: train-ai=n\nUser-agent: x\nDisallow: /\n"
TDM = (
    b'[{"location": "/", "tdm-reservation": 0},'
    b' {"location": "/a*", "tdm-reservation": 1, "tdm-policy": "/p"}]'
)


def hours(count: float) -> datetime:
    return MOMENT + timedelta(hours=count)


def page(bench: Bench, name: str, at: datetime, site: str = SITE) -> Capture:
    headers = (("Content-Type", "text/html"), ("X-Robots-Tag", "noai"))
    (found,) = bench.in_warc(PAGE + name.encode(), headers=headers)
    return replace(found, url=f"{site}/{name}", captured_at=at)


def file(
    bench: Bench, body: bytes, at: datetime, path: str = "/robots.txt", mime: str = "text/plain"
) -> Capture:
    (found,) = bench.in_warc(body, mime=mime)
    return replace(found, url=f"{SITE}{path}", captured_at=at)


def repeated(bench: Bench, body: bytes, at: datetime) -> Capture:
    digest = encode_sha1_base32(bytes.fromhex(describe(body, None).sha1))
    return replace(bench.write_revisit(digest), url=f"{SITE}/robots.txt", captured_at=at)


def persist(bench: Bench, captures: Sequence[Capture], changed: list[str] | None = None) -> None:
    """Each in a batch of its own."""
    identify = IdentifyStep(bench.archive, describe, 100_000, 100_000)
    noted: list[str] = [] if changed is None else changed
    step = PersistFileStep(bench.table, bench.records, JOURNAL, False, lambda: LATER)
    for capture in captures:
        found = [item for item in identify(capture).items if isinstance(item, IdentifiedCapture)]
        made = (item for result in step(found) for item in result.items)
        noted += [item.sha1hex for item in made if isinstance(item, UnindexedFile)]


def rights(bench: Bench, *captures: Capture) -> list[Rights]:
    capture_rights = load_capture_rights(
        bench.records, {capture.id: "0" * 40 for capture in captures}
    )
    return [capture_rights[capture.id] for capture in captures]


def told(bench: Bench, *captures: Capture) -> list[tuple[str | None, tuple[str, ...]]]:
    return [
        (one.robots.rule if one.robots else None, one.prefers) for one in rights(bench, *captures)
    ]


@pytest.mark.parametrize("seed", range(12))
def test_what_is_in_force_does_not_depend_on_the_order_of_captures(bench: Bench, seed: int) -> None:
    first, second = file(bench, OPEN, hours(0)), file(bench, SHUT, hours(3))
    again = repeated(bench, OPEN, hours(40))
    reserved = file(bench, TDM, hours(1), "/.well-known/tdmrep.json", "application/json")
    # A tdmrep.json without one before it counts for the 24 hours before it, too.
    pages = [
        page(bench, "a9", hours(-23.5)),
        page(bench, "a0", hours(-1)),
        page(bench, "a1", hours(0.5)),
        page(bench, "a2", hours(2)),
        page(bench, "private/1", hours(4)),
        page(bench, "a3", hours(27)),
        page(bench, "a4", hours(28)),
        page(bench, "a5", hours(41)),
        page(bench, "a6", hours(2), "https://news.example"),
    ]
    some = [first, second, again, reserved, *pages]
    random.Random(seed).shuffle(some)
    persist(bench, some)
    assert told(bench, *pages) == [
        (None, ("noai",)),
        (None, ("tdm-reservation=1", "tdm-policy", "noai")),
        ("Allow: /a", ("train-ai=y", "tdm-reservation=1", "tdm-policy", "noai")),
        ("Allow: /a", ("train-ai=y", "tdm-reservation=1", "tdm-policy", "noai")),
        ("Disallow: /private", ("train-ai=n", "tdm-reservation=0", "noai")),
        ("", ("train-ai=n", "noai")),
        (None, ("noai",)),
        ("Allow: /a", ("train-ai=y", "noai")),
        (None, ("noai",)),
    ]
    found = rights(bench, *pages)
    robots = [one.robots.capture_id for one in found if one.robots]
    assert robots == [first.id, first.id, second.id, second.id, again.id]


def test_one_batch_leaves_what_many_leave(bench: Bench) -> None:
    some = [page(bench, "a1", hours(1)), file(bench, OPEN, hours(0)), page(bench, "a2", hours(99))]
    identify = IdentifyStep(bench.archive, describe, 100_000, 100_000)
    items = [
        item for one in some for item in identify(one).items if isinstance(item, IdentifiedCapture)
    ]
    PersistFileStep(bench.table, bench.records, JOURNAL, False, lambda: LATER)(items)
    assert told(bench, some[0], some[2]) == [
        ("Allow: /a", ("train-ai=y", "noai")),
        (None, ("noai",)),
    ]


def test_files_of_which_others_state_something_else_now_are_told(bench: Bench) -> None:
    known, changed = page(bench, "a1", hours(1)), list[str]()
    persist(bench, [known], changed)
    assert changed == []
    persist(bench, [file(bench, OPEN, hours(0))], changed)
    assert changed == [describe(PAGE + b"a1", None).sha1]
    persist(bench, [file(bench, OPEN, hours(-1))], changed)
    assert len(changed) == 1


def test_a_capture_that_comes_again_keeps_what_is_in_force(bench: Bench) -> None:
    known = page(bench, "a1", hours(1))
    persist(bench, [file(bench, OPEN, hours(0)), known, known])
    assert told(bench, known) == [("Allow: /a", ("train-ai=y", "noai"))]


def test_files_of_hosts_are_kept_and_read_by_nothing(bench: Bench) -> None:
    identify = IdentifyStep(bench.archive, describe, 100_000, 100_000)
    robots = file(bench, OPEN, hours(0), mime="text/html")
    reserved = file(bench, TDM, hours(0), "/.well-known/tdmrep.json", "text/plain")
    other = file(bench, OPEN, hours(0), "/a/robots.txt")
    shown = file(bench, PAGE, hours(0), mime="text/html")
    kinds = [
        (item.file.kind, item.file.mime)
        for one in (robots, reserved, shown)
        for item in identify(one).items
        if isinstance(item, IdentifiedCapture) and item.file
    ]
    assert kinds == [
        (Kind.UNREAD, ROBOTS_TXT),
        (Kind.UNREAD, TDMREP),
        (Kind.STORY, "text/html"),
    ]
    assert identify(other).items == ()
    persist(bench, [shown, page(bench, "a1", hours(1))])
    assert list(bench.records.find(HostFileRow)) == []


@pytest.mark.parametrize(
    "body",
    [b"[", b"{}", b"[1, {}]", b'[{"location": 1}]', b"[" * 100_000, b"\xff\xfe", b'{"a": [}'],
)
def test_a_damaged_tdmrep_states_nothing(bench: Bench, body: bytes) -> None:
    known = page(bench, "a1", hours(1))
    path = "/.well-known/tdmrep.json"
    persist(bench, [file(bench, body, hours(0), path, "application/json"), known])
    assert told(bench, known) == [(None, ("noai",))]


def test_what_was_taken_down_leaves_no_rows(bench: Bench) -> None:
    robots, known = file(bench, OPEN, hours(0)), page(bench, "a1", hours(1))
    persist(bench, [robots, known])
    sha1hexes = [describe(OPEN, None).sha1, describe(PAGE + b"a1", None).sha1]
    removed = {type(row) for sha1hex in sha1hexes for row in iter_file_rows(bench.records, sha1hex)}
    assert {CaptureRightsRow, HostFileRow, HostTextRow, HostCaptureRow} <= removed
    bench.records.put([TakedownRow(sha1hex, "other", "", "me", LATER) for sha1hex in sha1hexes])
    persist(bench, [robots, known])
    for kind in (CaptureRightsRow, HostFileRow, HostTextRow, HostCaptureRow):
        assert list(bench.records.find(kind)) == []


def test_a_capture_whose_place_its_owner_takes_leaves_no_rights(bench: Bench) -> None:
    known = page(bench, "a1", hours(1))
    persist(bench, [file(bench, OPEN, hours(0)), known])
    sha1hex = describe(PAGE + b"a1", None).sha1
    bench.records.change(FileMetaRow, [sha1hex], {"capture_id": "owner"})
    owner = replace(known, id="owner")
    persist(bench, [owner])
    rows = bench.records.find(CaptureRightsRow, {"sha1hex": sha1hex})
    assert [row.capture_id for row in rows] == ["owner"]
    assert [row.capture_id for row in bench.records.find(HostCaptureRow)] == ["owner"]
    assert told(bench, owner) == [("Allow: /a", ("train-ai=y", "noai"))]


class Interrupted:
    """The records, of which another process makes use just before rights are written."""

    def __init__(self, records: SqlRecords, meanwhile: Callable[[], None]) -> None:
        self._records, self._meanwhile = records, [meanwhile]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._records, name)

    def put(self, rows: Sequence[Row], *, replace: bool = True) -> None:
        states = any(isinstance(row, CaptureRightsRow) and row.robots_url for row in rows)
        if states and self._meanwhile:
            self._meanwhile.pop()()
        self._records.put(rows, replace=replace)


def test_who_writes_last_has_seen_what_others_wrote(bench: Bench) -> None:
    known, newer = page(bench, "a1", hours(5)), file(bench, SHUT, hours(3))
    persist(bench, [file(bench, OPEN, hours(0))])
    identify = IdentifyStep(bench.archive, describe, 100_000, 100_000)
    items = [item for item in identify(known).items if isinstance(item, IdentifiedCapture)]
    records: Any = Interrupted(bench.records, lambda: persist(bench, [newer]))
    PersistFileStep(bench.table, records, JOURNAL, False, lambda: LATER)(items)
    (found,) = rights(bench, known)
    assert found.robots is not None
    assert found.robots.capture_id == newer.id
    assert found.prefers == ("train-ai=n", "noai")


def test_the_group_that_names_the_crawler_counts(bench: Bench) -> None:
    known = replace(page(bench, "a1", hours(1)), crawler="x/1.0")
    persist(bench, [known, file(bench, SHUT, hours(0))])
    assert told(bench, known) == [("Disallow: /", ("noai",))]


def test_files_that_are_withdrawn_state_nothing_and_the_captures_are_told(bench: Bench) -> None:
    known, far = page(bench, "a1", hours(2)), page(bench, "a2", hours(30))
    reserved = file(bench, TDM, hours(1), "/.well-known/tdmrep.json", "application/json")
    persist(bench, [file(bench, OPEN, hours(0)), reserved, known, far])
    (tdm,) = bench.records.find(HostFileRow, {"name": "tdmrep.json"})
    changed = withdraw_files(bench.records, [tdm], LATER)
    assert changed == {describe(PAGE + b"a1", None).sha1}
    assert told(bench, known, far) == [
        ("Allow: /a", ("train-ai=y", "noai")),
        (None, ("noai",)),
    ]
    assert withdraw_files(bench.records, [tdm], LATER) == set()


def test_a_file_brought_by_who_is_late_for_its_takedown_states_nothing(bench: Bench) -> None:
    known = page(bench, "a1", hours(2))
    reserved = file(bench, TDM, hours(1), "/.well-known/tdmrep.json", "application/json")
    persist(bench, [known])
    sha1hex = describe(TDM, None).sha1
    identify = IdentifyStep(bench.archive, describe, 100_000, 100_000)
    items = [item for item in identify(reserved).items if isinstance(item, IdentifiedCapture)]

    def take_down() -> None:
        bench.records.put([TakedownRow(sha1hex, "other", "", "me", LATER)])

    records: Any = Reserving(bench.records, take_down)
    (result,) = PersistFileStep(bench.table, records, JOURNAL, False, lambda: LATER)(items)
    assert result.disposition.reason is Reason.TAKEN_DOWN
    assert told(bench, known) == [(None, ("noai",))]
    assert list(bench.records.find(HostFileRow)) == []


class Reserving(Interrupted):
    """The records, of which another process makes use just before a reservation is written."""

    def put(self, rows: Sequence[Row], *, replace: bool = True) -> None:
        if self._meanwhile and any(isinstance(row, HostFileRow) for row in rows):
            self._meanwhile.pop()()
        self._records.put(rows, replace=replace)
