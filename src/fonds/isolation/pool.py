"""The pool: calls from many threads, each carried out in a child process with limits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import TypeVar

import msgspec

from fonds.isolation.calls import (
    Outcome,
    Reply,
    check_open,
    declared,
    descriptors_of,
    encode_call,
    error_of_reply,
)
from fonds.isolation.confinement import Layers
from fonds.isolation.frames import FrameTooLargeError
from fonds.isolation.handles import Child, ChildEndedError, ForkServerHandle
from fonds.isolation.limits import ChildLimits
from fonds.isolation.verdicts import (
    out_of_memory,
    too_large,
    unintelligible,
    verdict,
)
from fonds.model.errors import ConfigurationError, TransientError

ValueT = TypeVar("ValueT")
_TRIES_MAX = 3


class ChildPool:
    """At most `size` children at a time; an Isolate, to be called from any number of threads.

    Processes are started when they are first needed. A child is replaced after `limits.tasks_max`
    calls, when it died, and when it had to be killed. A call is only blamed for a child's death or
    want of memory when that child had met no call before: else it is tried again in a fresh one.
    `limits` are those of a plain call, and `memory_bytes` is the most any may have. With `required` no
    child is asked anything that is not confined in every way.
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
            raise ValueError(f"a pool of {size} children can do nothing")
        self.limits = limits or ChildLimits()
        self._slots = threading.BoundedSemaphore(size)
        self._lock = threading.Lock()
        self._idle: list[Child] = []
        self._modules = set(modules)
        self._fork_server: ForkServerHandle | None = None
        self._closed = False
        self._required = required

    def __call__(self, function: Callable[..., ValueT], *args: object) -> ValueT:
        """The function's value, within the pool's limits. Waits while all children are busy.

        Function and types are as `fonds.ports.Isolate` says; types are read from its annotations.
        Raises ChildError, what the function raised of the model's errors, FaultError with the child's
        traceback for any other exception, RuntimeError when the pool is closed, TransientError when no
        child can be started, ConfigurationError when none is confined as is required, OSError for an
        OpenBody that is not open, and TypeError for a function that cannot be called in a child.
        """
        return self.call(self.limits, function, args)

    def limited(self, limits: ChildLimits) -> Limited:
        """The same pool with other limits for a call. Raises ValueError for more memory than the pool's."""
        if limits.memory_bytes > self.limits.memory_bytes:
            raise ValueError(
                f"{limits.memory_bytes} bytes of memory for a call, {self.limits.memory_bytes} for the pool"
            )
        return Limited(self, limits)

    def call(
        self, limits: ChildLimits, function: Callable[..., ValueT], args: tuple[object, ...]
    ) -> ValueT:
        """As calling the pool, within `limits`."""
        call = _Encoded(encode_call(function, args, limits), descriptors_of(args))
        check_open(call.descriptors)
        with self._lock:
            self._modules.add(function.__module__)
        with self._slots:
            child, reply = self._reply(call, limits, function.__module__)
            try:
                understood = _understood(function, reply, limits)
            except BaseException:
                child.kill()
                raise
            self._give_back(child, limits, reply)
        if understood[1] is not None:
            raise understood[1]
        return understood[0]

    def layers(self) -> Layers:
        """What a child of this pool says of its confinement; one is started for it if need be.

        Raises TransientError and ConfigurationError as a call does.
        """
        with self._slots:
            child = self._start()
            child.dismiss()
        return child.layers

    def close(self) -> None:
        """End all processes; calls still running raise RuntimeError. Again is harmless."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            fork_server, self._fork_server = self._fork_server, None
        for child in idle:
            child.dismiss()
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

    def _reply(self, call: _Encoded, limits: ChildLimits, module: str) -> tuple[Child, Reply]:
        """A reply, and the child that gave it, which is still ours."""
        child = self._take(module)
        for _ in range(_TRIES_MAX):
            fresh = child.calls == 0
            try:
                reply = self._ask(child, call, limits)
            except ChildEndedError as error:
                self._raise_if_closed()
                # A call is to blame when it had begun, and the child had met no other before; but
                # time is counted from its own beginning.
                if error.started and (fresh or error.ending.spent_its_time):
                    raise verdict(error.ending, limits) from error
            else:
                if fresh or reply.outcome is not Outcome.OUT_OF_MEMORY:
                    return child, reply
                child.kill()
            child = self._start()
        child.dismiss()
        raise TransientError("isolated readers end before they begin, again and again")

    def _ask(self, child: Child, call: _Encoded, limits: ChildLimits) -> Reply:
        try:
            return child.ask(call.frame, limits, call.descriptors)
        except FrameTooLargeError as error:
            child.kill()
            raise too_large(str(error)) from error
        except msgspec.MsgspecError as error:
            child.kill()
            raise unintelligible(str(error)) from error
        except BaseException:
            child.kill()
            raise

    def _take(self, module: str) -> Child:
        """A child in which the module is loaded: loading it once in the fork server serves all after."""
        while True:
            with self._lock:
                child = self._idle.pop() if self._idle else None
            if child is None:
                return self._start()
            if not child.is_idle():
                child.kill()
            elif module in child.modules:
                return child
            else:
                child.dismiss()

    def _start(self) -> Child:
        for attempt in range(_TRIES_MAX):
            fork_server = self._living_fork_server()
            with self._lock:
                modules = tuple(self._modules)
            try:
                child = fork_server.fork(modules, self.limits.memory_bytes)
            except TransientError:
                self._raise_if_closed()
                if attempt == _TRIES_MAX - 1:
                    raise
            else:
                return self._confined(child)
        raise AssertionError("the last attempt returns or raises")

    def _confined(self, child: Child) -> Child:
        missing = [f"{layer}: {why}" for layer, why in child.layers.items() if why]
        if self._required and missing:
            child.dismiss()
            raise ConfigurationError(
                'readers cannot be confined as isolation = "required" demands: '
                f'{"; ".join(missing)}. `fonds doctor` tells more; isolation = "possible" does without.'
            )
        return child

    def _living_fork_server(self) -> ForkServerHandle:
        with self._lock:
            if self._closed:
                raise RuntimeError("the pool of child processes is closed")
            if self._fork_server is not None and not self._fork_server.is_alive:
                self._fork_server.close()
                self._fork_server = None
            if self._fork_server is None:
                self._fork_server = ForkServerHandle()
            return self._fork_server

    def _give_back(self, child: Child, limits: ChildLimits, reply: Reply) -> None:
        worn = child.calls >= limits.tasks_max or reply.outcome is Outcome.OUT_OF_MEMORY
        with self._lock:
            if not self._closed and not worn:
                self._idle.append(child)
                return
        child.dismiss()

    def _raise_if_closed(self) -> None:
        if self._closed:
            raise RuntimeError("the pool of child processes was closed during a call")


@dataclass(frozen=True, slots=True)
class _Encoded:
    """A call as it is sent, and the open files that go along."""

    frame: bytes
    descriptors: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Limited:
    """A pool with limits of its own for every call; an Isolate."""

    pool: ChildPool
    limits: ChildLimits

    def __call__(self, function: Callable[..., ValueT], *args: object) -> ValueT:
        """As calling the pool, within these limits."""
        return self.pool.call(self.limits, function, args)


def _understood(
    function: Callable[..., ValueT], reply: Reply, limits: ChildLimits
) -> tuple[ValueT, None] | tuple[None, Exception]:
    """The value of a reply, or the error it tells of. Raises ChildError when it makes no sense."""
    if reply.outcome is Outcome.OUT_OF_MEMORY:
        return None, out_of_memory(limits)
    if reply.outcome is Outcome.TOO_LARGE:
        return None, too_large(reply.text)
    try:
        if reply.outcome is Outcome.VALUE:
            return declared(function).value.decode(reply.value), None
        return None, error_of_reply(reply)
    except (msgspec.MsgspecError, LookupError) as nonsense:
        raise unintelligible(str(nonsense)) from nonsense
