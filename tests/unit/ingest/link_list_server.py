"""A home that ingests links from files."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from fonds.config import load_settings
from fonds.following.link_rules import LinkRules
from fonds.ingest.sources.link_lists import (
    LimitedSource,
    LinkListSource,
    ShuffledSource,
)
from fonds.ingest.sources.link_rows import URL_LISTS
from fonds.ingest.sources.link_sample import LinkSample
from fonds.ingest.sources.remote_files import RemoteFiles
from fonds.isolation.pool import ChildPool
from fonds.model.disposition import Verdict
from fonds.model.entry import Link
from fonds.model.message import Subscription
from fonds.model.rows import EntryRow, InputRow
from fonds.pipelines.runtime.intake import EntryGate, Intake, IntakeCounts, QueueMarks
from fonds.pipelines.runtime.quarantine import build_decided_row
from fonds.queues.messages.envelope import decode
from fonds.wiring.archive import create_service_client
from small_pipeline import Workplace

FETCH = Subscription("csv.fetch", "t.csv.links")
GATE = EntryGate("csv", FETCH.topic, (FETCH,), ("fetch",))


def build_urls(first: int, last: int) -> list[str]:
    return [f"https://news.example.org/{number:04}" for number in range(first, last)]


@dataclass
class World:
    place: Workplace
    folder: Path
    stops: list[int] = field(default_factory=list)

    def write_file(self, name: str, lines: list[str] | bytes) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        body = lines if isinstance(lines, bytes) else "\n".join(lines).encode()
        path.write_bytes(gzip.compress(body) if name.endswith(".gz") else body)
        return str(path)

    def create_source(
        self, *names: str, form: str = URL_LISTS, sample: LinkSample | None = None
    ) -> LinkListSource:
        settings = load_settings(self.folder, {"elsewhere.private_addresses": "true"})
        return LinkListSource(
            names,
            form,
            self.folder / "home",
            "csv",
            "default",
            LinkRules(),
            RemoteFiles(create_service_client(settings), lambda: None, pauses_s=(0.01,)),
            self.place.clock,
            partial(ChildPool, 1),
            self.place.records,
            sample=sample or LinkSample(),
            downloads_url="s3://old/downloads",
        )

    def take(
        self, source: LinkListSource | ShuffledSource | LimitedSource, stop_after: int = 10**9
    ) -> IntakeCounts:
        """Enter the entries of the source. The intake is stopped after `stop_after` checks."""
        checks = [0]

        def should_stop() -> bool:
            checks[0] += 1
            return checks[0] > stop_after or (
                isinstance(source, LimitedSource) and source.is_done()
            )

        self.place.queue.declare([FETCH])
        entered = IntakeCounts()
        intake = Intake(
            self.place.queue,
            self.place.records,
            self.place.ledger,
            GATE,
            QueueMarks(),
            self.place.clock,
            should_stop,
        )
        intake.run(source, entered)
        return entered

    def take_links(self) -> list[Link]:
        items = []
        while deliveries := self.place.queue.receive(FETCH.incoming, 1000, 0.0):
            items += [decode(item.message, Link) for item in deliveries]
            self.place.queue.settle(deliveries)
        return [item for item in items if isinstance(item, Link)]

    def finish_links(self) -> list[Link]:
        """Record all links as done, as their steps would."""
        items = []
        while deliveries := self.place.queue.receive(FETCH.incoming, 1000, 0.0):
            messages = [delivery.message for delivery in deliveries]
            items += [decode(message, Link) for message in messages]
            now = self.place.clock()
            rows = [
                build_decided_row(message, FETCH, Verdict.DONE, None, "", now)
                for message in messages
            ]
            self.place.ledger.write(rows)
            self.place.queue.settle(deliveries)
        return [item for item in items if isinstance(item, Link)]

    def list_inputs(self) -> list[InputRow]:
        return list(self.place.records.find(InputRow))

    def check_balance(self) -> None:
        """Check that the entry count of each input equals its rows in the ledger."""
        for row in self.list_inputs():
            row_count = self.place.records.count(EntryRow, (), {"input_id": row.input_id})[()]
            assert row.entries == row_count
