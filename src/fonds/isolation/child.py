"""Main loop of a child process: executes calls until the parent closes the socket."""

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
    """Report the confinement of this process to the parent, then answer its calls until it closes
    the socket `work`.
    """
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
    """Import a module before child processes are forked that will call functions in it.

    If the module has a function `warm_up`, it is called to load what every child needs. Errors are
    ignored, because a later call will raise them.
    """
    if module not in sys.modules:
        try:
            getattr(import_module(module), "warm_up", _skip_warm_up)()
        except Exception:  # noqa: BLE001
            return


def _skip_warm_up() -> None:
    """Do nothing. Used for a module without a function `warm_up`."""


def _handle_call(call: Call, descriptors: Sequence[int]) -> bytes:
    reply = _run(call, descriptors)
    answer = msgspec.msgpack.encode(reply)
    if len(answer) > call.output_max_bytes:
        text = f"the answer has {len(answer)} bytes; the limit is {call.output_max_bytes}"
        return msgspec.msgpack.encode(Reply(CallOutcome.TOO_LARGE, text=text))
    return answer


def _run(call: Call, descriptors: Sequence[int]) -> Reply:
    try:
        limit_call(call.cpu_max_s, time.process_time(), call.memory_bytes)
        function = _find_function(call.module, call.qualname)
        value = function(*decode_arguments(function, call.arguments, descriptors))
        return Reply(CallOutcome.VALUE, value=msgspec.Raw(msgspec.msgpack.encode(value)))
    except BaseException as error:  # noqa: BLE001
        # Even SystemExit from a parser is a result for its input, not a request to end this
        # process.
        return encode_error(error)


def _find_function(module: str, qualname: str) -> Callable[..., Any]:
    target: Any = import_module(module)
    for name in qualname.split("."):
        target = getattr(target, name)
    function: Callable[..., Any] = target
    return function


def run_child(
    work: socket.socket,
    memory_bytes: int,
    parent_pid: int,
    prepared_confinement: PreparedConfinement,
) -> None:
    """Confine a newly forked child, and serve calls until the parent closes the socket. Never
    returns.

    - `work`: socket to the parent.
    - `memory_bytes`: maximum address space that any call may be allowed.
    - `parent_pid`: process id of the parent; the child ends with it.
    - `prepared_confinement`: data for the confinement.
    """
    exit_code = 1
    try:
        os.setsid()
        _close_all_but(work.fileno(), prepared_confinement.ruleset)
        layers = confine(prepared_confinement, memory_bytes)
        # A parent that died before the death signal was set would never be noticed.
        if os.getppid() == parent_pid:
            serve(work, layers)
        exit_code = 0
    finally:
        os._exit(exit_code)


def _close_all_but(*kept_descriptor: int | None) -> None:
    """Close all file descriptors inherited from the fork server, except the given and the standard
    ones.
    """
    first = 3
    for descriptor in sorted(number for number in kept_descriptor if number is not None):
        os.closerange(first, descriptor)
        first = descriptor + 1
    # No descriptor beyond this limit was ever opened.
    os.closerange(first, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
