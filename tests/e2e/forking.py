"""A process that has Fonds loaded, and forks for each call of the command line: it starts as any, but what
it would import is there.

An order is JSON (`words`, `environment`, `folder`) with four descriptors: standard input, output, error, and
a pipe for the answer. The answer is the process's id in eight bytes, then its exit status as `wait` gives it.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import signal
import socket
import sys
import threading
from importlib import import_module
from pathlib import Path

ORDER_BYTES_MAX = 1024 * 1024
WORD_BYTES = 8
LOADED = (
    "fonds.wiring.stores",
    "fonds.wiring.pipelines",
    "fonds.wiring.readers",
    "fonds.wiring.timetable",
    "fonds.stores.records.sql",
    "fonds.stores.table.sqlite",
    "fonds.stores.blobs",
    "fonds.archive.store.folder",
    "fonds.search.index.tantivy_index",
    "fonds.queues.sqlite",
    # What commands import once they need it.
    "fonds.archive.store.fetched_bodies",
    "fonds.archive.store.remote",
    "fonds.extract.page",
    "fonds.extract.pdf.extraction",
    "fonds.fetching.fetcher",
    "fonds.stores.records.migration",
    "fonds.wiring.audit_notes",
)


def load() -> None:
    """Import what commands use. Nothing of it may start a thread: only one would be forked."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    from fonds.cli.main import COMMANDS

    for name in (*COMMANDS.values(), *LOADED):
        import_module(name)
    # A collection in a child would copy every page it looks at.
    gc.collect()
    gc.freeze()
    assert threading.active_count() == 1
    assert len(list(Path("/proc/self/task").iterdir())) == 1


def serve(orders: socket.socket) -> dict[str, object]:
    """Fork for each order; the child returns with what it is to run, the parent when nobody asks any more."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        data, descriptors, _, _ = socket.recv_fds(orders, ORDER_BYTES_MAX, 4)
        if not data:
            os._exit(0)
        if os.fork() == 0:
            orders.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _watch(descriptors[3])
            for number, descriptor in enumerate(descriptors[:3]):
                os.dup2(descriptor, number)
            for descriptor in descriptors:
                os.close(descriptor)
            order: dict[str, object] = json.loads(data)
            return order
        for descriptor in descriptors:
            os.close(descriptor)


def _watch(answer: int) -> None:
    """Returns in the process that runs the command; the one it was forked from waits for it and tells."""
    process_id = os.fork()
    if process_id == 0:
        return
    os.write(answer, process_id.to_bytes(WORD_BYTES))
    _, status = os.waitpid(process_id, 0)
    os.write(answer, status.to_bytes(WORD_BYTES))
    os._exit(0)


if __name__ == "__main__":
    # A process that crashes says where.
    faulthandler.enable()
    load()
    order = serve(socket.socket(fileno=int(sys.argv[1])))
    os.environ.clear()
    os.environ.update(order["environment"])  # type: ignore[call-overload]
    os.chdir(str(order["folder"]))
    sys.argv = ["fonds", *order["words"]]  # type: ignore[misc]
    from fonds.cli.main import main

    main()
