"""Which robots.txt and tdmrep.json apply to other captures of a host, in any order of arrival."""

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


def add_hours(count: float) -> datetime:
    return MOMENT + timedelta(hours=count)


def write_page(bench: Bench, name: str, at: datetime, site: str = SITE) -> Capture:
    headers = (("Content-Type", "text/html"), ("X-Robots-Tag", "noai"))
    (capture,) = bench.in_warc(PAGE + name.encode(), headers=headers)
    return replace(capture, url=f"{site}/{name}", captured_at=at)


def write_host_file(
    bench: Bench, body: bytes, at: datetime, path: str = "/robots.txt", mime: str = "text/plain"
) -> Capture:
    (capture,) = bench.in_warc(body, mime=mime)
    return replace(capture, url=f"{SITE}{path}", captured_at=at)


def write_revisit(bench: Bench, body: bytes, at: datetime) -> Capture:
    digest = encode_sha1_base32(bytes.fromhex(describe(body, None).sha1))
    return replace(bench.write_revisit(digest), url=f"{SITE}/robots.txt", captured_at=at)


def persist(bench: Bench, captures: Sequence[Capture], changed: list[str] | None = None) -> None:
    """Persist each capture in a separate batch."""
    identify = IdentifyStep(bench.archive, describe, 100_000, 100_000)
    sha1hexes: list[str] = [] if changed is None else changed
    step = PersistFileStep(bench.table, bench.records, JOURNAL, False, lambda: LATER)
    for capture in captures:
        identified = [
            item for item in identify(capture).items if isinstance(item, IdentifiedCapture)
        ]
        items = (item for result in step(identified) for item in result.items)
        sha1hexes += [item.sha1hex for item in items if isinstance(item, UnindexedFile)]


def list_rights(bench: Bench, *captures: Capture) -> list[Rights]:
    capture_rights = load_capture_rights(
        bench.records, {capture.id: "0" * 40 for capture in captures}
    )
    return [capture_rights[capture.id] for capture in captures]


def list_rules(bench: Bench, *captures: Capture) -> list[tuple[str | None, tuple[str, ...]]]:
    return [
        (capture_rights.robots.rule if capture_rights.robots else None, capture_rights.prefers)
        for capture_rights in list_rights(bench, *captures)
    ]


