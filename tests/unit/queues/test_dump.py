"""Queue commands: a dump loses no message, and purged messages are recorded in the ledger."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from depth import examples
from fonds.archive.warc.messages import read_messages
from fonds.model.disposition import Reason, quarantine
from fonds.model.errors import ConfigurationError
from fonds.model.message import Message
from fonds.model.step import Result
from fonds.pipelines.runtime import queue_dump as dumping
from fonds.queues.headers import format_value, parse_value
from small_pipeline import Spy, Workplace
from unit.queues.header_values import TEXTS, VALUES, are_equal


@pytest.fixture(autouse=True)
def shorten_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIRST_WAIT_S", "WAIT_S"):
        monkeypatch.setattr(dumping, name, 0.001)


def test_a_dump_empties_the_queue_and_a_load_restores_it(place: Workplace, tmp_path: Path) -> None:
    ids = place.enter(*range(450))
    file = tmp_path / "dump.warc.gz"
    with file.open("xb") as out:
        sizes = list(
            dumping.dump(place.queue, "sums.double-in", out, count_max=None, releases=False)
        )
    assert sizes == [200, 200, 50]
    assert place.get_depth().pending == 0
    assert sum(dumping.load(place.queue, file, place.subscriptions, None)) == 450
    assert sorted(message.id for message in place.take_all("sums.double-in")) == ids


def test_messages_are_on_disk_before_they_are_settled(
    place: Workplace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.enter(1)
    calls: list[str] = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (calls.append("fsync"), real(fd)))
    spy: Any = Spy(place.queue, calls)
    with (tmp_path / "dump.warc.gz").open("xb") as out:
        list(dumping.dump(spy, "sums.double-in", out, count_max=None, releases=False))
    assert [c for c in calls if c in ("fsync", "settle")][:2] == ["fsync", "settle"]


def test_a_dump_with_keep_leaves_the_messages_on_the_queue(
    place: Workplace, tmp_path: Path
) -> None:
    place.enter(*range(5))
    with (tmp_path / "dump.warc.gz").open("x+b") as out:
        list(dumping.dump(place.queue, "sums.double-in", out, count_max=3, releases=True))
        out.seek(0)
        assert len(list(read_messages(out))) == 3
    assert (place.get_depth().ready, place.get_depth().in_hand) == (5, 0)


def test_a_peek_changes_only_the_delivery_count(place: Workplace) -> None:
    place.enter(*range(5))
    deliveries = dumping.peek(place.queue, "sums.double-in", 3)
    assert [delivery.redelivered for delivery in deliveries] == [0, 0, 0]
    assert (place.get_depth().ready, place.get_depth().in_hand) == (5, 0)
    assert [
        delivery.redelivered for delivery in dumping.peek(place.queue, "sums.double-in", 5)
    ].count(1) == 3


def test_purged_messages_end_as_dropped(place: Workplace) -> None:
    place.enter(1, 2)
    place.loop(lambda item: Result(quarantine(Reason.BROKEN_PDF, "cut"))).run_once(0.0)
    place.enter(3)
    reader = place.subscriptions[0]
    for address in (reader.quarantine, reader.incoming):
        list(dumping.purge(place.queue, place.ledger, address, reader, place.clock))
    assert set(place.list_endings().values()) == {("dropped", "purged")}
    assert set(place.list_endings()) == {"id-001", "id-002", "id-003"}
    assert (place.get_depth().pending, place.get_depth().quarantined) == (0, 0)


def test_a_dump_can_be_loaded_into_another_address(place: Workplace, tmp_path: Path) -> None:
    place.enter(1)
    place.loop(lambda item: Result(quarantine(Reason.BROKEN_PDF, "cut"))).run_once(0.0)
    file = tmp_path / "dump.warc.gz"
    with file.open("xb") as out:
        list(dumping.dump(place.queue, "sums.double-quar", out, count_max=None, releases=False))
    list(dumping.load(place.queue, file, place.subscriptions, "double"))
    assert place.get_depth().ready == 1


@pytest.mark.parametrize(
    ("word", "message"),
    [("double-delay", "move to sums.double-in by themselves"), ("nobody", "sums.keep-quar")],
)
def test_an_unreadable_address_is_refused_with_the_readable_ones(
    place: Workplace, word: str, message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        dumping.resolve_address(word, place.subscriptions)


HEADERS = st.dictionaries(TEXTS.filter(bool), VALUES, max_size=5)
MESSAGES = st.lists(
    st.tuples(TEXTS.filter(bool), st.binary(max_size=50), TEXTS, st.integers(0, 1000), HEADERS),
    min_size=1,
    max_size=5,
    unique_by=lambda message: message[0],
)


@settings(
    max_examples=examples(20),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(drawn=MESSAGES)
def test_headers_of_any_type_survive_dump_and_load(
    place: Workplace, tmp_path_factory: pytest.TempPathFactory, drawn: list[Any]
) -> None:
    """Headers of another program with broker types go from a queue to a file and back to the queue."""
    file = tmp_path_factory.mktemp("dump") / "dump.warc.gz"
    headers = {id_: values for id_, _, _, _, values in drawn}
    sent = [
        Message(
            id_, body, key, attempt, {name: format_value(value) for name, value in values.items()}
        )
        for id_, body, key, attempt, values in drawn
    ]
    place.queue.put("sums.double-in", sent)
    with file.open("xb") as out:
        list(dumping.dump(place.queue, "sums.double-in", out, count_max=None, releases=False))
    assert place.get_depth().pending == 0
    list(dumping.load(place.queue, file, place.subscriptions, None))
    deliveries = place.queue.receive("sums.double-in", 100, 0.0)
    place.queue.settle(deliveries)
    assert {delivery.message.id: delivery.message for delivery in deliveries} == {
        message.id: message for message in sent
    }
    for delivery in deliveries:
        values = {name: parse_value(text) for name, text in delivery.message.headers.items()}
        assert are_equal(values, headers[delivery.message.id])
