"""Messages that only a newer version of Fonds can read: how long they wait, and at which steps.

During an upgrade, workers of two versions can share a queue. The older ones put messages of the
newer ones back on the queue unread (`stage_io.py`).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from fonds.model.message import Message
from fonds.pipelines.runtime.result_messages import count_deferrals
from fonds.queues.messages.envelope import FORMAT_VERSION

logger = logging.getLogger(__name__)

DELAY_FIRST_S = 120.0
"""Seconds that a message waits when it is put back for the first time.

Longer than `fonds ingest` waits for delayed messages (60 s), so that it ends.
"""
DELAY_MAX_S = 960.0
"""Maximum seconds that a message waits. The delay doubles each time, because a broker that keeps
logs, such as Kafka, stores a further copy each time.
"""
RECENT_S = DELAY_MAX_S + 60.0
"""Seconds after which a step without newer messages is no longer described as waiting."""


def compute_newer_delay_s(message: Message) -> float:
    """Return the seconds that a message waits until a worker receives it again."""
    doublings = min(count_deferrals(message), 30)
    return float(min(DELAY_MAX_S, DELAY_FIRST_S * 2**doublings))


@dataclass(slots=True)
class NewerMessages:
    """Record of the steps of this process that received messages of a newer version. Thread-safe.

    `clock` returns seconds that never go backward.
    """

    clock: Callable[[], float] = time.monotonic
    _received_at_s: dict[str, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def record(self, step: str, version: int) -> None:
        """Record that a step received a message whose format has the number `version`.

        The first message of a step is logged.
        """
        with self._lock:
            is_first = step not in self._received_at_s
            self._received_at_s[step] = self.clock()
        if is_first:
            logger.warning(
                "%s: messages of a newer version of Fonds wait for a worker of that version. Their "
                "format is %d, this version reads formats up to %d. Upgrade this worker.",
                step,
                version,
                FORMAT_VERSION,
                extra={"step": step},
            )

    def describe_waits(self) -> dict[str, str]:
        """Return a sentence for each step that received newer messages lately, by step."""
        with self._lock:
            since_s = self.clock() - RECENT_S
            steps = [step for step, at_s in self._received_at_s.items() if at_s >= since_s]
        sentence = "messages of a newer version of Fonds wait for a worker of that version"
        return dict.fromkeys(steps, sentence)
