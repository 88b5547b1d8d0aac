"""How child processes end, and the effects on the pool, on their calls and on the parent."""

from __future__ import annotations

import os
import resource
import select
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures import tasks
from fonds.isolation.calls import ChildLimits
from fonds.isolation.pool import ChildPool
from fonds.isolation.processes import Child, ForkServerHandle
from fonds.model.archive import OpenBody
from fonds.model.errors import (
    ChildError,
    FaultError,
    StoreUnavailableError,
    TransientError,
)
from fonds.ports import Isolate

LIMITS = ChildLimits(wall_s=20, memory_bytes=2**29, output_max_bytes=2**22)

StartCall = Callable[[Isolate], AbstractContextManager["Future[None]"]]


@pytest.fixture
def fresh_pool() -> Iterator[ChildPool]:
    with ChildPool(1, LIMITS) as opened:
        yield opened


@pytest.fixture
def start_hanging_call() -> StartCall:
    """A function that starts a call that never ends, and returns when the child runs it."""

    @contextmanager
    def start(isolate: Isolate) -> Iterator[Future[None]]:
        reading, writing = os.pipe()
        with ThreadPoolExecutor(1) as threads, os.fdopen(reading, "rb") as pipe:
            running = threads.submit(isolate, tasks.report_and_sleep, OpenBody(writing, 0), 60.0)
            assert pipe.read(5) == b"begun"
            yield running
        os.close(writing)

    return start


