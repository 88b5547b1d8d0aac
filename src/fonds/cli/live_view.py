"""Live view of a running pipeline on a terminal: work per step, refusals, sources and slow hosts.

The view queries the stores about once a second, for at most a twentieth of the time. Values that
cannot be read are shown as unknown.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from fonds.cli.outcome_table import COLOURS
from fonds.cli.time_format import format_duration
from fonds.fetching.pace import HostLoad
from fonds.model.disposition import RETURNING_VERDICTS, Reason, Verdict
from fonds.model.errors import FondsError
from fonds.model.message import Depth, Subscription
from fonds.model.rows import DispositionRow, SourceRow
from fonds.ports import Queue, Records

EVERY_S = 1.0
SHARE_MAX = 0.05
RATE_OVER_S = 60.0
REASONS_MAX = 8
HOSTS_MAX = 8


class VerdictCounts:
    """Counts of how messages ended in this process, by pipeline step.

    Several threads may update the counts. `seconds` is a monotonic clock.
    """

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._ended: dict[str, Counter[str]] = {}
        self._reasons: Counter[str] = Counter()
        self._recent: deque[tuple[float, str, int]] = deque()
        self._begun_s = seconds()

    def observe(self, step: str, rows: Sequence[DispositionRow], seconds: float) -> None:
        """Count a batch of messages that a step has processed.

        - `rows`: dispositions of the messages, which have the verdict and its reason.
        - `seconds`: not used.

        Messages that will be processed again do not count towards the rate.
        """
        verdict_counts = Counter(row.verdict for row in rows)
        reasons = Counter(
            row.reason for row in rows if row.verdict in _COUNTED_VERDICTS and row.reason
        )
        with self._lock:
            self._ended.setdefault(step, Counter()).update(verdict_counts)
            self._reasons.update(reasons)
            count = sum(
                n for verdict, n in verdict_counts.items() if verdict not in RETURNING_VERDICTS
            )
            self._recent.append((self._seconds(), step, count))
            while self._recent and self._recent[0][0] < self._seconds() - RATE_OVER_S:
                self._recent.popleft()

    def get_verdicts(self, step: str) -> Counter[str]:
        """Return the number of messages with each verdict (done, dropped, …) that a step processed
        in this process.
        """
        with self._lock:
            return Counter(self._ended.get(step, ()))

    def get_reasons(self) -> Counter[str]:
        """Return the number of messages for each reason why messages were dropped or quarantined in
        this process.
        """
        with self._lock:
            return Counter(self._reasons)

    def compute_rate(self, step: str) -> float:
        """Return the number of messages per second that ended at a step in this process in the last
        minute.
        """
        with self._lock:
            now_s = self._seconds()
            since_s = max(self._begun_s, now_s - RATE_OVER_S)
            lately = sum(
                count for at_s, name, count in self._recent if name == step and at_s >= since_s
            )
        return lately / max(1.0, now_s - since_s)


_COUNTED_VERDICTS = frozenset({Verdict.DROPPED, Verdict.QUARANTINED})


@dataclass(slots=True)
class LiveView:
    """Context manager that shows a live view of a running pipeline on a terminal.

    - `screen`: the terminal.
    - `counts`: how messages ended in this process.
    - `queue`, `records`: stores from which waiting messages and sources are read.
    - `steps`: steps of this process in order, each with the subscription it reads.
    - `pipeline`: pipeline whose sources are shown; '' if it has none.
    - `hosts`: function that returns the load of each host from which links are fetched.
    - `troubles`: function that returns why a thread waits, such as a store error, by thread name.
    """

    screen: Console
    counts: VerdictCounts
    queue: Queue
    records: Records
    steps: Sequence[tuple[str, Subscription]]
    pipeline: str
    hosts: Callable[[], Sequence[HostLoad]]
    troubles: Callable[[], dict[str, str]]
    _live: Live = field(init=False)
    _thread: threading.Thread = field(init=False)
    _stop: threading.Event = field(default_factory=threading.Event)
    _begun_s: float = field(default_factory=time.monotonic)

    def __enter__(self) -> LiveView:
        self._live = Live(console=self.screen, auto_refresh=False, redirect_stdout=False)
        self._live.start()
        self._thread = threading.Thread(target=self._run, name="view", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join(EVERY_S)
        self._live.stop()

    def _run(self) -> None:
        while True:
            started_s = time.monotonic()
            self._live.update(self.render(), refresh=True)
            took_s = time.monotonic() - started_s
            if self._stop.wait(max(EVERY_S, took_s / SHARE_MAX)):
                return

    def render(self) -> RenderableType:
        """Return the current content of the live view."""
        parts: list[RenderableType] = [
            self._format_head(),
            _build_work_table(self.counts, [(n, self._get_depth(s)) for n, s in self.steps]),
        ]
        if self.pipeline:
            parts.append(self._format_sources())
        if reasons := self.counts.get_reasons():
            parts.append(_format_refusals(reasons))
        if hosts := self.hosts():
            parts.append(_build_slowest_table(hosts))
        parts += [
            Text(f"{name} waits: {why}", style="red") for name, why in self.troubles().items()
        ]
        return Group(*parts)

    def _format_head(self) -> Text:
        return Text(
            (
                f"running for {format_duration(time.monotonic() - self._begun_s)}; Ctrl-C "
                "finishes the current work and stops"
            ),
            style="dim",
        )

    def _get_depth(self, subscription: Subscription) -> Depth | None:
        try:
            return self.queue.get_depth(subscription)
        except FondsError:
            return None

    def _format_sources(self) -> Text:
        try:
            return format_sources(self.records, self.pipeline, datetime.now(UTC))
        except FondsError:
            return Text("sources: the records do not respond", style="red")


def format_sources(records: Records, pipeline: str, now: datetime) -> Text:
    """Return a line with the numbers of sources that are followed, being polled and due, and the
    time of the next poll.
    """
    where = {"pipeline": pipeline}
    states = {str(state): n for (state,), n in records.count(SourceRow, ("state",), where).items()}
    active, other_states = (
        states.pop("active", 0),
        "".join(f", {n:,} {s}" for s, n in states.items()),
    )
    due, next_at = 0, None
    unpolled_filter = {**where, "state": "active", "lease_holder": None}
    for row in records.find(SourceRow, unpolled_filter, order=("next_poll",)):
        if row.next_poll > now:
            next_at = row.next_poll
            break
        due += 1
    polling = records.count(SourceRow, (), {**where, "polling": True})[()]
    next_poll_note = (
        f", the next in {format_duration((next_at - now) / timedelta(seconds=1))}"
        if next_at
        else ""
    )
    return Text(
        f"sources: {active:,} followed{other_states}; {polling:,} being polled, {due:,} due{next_poll_note}"
    )


def _build_work_table(counts: VerdictCounts, steps: Sequence[tuple[str, Depth | None]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("step")
    for name in ("waiting", "in progress", "delayed", "done", "dropped", "failed", "per second"):
        table.add_column(name, justify="right")
    for step, depth in steps:
        verdict_counts = counts.get_verdicts(step)
        depth_cells = (
            (f"{depth.ready:,}", f"{depth.in_hand:,}", f"{depth.delayed:,}") if depth else "???"
        )
        verdicts = (Verdict.DONE, Verdict.DROPPED, Verdict.QUARANTINED)
        rate = counts.compute_rate(step)
        table.add_row(
            step,
            *depth_cells,
            *(f"{verdict_counts[verdict]:,}" for verdict in verdicts),
            f"{rate:,.1f}" if rate else "",
        )
    return table


def _format_refusals(reasons: Counter[str]) -> Text:
    """Return a line with the most frequent reasons why messages ended, and the number of other
    reasons.
    """
    text = Text("ended early: ")
    for nth, (name, count) in enumerate(reasons.most_common(REASONS_MAX)):
        text.append(", " if nth else "")
        text.append(f"{count:,} {name}", style=COLOURS[Reason(name).weight])
    if len(reasons) > REASONS_MAX:
        text.append(f", {len(reasons) - REASONS_MAX} more reasons")
    return text


def _build_slowest_table(hosts: Sequence[HostLoad]) -> Table:
    """Return a table of the hosts whose waiting links take longest to fetch."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("slowest hosts")
    for name in ("waiting links", "next in", "delay", "for"):
        table.add_column(name, justify="right")
    longest = sorted(hosts, key=lambda host: -host.duration_s)
    for host_load in longest[:HOSTS_MAX]:
        duration = format_duration(host_load.duration_s)
        table.add_row(
            Text(host_load.host),
            f"{host_load.waiting:,}",
            format_duration(host_load.next_s),
            f"{host_load.gap_s:.1f} s",
            duration,
        )
    if len(hosts) > HOSTS_MAX:
        table.add_row(Text(f"{len(hosts) - HOSTS_MAX:,} more", style="dim"))
    return table
