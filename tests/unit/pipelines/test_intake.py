"""The intake: captures enter once, reading goes on where it stopped, and never runs far ahead."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fonds.ingest.sources.paths import PathSource
from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.disposition import Reason, Verdict
from fonds.model.entry import Entry, build_capture_entry
from fonds.model.errors import StorageFullError, StoreUnavailableError
from fonds.model.message import Subscription
from fonds.model.rows import DispositionRow, EntryRow, InputRow
from fonds.pipelines.runtime import intake as intake_module
from fonds.pipelines.runtime.intake import EntryGate, Intake, IntakeCounts, QueueMarks
from fonds.pipelines.runtime.quarantine import build_decided_row
from fonds.queues.messages.envelope import decode
from fonds.queues.sqlite import LEASE_S
from small_pipeline import RaisesOnce, Workplace

ENTRY = Subscription("library.identify", "t.library.captured")
GATE = EntryGate("library", ENTRY.topic, (ENTRY,), ("identify",))
MOMENT = datetime(2024, 3, 5, 6, 7, 8, tzinfo=UTC)


def capture(input_id: str, number: int) -> Capture:
    place = Place(PlaceKind.WARC, "/w.warc.gz", number)
    url = f"http://example.org/{number}"
    return Capture(f"{input_id}-{number:012x}", input_id, place, url, MOMENT, "response")


@dataclass
class Inputs:
    """A source of inputs with so many captures each; every second record is counted only."""

    sizes: Mapping[str, int]
    asked: list[tuple[str, int]] = field(default_factory=list)

    def iter_inputs(self) -> Iterator[InputRow]:
        for name in self.sizes:
            yield InputRow(name, f"/{name}", "warc", "1:1", 0, 0, {}, 0, False, None, MOMENT)

    def iter_entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        self.asked.append((row.input_id, row.position))
        for number in range(row.position, self.sizes[row.input_id]):
            yield number
            yield build_capture_entry(capture(row.input_id, number))
            yield {"not-a-capture": 1}


@dataclass
class StopsAfter:
    """Says stop from the `count`-th time it is asked."""

    count: int
    asked: int = 0

    def __call__(self) -> bool:
        self.asked += 1
        return self.asked > self.count


def _never() -> bool:
    return False


def _intake(place: Workplace, stopping: object = _never, **stores: object) -> Intake:
    place.queue.declare([ENTRY])
    return Intake(
        queue=stores.get("queue", place.queue),  # type: ignore[arg-type]
        records=place.records,
        ledger=stores.get("ledger", place.ledger),  # type: ignore[arg-type]
        gate=GATE,
        marks=QueueMarks(20_000, 10_000),
        clock=place.clock,
        stopping=stopping,  # type: ignore[arg-type]
    )


def _waiting(place: Workplace) -> list[str]:
    return sorted(message.id for message in place.take_all(ENTRY.incoming))


def _input(place: Workplace, name: str) -> InputRow:
    (row,) = place.records.get(InputRow, [(name, "library")])
    return row


def test_every_capture_enters_once_with_a_row_and_a_message(place: Workplace) -> None:
    entered = IntakeCounts()
    _intake(place).run(Inputs({"a": 3, "b": 2}), entered)
    assert (entered.entries, entered.input_ids, entered.known_count) == (5, {"a", "b"}, 0)
    rows = sorted(row.entry_id for row in place.records.find(EntryRow))
    messages = place.take_all(ENTRY.incoming)
    assert sorted(message.id for message in messages) == rows
    assert len(rows) == 5
    assert place.records.count(EntryRow, ("collection",)) == {("default",): 5}
    assert decode(messages[0], Capture) == capture("a", 0)
    row = _input(place, "a")
    assert (row.finished, row.entries, row.tally) == (True, 3, {"not-a-capture": 3})


def test_a_finished_input_is_not_read_again(place: Workplace) -> None:
    _intake(place).run(Inputs({"a": 3}), IntakeCounts())
    _waiting(place)
    source, entered = Inputs({"a": 3}), IntakeCounts()
    _intake(place).run(source, entered)
    assert source.asked == []
    assert (entered.entries, entered.known_count, entered.known_input_count) == (0, 6, 1)
    assert _waiting(place) == []


def test_an_input_named_twice_in_one_run_is_not_known_from_an_earlier_one(
    place: Workplace,
) -> None:
    entered = IntakeCounts()
    intake = _intake(place)
    intake.run(Inputs({"a": 3}), entered)
    intake.run(Inputs({"a": 3}), entered)
    assert (entered.entries, entered.known_count, entered.known_input_count) == (3, 0, 0)


def test_an_empty_input_is_finished(place: Workplace) -> None:
    _intake(place).run(Inputs({"a": 0}), IntakeCounts())
    assert _input(place, "a").finished


@pytest.mark.parametrize("batch_max", [1, 7, 200])
@pytest.mark.parametrize("stops_after", [1, 2, 20, 61, 90, 150])
def test_reading_that_was_stopped_goes_on_and_nothing_is_left_out(
    place: Workplace, monkeypatch: pytest.MonkeyPatch, stops_after: int, batch_max: int
) -> None:
    monkeypatch.setattr(intake_module, "BATCH_MAX", batch_max)
    _intake(place, StopsAfter(stops_after)).run(Inputs({"a": 50}), IntakeCounts())
    _intake(place).run(Inputs({"a": 50}), IntakeCounts())
    row = _input(place, "a")
    assert (row.finished, row.entries, row.tally) == (True, 50, {"not-a-capture": 50})
    assert place.records.count(EntryRow) == {(): 50}
    assert _waiting(place) == [capture("a", number).id for number in range(50)]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("where", ["ledger.enter", "queue.put"])
@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_failure_between_the_acts_leaves_nothing_out(
    place: Workplace, monkeypatch: pytest.MonkeyPatch, where: str, after: bool, nth: int
) -> None:
    monkeypatch.setattr(intake_module, "BATCH_MAX", 7)
    store, _, method = where.partition(".")
    error = StorageFullError("the disk is full")
    failing = RaisesOnce(getattr(place, store), method, error, nth=nth, after=after)
    with pytest.raises(StorageFullError):
        _intake(place, **{store: failing}).run(Inputs({"a": 30}), IntakeCounts())
    _intake(place).run(Inputs({"a": 30}), IntakeCounts())
    assert _input(place, "a").entries == 30
    assert place.records.count(EntryRow) == {(): 30}
    assert _waiting(place) == [capture("a", number).id for number in range(30)]


def test_a_store_that_does_not_answer_for_a_moment_is_waited_for(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake_module, "BATCH_MAX", 7)
    monkeypatch.setattr(intake_module, "PAUSE_FIRST_S", 0.001)
    failing = RaisesOnce(place.queue, "put", StoreUnavailableError("away"), nth=3, after=True)
    entered = IntakeCounts()
    _intake(place, queue=failing).run(Inputs({"a": 30, "b": 2}), entered)
    assert (entered.known_count, entered.known_input_count) == (0, 0)
    assert _input(place, "a").entries == 30
    assert _input(place, "b").finished
    assert place.records.count(EntryRow) == {(): 32}


def test_what_was_settled_meanwhile_is_not_sent_again(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a death between a message and its mark, the batch is read again."""
    monkeypatch.setattr(intake_module, "BATCH_MAX", 7)
    failing = RaisesOnce(place.ledger, "enter", StorageFullError("full"), nth=4)
    with pytest.raises(StorageFullError):
        _intake(place, ledger=failing).run(Inputs({"a": 14}), IntakeCounts())
    done = _waiting(place)
    assert len(done) == 14
    place.ledger.write([_disposition(one, place.clock()) for one in done])
    _intake(place).run(Inputs({"a": 14}), IntakeCounts())
    assert _waiting(place) == []
    assert _input(place, "a").finished


