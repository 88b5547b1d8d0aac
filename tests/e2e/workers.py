"""Workers as processes of their own: started, killed and started again as a service manager would."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from e2e.running import Running, fonds, start

Process = Running | subprocess.Popen[bytes]
DRAIN_MAX_S = 420.0
STOP_MAX_S = 60.0
STEPS = (
    ("identify", "persist_file"),
    ("extract_pdf",),
    ("parse_story",),
    # One writer of the embedded index: these share a process there.
    ("persist_pdf_text", "import_story", "import_jats", "index_rights"),
    ("persist_thumbnail", "persist_bibliography", "archive_body"),
)


@dataclass
class Workers:
    """The workers of one home, one for each group of `steps`; `environment` holds the settings' variables,
    `program` starts `fonds` for Python: then nothing is loaded before."""

    home: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    steps: Sequence[tuple[str, ...]] = STEPS
    program: Sequence[str] = ()
    running: dict[tuple[str, ...], Process] = field(default_factory=dict)
    kills: int = 0

    def start(self) -> None:
        """Start those that are not running."""
        for steps in self.steps:
            process = self.running.get(steps)
            if process is None or process.poll() is not None:
                self.running[steps] = self.spawn(*steps)

    def spawn(self, *words: str) -> Process:
        """One worker, its log beside the home."""
        log = (self.home.parent / f"{self.home.name}-{words[0]}.log").open("ab")
        with log:
            called = ["--home", str(self.home), "work", *words]
            told = {**os.environ, **self.environment}
            if not self.program:
                return start(called, (log.fileno(),) * 3, told, has_session=True)
            return subprocess.Popen(
                [sys.executable, *self.program, *called],
                stdout=log,
                stderr=log,
                env=told,
                start_new_session=True,
            )

    def kill_one(self, chance: random.Random) -> None:
        """SIGKILL for one of them, its children and all."""
        process = chance.choice(sorted(self.running.values(), key=lambda one: one.pid))
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(STOP_MAX_S)
            self.kills += 1

    def stop(self) -> list[int]:
        """SIGTERM for all; their exit codes."""
        for process in self.running.values():
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        return [process.wait(STOP_MAX_S) for process in self.running.values()]

    def pending(self) -> int:
        """How many captures have no end yet, as `fonds status` tells it; -1 while it cannot."""
        ran = fonds(self.home, "status", "--json", **self.environment)
        return int(ran.last["pending"]) if ran.code == 0 else -1

    def drain(self) -> None:
        """Wait until everything has its end, starting again whoever died."""
        deadline = time.monotonic() + DRAIN_MAX_S
        while self.pending() != 0:
            assert time.monotonic() < deadline, f"{self.pending()} pending after {DRAIN_MAX_S} s"
            self.start()
            time.sleep(0.5)
