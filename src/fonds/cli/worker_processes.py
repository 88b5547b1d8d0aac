"""Helper processes that work on the same library while enough messages are waiting.

One Python interpreter feeds only a few hundred small pages per second to the processes that parse
them, whatever the number of cores.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fonds.cli.context import SPOOL
from fonds.cli.output import log_plainly
from fonds.cli.process import collect_seldom, share_arenas
from fonds.config import Settings, build_settings
from fonds.model.errors import FondsError
from fonds.pipelines.runtime.worker_threads import WorkerThreads
from fonds.stores.home_lock import HomeLock

logger = logging.getLogger(__name__)

MODULE = "fonds.cli.worker_processes"
STOP = b"stop\n"
CHECK_EVERY_S = 0.5
STOP_WAIT_S = 20.0


@dataclass(slots=True)
class WorkerProcesses:
    """Starts and stops helper processes for a pipeline run.

    Each helper process has its own child processes that parse files. It holds the lock of the
    library folder (home) while it lives. It reads its settings and step names from standard input,
    because other users cannot read them there. It exits at once if standard input is closed without
    a stop command.

    - `stages`: names of the steps that the helper processes run.
    - `lock`: lock of the library folder.
    - `count_max`: maximum number of helper processes to start.
    - `started`: number of helper processes started so far.
    """

    home: Path
    settings: Settings
    stages: Sequence[str]
    lock: HomeLock
    count_max: int
    started: int = 0
    _processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _checked_at_s: float = 0.0

    def start_if_needed(self, threads: WorkerThreads) -> None:
        """Start helper processes: in total one for each `work.worker_backlog` waiting messages.

        This is cheap to call often: messages are counted at most twice a second.
        """
        self._report_ended()
        now_s = time.monotonic()
        if self.started >= self.count_max or now_s - self._checked_at_s < CHECK_EVERY_S:
            return
        self._checked_at_s = now_s
        target_count = threads.count_ready(self.stages) // self.settings.work.worker_backlog
        while self.started < min(target_count, self.count_max):
            self._start()

    def stop(self) -> None:
        """Stop all helper processes. They have 20 seconds in all to finish their messages.

        Unfinished messages are delivered again to other processes.
        """
        for process in self._processes:
            self._send_line(process, STOP)
        deadline = time.monotonic() + STOP_WAIT_S
        for process in self._processes:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()

    def _start(self) -> None:
        lock = self.lock.fileno()
        process = subprocess.Popen(
            [sys.executable, "-m", MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=(lock,),
        )
        self.started += 1
        self._processes.append(process)
        order = {
            "home": str(self.home),
            "settings": self.settings.flatten(),
            "stages": list(self.stages),
            "lock": lock,
        }
        self._send_line(process, json.dumps(order).encode() + b"\n")

    def _send_line(self, process: subprocess.Popen[bytes], words: bytes) -> None:
        if process.stdin is None:
            return
        try:
            process.stdin.write(words)
            process.stdin.flush()
        except BrokenPipeError:
            # The process has ended, and `_report_ended` logs it. Closing the stream tries
            # to write the remaining bytes again.
            with suppress(BrokenPipeError):
                process.stdin.close()
            process.stdin = None

    def _report_ended(self) -> None:
        """Log the helper processes that ended on their own. Other processes take over their
        messages.
        """
        for process in [running for running in self._processes if running.poll() is not None]:
            self._processes.remove(process)
            logger.warning(
                "worker process %d exited with %d; other processes take over its messages",
                process.pid,
                process.returncode,
            )


EXIT_FAILED = 1
MEMORY_CHECK_S = 60.0


def main() -> None:
    """Run a helper process: read from standard input which pipeline steps to run, and run them.

    The exit code is 0 after a stop command, and 1 after an error.
    """
    # Ctrl-C reaches every process of the terminal, but the parent decides when to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    collect_seldom()
    share_arenas()
    log_plainly()
    order = json.loads(sys.stdin.buffer.readline() or b"null")
    if order is None:
        return
    os.set_inheritable(order["lock"], False)
    try:
        _run_order(order)
    except FondsError as error:
        logging.getLogger("fonds.worker").error("%s", error)
        sys.exit(EXIT_FAILED)


def _run_order(order: dict[str, Any]) -> None:
    # Imported here because the pipelines, the readers and the stores are slow to import.
    from fonds.wiring.pipelines import create_threads
    from fonds.wiring.readers import open_readers
    from fonds.wiring.stores import close_stores, open_stores

    home, settings = Path(order["home"]), build_settings(order["settings"])
    stores = open_stores(home, settings)
    readers = open_readers(home / SPOOL, settings)
    threads = create_threads(stores, readers, settings, stages=order["stages"])
    threading.Thread(target=_listen, args=(threads,), name="order", daemon=True).start()
    threads.start()
    while not threads.wait(MEMORY_CHECK_S):
        pass
    if not threads.stop():
        # A reader is still at work in a thread. Its messages are redelivered when the process ends.
        os._exit(0)
    readers.close()
    stores.archive.finish()
    close_stores(stores)
    if (failure := threads.get_failure()) is not None:
        raise failure


def _listen(threads: WorkerThreads) -> None:
    """Wait for the stop command on standard input, and stop the worker threads of this helper
    process.

    Exit at once if the parent process is gone: another process may then own the library.
    """
    if sys.stdin.buffer.readline() == STOP:
        threads.request_stop()
    else:
        os._exit(EXIT_FAILED)


if __name__ == "__main__":
    main()
