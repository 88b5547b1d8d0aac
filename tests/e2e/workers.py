"""Worker processes that are started, killed and restarted as by a service manager."""

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

from e2e.running import ForkedProcess, fonds, start

Process = ForkedProcess | subprocess.Popen[bytes]
DRAIN_MAX_S = 900.0
STOP_MAX_S = 120.0
STEPS = (
    ("identify", "persist_file"),
    ("extract_pdf",),
    ("parse_story",),
    # The embedded index has one writer, so these share a process.
    ("persist_pdf_text", "import_story", "import_jats", "index_rights"),
    ("persist_thumbnail", "persist_bibliography", "archive_body"),
)


@dataclass
class Workers:
    """The workers of one home, one per group of `steps`; `environment` holds settings.

    `program` is a Python script that runs `fonds`; with it, workers are started without preloading.
    """

    home: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    steps: Sequence[tuple[str, ...]] = STEPS
    program: Sequence[str] = ()
    running: dict[tuple[str, ...], Process] = field(default_factory=dict)
    kills: int = 0

    def start(self) -> None:
        """Start all workers that are not running."""
        for steps in self.steps:
            process = self.running.get(steps)
            if process is None or process.poll() is not None:
                self.running[steps] = self.spawn(*steps)

    def spawn(self, *step_names: str) -> Process:
        """Start one worker, with its log next to the home."""
        log = (self.home.parent / f"{self.home.name}-{step_names[0]}.log").open("ab")
        with log:
            args = ["--home", str(self.home), "work", *step_names]
            full_environment = {**os.environ, **self.environment}
            if not self.program:
                return start(args, (log.fileno(),) * 3, full_environment, has_session=True)
            return subprocess.Popen(
                [sys.executable, *self.program, *args],
                stdout=log,
                stderr=log,
                env=full_environment,
                start_new_session=True,
            )

    def kill_one(self, chance: random.Random) -> None:
        """SIGKILL one worker and its children."""
        process = chance.choice(sorted(self.running.values(), key=lambda worker: worker.pid))
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(STOP_MAX_S)
            self.kills += 1

    def stop(self) -> list[int]:
        """SIGTERM all workers; return their exit codes."""
        for process in self.running.values():
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        return [process.wait(STOP_MAX_S) for process in self.running.values()]

    def pending(self) -> int:
        """Return the pending count of `fonds status`; -1 if the command fails."""
        result = fonds(self.home, "status", "--json", **self.environment)
        return int(result.last["pending"]) if result.code == 0 else -1

    def drain(self) -> None:
        """Wait until nothing is pending, restarting workers that died."""
        deadline = time.monotonic() + DRAIN_MAX_S
        while self.pending() != 0:
            assert time.monotonic() < deadline, f"{self.pending()} pending after {DRAIN_MAX_S} s"
            self.start()
            time.sleep(0.5)
