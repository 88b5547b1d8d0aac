"""Hands a body to an isolated process as an open file, so that its bytes are neither pickled nor piped."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from fonds.model.open_body import OpenBody
from fonds.ports import Isolate

ValueT = TypeVar("ValueT")
PREFIX = "body-"


@dataclass(frozen=True, slots=True)
class ByFile(Generic[ValueT]):
    """Calls `function(body, *rest)` in an isolated process, `body` the OpenBody of the bytes it is given.

    `isolate` gives the Isolate for a body of a size in bytes.
    """

    isolate: Callable[[int], Isolate]
    function: Callable[..., ValueT]
    rest: tuple[object, ...]
    folder: Path

    def __call__(self, body: bytes) -> ValueT:
        """The function's value; raises as the Isolate does."""
        with handed(body, self.folder) as opened:
            return self.isolate(len(body))(self.function, opened, *self.rest)


@contextmanager
def handed(body: bytes, folder: Path) -> Iterator[OpenBody]:
    """The body in a file of the folder that has no name any more and cannot be written through."""
    reading = _written(body, folder)
    try:
        yield OpenBody(reading, len(body))
    finally:
        os.close(reading)


def _written(body: bytes, folder: Path) -> int:
    while True:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=PREFIX, delete=False) as spool:
            try:
                reading = os.open(spool.name, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                # Swept away by another process in the moment it had a name.
                continue
            Path(spool.name).unlink(missing_ok=True)
            try:
                spool.write(body)
                spool.flush()
            except BaseException:
                os.close(reading)
                raise
            return reading
