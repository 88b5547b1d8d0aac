"""Hands a body to an isolated process as a file, so that its bytes are neither pickled nor piped."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from fonds.ports import Isolate

ValueT = TypeVar("ValueT")
PREFIX = "body-"


@dataclass(frozen=True, slots=True)
class ByFile(Generic[ValueT]):
    """Calls `function(path, 0, size_bytes, *rest)` in an isolated process, for the bytes it is given."""

    isolate: Isolate
    function: Callable[..., ValueT]
    rest: tuple[object, ...]
    folder: Path

    def __call__(self, body: bytes) -> ValueT:
        """The function's value; raises as the Isolate does. The file is gone afterwards."""
        with tempfile.NamedTemporaryFile(dir=self.folder, prefix=PREFIX) as spool:
            spool.write(body)
            spool.flush()
            return self.isolate(self.function, spool.name, 0, len(body), *self.rest)


def sweep(folder: Path) -> None:
    """Remove what a killed process left in the folder; make the folder if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(f"{PREFIX}*"):
        left.unlink(missing_ok=True)
