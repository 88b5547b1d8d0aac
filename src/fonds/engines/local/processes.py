"""Tasks done side by side by processes that end with the one that started them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from fonds.model.errors import StoreUnavailableError

T = TypeVar("T")


def side_by_side(
    function: Callable[..., T], tasks: Sequence[tuple[Any, ...]], workers: int
) -> Iterator[T]:
    """What comes of the function for each task, in the order they end; with one worker in this process.

    Raises what the function raises, and StoreUnavailableError when a process was killed; the others are
    ended then.
    """
    workers = min(workers, len(tasks))
    if workers <= 1:
        for task in tasks:
            yield function(*task)
        return
    # A fresh interpreter each: a fork would share the parent's connections and locks.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with_parent)
    try:
        yield from _done(pool, function, tasks, workers)
    except BrokenProcessPool as error:
        told = "a process of the job was killed, by the machine's want of memory perhaps; start it again"
        raise StoreUnavailableError(told) from error
    except BaseException:
        for child in multiprocessing.active_children():
            child.kill()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _done(
    pool: ProcessPoolExecutor,
    function: Callable[..., T],
    tasks: Sequence[tuple[Any, ...]],
    workers: int,
) -> Iterator[T]:
    """Few tasks wait in the pool at once: a part of a job may be handed on whole."""
    waiting, under_way = iter(tasks), set[Future[T]]()
    while True:
        for task in waiting:
            under_way.add(pool.submit(function, *task))
            if len(under_way) >= 2 * workers:
                break
        if not under_way:
            return
        ended, under_way = wait(under_way, return_when=FIRST_COMPLETED)
        for one in ended:
            yield one.result()


def _end_with_parent() -> None:
    """Interrupting is for the parent to do; when it is gone, however it went, so is this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
