"""What runs in one of `WorkerProcesses`: some stages of a pipeline, until told to stop or left alone."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from fonds.cli.context import SPOOL
from fonds.cli.output.logs import log_plainly
from fonds.cli.working.processes import STOP
from fonds.config import settings_of
from fonds.model.errors import FondsError
from fonds.runtime.threads import WorkerThreads

EXIT_FAILED = 1
LOOK_EVERY_S = 60.0


def main() -> None:
    """Read the order from standard input and carry it out; the exit code is 0 when told to stop."""
    # Ctrl-C reaches every process of the terminal: the first one says when to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    log_plainly()
    order = json.loads(sys.stdin.buffer.readline() or b"null")
    if order is None:
        return
    os.set_inheritable(order["lock"], False)
    try:
        _work(order)
    except FondsError as error:
        logging.getLogger("fonds.worker").error("%s", error)
        sys.exit(EXIT_FAILED)


def _work(order: dict[str, Any]) -> None:
    from fonds.wiring.backends import close_stores, open_stores
    from fonds.wiring.pipelines import make_threads
    from fonds.wiring.readers import open_readers

    home, settings = Path(order["home"]), settings_of(order["settings"])
    stores = open_stores(home, settings)
    readers = open_readers(home / SPOOL, settings)
    threads = make_threads(stores, readers, settings, stages=order["stages"])
    threading.Thread(target=_listen, args=(threads,), name="order", daemon=True).start()
    threads.start()
    while not threads.wait(LOOK_EVERY_S):
        pass
    if not threads.stop():
        # A reader is still at work in a thread; what it holds comes back when the process ends.
        os._exit(0)
    readers.close()
    stores.archive.finish()
    close_stores(stores)
    if (failure := threads.failure()) is not None:
        raise failure


def _listen(threads: WorkerThreads) -> None:
    """Stop when told to; end at once when whoever started this is gone: the home may be another's then."""
    if sys.stdin.buffer.readline() == STOP:
        threads.request_stop()
    else:
        os._exit(EXIT_FAILED)


if __name__ == "__main__":
    main()
