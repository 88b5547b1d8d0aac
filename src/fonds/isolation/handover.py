"""Hands a body to an isolated process as a file, so that its bytes are neither pickled nor piped."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Generic, TypeVar

from fonds.ports import Isolate

ValueT = TypeVar("ValueT")
PREFIX = "body-"


@dataclass(frozen=True, slots=True)
class ByFile(Generic[ValueT]):
    """Calls `function(path, 0, size_bytes, *rest)` in an isolated process, for the bytes it is given.

    `isolate` gives the Isolate for a body of a size in bytes.
    """

    isolate: Callable[[int], Isolate]
    function: Callable[..., ValueT]
    rest: tuple[object, ...]
    folder: Path

    def __call__(self, body: bytes) -> ValueT:
        """The function's value; raises as the Isolate does. The file is gone afterwards."""
        with _locked_file(self.folder) as spool:
            spool.write(body)
            spool.flush()
            isolate = self.isolate(len(body))
            return isolate(self.function, spool.name, 0, len(body), *self.rest)


@contextmanager
def _locked_file(folder: Path) -> Iterator[IO[bytes]]:
    """A new file that says by a lock that its maker lives; gone afterwards."""
    while True:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=PREFIX) as spool:
            fcntl.flock(spool, fcntl.LOCK_EX)
            if os.fstat(spool.fileno()).st_nlink == 0:
                # Swept away by another process in the moment before it was locked.
                continue
            yield spool
            return


def sweep(folder: Path) -> None:
    """Remove what killed processes left in the folder; make the folder if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(f"{PREFIX}*"):
        with suppress(FileNotFoundError, BlockingIOError), left.open("rb") as spool:
            fcntl.flock(spool, fcntl.LOCK_EX | fcntl.LOCK_NB)
            left.unlink()