@pytest.mark.parametrize("seed", range(12))
def test_the_rules_in_force_do_not_depend_on_the_order_of_captures(bench: Bench, seed: int) -> None:
    first, second = (
        write_host_file(bench, OPEN, add_hours(0)),
        write_host_file(bench, SHUT, add_hours(3)),
    )
    repeat = write_revisit(bench, OPEN, add_hours(40))
    reservation = write_host_file(
        bench, TDM, add_hours(1), "/.well-known/tdmrep.json", "application/json"
    )
    # The first tdmrep.json also applies to the 24 hours before it.
    pages = [
        write_page(bench, "a9", add_hours(-23.5)),
        write_page(bench, "a0", add_hours(-1)),
        write_page(bench, "a1", add_hours(0.5)),
        write_page(bench, "a2", add_hours(2)),
        write_page(bench, "private/1", add_hours(4)),
        write_page(bench, "a3", add_hours(27)),
        write_page(bench, "a4", add_hours(28)),
        write_page(bench, "a5", add_hours(41)),
        write_page(bench, "a6", add_hours(2), "https://news.example"),
    ]
    captures = [first, second, repeat, reservation, *pages]
    random.Random(seed).shuffle(captures)
    persist(bench, captures)
    assert list_rules(bench, *pages) == [
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
    page_rights = list_rights(bench, *pages)
    robots = [rights_row.robots.capture_id for rights_row in page_rights if rights_row.robots]
    assert robots == [first.id, first.id, second.id, second.id, repeat.id]


def test_one_batch_stores_the_same_rules_as_many(bench: Bench) -> None:
    captures = [
        write_page(bench, "a1", add_hours(1)),
        write_host_file(bench, OPEN, add_hours(0)),
        write_page(bench, "a2", add_hours(99)),
    ]
    identify = IdentifyStep(bench.archive, describe, 100_000, 100_000)
    items = [
        item
        for capture in captures
        for item in identify(capture).items
        if isinstance(item, IdentifiedCapture)
    ]
    PersistFileStep(bench.table, bench.records, JOURNAL, False, lambda: LATER)(items)
    assert list_rules(bench, captures[0], captures[2]) == [
        ("Allow: /a", ("train-ai=y", "noai")),
        (None, ("noai",)),
    ]


def test_files_with_changed_rights_are_passed_on(bench: Bench) -> None:
    known_page, changed = write_page(bench, "a1", add_hours(1)), list[str]()
    persist(bench, [known_page], changed)
    assert changed == []
    persist(bench, [write_host_file(bench, OPEN, add_hours(0))], changed)
    assert changed == [describe(PAGE + b"a1", None).sha1]
    persist(bench, [write_host_file(bench, OPEN, add_hours(-1))], changed)
    assert len(changed) == 1


def test_a_repeated_capture_keeps_its_rules(bench: Bench) -> None:
    known_page = write_page(bench, "a1", add_hours(1))
    persist(bench, [write_host_file(bench, OPEN, add_hours(0)), known_page, known_page])
    assert list_rules(bench, known_page) == [("Allow: /a", ("train-ai=y", "noai"))]


def test_host_files_are_stored_unread(bench: Bench) -> None:
    identify = IdentifyStep(bench.archive, describe, 100_000, 100_000)
    robots = write_host_file(bench, OPEN, add_hours(0), mime="text/html")
    reservation = write_host_file(
        bench, TDM, add_hours(0), "/.well-known/tdmrep.json", "text/plain"
    )
    nested_robots = write_host_file(bench, OPEN, add_hours(0), "/a/robots.txt")
    story_page = write_host_file(bench, PAGE, add_hours(0), mime="text/html")
    kinds = [
        (item.file.kind, item.file.mime)
        for capture in (robots, reservation, story_page)
        for item in identify(capture).items
        if isinstance(item, IdentifiedCapture) and item.file
    ]
    assert kinds == [
        (Kind.UNREAD, ROBOTS_TXT),
        (Kind.UNREAD, TDMREP),
        (Kind.STORY, "text/html"),
    ]
    assert identify(nested_robots).items == ()
    persist(bench, [story_page, write_page(bench, "a1", add_hours(1))])
    assert list(bench.records.find(HostFileRow)) == []


@pytest.mark.parametrize(
    "body",
    [b"[", b"{}", b"[1, {}]", b'[{"location": 1}]', b"[" * 100_000, b"\xff\xfe", b'{"a": [}'],
)
def test_a_damaged_tdmrep_states_nothing(bench: Bench, body: bytes) -> None:
    known_page = write_page(bench, "a1", add_hours(1))
    path = "/.well-known/tdmrep.json"
    persist(
        bench, [write_host_file(bench, body, add_hours(0), path, "application/json"), known_page]
    )
    assert list_rules(bench, known_page) == [(None, ("noai",))]


def test_taken_down_files_leave_no_rows(bench: Bench) -> None:
    robots, known_page = (
        write_host_file(bench, OPEN, add_hours(0)),
        write_page(bench, "a1", add_hours(1)),
    )
    persist(bench, [robots, known_page])
    sha1hexes = [describe(OPEN, None).sha1, describe(PAGE + b"a1", None).sha1]
    removed = {type(row) for sha1hex in sha1hexes for row in iter_file_rows(bench.records, sha1hex)}
    assert {CaptureRightsRow, HostFileRow, HostTextRow, HostCaptureRow} <= removed
    bench.records.put([TakedownRow(sha1hex, "other", "", "me", LATER) for sha1hex in sha1hexes])
    persist(bench, [robots, known_page])
    for kind in (CaptureRightsRow, HostFileRow, HostTextRow, HostCaptureRow):
        assert list(bench.records.find(kind)) == []


def test_a_capture_replaced_by_the_owner_of_its_place_leaves_no_rights(bench: Bench) -> None:
    known_page = write_page(bench, "a1", add_hours(1))
    persist(bench, [write_host_file(bench, OPEN, add_hours(0)), known_page])
    sha1hex = describe(PAGE + b"a1", None).sha1
    bench.records.change(FileMetaRow, [sha1hex], {"capture_id": "owner"})
    owner = replace(known_page, id="owner")
    persist(bench, [owner])
    rows = bench.records.find(CaptureRightsRow, {"sha1hex": sha1hex})
    assert [row.capture_id for row in rows] == ["owner"]
    assert [row.capture_id for row in bench.records.find(HostCaptureRow)] == ["owner"]
    assert list_rules(bench, owner) == [("Allow: /a", ("train-ai=y", "noai"))]


class InterruptedRecords:
    """Records that another process changes just before rights are written."""

    def __init__(self, records: SqlRecords, meanwhile: Callable[[], None]) -> None:
        self._records, self._meanwhile = records, [meanwhile]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._records, name)

    def put(self, rows: Sequence[Row], *, replace: bool = True) -> None:
        states = any(isinstance(row, CaptureRightsRow) and row.robots_url for row in rows)
        if states and self._meanwhile:
            self._meanwhile.pop()()
        self._records.put(rows, replace=replace)


