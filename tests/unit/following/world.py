"""A server, the stores of a home, and what polls the one into the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from fixtures.answering import Answering, Given, answering
from fonds.config import load_settings
from fonds.following.link_rules import LinkRules
from fonds.following.listings.reader import read_listing
from fonds.following.poll_interval import PollIntervals
from fonds.following.poller import LEASE_S, Poller, PollResult
from fonds.following.source_edits import SourceOptions, add_sources, build_source
from fonds.leases.cells import LeaseColumns
from fonds.leases.leases import Leases
from fonds.model.entry import Link
from fonds.model.message import Subscription
from fonds.model.rows import EntryRow, InputRow, SourceRow
from fonds.pipelines.runtime.intake import EntryGate, Intake, IntakeCounts, QueueMarks
from fonds.ports import Source
from fonds.queues.messages.envelope import decode
from fonds.wiring.following import create_sender
from fonds.wiring.links import get_fetcher
from small_pipeline import Workplace

FETCH = Subscription("follow.fetch", "t.follow.links")
GATE = EntryGate("follow", FETCH.topic, (FETCH,), ("fetch",))
LINKS = [f"https://news.example.org/{number}" for number in range(4)]
WANTED = SourceOptions(pipeline="follow", collection="papers")


def create_poll_leases(
    place: Workplace,
    holder_name: str,
    records: Any = None,
    clock_s: Callable[[], float] | None = None,
) -> Leases:
    """Leases of sources, by the clock of the workplace if no other is given."""
    cells = LeaseColumns(records or place.records, SourceRow)
    return Leases(cells, holder_name, clock_s or (lambda: place.clock.now_s), LEASE_S)


@dataclass
class World:
    """A server, a home's stores, and what polls."""

    server: Answering
    place: Workplace
    polling: Poller
    stop: list[bool] = field(default_factory=lambda: [False])

    def add(self, path: str, wanted: SourceOptions = WANTED) -> SourceRow:
        (row,) = add_sources(
            self.place.records, [build_source(self.server.url + path, wanted, self.place.clock())]
        )
        return row

    def row(self, source_id: str) -> SourceRow:
        (found,) = self.place.records.get(SourceRow, [source_id])
        return found

    def poll(self, row: SourceRow) -> PollResult:
        done = self.polling.poll(self.row(row.source_id))
        assert done is not None
        return done

    def give(self, path: str, body: bytes, status: int = 200, **headers: str) -> None:
        told = {name.replace("_", "-"): value for name, value in headers.items()}
        self.server.answers[path] = Given(status, body, told)

    def entered(self) -> list[EntryRow]:
        return sorted(self.place.records.find(EntryRow), key=lambda one: one.entry_id)

    def polls(self) -> list[InputRow]:
        return sorted(self.place.records.find(InputRow), key=lambda one: one.input_id)

    def waiting(self) -> list[Link]:
        taken = self.place.queue.receive(FETCH.incoming, 1000, 0.0)
        found = [decode(one.message, Link) for one in taken]
        self.place.queue.settle(taken)
        return [one for one in found if isinstance(one, Link)]


@pytest.fixture
def world(place: Workplace, tmp_path: Path) -> Iterator[World]:
    place.queue.declare([FETCH])
    stop = [False]
    intake = Intake(
        place.queue,
        place.records,
        place.ledger,
        GATE,
        QueueMarks(20_000, 10_000),
        place.clock,
        lambda: stop[0],
    )
    told = {
        "elsewhere.private_addresses": "true",
        "fetch.host_gap_s": "0",
        "fetch.gap_longest_s": "0.05",  # After refusals; the tests only advance a clock of their own.
    }
    settings = load_settings(tmp_path, told)
    asker = get_fetcher(place.records, settings).retain()

    def enter(source: Source) -> None:
        intake.run(source, IntakeCounts())

    with answering() as server:
        polling = Poller(
            place.records,
            "follow",
            enter,
            create_sender(asker, settings),
            read_listing,
            LinkRules(),
            PollIntervals(),
            place.clock,
            create_poll_leases(place, "process"),
        )
        yield World(server, place, polling, stop)
    asker.close()


def later(world: World, **time: float) -> None:
    world.place.clock.pass_s(timedelta(**time).total_seconds())
