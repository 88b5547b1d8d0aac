"""The intake: captures enter once, reading resumes where it stopped, and the queue stays bounded."""

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


def build_capture(input_id: str, number: int) -> Capture:
    place = Place(PlaceKind.WARC, "/w.warc.gz", number)
    url = f"http://example.org/{number}"
    return Capture(f"{input_id}-{number:012x}", input_id, place, url, MOMENT, "response")


@dataclass
class Inputs:
    """A source of inputs with `sizes` captures each; each capture is followed by a counted record."""

    sizes: Mapping[str, int]
    reads: list[tuple[str, int]] = field(default_factory=list)

    def iter_inputs(self) -> Iterator[InputRow]:
        for name in self.sizes:
            yield InputRow(name, f"/{name}", "warc", "1:1", 0, 0, {}, 0, False, None, MOMENT)

    def iter_entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        self.reads.append((row.input_id, row.position))
        for number in range(row.position, self.sizes[row.input_id]):
            yield number
            yield build_capture_entry(build_capture(row.input_id, number))
            yield {"not-a-capture": 1}


@dataclass
class StopsAfter:
    """A stop signal that is true after `count` calls."""

    count: int
    calls: int = 0

    def __call__(self) -> bool:
        self.calls += 1
        return self.calls > self.count


def never_stop() -> bool:
    return False


def create_intake(place: Workplace, should_stop: object = never_stop, **stores: object) -> Intake:
    place.queue.declare([ENTRY])
    return Intake(
        queue=stores.get("queue", place.queue),  # type: ignore[arg-type]
        records=place.records,
        ledger=stores.get("ledger", place.ledger),  # type: ignore[arg-type]
        gate=GATE,
        marks=QueueMarks(20_000, 10_000),
        clock=place.clock,
        stopping=should_stop,  # type: ignore[arg-type]
    )


def take_waiting(place: Workplace) -> list[str]:
    return sorted(message.id for message in place.take_all(ENTRY.incoming))


def get_input(place: Workplace, name: str) -> InputRow:
    (row,) = place.records.get(InputRow, [(name, "library")])
    return row


def test_every_capture_enters_once_with_a_row_and_a_message(place: Workplace) -> None:
    counts = IntakeCounts()
    create_intake(place).run(Inputs({"a": 3, "b": 2}), counts)
    assert (counts.entries, counts.input_ids, counts.known_count) == (5, {"a", "b"}, 0)
    rows = sorted(row.entry_id for row in place.records.find(EntryRow))
    messages = place.take_all(ENTRY.incoming)
    assert sorted(message.id for message in messages) == rows
    assert len(rows) == 5
    assert place.records.count(EntryRow, ("collection",)) == {("default",): 5}
    assert decode(messages[0], Capture) == build_capture("a", 0)
    row = get_input(place, "a")
    assert (row.finished, row.entries, row.tally) == (True, 3, {"not-a-capture": 3})


def test_a_finished_input_is_not_read_again(place: Workplace) -> None:
    create_intake(place).run(Inputs({"a": 3}), IntakeCounts())
    take_waiting(place)
    source, counts = Inputs({"a": 3}), IntakeCounts()
    create_intake(place).run(source, counts)
    assert source.reads == []
    assert (counts.entries, counts.known_count, counts.known_input_count) == (0, 6, 1)
    assert take_waiting(place) == []


def test_an_input_named_twice_in_one_run_does_not_count_as_known(
    place: Workplace,
) -> None:
    counts = IntakeCounts()
    intake = create_intake(place)
    intake.run(Inputs({"a": 3}), counts)
    intake.run(Inputs({"a": 3}), counts)
    assert (counts.entries, counts.known_count, counts.known_input_count) == (3, 0, 0)


def test_an_empty_input_is_finished(place: Workplace) -> None:
    create_intake(place).run(Inputs({"a": 0}), IntakeCounts())
    assert get_input(place, "a").finished


@pytest.mark.parametrize("batch_max", [1, 7, 200])
@pytest.mark.parametrize("stops_after", [1, 2, 20, 61, 90, 150])
def test_a_stopped_intake_resumes_without_loss(
    place: Workplace, monkeypatch: pytest.MonkeyPatch, stops_after: int, batch_max: int
) -> None:
    monkeypatch.setattr(intake_module, "BATCH_MAX", batch_max)
    create_intake(place, StopsAfter(stops_after)).run(Inputs({"a": 50}), IntakeCounts())
    create_intake(place).run(Inputs({"a": 50}), IntakeCounts())
    row = get_input(place, "a")
    assert (row.finished, row.entries, row.tally) == (True, 50, {"not-a-capture": 50})
    assert place.records.count(EntryRow) == {(): 50}
    assert take_waiting(place) == [build_capture("a", number).id for number in range(50)]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("method_path", ["ledger.enter", "queue.put"])
