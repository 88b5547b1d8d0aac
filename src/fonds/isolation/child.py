"""What runs inside a child process: one call after the other, until the parent hangs up."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import msgspec

from fonds.isolation.calls import (
    Call,
    Outcome,
    Reply,
    decode_arguments,
    reply_of_error,
)
from fonds.isolation.confinement import confine, limit_call
from fonds.isolation.frames import receive_frame, send_frame

READY = b"r"
STARTED = b"s"


def serve(work: socket.socket, memory_bytes: int) -> None:
    """Answer calls from `work` until it is closed. `memory_bytes` is the most any call may ask for."""
    confine(memory_bytes)
    work.sendall(READY)
    while True:
        try:
            call = msgspec.msgpack.decode(receive_frame(work), type=Call)
        except EOFError:
            return
        work.sendall(STARTED)
        send_frame(work, _answer(call))


def import_quietly(module: str) -> None:
    """Load a module ahead of its first call; whatever is wrong with it, that call will tell.

    A module's `warm_up`, if it has one, loads what every child would else load for itself.
    """
    if module not in sys.modules:
        try:
            getattr(import_module(module), "warm_up", _nothing)()
        except Exception:  # noqa: BLE001
            return


def _nothing() -> None:
    """What a module without a `warm_up` does."""


def _answer(call: Call) -> bytes:
    reply = _run(call)
    answer = msgspec.msgpack.encode(reply)
    if len(answer) > call.output_max_bytes:
        text = f"{len(answer)} bytes, {call.output_max_bytes} are allowed"
        return msgspec.msgpack.encode(Reply(Outcome.TOO_LARGE, text=text))
    return answer


def _run(call: Call) -> Reply:
    try:
        limit_call(call.cpu_max_s, time.process_time(), call.memory_bytes)
        function = _function(call.module, call.qualname)
        value = function(*decode_arguments(function, call.arguments))
        return Reply(Outcome.VALUE, value=msgspec.Raw(msgspec.msgpack.encode(value)))
    except BaseException as error:  # noqa: BLE001
        # Even SystemExit out of a parser is an answer about its input, not an order to this process.
        return reply_of_error(error)


def _function(module: str, qualname: str) -> Callable[..., Any]:
    found: Any = import_module(module)
    for name in qualname.split("."):
        found = getattr(found, name)
    function: Callable[..., Any] = found
    return function


def become_child(work: socket.socket, memory_bytes: int, parent_pid: int) -> None:
    """The life of a freshly forked process from here to its end; never returns."""
    exit_code = 1
    try:
        os.setsid()
        os.closerange(3, work.fileno())
        os.closerange(work.fileno() + 1, 1024)
        # A parent that died before the kernel was asked to tell us would never be noticed.
        if os.getppid() == parent_pid:
            serve(work, memory_bytes)
        exit_code = 0
    finally:
        os._exit(exit_code)
