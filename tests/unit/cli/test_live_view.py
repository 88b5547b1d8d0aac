"""What a person sees of a running pipeline: what its loops told, what waits, who is slow."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest
from rich.console import Console

from fonds.cli.live_view import LiveView, VerdictCounts, format_sources
from fonds.cli.time_format import format_duration
from fonds.fetching.pace import HostLoad
from fonds.following.source_edits import SourceOptions, build_source
from fonds.model.disposition import Reason, drop
from fonds.model.errors import StoreUnavailableError
from fonds.model.rows import SourceRow
from fonds.model.step import Result
from small_pipeline import Clock, Number, RaisesOnce, Workplace, double


@dataclass
class Seen:
    """A view of a small pipeline, and what it shows."""

    place: Workplace
    counts: VerdictCounts = field(default_factory=VerdictCounts)
    hosts: Sequence[HostLoad] = ()
    troubles: dict[str, str] = field(default_factory=dict)
    pipeline: str = ""

    def text(self, queue: object = None) -> str:
        screen = Console(file=io.StringIO(), width=110)
        (reads, _) = self.place.subscriptions
        view = LiveView(
            screen,
            self.counts,
            queue or self.place.queue,  # type: ignore[arg-type]
            self.place.records,
            [("double", reads)],
            self.pipeline,
            lambda: self.hosts,
            lambda: self.troubles,
        )
        screen.print(view.render())
        found = screen.file
        assert isinstance(found, io.StringIO)
        return " ".join(found.getvalue().split())


@pytest.fixture
def seen(place: Workplace) -> Seen:
    return Seen(place)


def odd_ones(item: Number) -> Result:
    """Even numbers are doubled, odd ones are nothing for us."""
    if item.value % 2:
        return Result(drop(Reason.IS_FEED, "odd"))
    return double(item)


def test_each_step_tells_what_waits_and_what_became_of_the_rest(seen: Seen) -> None:
    seen.place.enter(*range(9))
    assert "double 9 0 0 0 0 0" in seen.text()
    loop = seen.place.loop(odd_ones, observe=seen.counts.observe)
    assert loop.run_once(0.0) == 9
    text = seen.text()
    assert "double 0 0 0 5 4 0" in text
    assert "ended early: 4 is-feed" in text
    assert "waits" not in text


def test_of_many_reasons_those_left_out_are_counted(seen: Seen) -> None:
    seen.place.enter(*range(40))
    reasons = list(Reason)[:12]

    def all_kinds(item: Number) -> Result:
        return Result(drop(reasons[item.value % 12]))

    loop = seen.place.loop(all_kinds, observe=seen.counts.observe)
    while loop.run_once(0.0):
        pass
    text = seen.text()
    assert text.count(" 3 ") + text.count(" 4 ") >= 8
    assert text.endswith(", 4 more reasons")


def test_the_rate_is_that_of_the_last_minute() -> None:
    clock = Clock()
    counts = VerdictCounts(clock.seconds)
    assert counts.compute_rate("double") == 0.0
    row = object.__new__(Row)
    for _ in range(30):
        counts.observe("double", [row] * 4, 0.1)  # type: ignore[list-item]
        clock.pass_s(1.0)
    assert counts.compute_rate("double") == pytest.approx(4.0)
    clock.pass_s(45.0)
    assert counts.compute_rate("double") == pytest.approx(4.0 * 15 / 60)
    clock.pass_s(60.0)
    assert counts.compute_rate("double") == 0.0


class Row:
    """As much of a settled message as is counted."""

    verdict = "done"
    reason = None


def test_hosts_with_most_to_wait_for_stand_first(seen: Seen) -> None:
    seen.hosts = [HostLoad(f"host{number}.example", 10 - number, 2.0) for number in range(9)]
    seen.hosts = [*seen.hosts, HostLoad("slow.example", 3, 3600.0, 90.0)]
    text = seen.text()
    assert (
        "delay for slow.example 3 1 min 30 s 3600.0 s 2 h 1 min host0.example 10 0 s 2.0 s 18 s"
        in text
    )
    assert text.endswith("2 more")


def test_a_queue_that_does_not_answer_is_no_zero(seen: Seen) -> None:
    seen.place.enter(1, 2)
    away = RaisesOnce(seen.place.queue, "get_depth", StoreUnavailableError("away"))
    assert "double ? ? ? 0 0 0" in seen.text(away)
    assert "double 2 0 0 0 0 0" in seen.text(away)


def test_what_holds_a_step_up_is_told(seen: Seen) -> None:
    seen.troubles = {"double-0": "the disk [bold]is full"}
    assert "double-0 waits: the disk [bold]is full" in seen.text()


def test_sources_are_counted_with_when_the_next_is_due(seen: Seen) -> None:
    now = seen.place.clock()
    made = [
        build_source(f"https://{number}.example/feed", SourceOptions(pipeline="news"), now)
        for number in range(6)
    ]
    rows: list[SourceRow] = [
        made[0],
        replace(made[1], next_poll=now + timedelta(seconds=125)),
        replace(made[2], next_poll=now + timedelta(days=2), polling=True),
        replace(made[3], state="paused"),
        replace(made[4], state="gone"),
        replace(made[5], pipeline="csv"),
    ]
    seen.place.records.put(rows)
    told = format_sources(seen.place.records, "news", now).plain
    assert told.startswith("sources: 3 followed, 1 ")
    assert "1 paused" in told
    assert "1 gone" in told
    assert told.endswith("; 1 being polled, 1 due, the next in 2 min 5 s")
    seen.pipeline = "nothing"
    assert "sources: 0 followed; 0 being polled, 0 due" in seen.text()


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-3, "0 s"),
        (0.4, "0 s"),
        (59.6, "1 min"),
        (125, "2 min 5 s"),
        (3_600, "1 h"),
        (3_605, "1 h"),
        (90_000, "1 d 1 h"),
        (10**9, "11574 d 1 h"),
    ],
)
def test_lengths_of_time_are_short(seconds: float, shown: str) -> None:
    assert format_duration(seconds) == shown
