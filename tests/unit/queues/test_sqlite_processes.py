"""The SQLite queue between processes that are killed, forked or started at the same time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from fonds.model.message import Message
from fonds.queues.sqlite import SqliteQueue
from unit.queues.queue_of_a_test import READER, receive, summarize

READ_SCRIPT = """
import json, sys
from pathlib import Path
from fonds.queues.sqlite import SqliteQueue
queue = SqliteQueue(Path(sys.argv[1]))
wait_s = float(sys.argv[2])
while batch := queue.receive("reader-in", 5, wait_s):
    print(json.dumps([delivery.message.id for delivery in batch]), flush=True)
    if sys.argv[3] == "settle":
        queue.settle(batch)
    else:
        sys.stdin.read()
queue.close()
"""


def start(path: Path, wait_s: float, mode: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", READ_SCRIPT, str(path), str(wait_s), mode],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_messages_of_a_killed_process_are_redelivered_at_once(
    queue: SqliteQueue, path: Path
) -> None:
    queue.put(READER.incoming, [Message(f"m{i}", b"") for i in range(8)])
    worker = start(path, 20.0, "hold")
    assert worker.stdout is not None
    leased_ids = json.loads(worker.stdout.readline())
    assert leased_ids == ["m0", "m1", "m2", "m3", "m4"]
    rest = receive(queue)
    assert [delivery.message.id for delivery in rest] == ["m5", "m6", "m7"]
    assert receive(queue) == []
    worker.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
    redelivered = receive(queue)
    assert summarize(redelivered) == [(f"m{i}", 0, 1) for i in range(5)]
    worker.communicate()


def test_two_processes_receive_all_messages_once(queue: SqliteQueue, path: Path) -> None:
    count = 300
    workers = [start(path, 2.0, "settle") for _ in range(2)]
    expected = {f"m{i}" for i in range(count)}
    for begin in range(0, count, 50):
        queue.put(READER.incoming, [Message(f"m{i}", b"") for i in range(begin, begin + 50)])
    received = []
    for worker in workers:
        output, _ = worker.communicate()
        received += [id_ for line in output.splitlines() for id_ in json.loads(line)]
    assert len(received) == count
    assert set(received) == expected
    assert queue.get_depth(READER).pending == 0


def test_a_forked_child_has_its_own_leases(queue: SqliteQueue) -> None:
    queue.put(READER.incoming, [Message("a", b""), Message("b", b"")])
    own_deliveries = queue.receive(READER.incoming, 1, 0.0)
    child = os.fork()
    if child == 0:
        child_deliveries = queue.receive(READER.incoming, 1, 0.0)
        os._exit(0 if [delivery.message.id for delivery in child_deliveries] == ["b"] else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert summarize(receive(queue)) == [("b", 0, 1)]
    queue.settle(own_deliveries)


OPEN_SCRIPT = """
import sys
from pathlib import Path
from fonds.queues.sqlite import SqliteQueue
sys.stdin.readline()
SqliteQueue(Path(sys.argv[1])).close()
"""


def test_processes_that_create_the_file_at_the_same_time_do_not_fail(tmp_path: Path) -> None:
    path = tmp_path / "race.sqlite"
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN_SCRIPT, str(path)],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    errors = [racer.communicate()[1] for racer in racers]
    assert errors == [""] * 4
