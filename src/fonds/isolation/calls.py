"""Messages between parent and child process: calls and replies, as MessagePack over a socket.

Arguments and results are decoded by the types that the called function declares. Nothing is
pickled: a child can only return plain data of the declared type, or an error. A message is sent as
a frame: its length, then its bytes.
"""

from __future__ import annotations

import inspect
import os
import socket
import struct
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from importlib import import_module
from types import GenericAlias
from typing import Any, Generic, TypeVar, get_type_hints

import msgspec

from fonds.model import errors
from fonds.model.archive import OpenBody
from fonds.model.disposition import Reason
from fonds.model.encoding import prepare_type
from fonds.model.errors import FaultError, FondsError, PermanentError

ValueT = TypeVar("ValueT")

_LENGTH = struct.Struct("!Q")
_MARK = b"d"
DESCRIPTORS_MAX = 4


class FrameTooLargeError(Exception):
    """Error: the other process announced a message of more bytes than allowed. The socket is
    unusable afterwards.
    """


def send_frame(stream: socket.socket, payload: bytes, ends_at: float | None = None) -> None:
    """Send `payload` to the other process, with its length in front.

    `ends_at` is the latest time of the monotonic clock in seconds; None waits without limit. Raises
    TimeoutError after `ends_at`, and OSError if the other process has ended.
    """
    stream.settimeout(_remaining_s(ends_at))
    stream.sendall(_LENGTH.pack(len(payload)))
    stream.sendall(payload)


def send_descriptors(
    stream: socket.socket, descriptors: Sequence[int], ends_at: float | None = None
) -> None:
    """Send open files (possibly none) to the other process, before a frame. Raises TimeoutError and
    OSError as `send_frame` does.
    """
    stream.settimeout(_remaining_s(ends_at))
    socket.send_fds(stream, [_MARK], list(descriptors))


def receive_descriptors(stream: socket.socket) -> list[int]:
    """Receive the open files that `send_descriptors` sent, as file descriptors of this process.

    Raises EOFError if the other process has ended.
    """
    stream.settimeout(None)
    try:
        mark, descriptors, _, _ = socket.recv_fds(stream, len(_MARK), DESCRIPTORS_MAX)
    except ConnectionError as error:
        raise EOFError("the other process closed the connection") from error
    if not mark:
        raise EOFError("the other process closed the connection")
    return list(descriptors)


def receive_frame(
    stream: socket.socket, size_max_bytes: int | None = None, ends_at: float | None = None
) -> bytearray:
    """Receive the payload of the next frame from the other process.

    `ends_at` is the latest time of the monotonic clock in seconds; None waits without limit. Raises
    EOFError if the other process has ended, TimeoutError after `ends_at`, and FrameTooLargeError if
    the payload is larger than `size_max_bytes`.
    """
    (size,) = _LENGTH.unpack(receive_exactly(stream, _LENGTH.size, ends_at))
    if size_max_bytes is not None and size > size_max_bytes:
        raise FrameTooLargeError(
            f"the message announces {size} bytes; the limit is {size_max_bytes}"
        )
    return receive_exactly(stream, size, ends_at)


def receive_exactly(
    stream: socket.socket, size_bytes: int, ends_at: float | None = None
) -> bytearray:
    """Receive exactly `size_bytes` bytes from the other process.

    `ends_at` is the latest time of the monotonic clock in seconds. Raises EOFError if the other
    process has ended, and TimeoutError after `ends_at`.
    """
    data = bytearray(size_bytes)
    view = memoryview(data)
    filled_bytes = 0
    while filled_bytes < size_bytes:
        stream.settimeout(_remaining_s(ends_at))
        try:
            count = stream.recv_into(view[filled_bytes:])
        except ConnectionError as error:
            raise EOFError("the other process closed the connection") from error
        if count == 0:
            raise EOFError("the other process closed the connection")
        filled_bytes += count
    return data


def _remaining_s(ends_at: float | None) -> float | None:
    if ends_at is None:
        return None
    remaining_s = ends_at - time.monotonic()
    if remaining_s <= 0:
        raise TimeoutError("the time limit was reached")
    return remaining_s