def _disposition(capture_id: str, now: datetime) -> DispositionRow:
    names = (capture_id, "library", "identify", capture_id, None, None)
    return DispositionRow(*names, "done", False, None, "", None, 0, now, now)


def test_the_source_waits_while_too_much_is_waiting(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake_module, "BATCH_MAX", 5)
    monkeypatch.setattr(intake_module, "POLL_S", 0.001)
    intake = replace(_intake(place), marks=QueueMarks(high=10, low=2))
    reading = threading.Thread(target=intake.run, args=(Inputs({"a": 40}), IntakeCounts()))
    reading.start()
    seen, most = 0, 0
    while reading.is_alive() or place.queue.get_depth(ENTRY).pending:
        most = max(most, place.queue.get_depth(ENTRY).pending)
        deliveries = place.queue.receive(ENTRY.incoming, 3, 0.001)
        place.queue.settle(deliveries)
        seen += len(deliveries)
    reading.join(10)
    assert seen == 40
    assert most <= 15


def test_one_who_waits_for_room_can_be_stopped(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake_module, "POLL_S", 0.001)
    monkeypatch.setattr(intake_module, "BATCH_MAX", 5)
    intake = replace(_intake(place, StopsAfter(60)), marks=QueueMarks(high=5, low=0))
    intake.run(Inputs({"a": 40}), IntakeCounts())
    assert not _input(place, "a").finished


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=20
)
@given(sizes=st.lists(st.integers(0, 30), min_size=1, max_size=4), stops=st.integers(0, 100))
def test_however_often_it_is_stopped_every_capture_enters(
    place: Workplace, sizes: Sequence[int], stops: int
) -> None:
    """Each example has inputs of its own, in the same home."""
    source = Inputs({f"{id(sizes)}-{place.clock.now_s}-{n}": size for n, size in enumerate(sizes)})
    place.clock.pass_s(1)
    for _ in range(3):
        _intake(place, StopsAfter(stops)).run(source, IntakeCounts())
    _intake(place).run(source, IntakeCounts())
    for name, size in source.sizes.items():
        row = _input(place, name)
        assert (row.finished, row.entries) == (True, size)
        assert place.records.count(EntryRow, where={"input_id": name}) == {(): size}


