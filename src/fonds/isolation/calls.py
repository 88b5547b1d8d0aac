"""A function call and its outcome as MessagePack, read back by the types the function declares.

Nothing is pickled: what comes out of a child is plain data of the declared type or an error.
"""

from __future__ import annotations

import inspect
import os
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from types import GenericAlias
from typing import Any, get_type_hints

import msgspec

from fonds.isolation.limits import ChildLimits
from fonds.model import errors
from fonds.model.disposition import Reason
from fonds.model.errors import FaultError, FondsError, PermanentError
from fonds.model.open_body import OpenBody
from fonds.model.prepared import prepared

_FAULT_MAX_CHARS = 8_000
_ERRORS: dict[str, type[FondsError]] = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, FondsError)
}

_REASONS: dict[str, Reason] = {reason.value: reason for reason in Reason}


class Call(msgspec.Struct, array_like=True):
    """A function by name, its encoded positional arguments, and the limits kept inside the child."""

    module: str
    qualname: str
    arguments: msgspec.Raw
    cpu_max_s: float
    memory_bytes: int
    output_max_bytes: int


class Outcome(StrEnum):
    """How a call ended inside the child."""

    VALUE = "value"
    OUT_OF_MEMORY = "out-of-memory"
    TOO_LARGE = "too-large"
    ERROR = "error"  # one of the model's errors, to be raised again
    FAULT = "fault"  # any other exception, told as a traceback


class Reply(msgspec.Struct, array_like=True):
    """The outcome; `value` for VALUE, `error` names the class for ERROR, `text` says what happened."""

    outcome: Outcome
    value: msgspec.Raw = msgspec.Raw(b"\xc0")
    error: str = ""
    reason: str = ""
    text: str = ""


@dataclass(frozen=True)
class Declared:
    """The types of a function's positional parameters and of its value."""

    parameters: tuple[Any, ...]
    value: msgspec.msgpack.Decoder[Any]


@lru_cache(maxsize=256)
def declared(function: Callable[..., Any]) -> Declared:
    """What `function` declares. Raises TypeError when a parameter or the value has no type."""
    hints = get_type_hints(function)
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [
        name
        for name, one in inspect.signature(function).parameters.items()
        if one.kind in positional
    ]
    missing = [name for name in (*names, "return") if name not in hints]
    if missing:
        raise TypeError(f"{name_of(function)} declares no type for {', '.join(missing)}")
    value = msgspec.msgpack.Decoder(prepared(hints["return"]))
    return Declared(tuple(hints[name] for name in names), value)


def name_of(function: Callable[..., Any]) -> str:
    """`module.qualname`. Raises TypeError when it cannot be imported by that name."""
    module = getattr(function, "__module__", None)
    qualname = getattr(function, "__qualname__", "<unnamed>")
    if module in (None, "__main__") or "<" in qualname:
        raise TypeError(f"{qualname} of {module} cannot be imported by name in a child process")
    return f"{module}.{qualname}"


def encode_call(
    function: Callable[..., Any], arguments: tuple[object, ...], limits: ChildLimits
) -> bytes:
    """The call as a child reads it. Raises TypeError when function or arguments are no plain data."""
    name_of(function)
    parameters = declared(function).parameters
    if len(arguments) > len(parameters):
        raise TypeError(f"{len(arguments)} arguments for {len(parameters)} parameters")
    call = Call(
        function.__module__,
        function.__qualname__,
        msgspec.Raw(msgspec.msgpack.encode(arguments)),
        limits.cpu_max_s,
        limits.memory_bytes,
        limits.output_max_bytes,
    )
    return msgspec.msgpack.encode(call)


def descriptors_of(arguments: Iterable[object]) -> tuple[int, ...]:
    """The open files that go along with these arguments, in their order."""
    return tuple(one.descriptor for one in arguments if isinstance(one, OpenBody))


def check_open(descriptors: Iterable[int]) -> None:
    """Raises OSError for one that is not open here: no child is to blame for that."""
    for one in descriptors:
        os.fstat(one)


def decode_arguments(
    function: Callable[..., Any], raw: msgspec.Raw, descriptors: Sequence[int]
) -> tuple[Any, ...]:
    """The arguments as the function declares them, `descriptors` those of open files that came along.

    Raises msgspec.MsgspecError when they are not of these types, ValueError for a file that did not come.
    """
    count = len(msgspec.msgpack.decode(raw, type=list[msgspec.Raw]))
    if count == 0:
        return ()
    kind: Any = GenericAlias(tuple, declared(function).parameters[:count])
    arguments: tuple[Any, ...] = msgspec.msgpack.decode(raw, type=prepared(kind))
    if len(descriptors_of(arguments)) != len(descriptors):
        raise ValueError(f"{len(descriptors)} open files came along")
    numbers = iter(descriptors)
    return tuple(
        replace(one, descriptor=next(numbers)) if isinstance(one, OpenBody) else one
        for one in arguments
    )


def reply_of_error(error: BaseException) -> Reply:
    """What is told of an exception: the model's errors whole, everything else as a traceback."""
    if isinstance(error, MemoryError):
        return Reply(Outcome.OUT_OF_MEMORY)
    if isinstance(error, PermanentError):
        return Reply(
            Outcome.ERROR, error=_known(error), reason=error.reason, text=_sendable(error.detail)
        )
    if isinstance(error, FondsError):
        return Reply(Outcome.ERROR, error=_known(error), text=_sendable(str(error)))
    told = "".join(traceback.format_exception(error))
    return Reply(Outcome.FAULT, text=_sendable(told[-_FAULT_MAX_CHARS:]))


def error_of_reply(reply: Reply) -> Exception:
    """The exception to be raised for an ERROR or FAULT. Raises LookupError when it names none."""
    if reply.outcome is Outcome.FAULT:
        return FaultError(f"in the child process:\n{reply.text}")
    kind = _ERRORS[reply.error]
    if issubclass(kind, PermanentError):
        return kind(_REASONS[reply.reason], reply.text)
    return kind(reply.text)


def _known(error: FondsError) -> str:
    names = (kind.__name__ for kind in type(error).__mro__)
    return next(name for name in names if name in _ERRORS)


def _sendable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
