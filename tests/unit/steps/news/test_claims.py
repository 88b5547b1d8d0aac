"""One process asks a domain at a time, and what it learned of the pace goes with the domain."""

from __future__ import annotations

import time
from pathlib import Path

from fixtures.web_of_hosts import Web
from fonds.model.disposition import Reason, Verdict
from fonds.model.rows import PaceRow
from unit.steps.news.desk import capture, ended, make_desk


def test_a_domain_is_asked_by_one_process_at_a_time_and_its_pace_goes_with_it(
    web: Web, tmp_path: Path
) -> None:
    first = make_desk(web, tmp_path, "first")
    second = make_desk(web, tmp_path, "second")
    url = web.url("www.a.example")
    try:
        capture(first.run(url)[url])
        (other,) = second.run(web.url("sport.a.example")).values()
        assert ended(other) == (Verdict.DEFERRED, Reason.NOT_YET)
        assert web.asked("sport.a.example") == []
        first.fetch.close()
        (row,) = first.records.get(PaceRow, ["a.example"])
        assert row.claimed_by is None
        assert row.paces["www.a.example"][0] > 0
        (end,) = second.run(web.url("sport.a.example"), poll="again").values()
        capture(end)
    finally:
        second.fetch.close()
        first.records.close()
        second.records.close()


def test_what_a_dead_process_held_is_taken_over(web: Web, tmp_path: Path) -> None:
    dead = make_desk(web, tmp_path, "dead")
    url = web.url("a.example")
    capture(dead.run(url)[url])
    alive = make_desk(web, tmp_path, "alive", is_gone=lambda who: who == "dead")
    slow = make_desk(web, tmp_path, "slow", lease_s=0.5)
    try:
        capture(alive.run(url, poll="again")[url])
        assert ended(slow.run(url, poll="b")[url]) == (Verdict.DEFERRED, Reason.NOT_YET)
        time.sleep(0.6)
        capture(slow.run(url, poll="c")[url])
    finally:
        for one in (dead, alive, slow):
            one.fetch.close()
            one.records.close()