READ_LATER = [
    ("ledger.write", 1),
    ("queue.settle", 1),
    ("ledger.enter", 1),
]


def _missing_then_there(place: Workplace, path: Path) -> IntakeCounts:
    """A path that was missing, whose failure is set apart, and that was read in a later run."""
    path.unlink(missing_ok=True)
    _intake(place).run(_named(path), IntakeCounts())
    _set_apart(place)
    path.write_bytes(b"%PDF-1.4 a paper")
    entered = IntakeCounts()
    _intake(place).run(_named(path), entered)
    return entered


def _named(path: Path) -> PathSource:
    return PathSource([path], path.parent / "home", "default", "")


def _set_apart(place: Workplace) -> None:
    """End what waits as `identify` ends it: what is missing is in quarantine, all else is done."""
    deliveries = place.queue.receive(ENTRY.incoming, 100, 0.01)
    for delivery in deliveries:
        item = decode(delivery.message, Capture)
        assert isinstance(item, Capture)
        how = Verdict.DONE if item.damage is None else Verdict.QUARANTINED
        reason = str(item.damage_reason) if item.damage_reason else None
        place.ledger.write(
            [build_decided_row(delivery.message, ENTRY, how, reason, "", place.clock())]
        )
        if item.damage is not None:
            place.queue.put(ENTRY.quarantine, [delivery.message])
    place.queue.settle(deliveries)


def _failures(place: Workplace) -> tuple[list[str | None], int, dict[str, int]]:
    """Errors of inputs, messages in quarantine, and entries by what became of them."""
    errors = [row.error for row in place.records.find(InputRow) if row.error is not None]
    ended = place.records.count(EntryRow, ("outcome", "reason"))
    assert place.ledger.recount() == []
    for row in place.records.find(InputRow):
        count = place.records.count(EntryRow, (), {"input_id": row.input_id})[()]
        assert (row.finished, row.entries) == (True, count)
    shown = {" ".join(filter(None, key)): count for key, count in ended.items()}
    return errors, place.queue.get_depth(ENTRY).quarantined, shown


