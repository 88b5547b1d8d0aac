"""Ports whose process is killed in the middle of their work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from fonds.following.poller import Poller
from fonds.pipelines.runtime.intake import Intake, IntakeCounts, QueueMarks
from unit.following.world import GATE, World, create_poll_leases


class KilledError(BaseException):
    """The process is killed at this point."""


@dataclass
class DiesAt:
    """Port whose `count`-th call kills the process, before or after its effect."""

    real: object
    name: str
    count: int
    after: bool
    calls: int = 0

    def __getattr__(self, name: str) -> object:
        method: Callable[..., object] = getattr(self.real, name)
        if name != self.name:
            return method

        def call(*args: object, **kwargs: object) -> object:
            self.calls += 1
            if self.calls == self.count and not self.after:
                raise KilledError
            result = method(*args, **kwargs)
            if self.calls == self.count:
                raise KilledError
            return result

        return call


def make_mortal_poller(world: World, port: str, name: str, count: int, after: bool) -> Poller:
    """Return a poller of this world that is killed by the `count`-th call of a port's method."""
    place = world.place
    ports = {"ledger": place.ledger, "queue": place.queue, "records": place.records}
    ports[port] = DiesAt(ports[port], name, count, after)  # type: ignore[assignment]
    intake = Intake(
        ports["queue"],  # type: ignore[arg-type]
        ports["records"],  # type: ignore[arg-type]
        ports["ledger"],  # type: ignore[arg-type]
        GATE,
        QueueMarks(),
        place.clock,
        lambda: False,
    )
    return replace(
        world.poller,
        records=ports["records"],  # type: ignore[arg-type]
        leases=create_poll_leases(place, "dying", ports["records"]),
        enter=lambda source: intake.run(source, IntakeCounts()),
    )
