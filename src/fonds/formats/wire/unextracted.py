"""The messages of `unextracted` and `ungrobided`: work objects, ours with what is known of the file.

Source: seed 003, "extraction work queue kafka topic".
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import TypeVar

import msgspec

from fonds.formats.wire.file_meta import FileMetaObject, from_object, to_object
from fonds.formats.wire.work_object import of_capture, read_task
from fonds.model.capture import Capture
from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError
from fonds.model.file import FileMeta, Unextracted
from fonds.model.message import PIPELINE, Message
from fonds.model.paper import Ungrobided
from fonds.model.prepared import prepared
from fonds.model.task import Task

Known = TypeVar("Known", Unextracted, Ungrobided)


class KnownObject(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What Fonds adds to a work object of its own: all that is known of the file.

    What was known before the moment `after` does not count.
    """

    file_meta: FileMetaObject
    capture: Capture
    after: datetime | None = None


def to_wire(item: Unextracted | Ungrobided) -> bytes:
    """The body of its message."""
    known = KnownObject(file_meta=to_object(item.file), capture=item.capture, after=item.after)
    named = of_capture(item.capture, item.file.sha1, item.file.mime)
    return msgspec.json.encode(msgspec.to_builtins(named) | msgspec.to_builtins(known))


def from_wire(message: Message, tag: str | None = None) -> Unextracted | Task:
    """What is known, of a message of ours; a task, of anybody else's, whatever fields it has.

    Raises DamagedInputError (`bad-message`) with a sentence.
    """
    return _read(message, Unextracted)


def from_wire_for_grobid(message: Message, tag: str | None = None) -> Ungrobided | Task:
    """The same of the topic `ungrobided`."""
    return _read(message, Ungrobided)


def _read(
    message: Message, known: Callable[[Capture, FileMeta, datetime | None], Known]
) -> Known | Task:
    if PIPELINE in message.headers:
        # Others may name the pipeline they mean: theirs is a task all the same.
        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            found = msgspec.json.decode(message.body, type=prepared(KnownObject))
            return known(found.capture, from_object(found.file_meta), found.after)
    try:
        return read_task(message.body, key=message.key, id=message.entry)
    except ValueError as error:
        raise DamagedInputError(Reason.BAD_MESSAGE, f"no work object: {error}") from error
