"""Types that many threads decode for the first time at the same moment: the process lives."""

from __future__ import annotations

import subprocess
import sys

DECODED_AT_ONCE = """
import sys, threading
from dataclasses import field, make_dataclass
import msgspec
from fonds.model.encoding import prepare_type

sys.setswitchinterval(1e-6)
THREADS, DEPTH, ROUNDS = 6, 12, 60

def decode(kind, ready, wrong):
    ready.wait()
    try:
        msgspec.json.decode(b"{}", type=prepare_type(kind))
    except BaseException as error:
        wrong.append(error)

for number in range(ROUNDS):
    inner = str
    for depth in range(DEPTH):
        names = [(f"a{at}", inner | None, field(default=None)) for at in range(6)]
        inner = make_dataclass(f"Kind{number}x{depth}", names)
    ready, wrong = threading.Barrier(THREADS), []
    some = [threading.Thread(target=decode, args=(inner, ready, wrong)) for _ in range(THREADS)]
    for one in some:
        one.start()
    for one in some:
        one.join()
    if wrong:
        raise wrong[0]
"""


def test_types_first_met_by_many_threads_at_once_are_decoded_by_all() -> None:
    done = subprocess.run(
        [sys.executable, "-c", DECODED_AT_ONCE], capture_output=True, timeout=200, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