@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_failure_between_the_writes_loses_no_capture(
    place: Workplace, monkeypatch: pytest.MonkeyPatch, method_path: str, after: bool, nth: int
) -> None:
    monkeypatch.setattr(intake_module, "BATCH_MAX", 7)
    store, _, method = method_path.partition(".")
    error = StorageFullError("the disk is full")
    failing = RaisesOnce(getattr(place, store), method, error, nth=nth, after=after)
    with pytest.raises(StorageFullError):
        create_intake(place, **{store: failing}).run(Inputs({"a": 30}), IntakeCounts())
    create_intake(place).run(Inputs({"a": 30}), IntakeCounts())
    assert get_input(place, "a").entries == 30
    assert place.records.count(EntryRow) == {(): 30}
    assert take_waiting(place) == [build_capture("a", number).id for number in range(30)]


def test_a_store_outage_is_retried(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake_module, "BATCH_MAX", 7)
    monkeypatch.setattr(intake_module, "PAUSE_FIRST_S", 0.001)
    failing = RaisesOnce(place.queue, "put", StoreUnavailableError("away"), nth=3, after=True)
    counts = IntakeCounts()
    create_intake(place, queue=failing).run(Inputs({"a": 30, "b": 2}), counts)
    assert (counts.known_count, counts.known_input_count) == (0, 0)
    assert get_input(place, "a").entries == 30
    assert get_input(place, "b").finished
    assert place.records.count(EntryRow) == {(): 32}