@dataclass(frozen=True, slots=True)
class ChildLimits:
    """Limits of a call in a child process.

    - `wall_s`: maximum duration in seconds.
    - `cpu_s`: maximum processor time in seconds; None means the same as `wall_s`.
    - `memory_bytes`: maximum address space (RLIMIT_AS), including everything that is loaded.
    - `output_max_bytes`: maximum size of the encoded reply.
    - `tasks_max`: number of calls after which a child is replaced.
    """

    wall_s: float = 60.0
    cpu_s: float | None = None
    memory_bytes: int = 2 * 2**30
    output_max_bytes: int = 128 * 2**20
    tasks_max: int = 200

    @property
    def cpu_max_s(self) -> float:
        """Maximum processor time of a call in seconds."""
        return self.wall_s if self.cpu_s is None else self.cpu_s


_FAULT_MAX_CHARS = 8_000
_ERRORS: dict[str, type[FondsError]] = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, FondsError)
}

_REASONS: dict[str, Reason] = {reason.value: reason for reason in Reason}


class Call(msgspec.Struct, array_like=True):
    """Call of a function in a child process.

    - `module`, `qualname`: name of the function.
    - `arguments`: arguments, encoded as MessagePack.
    - `cpu_max_s`, `memory_bytes`, `output_max_bytes`: limits that the child enforces.
    """

    module: str
    qualname: str
    arguments: msgspec.Raw
    cpu_max_s: float
    memory_bytes: int
    output_max_bytes: int


class CallOutcome(StrEnum):
    """How a function call in a child process ended."""

    VALUE = "value"
    OUT_OF_MEMORY = "out-of-memory"
    TOO_LARGE = "too-large"
    ERROR = "error"  # one of the model's errors, raised again in the parent
    FAULT = "fault"  # any other exception, as a traceback


class Reply(msgspec.Struct, array_like=True):
    """Reply of a child to a call.

    - `outcome`: how the call ended.
    - `value`: encoded result, if the outcome is VALUE.
    - `error`: name of the exception's class, if the outcome is ERROR.
    - `reason`: reason code of the exception, if it is a PermanentError; otherwise ''.
    - `text`: message of the exception, or its traceback if the outcome is FAULT.
    """

    outcome: CallOutcome
    value: msgspec.Raw = msgspec.Raw(b"\xc0")
    error: str = ""
    reason: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class NamedFunction(Generic[ValueT]):
    """Function of a module that only child processes import, because it is large or slow to import.

    - `module`, `name`: module of the function, and its name there.
    - `return_type`: type that the function declares for its result.
    """

    module: str
    name: str
    return_type: type[ValueT]

    def __call__(self, *args: object) -> ValueT:
        """Import the function and call it in this process."""
        result: ValueT = getattr(import_module(self.module), self.name)(*args)
        return result


@lru_cache(maxsize=256)
def list_parameter_types(function: Callable[..., Any]) -> tuple[Any, ...]:
    """Return the declared types of a function's positional parameters. Raises TypeError if one is
    missing.
    """
    hints = get_type_hints(function)
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind in positional
    ]
    _raise_if_missing(function, [name for name in names if name not in hints])
    return tuple(hints[name] for name in names)


@lru_cache(maxsize=256)
def build_result_decoder(function: Callable[..., ValueT]) -> msgspec.msgpack.Decoder[ValueT]:
    """Return the decoder of a function's results, which have the type that the function declares.

    Raises TypeError if it declares none.
    """
    if isinstance(function, NamedFunction):
        return msgspec.msgpack.Decoder(prepare_type(function.return_type))
    hints = get_type_hints(function)
    _raise_if_missing(function, [name for name in ("return",) if name not in hints])
    return msgspec.msgpack.Decoder(prepare_type(hints["return"]))


def _raise_if_missing(function: Callable[..., Any], missing_types: Sequence[str]) -> None:
    if missing_types:
        name = ".".join(get_importable_name(function))
        raise TypeError(f"{name} has no type annotation for {', '.join(missing_types)}")


