"""Handles of the parent process for the fork server and for the children that it forked."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import msgspec

from fonds.isolation.calls import (
    ChildLimits,
    FrameTooLargeError,
    Reply,
    receive_exactly,
    receive_frame,
    send_descriptors,
    send_frame,
)
from fonds.isolation.child import STARTED
from fonds.isolation.confinement import (
    Layer,
    Layers,
)
from fonds.isolation.fork_server import ENDED, ORDER_SIZE, ForkOrder
from fonds.isolation.privileges import forbid_inspection
from fonds.model.encoding import prepare_type
from fonds.model.errors import StoreUnavailableError

_START_TIMEOUT_S = 120.0
_END_TIMEOUT_S = 10.0
_HANG_UP_TIMEOUT_S = 1.0
_STDERR_TIMEOUT_S = 1.0
_LAYERS_MAX_BYTES = 8_192
# Parsers inherit no environment. Numerical libraries must not start threads before a fork.
_ENVIRONMENT = {
    "PATH": os.defpath,
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
_BOOT = (
    "import sys; sys.path[:] = sys.argv[3:]; "
    "from fonds.isolation.fork_server import main; main(int(sys.argv[1]), int(sys.argv[2]))"
)


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """How a child process ended.

    - `status`: exit status in the form of wait(2); None if unknown.
    - `peak_bytes`: peak resident memory; 0 if unknown.
    - `is_timed_out`: whether the parent killed the child after the time limit.
    - `is_hung_up`: whether the child closed its socket without ending and was killed for that.
    """

    status: int | None
    peak_bytes: int = 0
    is_timed_out: bool = False
    is_hung_up: bool = False

    @property
    def has_timed_out(self) -> bool:
        """Whether the child ended because of a time limit: wall clock or processor time."""
        return self.is_timed_out or self.signal_number == signal.SIGXCPU

    @property
    def signal_number(self) -> int | None:
        """Number of the signal that ended the child; None if no signal did."""
        if self.status is None or not os.WIFSIGNALED(self.status):
            return None
        return os.WTERMSIG(self.status)


class ChildEndedError(Exception):
    """Raised if the child ended or was killed during a call.

    `ending` says how the child ended. `started` is whether the called function had begun.
    """

    def __init__(self, ending: ProcessEnd, has_started: bool) -> None:
        super().__init__(ending)
        self.ending = ending
        self.started = has_started


class Child:
    """Handle of a child process. Only one thread may use it at a time.

    - `modules`: names of the modules that the child has loaded.
    - `layers`: why each layer of its confinement is inactive ('' if active), as the child reported
      before its first call.
    """

    def __init__(
        self, work: socket.socket, sentinel: socket.socket, modules: Iterable[str] = ()
    ) -> None:
        self._work = work
        self._sentinel = sentinel
        self.modules = frozenset(modules)
        self.calls = 0
        self.layers: Layers = {}

    def wait_ready(self) -> None:
        """Wait until the child accepts calls. Raises ChildEndedError if it ends or fails before
        that.
        """
        try:
            report = receive_frame(
                self._work, _LAYERS_MAX_BYTES, time.monotonic() + _START_TIMEOUT_S
            )
            self.layers = msgspec.msgpack.decode(report, type=dict[Layer, str])
        except (EOFError, TimeoutError, FrameTooLargeError, msgspec.MsgspecError) as error:
            raise ChildEndedError(self.kill(), has_started=False) from error

    def is_idle(self) -> bool:
        """Whether the child is ready for a call: it has not ended, and it has sent nothing
        unexpected.
        """
        poll = select.poll()
        for stream in (self._work, self._sentinel):
            poll.register(stream, select.POLLIN)
        return not poll.poll(0)

    def call(self, call: bytes, limits: ChildLimits, descriptors: Sequence[int] = ()) -> Reply:
        """Send an encoded call with its open files, and return the child's reply.

        Raises ChildEndedError if the child ends or takes longer than `limits.wall_s`,
        FrameTooLargeError if the reply is too large, and msgspec.MsgspecError if the reply is
        malformed. The child is unusable after any of these errors.
        """
        ends_at = time.monotonic() + limits.wall_s
        self.calls += 1
        has_started = False
        try:
            send_descriptors(self._work, descriptors, ends_at)
            send_frame(self._work, call, ends_at)
            has_started = receive_exactly(self._work, 1, ends_at) == STARTED
            answer = receive_frame(self._work, limits.output_max_bytes, ends_at)
        except TimeoutError as error:
            raise ChildEndedError(replace(self.kill(), is_timed_out=True), has_started) from error
        except (EOFError, OSError) as error:
            ending = self._wait_ending(_HANG_UP_TIMEOUT_S) or replace(self.kill(), is_hung_up=True)
            self.release()
            raise ChildEndedError(ending, has_started) from error
        return msgspec.msgpack.decode(answer, type=prepare_type(Reply))

    def kill(self) -> ProcessEnd:
        """Kill the child and all processes it started. Return how the child ended; a second call
        returns a ProcessEnd without status.
        """
        self._work.close()
        with suppress(OSError):
            self._sentinel.sendall(b"k")
        ending = self._wait_ending(_END_TIMEOUT_S) or ProcessEnd(None)
        self._sentinel.close()
        return ending

    def _wait_ending(self, wait_s: float) -> ProcessEnd | None:
        """Return how the child ended, as the fork server reports it; None if it reports no end
        within `wait_s` seconds.

        If the fork server has ended itself, the result has no status.
        """
        try:
            message = receive_exactly(self._sentinel, ENDED.size, time.monotonic() + wait_s)
        except TimeoutError:
            return None
        except (EOFError, OSError):
            return ProcessEnd(None)
        status, peak_kib = ENDED.unpack(message)
        return ProcessEnd(status, peak_kib * 1024)

    def release(self) -> None:
        """Close the socket of the child without waiting. An idle child then ends by itself."""
        self._work.close()
        self._sentinel.close()


class ForkServerHandle:
    """Handle of the fork server, whose process is started immediately. Thread-safe.

    From then on, only an administrator can inspect the memory of the current process.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._control, far = socket.socketpair()
        self._stderr_file = forbid_inspection()
        # The working folder is left out, because files there must not be imported.
        paths = (os.path.abspath(entry) for entry in sys.path if entry)  # noqa: PTH100
        arguments = (str(far.fileno()), str(os.getpid()), *paths)
        try:
            self._process = subprocess.Popen(
                (sys.executable, "-I", "-c", _BOOT, *arguments),
                env=_ENVIRONMENT,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=(far.fileno(),),
                start_new_session=True,
            )
        finally:
            far.close()

    @property
    def is_alive(self) -> bool:
        """Whether the fork server is running."""
        return self._process.poll() is None

    def fork(self, modules: Iterable[str], memory_bytes: int) -> Child:
        """Return a new child that has loaded these modules and accepts calls.

        `memory_bytes` is the maximum memory that any call may request. Raises StoreUnavailableError
        with the fork server's message if no child can be started. No call causes this error.
        """
        work, far_work = socket.socketpair()
        sentinel, far_sentinel = socket.socketpair()
        order = msgspec.msgpack.encode(ForkOrder(sorted(modules), memory_bytes))
        child = Child(work, sentinel, modules)
        try:
            with self._lock:
                head = ORDER_SIZE.pack(len(order))
                socket.send_fds(self._control, [head], [far_work.fileno(), far_sentinel.fileno()])
                self._control.sendall(order)
        except OSError as error:
            child.release()
            raise StoreUnavailableError(self._read_complaint()) from error
        finally:
            far_work.close()
            far_sentinel.close()
        try:
            child.wait_ready()
        except ChildEndedError as error:
            raise StoreUnavailableError(self._read_complaint()) from error
        memory_reason = child.layers.get(Layer.MEMORY, "") or self._stderr_file
        child.layers = {**child.layers, Layer.MEMORY: memory_reason}
        return child

    def close(self) -> None:
        """End the fork server and all children. A second call does nothing."""
        self._control.close()
        try:
            self._process.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()

    def _read_complaint(self) -> str:
        message = "cannot start an isolated reader"
        try:
            exit_code = self._process.wait(_STDERR_TIMEOUT_S)
            stderr_text = self._process.stderr.read(4_000) if self._process.stderr else b""
        except (subprocess.TimeoutExpired, ValueError):
            return message
        return (
            f"{message} (exit code {exit_code}): {stderr_text.decode('utf-8', 'replace').strip()}"
        )
