"""A server, the stores of a home, and a poller between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from fixtures.http_server import CannedResponse, HttpServer, serve_http
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
OPTIONS = SourceOptions(pipeline="follow", collection="papers")


def create_poll_leases(
    place: Workplace,
    holder_name: str,
    records: Any = None,
    clock_s: Callable[[], float] | None = None,
) -> Leases:
    """Create leases of sources, by the clock of the workplace unless another is given."""
    cells = LeaseColumns(records or place.records, SourceRow)
    return Leases(cells, holder_name, clock_s or (lambda: place.clock.now_s), LEASE_S)


@dataclass
class World:
    """A server, the stores of a home, and a poller."""

    server: HttpServer
    place: Workplace
    poller: Poller
    stop: list[bool] = field(default_factory=lambda: [False])

    def add(self, path: str, options: SourceOptions = OPTIONS) -> SourceRow:
        (row,) = add_sources(
            self.place.records, [build_source(self.server.url + path, options, self.place.clock())]
        )
        return row

    def get_row(self, source_id: str) -> SourceRow:
        (source,) = self.place.records.get(SourceRow, [source_id])
        return source

    def poll(self, row: SourceRow) -> PollResult:
        result = self.poller.poll(self.get_row(row.source_id))
        assert result is not None
        return result

    def serve(self, path: str, body: bytes, status: int = 200, **headers: str) -> None:
        real_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        self.server.responses[path] = CannedResponse(status, body, real_headers)

    def list_entries(self) -> list[EntryRow]:
        return sorted(self.place.records.find(EntryRow), key=lambda row: row.entry_id)

    def list_polls(self) -> list[InputRow]:
        return sorted(self.place.records.find(InputRow), key=lambda row: row.input_id)

    def receive_links(self) -> list[Link]:
        received = self.place.queue.receive(FETCH.incoming, 1000, 0.0)
        contents = [decode(content.message, Link) for content in received]
        self.place.queue.settle(received)
        return [content for content in contents if isinstance(content, Link)]


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
    overrides = {
        "elsewhere.private_addresses": "true",
        "fetch.host_gap_s": "0",
        "fetch.gap_longest_s": "0.05",  # After refusals; the tests only advance a clock of their own.
    }
    settings = load_settings(tmp_path, overrides)
    client = get_fetcher(place.records, settings).retain()

    def enter(source: Source) -> None:
        intake.run(source, IntakeCounts())

    with serve_http() as server:
        poller = Poller(
            place.records,
            "follow",
            enter,
            create_sender(client, settings),
            read_listing,
            LinkRules(),
            PollIntervals(),
            place.clock,
            create_poll_leases(place, "process"),
        )
        yield World(server, place, poller, stop)
    client.close()


def advance(world: World, **time: float) -> None:
    world.place.clock.pass_s(timedelta(**time).total_seconds())
