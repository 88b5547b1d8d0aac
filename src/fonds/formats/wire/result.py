"""What result topics have in common: only results of ours are read back."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from fonds.formats.wire.large_field import FieldReference
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError
from fonds.model.message import PIPELINE, Message
from fonds.model.prepared import prepared

T = TypeVar("T")


def result_of(message: Message, kind: type[T], work: str) -> T:
    """The result a message carries.

    Raises DamagedInputError (`bad-message`) for what is none of ours: other programs' results have no place
    in the books, for the file they are of may be unknown here. `work` is the topic for what they want done.
    """
    if PIPELINE not in message.headers:
        told = f"a result of another program; put work on `{work}` instead"
        raise DamagedInputError(Reason.BAD_MESSAGE, told)
    try:
        return msgspec.json.decode(message.body, type=prepared(kind))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DamagedInputError(Reason.BAD_MESSAGE, f"no result of ours: {error}") from error


def refuse_reference(reference: FieldReference | UnsetType) -> None:
    """Refuse a result whose large field lies in a blob.

    Stages receive such a result whole at their own address; the message with the reference is for other
    programs. Raises DamagedInputError (`bad-message`).
    """
    if reference is not UNSET:
        told = "this result refers to a blob and is for other programs"
        raise DamagedInputError(Reason.BAD_MESSAGE, told)
