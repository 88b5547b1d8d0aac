"""Pool of child processes with limits. Many threads may call functions in one pool.

`FileCall` passes a body to a child as an open file, so that its bytes are not copied through a
socket. `build_end_error` and the functions after it return the error for a child that ended during
a call.
"""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Generic, TypeVar

import msgspec

from fonds.isolation.calls import (
    CallOutcome,
    ChildLimits,
    FrameTooLargeError,
    Reply,
    build_result_decoder,
    check_open,
    decode_error,
    encode_call,
    get_importable_name,
    list_descriptors,
)
from fonds.isolation.confinement import Layers
from fonds.isolation.processes import Child, ChildEndedError, ForkServerHandle, ProcessEnd
from fonds.model.archive import OpenBody
from fonds.model.disposition import Reason
from fonds.model.errors import ChildError, ConfigurationError, TransientError
from fonds.ports import Isolate

ValueT = TypeVar("ValueT")
PREFIX = "body-"


@dataclass(frozen=True, slots=True)
class FileCall(Generic[ValueT]):
    """Function object that calls `function(body, *further_arguments)` in an isolated process.

    - `isolate`: returns the Isolate to use for a body of a given size in bytes.
    - `function`: function whose first parameter is an OpenBody.
    - `further_arguments`: arguments for the other parameters of `function`.
    - `folder`: folder for the temporary file with the body.
    """

    isolate: Callable[[int], Isolate]
    function: Callable[..., ValueT]
    further_arguments: tuple[object, ...]
    folder: Path

    def __call__(self, body: bytes) -> ValueT:
        """Call the function with a body in an isolated process, and return its result.

        The body is written to a temporary file first. Raises the errors of the Isolate.
        """
        with open_unnamed_body(body, self.folder) as open_body:
            return self.isolate(len(body))(self.function, open_body, *self.further_arguments)


@contextmanager
def open_unnamed_body(body: bytes, folder: Path) -> Iterator[OpenBody]:
    """Write a body to an unnamed file in the folder, which exists while the context lasts.

    The file is open for reading only.
    """
    reading = _write_body(body, folder)
    try:
        yield OpenBody(reading, len(body))
    finally:
        os.close(reading)