def test_a_concurrent_robots_txt_is_in_force_for_a_new_page(bench: Bench) -> None:
    known_page, newer = (
        write_page(bench, "a1", add_hours(5)),
        write_host_file(bench, SHUT, add_hours(3)),
    )
    persist(bench, [write_host_file(bench, OPEN, add_hours(0))])
    identify = IdentifyStep(bench.archive, describe, 100_000, 100_000)
    items = [item for item in identify(known_page).items if isinstance(item, IdentifiedCapture)]
    records: Any = InterruptedRecords(bench.records, lambda: persist(bench, [newer]))
    PersistFileStep(bench.table, records, JOURNAL, False, lambda: LATER)(items)
    (page_rights,) = list_rights(bench, known_page)
    assert page_rights.robots is not None
    assert page_rights.robots.capture_id == newer.id
    assert page_rights.prefers == ("train-ai=n", "noai")


def test_the_group_that_names_the_crawler_applies(bench: Bench) -> None:
    known_page = replace(write_page(bench, "a1", add_hours(1)), crawler="x/1.0")
    persist(bench, [known_page, write_host_file(bench, SHUT, add_hours(0))])
    assert list_rules(bench, known_page) == [("Disallow: /", ("noai",))]


def test_withdrawn_host_files_state_nothing_and_affected_files_are_returned(bench: Bench) -> None:
    known_page, later_page = (
        write_page(bench, "a1", add_hours(2)),
        write_page(bench, "a2", add_hours(30)),
    )
    reservation = write_host_file(
        bench, TDM, add_hours(1), "/.well-known/tdmrep.json", "application/json"
    )
    persist(
        bench, [write_host_file(bench, OPEN, add_hours(0)), reservation, known_page, later_page]
    )
    (tdm,) = bench.records.find(HostFileRow, {"name": "tdmrep.json"})
    changed = withdraw_files(bench.records, [tdm], LATER)
    assert changed == {describe(PAGE + b"a1", None).sha1}
    assert list_rules(bench, known_page, later_page) == [
        ("Allow: /a", ("train-ai=y", "noai")),
        (None, ("noai",)),
    ]
    assert withdraw_files(bench.records, [tdm], LATER) == set()


def test_a_host_file_taken_down_while_persisted_states_nothing(bench: Bench) -> None:
    known_page = write_page(bench, "a1", add_hours(2))
    reservation = write_host_file(
        bench, TDM, add_hours(1), "/.well-known/tdmrep.json", "application/json"
    )
    persist(bench, [known_page])
    sha1hex = describe(TDM, None).sha1
    identify = IdentifyStep(bench.archive, describe, 100_000, 100_000)
    items = [item for item in identify(reservation).items if isinstance(item, IdentifiedCapture)]

    def take_down() -> None:
        bench.records.put([TakedownRow(sha1hex, "other", "", "me", LATER)])

    records: Any = ReservingRecords(bench.records, take_down)
    (result,) = PersistFileStep(bench.table, records, JOURNAL, False, lambda: LATER)(items)
    assert result.disposition.reason is Reason.TAKEN_DOWN
    assert list_rules(bench, known_page) == [(None, ("noai",))]
    assert list(bench.records.find(HostFileRow)) == []


class ReservingRecords(InterruptedRecords):
    """Records that another process changes just before a reservation is written."""

    def put(self, rows: Sequence[Row], *, replace: bool = True) -> None:
        if self._meanwhile and any(isinstance(row, HostFileRow) for row in rows):
            self._meanwhile.pop()()
        self._records.put(rows, replace=replace)
