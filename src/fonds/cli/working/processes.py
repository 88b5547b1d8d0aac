"""Further processes that work a home off beside the one a person started, as long as there is enough to do.

One interpreter feeds a few hundred small pages a second to its readers, however many cores there are.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from fonds.config import Settings
from fonds.runtime.homelock import HomeLock
from fonds.runtime.threads import WorkerThreads

logger = logging.getLogger(__name__)

MODULE = "fonds.cli.working.worker_process"
STOP = b"stop\n"
LOOK_EVERY_S = 0.5
STOP_WAIT_S = 20.0


@dataclass(slots=True)
class WorkerProcesses:
    """Starts up to `count_max` processes for `stages`, each with readers of its own.

    They hold the home's lock as long as they live. They are told everything by their standard input,
    where no other user can read settings, and end at once when it is closed without a word.
    """

    home: Path
    settings: Settings
    stages: Sequence[str]
    lock: HomeLock
    count_max: int
    started: int = 0
    _running: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _looked_at_s: float = 0.0

    def look(self, threads: WorkerThreads) -> None:
        """Start one more for each `work.worker_backlog` messages that wait; cheap to call often."""
        self._miss()
        now_s = time.monotonic()
        if self.started >= self.count_max or now_s - self._looked_at_s < LOOK_EVERY_S:
            return
        self._looked_at_s = now_s
        wanted = threads.ready(self.stages) // self.settings.work.worker_backlog
        while self.started < min(wanted, self.count_max):
            self._start()

    def stop(self) -> None:
        """Let each finish what it has in hand, some seconds at most; the rest comes back by itself."""
        for process in self._running:
            self._say(process, STOP)
        deadline = time.monotonic() + STOP_WAIT_S
        for process in self._running:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._running.clear()

    def _start(self) -> None:
        lock = self.lock.fileno()
        process = subprocess.Popen(
            [sys.executable, "-m", MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=(lock,),
        )
        self.started += 1
        self._running.append(process)
        order = {
            "home": str(self.home),
            "settings": self.settings.named(),
            "stages": list(self.stages),
            "lock": lock,
        }
        self._say(process, json.dumps(order).encode() + b"\n")

    def _say(self, process: subprocess.Popen[bytes], words: bytes) -> None:
        if process.stdin is None:
            return
        try:
            process.stdin.write(words)
            process.stdin.flush()
        except BrokenPipeError:
            # It has ended; `_miss` says so. What could not be written is written again when it is closed.
            with suppress(BrokenPipeError):
                process.stdin.close()
            process.stdin = None

    def _miss(self) -> None:
        """Tell of those that ended by themselves: the others do what they had in hand."""
        for process in [one for one in self._running if one.poll() is not None]:
            self._running.remove(process)
            logger.warning(
                "worker process %d ended with %d; what it had in hand is worked by the others",
                process.pid,
                process.returncode,
            )