def _write_body(body: bytes, folder: Path) -> int:
    while True:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=PREFIX, delete=False) as spool:
            try:
                reading = os.open(spool.name, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                # Another process removed the file while it still had a name.
                continue
            Path(spool.name).unlink(missing_ok=True)
            try:
                spool.write(body)
                spool.flush()
            except BaseException:
                os.close(reading)
                raise
            return reading


# Signals by which native code ends itself when it gets no memory. Memory is blamed only if the
# child was close to its limit. Half of the limit counts as close, because a growing buffer requests
# twice its size.
_MEMORY_DEATH_SIGNALS = frozenset(
    {signal.SIGABRT, signal.SIGTRAP, signal.SIGILL, signal.SIGSEGV, signal.SIGBUS}
)
_CLOSE_TO_LIMIT = 0.5


def build_end_error(ending: ProcessEnd, limits: ChildLimits) -> ChildError | TransientError:
    """Return the error for a child process that ended, or was killed, during a call."""
    if ending.is_timed_out:
        return ChildError(
            Reason.TIMEOUT, f"reading it was stopped after {limits.wall_s:g} s (killed by SIGKILL)"
        )
    if ending.status is None:
        return TransientError("the fork server ended, and the isolated reader with it")
    if ending.is_hung_up:
        return ChildError(
            Reason.CRASHED_READER, ("the isolated reader closed the connection during the read")
        )
    if ending.signal_number is not None:
        return _build_signal_error(ending.signal_number, ending, limits)
    code = os.waitstatus_to_exitcode(ending.status)
    return ChildError(Reason.CRASHED_READER, f"the isolated reader exited with code {code}")


def build_memory_error(limits: ChildLimits, cause: str = "") -> ChildError:
    """Return the error for a call in a child process that exceeded its memory limit. `cause` says
    how this was noticed, such as `killed by …`.
    """
    size = f"{limits.memory_bytes / 2**20:,.0f} MiB"
    detail = f"reading it exceeded the memory limit of {size}"
    return ChildError(Reason.OUT_OF_MEMORY, f"{detail} ({cause})" if cause else detail)


def build_size_error(text: str) -> ChildError:
    """Return the error for a child's reply above the size limit. `text` states the size and the
    limit.
    """
    return ChildError(Reason.OUT_OF_MEMORY, f"the result is too large: {text}")


def build_reply_error(text: str) -> ChildError:
    """Return the error for a malformed reply of a child. `text` says what is wrong."""
    return ChildError(
        Reason.CRASHED_READER, (f"the isolated reader returned an invalid answer: {text}")
    )


def _build_signal_error(number: int, ending: ProcessEnd, limits: ChildLimits) -> ChildError:
    name = signal.Signals(number).name if number in list(signal.Signals) else f"signal {number}"
    if number == signal.SIGXCPU:
        detail = f"reading it was stopped after {limits.cpu_max_s:g} s of processor time ({name})"
        return ChildError(Reason.TIMEOUT, detail)
    if number == signal.SIGKILL:
        # Fonds did not send it. The kernel kills the largest process when memory runs out.
        return build_memory_error(limits, "killed by SIGKILL from outside")
    near_limit = ending.peak_bytes > _CLOSE_TO_LIMIT * limits.memory_bytes
    if number in _MEMORY_DEATH_SIGNALS and near_limit:
        return build_memory_error(limits, f"killed by {name}")
    return ChildError(
        Reason.CRASHED_READER, (f"the isolated reader crashed on it (killed by {name})")
    )


_TRIES_MAX = 3


class ChildPool:
    """Pool of at most `size` child processes. Implements Isolate. Thread-safe.

    Children are started on demand. A child is replaced after `limits.tasks_max` calls, or when it
    has ended. If a child ends or lacks memory during its first call, this call gets an error.
    During a later call, the call is repeated in a new child, because an earlier call may be the
    cause.

    - `limits`: limits of calls that set no limits of their own. No call may have more
      `memory_bytes` than these.
    - `required`: use no child whose confinement is incomplete.
    """

    def __init__(
        self,
        size: int,
        limits: ChildLimits | None = None,
        modules: Iterable[str] = (),
        *,
        required: bool = False,
    ) -> None:
        if size < 1:
            raise ValueError(f"a pool of {size} children is too small; it needs at least 1")
        self.limits = limits or ChildLimits()
        self._slots = threading.BoundedSemaphore(size)
        self._lock = threading.Lock()
        self._idle: list[Child] = []
        self._modules = set(modules)
        self._fork_server: ForkServerHandle | None = None
        self._is_closed = False
        self._is_confinement_required = required

    def __call__(self, function: Callable[..., ValueT], *args: object) -> ValueT:
        """Call a function in a child within the pool's limits, and return its result.

        Wait while all children are busy. The function and its declared types must be as
        `fonds.ports.Isolate` describes.

        Raises:
        - ChildError if the call failed in the child
        - errors of Fonds that the function raised; FaultError with a traceback for any other
          exception
        - RuntimeError if the pool is closed
        - TransientError if no child can be started
        - ConfigurationError if confinement is required but incomplete
        - OSError for an OpenBody that is not open
        - TypeError for a function that cannot be called in a child
        """
        return self.call(self.limits, function, args)

    def with_limits(self, limits: ChildLimits) -> LimitedPool:
        """Return a pool that makes calls in the same children within other limits.

        Raises ValueError if `limits` allow more memory than the limits of this pool.
        """
        if limits.memory_bytes > self.limits.memory_bytes:
            raise ValueError(
                f"a call with {limits.memory_bytes} bytes of memory exceeds the pool's "
                f"limit of {self.limits.memory_bytes}"
            )
        return LimitedPool(self, limits)

    def call(
        self, limits: ChildLimits, function: Callable[..., ValueT], args: tuple[object, ...]
    ) -> ValueT:
        """Call a function in a child within `limits`, and return its result. Raises the same errors
        as a call of the pool.
        """
        call = _EncodedCall(encode_call(function, args, limits), list_descriptors(args))
        check_open(call.descriptors)
        module, _ = get_importable_name(function)
        with self._lock:
            self._modules.add(module)
        with self._slots:
            child, reply = self._call_child(call, limits, module)
            try:
                outcome = _decode_reply(function, reply, limits)
            except BaseException:
                child.kill()
                raise
            self._return_child(child, limits, reply)
        if outcome[1] is not None:
            raise outcome[1]
        return outcome[0]

    def get_layers(self) -> Layers:
        """Return why layers of the children's confinement are inactive, as a newly started child
        reports it.

        Raises TransientError if no child can be started, and ConfigurationError if confinement is
        required but incomplete.
        """
        with self._slots:
            child = self._start_child()
            child.release()
        return child.layers

    def close(self) -> None:
        """End all child processes of the pool. Running calls raise RuntimeError. A second call does
        nothing.
        """
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
            fork_server, self._fork_server = self._fork_server, None
        for child in idle:
            child.release()
        if fork_server is not None:
            fork_server.close()

    def __enter__(self) -> ChildPool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _call_child(
        self, call: _EncodedCall, limits: ChildLimits, module: str
    ) -> tuple[Child, Reply]:
        """Send a call to a child, and return the child and its reply.

        The child stays reserved for the caller. If a child ends or lacks memory for a reason that
        may not be this call, the call is repeated in a new child.

        Raises ChildError or TransientError if this call caused the end of the child, and
        TransientError after three attempts.
        """
        child = self._take_child(module)
        for _ in range(_TRIES_MAX):
            is_fresh = child.calls == 0
            try:
                reply = self._call(child, call, limits)
            except ChildEndedError as error:
                self._raise_if_closed()
                # Blame the call if it had begun and was the child's first. A timeout is always the
                # call's own, because time is counted from its beginning.
                if error.started and (is_fresh or error.ending.has_timed_out):
                    raise build_end_error(error.ending, limits) from error
            else:
                if is_fresh or reply.outcome is not CallOutcome.OUT_OF_MEMORY:
                    return child, reply
                child.kill()
            child = self._start_child()
        child.release()
        raise TransientError("isolated readers keep exiting before they start")

    def _call(self, child: Child, call: _EncodedCall, limits: ChildLimits) -> Reply:
        try:
            return child.call(call.frame, limits, call.descriptors)
        except FrameTooLargeError as error:
            child.kill()
            raise build_size_error(str(error)) from error
        except msgspec.MsgspecError as error:
            child.kill()
            raise build_reply_error(str(error)) from error
        except BaseException:
            child.kill()
            raise

    def _take_child(self, module: str) -> Child:
        """Return an idle child that has loaded the given module, or else a new child.

        Idle children without this module are released. A new child is cheap, because the fork
        server loads the module once for all later children.
        """
        while True:
            with self._lock:
                child = self._idle.pop() if self._idle else None
            if child is None:
                return self._start_child()
            if not child.is_idle():
                child.kill()
            elif module in child.modules:
                return child
            else:
                child.release()

    def _start_child(self) -> Child:
        for attempt in range(_TRIES_MAX):
            fork_server = self._get_fork_server()
            with self._lock:
                modules = tuple(self._modules)
            try:
                child = fork_server.fork(modules, self.limits.memory_bytes)
            except TransientError:
                self._raise_if_closed()
                if attempt == _TRIES_MAX - 1:
                    raise
            else:
                return self._check_confinement(child)
        raise AssertionError("the last attempt returns or raises")

    def _check_confinement(self, child: Child) -> Child:
        missing = [f"{layer}: {reason}" for layer, reason in child.layers.items() if reason]
        if self._is_confinement_required and missing:
            child.release()
            raise ConfigurationError(
                'isolation = "required", but readers cannot be confined: '
                f"{'; '.join(missing)}. Run `fonds doctor` for details, or set isolation "
                '= "possible".'
            )
        return child

    def _get_fork_server(self) -> ForkServerHandle:
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the pool of child processes is closed")
            if self._fork_server is not None and not self._fork_server.is_alive:
                self._fork_server.close()
                self._fork_server = None
            if self._fork_server is None:
                self._fork_server = ForkServerHandle()
            return self._fork_server

    def _return_child(self, child: Child, limits: ChildLimits, reply: Reply) -> None:
        is_worn = child.calls >= limits.tasks_max or reply.outcome is CallOutcome.OUT_OF_MEMORY
        with self._lock:
            if not self._is_closed and not is_worn:
                self._idle.append(child)
                return
        child.release()

    def _raise_if_closed(self) -> None:
        if self._is_closed:
            raise RuntimeError("the pool of child processes was closed during a call")


@dataclass(frozen=True, slots=True)
class _EncodedCall:
    """Call that is encoded for sending to a child.

    `frame`: bytes of the encoded call.
    `descriptors`: file descriptors of the open files among its arguments, to be sent with it.
    """

    frame: bytes
    descriptors: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LimitedPool:
    """Pool that makes all its calls in another pool's children, within other limits. Implements
    Isolate.

    `pool`: the other pool.
    `limits`: limits of each call.
    """

    pool: ChildPool
    limits: ChildLimits

    def __call__(self, function: Callable[..., ValueT], *args: object) -> ValueT:
        """Call a function in a child within the limits of this pool, and return the function's
        result.
        """
        return self.pool.call(self.limits, function, args)


def _decode_reply(
    function: Callable[..., ValueT], reply: Reply, limits: ChildLimits
) -> tuple[ValueT, None] | tuple[None, Exception]:
    """Return the result or the error in a child's reply. Raises ChildError if the reply is
    malformed.
    """
    if reply.outcome is CallOutcome.OUT_OF_MEMORY:
        return None, build_memory_error(limits)
    if reply.outcome is CallOutcome.TOO_LARGE:
        return None, build_size_error(reply.text)
    try:
        if reply.outcome is CallOutcome.VALUE:
            return build_result_decoder(function).decode(reply.value), None
        return None, decode_error(reply)
    except (msgspec.MsgspecError, LookupError) as nonsense:
        raise build_reply_error(str(nonsense)) from nonsense
