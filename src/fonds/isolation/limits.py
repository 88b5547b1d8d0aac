"""How much one call in a child process may take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChildLimits:
    """The limits of one call. `cpu_s` None means as many seconds as `wall_s`.

    `memory_bytes` is address space (RLIMIT_AS), everything loaded included. `output_max_bytes` is the
    size of the encoded answer. A child that has answered `tasks_max` calls is replaced.
    """

    wall_s: float = 60.0
    cpu_s: float | None = None
    memory_bytes: int = 2 * 2**30
    output_max_bytes: int = 128 * 2**20
    tasks_max: int = 200

    @property
    def cpu_max_s(self) -> float:
        """Seconds of processor time."""
        return self.wall_s if self.cpu_s is None else self.cpu_s