def get_importable_name(function: Callable[..., Any]) -> tuple[str, str]:
    """Return the name of a function's module, and its qualified name in the module. Raises
    TypeError if it cannot be imported by that name.
    """
    if isinstance(function, NamedFunction):
        return function.module, function.name
    module = getattr(function, "__module__", None)
    qualname = getattr(function, "__qualname__", "<unnamed>")
    if module in (None, "__main__") or "<" in qualname:
        raise TypeError(f"a child process cannot import {qualname} of {module} by name")
    return module, qualname


def encode_call(
    function: Callable[..., Any], arguments: tuple[object, ...], limits: ChildLimits
) -> bytes:
    """Encode a function call for a child. Raises TypeError if the function or its arguments cannot
    be sent.
    """
    module, qualname = get_importable_name(function)
    build_result_decoder(function)
    if not isinstance(function, NamedFunction):
        parameter_count = len(list_parameter_types(function))
        if len(arguments) > parameter_count:
            raise TypeError(f"got {len(arguments)} arguments for {parameter_count} parameters")
    call = Call(
        module,
        qualname,
        msgspec.Raw(msgspec.msgpack.encode(arguments)),
        limits.cpu_max_s,
        limits.memory_bytes,
        limits.output_max_bytes,
    )
    return msgspec.msgpack.encode(call)


def list_descriptors(arguments: Iterable[object]) -> tuple[int, ...]:
    """Return the file descriptors of the OpenBody objects among the arguments, in order."""
    return tuple(argument.descriptor for argument in arguments if isinstance(argument, OpenBody))


def check_open(descriptors: Iterable[int]) -> None:
    """Raise OSError if a file descriptor is not open in this process, so that no child is blamed
    for the closed file.
    """
    for descriptor in descriptors:
        os.fstat(descriptor)


def decode_arguments(
    function: Callable[..., Any], raw: msgspec.Raw, descriptors: Sequence[int]
) -> tuple[Any, ...]:
    """Decode the arguments of a call by the types that the function declares.

    `descriptors` are the open files received with the call. Raises msgspec.MsgspecError if an
    argument has another type, and ValueError if the number of open files differs.
    """
    count = len(msgspec.msgpack.decode(raw, type=list[msgspec.Raw]))
    if count == 0:
        return ()
    kind: Any = GenericAlias(tuple, list_parameter_types(function)[:count])
    arguments: tuple[Any, ...] = msgspec.msgpack.decode(raw, type=prepare_type(kind))
    if len(list_descriptors(arguments)) != len(descriptors):
        raise ValueError(f"received {len(descriptors)} open files")
    numbers = iter(descriptors)
    return tuple(
        replace(argument, descriptor=next(numbers)) if isinstance(argument, OpenBody) else argument
        for argument in arguments
    )


def encode_error(error: BaseException) -> Reply:
    """Encode an exception as the reply of a child.

    A MemoryError has its own outcome. Errors of Fonds keep their class, reason and message. For any
    other exception, the reply has a traceback.
    """
    if isinstance(error, MemoryError):
        return Reply(CallOutcome.OUT_OF_MEMORY)
    if isinstance(error, PermanentError):
        return Reply(
            CallOutcome.ERROR,
            error=_find_error_name(error),
            reason=error.reason,
            text=_clean_text(error.detail),
        )
    if isinstance(error, FondsError):
        return Reply(CallOutcome.ERROR, error=_find_error_name(error), text=_clean_text(str(error)))
    text = "".join(traceback.format_exception(error))
    return Reply(CallOutcome.FAULT, text=_clean_text(text[-_FAULT_MAX_CHARS:]))


def decode_error(reply: Reply) -> Exception:
    """Return the exception in a reply with the outcome ERROR or FAULT. Raises LookupError if the
    class or reason of the exception is unknown.
    """
    if reply.outcome is CallOutcome.FAULT:
        return FaultError(f"in the child process:\n{reply.text}")
    kind = _ERRORS[reply.error]
    if issubclass(kind, PermanentError):
        return kind(_REASONS[reply.reason], reply.text)
    return kind(reply.text)


def _find_error_name(error: FondsError) -> str:
    names = (kind.__name__ for kind in type(error).__mro__)
    return next(name for name in names if name in _ERRORS)


def _clean_text(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