def test_a_message_settled_before_a_crash_is_not_sent_again(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a crash between a message and its mark, the batch is read again."""
    monkeypatch.setattr(intake_module, "BATCH_MAX", 7)
    failing = RaisesOnce(place.ledger, "enter", StorageFullError("full"), nth=4)
    with pytest.raises(StorageFullError):
        create_intake(place, ledger=failing).run(Inputs({"a": 14}), IntakeCounts())
    done = take_waiting(place)
    assert len(done) == 14
    place.ledger.write([build_disposition(message_id, place.clock()) for message_id in done])
    create_intake(place).run(Inputs({"a": 14}), IntakeCounts())
    assert take_waiting(place) == []
    assert get_input(place, "a").finished


def build_disposition(capture_id: str, now: datetime) -> DispositionRow:
    names = (capture_id, "library", "identify", capture_id, None, None)
    return DispositionRow(*names, "done", False, None, "", None, 0, now, now)


def test_the_intake_pauses_while_the_queue_is_full(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake_module, "BATCH_MAX", 5)
    monkeypatch.setattr(intake_module, "POLL_S", 0.001)
    intake = replace(create_intake(place), marks=QueueMarks(high=10, low=2))
    reading = threading.Thread(target=intake.run, args=(Inputs({"a": 40}), IntakeCounts()))
    reading.start()
    received_count, depth_max = 0, 0
    while reading.is_alive() or place.queue.get_depth(ENTRY).pending:
        depth_max = max(depth_max, place.queue.get_depth(ENTRY).pending)
        deliveries = place.queue.receive(ENTRY.incoming, 3, 0.001)
        place.queue.settle(deliveries)
        received_count += len(deliveries)
    reading.join(10)
    assert received_count == 40
    assert depth_max <= 15


def test_an_intake_paused_by_a_full_queue_can_be_stopped(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake_module, "POLL_S", 0.001)
    monkeypatch.setattr(intake_module, "BATCH_MAX", 5)
    intake = replace(create_intake(place, StopsAfter(60)), marks=QueueMarks(high=5, low=0))
    intake.run(Inputs({"a": 40}), IntakeCounts())
    assert not get_input(place, "a").finished


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=20
)
@given(sizes=st.lists(st.integers(0, 30), min_size=1, max_size=4), stops=st.integers(0, 100))
def test_every_capture_enters_after_any_number_of_stops(
    place: Workplace, sizes: Sequence[int], stops: int
) -> None:
    """Each example has different inputs in the same home."""
    source = Inputs({f"{id(sizes)}-{place.clock.now_s}-{n}": size for n, size in enumerate(sizes)})
    place.clock.pass_s(1)
    for _ in range(3):
        create_intake(place, StopsAfter(stops)).run(source, IntakeCounts())
    create_intake(place).run(source, IntakeCounts())
    for name, size in source.sizes.items():
        row = get_input(place, name)
        assert (row.finished, row.entries) == (True, size)
        assert place.records.count(EntryRow, where={"input_id": name}) == {(): size}


READ_LATER = [
    ("ledger.write", 1),
    ("queue.settle", 1),
    ("ledger.enter", 1),
]


def ingest_missing_then_present(place: Workplace, path: Path) -> IntakeCounts:
    """Run an intake of a missing path, quarantine its failure, and run it again with the file."""
    path.unlink(missing_ok=True)
    create_intake(place).run(create_source(path), IntakeCounts())
    end_waiting(place)
    path.write_bytes(b"%PDF-1.4 a paper")
    counts = IntakeCounts()
    create_intake(place).run(create_source(path), counts)
    return counts


def create_source(path: Path) -> PathSource:
    return PathSource([path], path.parent / "home", "default", "")


def end_waiting(place: Workplace) -> None:
    """End waiting messages as `identify` does: missing files are quarantined, others are done."""
    deliveries = place.queue.receive(ENTRY.incoming, 100, 0.01)
    for delivery in deliveries:
        item = decode(delivery.message, Capture)
        assert isinstance(item, Capture)
        verdict = Verdict.DONE if item.damage is None else Verdict.QUARANTINED
        reason = str(item.damage_reason) if item.damage_reason else None
        place.ledger.write(
            [build_decided_row(delivery.message, ENTRY, verdict, reason, "", place.clock())]
        )
        if item.damage is not None:
            place.queue.put(ENTRY.quarantine, [delivery.message])
    place.queue.settle(deliveries)


def summarize_failures(place: Workplace) -> tuple[list[str | None], int, dict[str, int]]:
    """Return errors of inputs, the number of quarantined messages, and entries by outcome."""
    errors = [row.error for row in place.records.find(InputRow) if row.error is not None]
    outcome_counts = place.records.count(EntryRow, ("outcome", "reason"))
    assert place.ledger.recount() == []
    for row in place.records.find(InputRow):
        count = place.records.count(EntryRow, (), {"input_id": row.input_id})[()]
        assert (row.finished, row.entries) == (True, count)
    outcomes = {" ".join(filter(None, key)): count for key, count in outcome_counts.items()}
    return errors, place.queue.get_depth(ENTRY).quarantined, outcomes


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
def test_a_failure_ends_only_if_a_later_input_read_the_record(
    place: Workplace, verdict: Verdict, reason: Reason | None, count: int
) -> None:
    """An accepted entry has ended too, but its record was never read."""
    intake = create_intake(place)
    missing = ("a", Verdict.QUARANTINED, Reason.MISSING_SOURCE)
    for name, disposition, cause in (missing, ("b", verdict, reason)):
        intake.run(Inputs({name: 1}), IntakeCounts())
        deliveries = place.queue.receive(ENTRY.incoming, 100, 0.01)
        for delivery in deliveries:
            row = build_decided_row(
                delivery.message,
                ENTRY,
                disposition,
                str(cause) if cause else None,
                "",
                place.clock(),
            )
            place.ledger.write([row])
            if disposition is Verdict.QUARANTINED:
                place.queue.put(ENTRY.quarantine, [delivery.message])
        place.queue.settle(deliveries)
        place.clock.pass_s(1.0)
    assert intake.end_failures(IntakeCounts()) == count
    assert place.queue.get_depth(ENTRY).quarantined == 1 - count


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("method_path", "nth"), READ_LATER)
def test_ending_a_failure_survives_a_crash_between_any_two_writes(
    place: Workplace, tmp_path: Path, method_path: str, nth: int, after: bool
) -> None:
    counts = ingest_missing_then_present(place, tmp_path / "a.pdf")
    store, _, method = method_path.partition(".")
    error = StorageFullError("the disk is full")
    failing = RaisesOnce(getattr(place, store), method, error, nth=nth, after=after)
    with pytest.raises(StorageFullError):
        create_intake(place, **{store: failing}).end_failures(counts)
    place.clock.pass_s(2 * LEASE_S)
    later = IntakeCounts()
    second_intake = create_intake(place)
    second_intake.run(create_source(tmp_path / "a.pdf"), later)
    end_waiting(place)
    assert second_intake.end_failures(later) == (
        0 if (method_path, after) == ("ledger.enter", True) else 1
    )
    assert summarize_failures(place) == ([], 0, {"dropped read-later": 1, "done": 1})


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    ("method_path", "nth"),
    [*[("ledger.enter", nth) for nth in (1, 2, 3)], ("ledger.write", 1), ("queue.put", 1)],
)
def test_a_file_missing_again_is_one_failure_after_any_crash(
    place: Workplace, tmp_path: Path, method_path: str, nth: int, after: bool
) -> None:
    path = tmp_path / "a.pdf"
    counts = ingest_missing_then_present(place, path)
    end_waiting(place)
    assert create_intake(place).end_failures(counts) == 1
    path.unlink()
    store, _, method = method_path.partition(".")
    error = StorageFullError("the disk is full")
    failing = RaisesOnce(getattr(place, store), method, error, nth=nth, after=after)
    with pytest.raises(StorageFullError):
        create_intake(place, **{store: failing}).run(create_source(path), IntakeCounts())
    for _ in range(2):
        end_waiting(place)
        create_intake(place).run(create_source(path), IntakeCounts())
    end_waiting(place)
    expected = {"quarantined missing-source": 1, "done": 1}
    assert summarize_failures(place) == (["no such file"], 1, expected)
    path.write_bytes(b"%PDF-1.4 a paper")
    counts = IntakeCounts()
    create_intake(place).run(create_source(path), counts)
    end_waiting(place)
    assert create_intake(place).end_failures(counts) == 1
    assert summarize_failures(place)[:2] == ([], 0)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    ("method_path", "nth"),
    [
        *[("ledger.enter", nth) for nth in (1, 2, 3)],
        ("ledger.write", 1),
        ("queue.settle", 1),
        ("queue.put", 1),
    ],
)
def test_a_changed_cause_of_a_failure_is_recorded_once_after_any_crash(
    place: Workplace, tmp_path: Path, method_path: str, nth: int, after: bool
) -> None:
    path = tmp_path / "a.pdf"
    path.symlink_to(path)
    create_intake(place).run(create_source(path), IntakeCounts())
    end_waiting(place)
    expected = {"quarantined unreadable-source": 1}
    assert summarize_failures(place) == (["Too many levels of symbolic links"], 1, expected)
    path.unlink()
    store, _, method = method_path.partition(".")
    error = StorageFullError("the disk is full")
    failing = RaisesOnce(getattr(place, store), method, error, nth=nth, after=after)
    with pytest.raises(StorageFullError):
        create_intake(place, **{store: failing}).run(create_source(path), IntakeCounts())
    place.clock.pass_s(2 * LEASE_S)
    for _ in range(2):
        counts = IntakeCounts()
        create_intake(place).run(create_source(path), counts)
        assert len(counts.still_failing) == 1
        end_waiting(place)
    assert summarize_failures(place) == (["no such file"], 1, {"quarantined missing-source": 1})


def test_a_failure_not_yet_quarantined_ends_in_a_later_run(
    place: Workplace, tmp_path: Path
) -> None:
    path = tmp_path / "a.pdf"
    create_intake(place).run(create_source(path), IntakeCounts())
    path.write_bytes(b"%PDF-1.4 a paper")
    for ended_count in (0, 1, 0):
        counts = IntakeCounts()
        create_intake(place).run(create_source(path), counts)
        assert create_intake(place).end_failures(counts) == ended_count
        end_waiting(place)
    assert summarize_failures(place) == ([], 0, {"dropped read-later": 1, "done": 1})


def test_a_failure_of_a_folder_ends_only_if_the_folder_is_named(
    place: Workplace, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    create_intake(place).run(PathSource([folder], tmp_path / "home", "default", ""), IntakeCounts())
    end_waiting(place)
    (folder / "deep").mkdir(parents=True)
    path = folder / "deep" / "a.pdf"
    path.write_bytes(b"%PDF-1.4 a paper")
    for named_paths, ended_count in (([path], 0), ([tmp_path / "other"], 0), ([folder], 1)):
        counts = IntakeCounts()
        source = PathSource([path], tmp_path / "home", "default", "")
        create_intake(place).run(source, counts, [str(named_path) for named_path in named_paths])
        end_waiting(place)
        assert create_intake(place).end_failures(counts) == ended_count
