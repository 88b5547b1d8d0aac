"""What runs inside a child process: one call after the other, until the parent hangs up."""

from __future__ import annotations

import os
import resource
import socket
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import msgspec

from fonds.isolation.calls import (
    Call,
    CallOutcome,
    Reply,
    decode_arguments,
    encode_error,
    receive_descriptors,
    receive_frame,
    send_frame,
)
from fonds.isolation.confinement import Layers, PreparedConfinement, confine, limit_call
from fonds.model.encoding import prepare_type

STARTED = b"s"


def serve(work: socket.socket, layers: Layers) -> None:
    """Say what confines this process, then answer calls from `work` until it is closed."""
    send_frame(work, msgspec.msgpack.encode(layers))
    while True:
        try:
            descriptors = receive_descriptors(work)
            call = msgspec.msgpack.decode(receive_frame(work), type=prepare_type(Call))
        except EOFError:
            return
        work.sendall(STARTED)
        try:
            answer = _handle_call(call, descriptors)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        send_frame(work, answer)


def import_quietly(module: str) -> None:
    """Load a module ahead of its first call; whatever is wrong with it, that call will tell.

    A module's `warm_up`, if it has one, loads what every child would else load for itself.
    """
    if module not in sys.modules:
        try:
            getattr(import_module(module), "warm_up", _skip_warm_up)()
        except Exception:  # noqa: BLE001
            return


def _skip_warm_up() -> None:
    """What a module without a `warm_up` does."""


def _handle_call(call: Call, descriptors: Sequence[int]) -> bytes:
    reply = _run(call, descriptors)
    answer = msgspec.msgpack.encode(reply)
    if len(answer) > call.output_max_bytes:
        text = f"{len(answer)} bytes, {call.output_max_bytes} are allowed"
        return msgspec.msgpack.encode(Reply(CallOutcome.TOO_LARGE, text=text))
    return answer


def _run(call: Call, descriptors: Sequence[int]) -> Reply:
    try:
        limit_call(call.cpu_max_s, time.process_time(), call.memory_bytes)
        function = _find_function(call.module, call.qualname)
        value = function(*decode_arguments(function, call.arguments, descriptors))
        return Reply(CallOutcome.VALUE, value=msgspec.Raw(msgspec.msgpack.encode(value)))
    except BaseException as error:  # noqa: BLE001
        # Even SystemExit out of a parser is an answer about its input, not an order to this process.
        return encode_error(error)


def _find_function(module: str, qualname: str) -> Callable[..., Any]:
    found: Any = import_module(module)
    for name in qualname.split("."):
        found = getattr(found, name)
    function: Callable[..., Any] = found
    return function


def run_child(
    work: socket.socket, memory_bytes: int, parent_pid: int, prepared: PreparedConfinement
) -> None:
    """The life of a freshly forked process from here to its end; never returns.

    `memory_bytes` is the most any call may ask for.
    """
    exit_code = 1
    try:
        os.setsid()
        _close_all_but(work.fileno(), prepared.ruleset)
        held = confine(prepared, memory_bytes)
        # A parent that died before the kernel was asked to tell us would never be noticed.
        if os.getppid() == parent_pid:
            serve(work, held)
        exit_code = 0
    finally:
        os._exit(exit_code)


def _close_all_but(*kept_descriptor: int | None) -> None:
    """Nothing of the fork server's stays open, but for what is kept, and for standard input and output."""
    first = 3
    for descriptor in sorted(one for one in kept_descriptor if one is not None):
        os.closerange(first, descriptor)
        first = descriptor + 1
    # No descriptor was opened beyond it.
    os.closerange(first, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
