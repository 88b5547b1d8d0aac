"""Live view of a running pipeline: counts of its steps, backlogs, and slow hosts."""

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
class PipelineView:
    """A live view of a small pipeline and its text."""

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
        output = screen.file
        assert isinstance(output, io.StringIO)
        return " ".join(output.getvalue().split())


@pytest.fixture
def pipeline_view(place: Workplace) -> PipelineView:
    return PipelineView(place)


def double_even(item: Number) -> Result:
    """Double even numbers and drop odd ones."""
    if item.value % 2:
        return Result(drop(Reason.IS_FEED, "odd"))
    return double(item)


def test_each_step_shows_its_backlog_and_outcomes(pipeline_view: PipelineView) -> None:
    pipeline_view.place.enter(*range(9))
    assert "double 9 0 0 0 0 0" in pipeline_view.text()
    loop = pipeline_view.place.loop(double_even, observe=pipeline_view.counts.observe)
    assert loop.run_once(0.0) == 9
    text = pipeline_view.text()
    assert "double 0 0 0 5 4 0" in text
    assert "ended early: 4 is-feed" in text
    assert "waits" not in text


def test_reasons_over_the_limit_are_counted(pipeline_view: PipelineView) -> None:
    pipeline_view.place.enter(*range(40))
    reasons = list(Reason)[:12]

    def drop_with_many_reasons(item: Number) -> Result:
        return Result(drop(reasons[item.value % 12]))

    loop = pipeline_view.place.loop(drop_with_many_reasons, observe=pipeline_view.counts.observe)
    while loop.run_once(0.0):
        pass
    text = pipeline_view.text()
    assert text.count(" 3 ") + text.count(" 4 ") >= 8
    assert text.endswith(", 4 more reasons")


def test_the_rate_covers_the_last_minute() -> None:
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
    """The counted fields of a settled message."""

    verdict = "done"
    reason = None


def test_hosts_with_the_longest_delay_are_listed_first(pipeline_view: PipelineView) -> None:
    pipeline_view.hosts = [
        HostLoad(f"host{number}.example", 10 - number, 2.0) for number in range(9)
    ]
    pipeline_view.hosts = [*pipeline_view.hosts, HostLoad("slow.example", 3, 3600.0, 90.0)]
    text = pipeline_view.text()
    assert (
        "delay for slow.example 3 1 min 30 s 3600.0 s 2 h 1 min host0.example 10 0 s 2.0 s 18 s"
        in text
    )
    assert text.endswith("2 more")


def test_an_unavailable_queue_shows_question_marks(pipeline_view: PipelineView) -> None:
    pipeline_view.place.enter(1, 2)
    failing_queue = RaisesOnce(
        pipeline_view.place.queue, "get_depth", StoreUnavailableError("unavailable")
    )
    assert "double ? ? ? 0 0 0" in pipeline_view.text(failing_queue)
    assert "double 2 0 0 0 0 0" in pipeline_view.text(failing_queue)


def test_the_problem_of_a_waiting_step_is_shown(pipeline_view: PipelineView) -> None:
    pipeline_view.troubles = {"double-0": "the disk [bold]is full"}
    assert "double-0 waits: the disk [bold]is full" in pipeline_view.text()


def test_sources_are_counted_with_the_next_due_time(pipeline_view: PipelineView) -> None:
    now = pipeline_view.place.clock()
    new_sources = [
        build_source(f"https://{number}.example/feed", SourceOptions(pipeline="news"), now)
        for number in range(6)
    ]
    rows: list[SourceRow] = [
        new_sources[0],
        replace(new_sources[1], next_poll=now + timedelta(seconds=125)),
        replace(new_sources[2], next_poll=now + timedelta(days=2), polling=True),
        replace(new_sources[3], state="paused"),
        replace(new_sources[4], state="gone"),
        replace(new_sources[5], pipeline="csv"),
    ]
    pipeline_view.place.records.put(rows)
    text = format_sources(pipeline_view.place.records, "news", now).plain
    assert text.startswith("sources: 3 followed, 1 ")
    assert "1 paused" in text
    assert "1 gone" in text
    assert text.endswith("; 1 being polled, 1 due, the next in 2 min 5 s")
    pipeline_view.pipeline = "nothing"
    assert "sources: 0 followed; 0 being polled, 0 due" in pipeline_view.text()


@pytest.mark.parametrize(
    ("seconds", "expected"),
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
def test_durations_are_formatted_briefly(seconds: float, expected: str) -> None:
    assert format_duration(seconds) == expected
