"""Many threads decode new types for the first time at the same moment without a crash."""

from __future__ import annotations

import subprocess
import sys

DECODING_PROGRAM = """
import sys, threading
from dataclasses import field, make_dataclass
import msgspec
from fonds.model.encoding import prepare_type

sys.setswitchinterval(1e-6)
THREADS, DEPTH, ROUNDS = 6, 12, 60

def decode(kind, ready, errors):
    ready.wait()
    try:
        msgspec.json.decode(b"{}", type=prepare_type(kind))
    except BaseException as error:
        errors.append(error)

for number in range(ROUNDS):
    inner = str
    for depth in range(DEPTH):
        names = [(f"a{at}", inner | None, field(default=None)) for at in range(6)]
        inner = make_dataclass(f"Kind{number}x{depth}", names)
    ready, errors = threading.Barrier(THREADS), []
    threads = [threading.Thread(target=decode, args=(inner, ready, errors)) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
"""


def test_many_threads_can_decode_a_new_type_at_once() -> None:
    result = subprocess.run(
        [sys.executable, "-c", DECODING_PROGRAM], capture_output=True, timeout=200, check=False
    )
    assert (result.returncode, result.stderr) == (0, b"")