@pytest.mark.parametrize(
    ("verdict", "reason", "count"),
    [
        (Verdict.DONE, None, 1),
        (Verdict.DROPPED, Reason.DUPLICATE, 1),
        (Verdict.DROPPED, Reason.ACCEPTED, 0),
        (Verdict.DROPPED, Reason.PURGED, 0),
        (Verdict.DROPPED, Reason.NOT_FOLLOWED, 0),
    ],
)
def test_the_failure_of_a_missing_record_ends_only_if_a_later_input_read_it(
    place: Workplace, verdict: Verdict, reason: Reason | None, count: int
) -> None:
    """An entry that somebody accepted ended too, but nothing was read of its record."""
    intake = _intake(place)
    missing = ("a", Verdict.QUARANTINED, Reason.MISSING_SOURCE)
    for name, how, why in (missing, ("b", verdict, reason)):
        intake.run(Inputs({name: 1}), IntakeCounts())
        deliveries = place.queue.receive(ENTRY.incoming, 100, 0.01)
        for delivery in deliveries:
            row = build_decided_row(
                delivery.message, ENTRY, how, str(why) if why else None, "", place.clock()
            )
            place.ledger.write([row])
            if how is Verdict.QUARANTINED:
                place.queue.put(ENTRY.quarantine, [delivery.message])
        place.queue.settle(deliveries)
        place.clock.pass_s(1.0)
    assert intake.end_failures(IntakeCounts()) == count
    assert place.queue.get_depth(ENTRY).quarantined == 1 - count


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("where", "nth"), READ_LATER)
def test_ending_the_failure_of_an_input_may_die_between_any_two_acts(
    place: Workplace, tmp_path: Path, where: str, nth: int, after: bool
) -> None:
    entered = _missing_then_there(place, tmp_path / "a.pdf")
    store, _, method = where.partition(".")
    error = StorageFullError("the disk is full")
    failing = RaisesOnce(getattr(place, store), method, error, nth=nth, after=after)
    with pytest.raises(StorageFullError):
        _intake(place, **{store: failing}).end_failures(entered)
    place.clock.pass_s(2 * LEASE_S)
    later = IntakeCounts()
    again = _intake(place)
    again.run(_named(tmp_path / "a.pdf"), later)
    _set_apart(place)
    assert again.end_failures(later) == (0 if (where, after) == ("ledger.enter", True) else 1)
    assert _failures(place) == ([], 0, {"dropped read-later": 1, "done": 1})


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    ("where", "nth"),
    [*[("ledger.enter", nth) for nth in (1, 2, 3)], ("ledger.write", 1), ("queue.put", 1)],
)
def test_what_is_missing_again_is_one_failure_again_whoever_dies(
    place: Workplace, tmp_path: Path, where: str, nth: int, after: bool
) -> None:
    path = tmp_path / "a.pdf"
    entered = _missing_then_there(place, path)
    _set_apart(place)
    assert _intake(place).end_failures(entered) == 1
    path.unlink()
    store, _, method = where.partition(".")
    error = StorageFullError("the disk is full")
    failing = RaisesOnce(getattr(place, store), method, error, nth=nth, after=after)
    with pytest.raises(StorageFullError):
        _intake(place, **{store: failing}).run(_named(path), IntakeCounts())
    for _ in range(2):
        _set_apart(place)
        _intake(place).run(_named(path), IntakeCounts())
    _set_apart(place)
    shown = {"quarantined missing-source": 1, "done": 1}
    assert _failures(place) == (["no such file"], 1, shown)
    path.write_bytes(b"%PDF-1.4 a paper")
    entered = IntakeCounts()
    _intake(place).run(_named(path), entered)
    _set_apart(place)
    assert _intake(place).end_failures(entered) == 1
    assert _failures(place)[:2] == ([], 0)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    ("where", "nth"),
    [
        *[("ledger.enter", nth) for nth in (1, 2, 3)],
        ("ledger.write", 1),
        ("queue.settle", 1),
        ("queue.put", 1),
    ],
)
def test_the_latest_cause_of_a_failure_is_noted_once_whoever_dies(
    place: Workplace, tmp_path: Path, where: str, nth: int, after: bool
) -> None:
    path = tmp_path / "a.pdf"
    path.symlink_to(path)
    _intake(place).run(_named(path), IntakeCounts())
    _set_apart(place)
    shown = {"quarantined unreadable-source": 1}
    assert _failures(place) == (["Too many levels of symbolic links"], 1, shown)
    path.unlink()
    store, _, method = where.partition(".")
    error = StorageFullError("the disk is full")
    failing = RaisesOnce(getattr(place, store), method, error, nth=nth, after=after)
    with pytest.raises(StorageFullError):
        _intake(place, **{store: failing}).run(_named(path), IntakeCounts())
    place.clock.pass_s(2 * LEASE_S)
    for _ in range(2):
        entered = IntakeCounts()
        _intake(place).run(_named(path), entered)
        assert len(entered.still_failing) == 1
        _set_apart(place)
    assert _failures(place) == (["no such file"], 1, {"quarantined missing-source": 1})


def test_a_failure_that_is_not_set_apart_yet_ends_in_a_later_run(
    place: Workplace, tmp_path: Path
) -> None:
    path = tmp_path / "a.pdf"
    _intake(place).run(_named(path), IntakeCounts())
    path.write_bytes(b"%PDF-1.4 a paper")
    for ended in (0, 1, 0):
        entered = IntakeCounts()
        _intake(place).run(_named(path), entered)
        assert _intake(place).end_failures(entered) == ended
        _set_apart(place)
    assert _failures(place) == ([], 0, {"dropped read-later": 1, "done": 1})


def test_the_failure_of_a_folder_ends_only_if_the_folder_was_named(
    place: Workplace, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    _intake(place).run(PathSource([folder], tmp_path / "home", "default", ""), IntakeCounts())
    _set_apart(place)
    (folder / "deep").mkdir(parents=True)
    path = folder / "deep" / "a.pdf"
    path.write_bytes(b"%PDF-1.4 a paper")
    for named, ended in (([path], 0), ([tmp_path / "other"], 0), ([folder], 1)):
        entered = IntakeCounts()
        source = PathSource([path], tmp_path / "home", "default", "")
        _intake(place).run(source, entered, [str(one) for one in named])
        _set_apart(place)
        assert _intake(place).end_failures(entered) == ended