def wait_for_end(pid: int, seconds: float) -> bool:
    """Return whether a process ends in time, or has ended."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], seconds)[0])
    finally:
        os.close(handle)


def test_a_child_that_answers_too_early_is_replaced(
    fresh_pool: ChildPool,
) -> None:
    short = fresh_pool.with_limits(replace(LIMITS, wall_s=1))
    assert short(tasks.answer_early) == 7
    assert short(tasks.add, 1, 1) == 2


def test_a_child_runs_several_calls_and_is_then_replaced() -> None:
    with ChildPool(1, replace(LIMITS, tasks_max=3)) as pool:
        ids = [pool(tasks.get_process_id) for _ in range(7)]
    assert [len(set(ids[start : start + 3])) for start in (0, 3, 6)] == [1, 1, 1]
    assert len(set(ids)) == 3


def test_a_crash_in_a_used_child_is_retried_in_a_fresh_one(fresh_pool: ChildPool) -> None:
    first = fresh_pool(tasks.crash_unless_first)
    assert fresh_pool(tasks.crash_unless_first) != first


def test_a_lack_of_memory_in_a_used_child_is_retried_in_a_fresh_one(
    fresh_pool: ChildPool,
) -> None:
    first = fresh_pool(tasks.run_out_of_memory_unless_first)
    assert fresh_pool(tasks.run_out_of_memory_unless_first) != first


def test_a_child_that_ran_out_of_memory_is_replaced() -> None:
    """Native code may not recover from a failed allocation."""
    with ChildPool(1, replace(LIMITS, tasks_max=2)) as pool:
        with pytest.raises(ChildError, match="memory limit"):
            pool(tasks.take_memory, 2**30)
        # Both calls use one new child.
        assert pool(tasks.get_process_id) == pool(tasks.get_process_id)


def test_a_call_that_hangs_in_a_used_child_is_not_retried(fresh_pool: ChildPool) -> None:
    """Its time is measured from its own start, so an earlier call cannot be the cause."""
    fresh_pool(tasks.get_process_id)
    short = fresh_pool.with_limits(replace(LIMITS, wall_s=2))
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as pipe:
        with pytest.raises(ChildError, match="stopped after 2 s"):
            short(tasks.report_and_sleep, OpenBody(writing, 0), 60.0)
        os.close(writing)
        assert pipe.read() == b"begun"


def test_a_child_that_dies_while_idle_is_replaced(fresh_pool: ChildPool) -> None:
    idle = fresh_pool(tasks.get_process_id)
    os.kill(idle, signal.SIGKILL)
    assert wait_for_end(idle, 5)
    assert fresh_pool(tasks.get_process_id) != idle


def test_the_pool_survives_the_death_of_its_fork_server(fresh_pool: ChildPool) -> None:
    fork_server, child = fresh_pool(tasks.get_fork_server_id), fresh_pool(tasks.get_process_id)
    os.kill(fork_server, signal.SIGKILL)
    assert wait_for_end(child, 5)
    assert fresh_pool(tasks.get_fork_server_id) != fork_server


def test_a_call_lost_with_the_fork_server_is_a_transient_error(
    fresh_pool: ChildPool, start_hanging_call: StartCall
) -> None:
    fork_server = fresh_pool(tasks.get_fork_server_id)
    fresh = fresh_pool.with_limits(replace(LIMITS, tasks_max=1))
    fresh(tasks.get_process_id)
    with start_hanging_call(fresh) as running:
        os.kill(fork_server, signal.SIGKILL)
        with pytest.raises(TransientError, match="fork server ended"):
            running.result(10)


def test_a_hanging_call_does_not_block_others(start_hanging_call: StartCall) -> None:
    with ChildPool(2, LIMITS) as pool, start_hanging_call(pool) as hanging:
        assert [pool(tasks.add, number, 1) for number in range(20)] == list(range(1, 21))
        assert not hanging.done()
        pool.close()


def test_concurrent_calls_each_get_their_own_result() -> None:
    with ChildPool(3, LIMITS) as pool:
        short = pool.with_limits(replace(LIMITS, wall_s=0.15))

        def call(number: int) -> str:
            try:
                match number % 6:
                    case 0:
                        short(tasks.sleep, 60.0)
                    case 1:
                        pool(tasks.read_address_0)
                    case 2:
                        pool(tasks.fail, str(number))
                    case 3:
                        pool(tasks.take_memory, 2**30)
                    case _:
                        assert pool(tasks.add, number, number) == 2 * number
                        return "value"
            except ChildError as error:
                return error.reason.value
            except FaultError as error:
                return "raised" if f"KeyError: '{number}'" in str(error) else str(error)
            return "nothing"

        with ThreadPoolExecutor(8) as threads:
            outcome_counts = Counter(threads.map(call, range(120)))
    assert outcome_counts == {
        "timeout": 20,
        "crashed-reader": 20,
        "raised": 20,
        "out-of-memory": 20,
        "value": 40,
    }


PARENT = """
import sys
from concurrent.futures import ThreadPoolExecutor
from fixtures import tasks
from fonds.isolation.pool import ChildPool
from fonds.isolation.processes import Child, ForkServerHandle
pool = ChildPool(2)
print(pool(tasks.get_fork_server_id), pool(tasks.get_process_id), flush=True)
with ThreadPoolExecutor(2) as threads:
    busy = [threads.submit(pool, tasks.sleep, 60.0) for _ in range(2)]
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_survives_a_killed_parent(number: int) -> None:
    script = f"import sys; sys.path[:] = {sys.path!r}\n{PARENT}"
    with subprocess.Popen(
        (sys.executable, "-c", script), stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        ids = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(ids) == 2
        os.kill(parent.pid, number)
        parent.wait(10)
    assert all(wait_for_end(pid, 5) for pid in ids)


def test_a_closed_pool_ends_its_processes_and_refuses_calls() -> None:
    with ChildPool(1, LIMITS) as pool:
        ids = [pool(tasks.get_fork_server_id), pool(tasks.get_process_id)]
    assert all(wait_for_end(pid, 5) for pid in ids)
    with pytest.raises(RuntimeError, match="closed"):
        pool(tasks.add, 1, 2)
    pool.close()


def test_closing_ends_a_running_call_without_a_reader_error(start_hanging_call: StartCall) -> None:
    pool = ChildPool(1, LIMITS)
    with start_hanging_call(pool) as running:
        pool.close()
        assert type(running.exception(10)) is RuntimeError


def test_an_unused_pool_starts_no_process() -> None:
    before = Path("/proc/self/task", str(os.getpid()), "children").read_text()
    with ChildPool(1, LIMITS):
        assert Path("/proc/self/task", str(os.getpid()), "children").read_text() == before


def test_a_fork_server_that_cannot_open_files_is_replaced(fresh_pool: ChildPool) -> None:
    fork_server = fresh_pool(tasks.get_fork_server_id)
    fresh_pool.with_limits(replace(LIMITS, tasks_max=1))(tasks.get_process_id)
    files = resource.prlimit(fork_server, resource.RLIMIT_NOFILE)
    resource.prlimit(fork_server, resource.RLIMIT_NOFILE, (0, files[1]))
    assert fresh_pool(tasks.get_fork_server_id) != fork_server


def test_a_fork_server_that_cannot_start_is_an_unavailable_store(
    fresh_pool: ChildPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(StoreUnavailableError, match="cannot start an isolated reader"):
        fresh_pool(tasks.get_process_id)


def test_a_call_that_never_began_is_repeated_in_another_child(
    fresh_pool: ChildPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is known about a call whose child ends before it begins, even if it is the first."""
    fork, forked = ForkServerHandle.fork, []

    def fork_one_dead(server: ForkServerHandle, modules: Iterable[str], memory_bytes: int) -> Child:
        child = fork(server, modules, memory_bytes)
        if not forked:
            child.kill()
        forked.append(child)
        return child

    monkeypatch.setattr(ForkServerHandle, "fork", fork_one_dead)
    assert fresh_pool(tasks.add, 1, 1) == 2
    assert len(forked) == 2
