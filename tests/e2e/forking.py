"""A process with Fonds loaded that forks for each call of the command line, so that no imports are needed.

An order is JSON with four descriptors: standard input, output, error, and a pipe for the response. The
response is the process id in eight bytes, then the exit status as `wait` returns it. Python `code` runs
instead of `fonds` if it is not empty. `has_session` makes the process a session leader.
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
from io import TextIOWrapper
from pathlib import Path
from typing import TypedDict

ORDER_BYTES_MAX = 1024 * 1024
NUMBER_BYTES = 8
PRELOADED_MODULES = (
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
    # Modules that commands import lazily.
    "fonds.archive.store.fetched_bodies",
    "fonds.archive.store.remote",
    "fonds.extract.page",
    "fonds.extract.pdf.extraction",
    "fonds.fetching.fetcher",
    "fonds.stores.records.migration",
    "fonds.wiring.audit_notes",
)


def load() -> None:
    """Import the modules that commands use.

    They must not start threads: fork copies only one.
    """
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    from fonds.cli.main import COMMANDS

    for name in (*COMMANDS.values(), *PRELOADED_MODULES):
        import_module(name)
    # A garbage collection in a child would copy every page it visits.
    gc.collect()
    gc.freeze()
    assert threading.active_count() == 1
    assert len(list(Path("/proc/self/task").iterdir())) == 1


class Order(TypedDict):
    """A command to run."""

    arguments: list[str]
    environment: dict[str, str]
    folder: str
    code: str
    has_session: bool


def serve(orders: socket.socket) -> Order:
    """Fork for each order.

    The child returns its order; the parent exits when the socket is closed.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        data, descriptors, _, _ = socket.recv_fds(orders, ORDER_BYTES_MAX, 4)
        if not data:
            os._exit(0)
        if os.fork() == 0:
            orders.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            order: Order = json.loads(data)
            _fork_and_report(descriptors[3], order["has_session"])
            for number, descriptor in enumerate(descriptors[:3]):
                os.dup2(descriptor, number)
            for descriptor in descriptors:
                os.close(descriptor)
            return order
        for descriptor in descriptors:
            os.close(descriptor)


def _fork_and_report(response: int, has_session: bool) -> None:
    """Return in a new process that runs the command; the calling process waits and reports."""
    process_id = os.fork()
    if process_id == 0:
        if has_session:
            os.setsid()
        os.write(response, os.getpid().to_bytes(NUMBER_BYTES))
        return
    _, status = os.waitpid(process_id, 0)
    os.write(response, status.to_bytes(NUMBER_BYTES))
    os._exit(0)


def _open_standard_files() -> None:
    """Reopen the standard streams as a new process does, because buffering depends on the file."""
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        stream_before: TextIOWrapper = getattr(sys, name)
        stream = open(  # noqa: SIM115 - it stays open
            number,
            mode,
            encoding=stream_before.encoding,
            errors=stream_before.errors,
            closefd=False,
            buffering=1 if name == "stderr" else -1,
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


if __name__ == "__main__":
    # Print the traceback of a crash.
    faulthandler.enable()
    load()
    order = serve(socket.socket(fileno=int(sys.argv[1])))
    _open_standard_files()
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    if order["code"]:
        sys.argv = ["-c", *order["arguments"]]
        exec(order["code"], {"__name__": "__main__"})
    else:
        sys.argv = ["fonds", *order["arguments"]]
        from fonds.cli.main import main

        main()
