"""A process that has Fonds loaded, and forks for each call of the command line: it starts as any, but what
it would import is there.

An order is JSON with four descriptors: standard input, output, error, and a pipe for the answer. The answer
is the process's id in eight bytes, then its exit status as `wait` gives it. Python `code` runs instead of
`fonds` where it is given, and `has_session` makes the process the leader of a session.
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


class Order(TypedDict):
    """A command to run."""

    words: list[str]
    environment: dict[str, str]
    folder: str
    code: str
    has_session: bool


def serve(orders: socket.socket) -> Order:
    """Fork for each order; the child returns with what it is to run, the parent when nobody asks any more."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        data, descriptors, _, _ = socket.recv_fds(orders, ORDER_BYTES_MAX, 4)
        if not data:
            os._exit(0)
        if os.fork() == 0:
            orders.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            order: Order = json.loads(data)
            _watch(descriptors[3], order["has_session"])
            for number, descriptor in enumerate(descriptors[:3]):
                os.dup2(descriptor, number)
            for descriptor in descriptors:
                os.close(descriptor)
            return order
        for descriptor in descriptors:
            os.close(descriptor)


def _watch(answer: int, has_session: bool) -> None:
    """Returns in the process that runs the command; the one it was forked from waits for it and tells."""
    process_id = os.fork()
    if process_id == 0:
        if has_session:
            os.setsid()
        os.write(answer, os.getpid().to_bytes(WORD_BYTES))
        return
    _, status = os.waitpid(process_id, 0)
    os.write(answer, status.to_bytes(WORD_BYTES))
    os._exit(0)


def _open_standard_files() -> None:
    """Open them as a new process does: what can be done with one depends on what it is."""
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        was: TextIOWrapper = getattr(sys, name)
        stream = open(  # noqa: SIM115 - it stays open
            number,
            mode,
            encoding=was.encoding,
            errors=was.errors,
            closefd=False,
            buffering=1 if name == "stderr" else -1,
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


if __name__ == "__main__":
    # A process that crashes says where.
    faulthandler.enable()
    load()
    order = serve(socket.socket(fileno=int(sys.argv[1])))
    _open_standard_files()
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    if order["code"]:
        sys.argv = ["-c", *order["words"]]
        exec(order["code"], {"__name__": "__main__"})
    else:
        sys.argv = ["fonds", *order["words"]]
        from fonds.cli.main import main

        main()
