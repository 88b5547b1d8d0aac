"""Ports whose process ends in the middle of their work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from fonds.following.poller import Poller
from fonds.pipelines.runtime.intake import Intake, IntakeCounts, QueueMarks
from unit.following.world import GATE, World, create_poll_leases


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


def mortal(world: World, port: str, name: str, count: int, after: bool) -> Poller:
    """What polls in this world, until the `count`-th call of a port's method."""
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
        world.polling,
        records=ports["records"],  # type: ignore[arg-type]
        leases=create_poll_leases(place, "dying", ports["records"]),
        enter=lambda source: intake.run(source, IntakeCounts()),
    )
