"""A poll that is killed between any two acts: nothing is lost, nothing enters twice, the books balance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from fixtures.feeds import rss_of
from fonds.runtime.intake import Entered, Intake, Marks
from unit.sources.following.world import GATE, LINKS, World, later


class KilledError(BaseException):
    """The process ends here."""


@dataclass
class DiesAt:
    """A port of which the `count`-th call ends the process, before or after it took effect."""

    real: object
    name: str
    count: int
    after: bool
    calls: int = 0

    def __getattr__(self, name: str) -> object:
        real: Callable[..., object] = getattr(self.real, name)
        if name != self.name:
            return real

        def called(*args: object, **kwargs: object) -> object:
            self.calls += 1
            if self.calls == self.count and not self.after:
                raise KilledError
            done = real(*args, **kwargs)
            if self.calls == self.count:
                raise KilledError
            return done

        return called


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(
    ("port", "name", "count"),
    [
        ("ledger", "enter", 1),
        ("ledger", "enter", 2),
        ("queue", "put", 1),
        ("records", "change", 1),
        ("records", "change", 2),
    ],
)
def test_a_poll_that_is_killed_anywhere_loses_nothing_and_enters_nothing_twice(
    world: World, port: str, name: str, count: int, after: bool
) -> None:
    row = world.add("/feed")
    world.give("/feed", rss_of(LINKS[:3]), ETag='"v1"')
    ports = {
        "ledger": world.place.ledger,
        "queue": world.place.queue,
        "records": world.place.records,
    }
    ports[port] = DiesAt(ports[port], name, count, after)  # type: ignore[assignment]
    intake = Intake(
        ports["queue"],  # type: ignore[arg-type]
        ports["records"],  # type: ignore[arg-type]
        ports["ledger"],  # type: ignore[arg-type]
        GATE,
        Marks(),
        world.place.clock,
        lambda: False,
    )
    mortal = replace(
        world.polling,
        records=ports["records"],  # type: ignore[arg-type]
        enter=lambda source: intake.run(source, Entered()),
    )
    with pytest.raises(KilledError):
        mortal.poll(row)
    later(world, hours=25)
    # Meanwhile the first link left the feed, and another came.
    world.give("/feed", rss_of(LINKS[1:4]), ETag='"v2"')
    for due in world.polling.due(10):
        world.poll(due)
    world.give("/feed", b"", 304)
    world.poll(row)
    urls = [one.url for one in world.entered()]
    assert len(urls) == len(set(urls))
    assert set(urls) >= set(LINKS[1:4])
    assert world.row(row.source_id).links == len(urls)
    sent = {one.id for one in world.waiting()}
    assert sent == {one.entry_id for one in world.entered()}
    for poll in world.polls():
        count_of = sum(one.input_id == poll.input_id for one in world.entered())
        assert (poll.finished, poll.entries) == (True, count_of)
    assert not world.row(row.source_id).polling
