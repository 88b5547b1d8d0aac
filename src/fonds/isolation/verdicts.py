"""What the end of a child process says about the call it was working on."""

from __future__ import annotations

import os
import signal

from fonds.isolation.handles import Ending
from fonds.isolation.limits import ChildLimits
from fonds.model.disposition import Reason
from fonds.model.errors import ChildError, TransientError

# Native code that gets no memory ends itself by one of these; it is blamed on memory when the child
# had come close to its limit: a buffer that grows asks for twice what it has.
_DEATHS_FOR_WANT_OF_MEMORY = frozenset(
    {signal.SIGABRT, signal.SIGTRAP, signal.SIGILL, signal.SIGSEGV, signal.SIGBUS}
)
_CLOSE_TO_LIMIT = 0.5


def verdict(ending: Ending, limits: ChildLimits) -> ChildError | TransientError:
    """The error to raise for a child that ended, or had to be ended, in the middle of a call."""
    if ending.timed_out:
        return ChildError(
            Reason.TIMEOUT, f"reading it was stopped after {limits.wall_s:g} s (killed by SIGKILL)"
        )
    if ending.status is None:
        return TransientError(
            "the isolated reader was lost together with the process that forks them"
        )
    if ending.hung_up:
        return ChildError(Reason.CRASHED_READER, "the isolated reader hung up in the middle of it")
    if ending.killed_by is not None:
        return _of_signal(ending.killed_by, ending, limits)
    code = os.waitstatus_to_exitcode(ending.status)
    return ChildError(
        Reason.CRASHED_READER, f"the isolated reader ended by itself with exit code {code}"
    )


def out_of_memory(limits: ChildLimits, cause: str = "") -> ChildError:
    """The error for a call that wanted more memory than its limit; `cause` as in `killed by …`."""
    size = f"{limits.memory_bytes / 2**20:,.0f} MiB"
    detail = f"reading it took more than the {size} of memory allowed"
    return ChildError(Reason.OUT_OF_MEMORY, f"{detail} ({cause})" if cause else detail)


def too_large(text: str) -> ChildError:
    """The error for an answer above the limit; `text` gives the sizes."""
    return ChildError(Reason.OUT_OF_MEMORY, f"what was read is too large to be kept: {text}")


def unintelligible(text: str) -> ChildError:
    """The error for a child that answered with something else than was declared."""
    return ChildError(Reason.CRASHED_READER, f"the isolated reader answered nonsense: {text}")


def _of_signal(number: int, ending: Ending, limits: ChildLimits) -> ChildError:
    name = signal.Signals(number).name if number in list(signal.Signals) else f"signal {number}"
    if number == signal.SIGXCPU:
        detail = f"reading it was stopped after {limits.cpu_max_s:g} s of processor time ({name})"
        return ChildError(Reason.TIMEOUT, detail)
    if number == signal.SIGKILL:
        # Nobody here sent it: the kernel does, to the largest process, when the machine is full.
        return out_of_memory(limits, "killed by SIGKILL from outside")
    near_limit = ending.peak_bytes > _CLOSE_TO_LIMIT * limits.memory_bytes
    if number in _DEATHS_FOR_WANT_OF_MEMORY and near_limit:
        return out_of_memory(limits, f"killed by {name}")
    return ChildError(Reason.CRASHED_READER, f"the isolated reader died on it (killed by {name})")
