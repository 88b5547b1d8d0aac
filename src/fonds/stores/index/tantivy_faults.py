"""Translates what the tantivy library raises into the errors of Fonds, naming the folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fonds.model.errors import (
    ConfigurationError,
    FondsError,
    StorageFullError,
    StoreUnavailableError,
)

_REBUILD = (
    "Run `fonds reindex` to build the index again from the stored texts; "
    "nothing but the index is lost."
)
WRITER_DIED = "index writer was killed"
_ERRNO = re.compile(r"(?:os error |code: |Errno )(\d+)")
# EFBIG, ENOSPC, EDQUOT; EPERM, EACCES, EROFS; EEXIST, ENOTDIR; ENOMEM, ENFILE, EMFILE:
# as Linux and macOS number them.
_FULL = {27, 28, 69, 122}
_FORBIDDEN = {1, 13, 30}
_NO_FOLDER = {17, 20}
_EXHAUSTED = {12, 23, 24}


@contextmanager
def translated(folder: Path) -> Iterator[None]:
    """Whatever the library raises or panics with inside leaves as a FondsError."""
    try:
        yield
    except (FondsError, KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError):
        raise
    except BaseException as error:
        # A panic of the library is no Exception, and its class cannot be imported.
        raise fault(folder, str(error)) from error


def fault(folder: Path, message: str) -> FondsError:
    """The error of Fonds for a message of the library."""
    numbers = {int(number) for number in _ERRNO.findall(message)}
    message = message if len(message) <= 300 else f"{message[:300]}…"
    if "LockBusy" in message:
        return StoreUnavailableError(
            f"Another process is writing to the index in {folder}. Only one can; this one tries again."
        )
    if WRITER_DIED in message:
        return StoreUnavailableError(f"Writing to the index in {folder} failed ({message}).")
    if numbers & _FULL:
        return StorageFullError(
            f"There is no room left for the index in {folder} ({message}). Free some space and go on."
        )
    if numbers & _FORBIDDEN:
        return ConfigurationError(
            f"The index in {folder} may not be read or written ({message}). Change the folder's permissions."
        )
    if numbers & _EXHAUSTED:
        return StoreUnavailableError(
            f"The machine had no files or memory left for the index in {folder} ({message})."
        )
    if numbers & _NO_FOLDER:
        return ConfigurationError(
            f"The index cannot lie in {folder}: there is a file in the way ({message}). "
            "Choose another folder."
        )
    if "Schema error" in message:
        return ConfigurationError(
            f"The index in {folder} was made by another version of Fonds. {_REBUILD}"
        )
    return ConfigurationError(f"The index in {folder} is damaged ({message}). {_REBUILD}")
