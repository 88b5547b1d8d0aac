"""What the machine itself is short of: files, memory, threads, room. No message is to blame for that.

Source: errno(3); what each number means for open(2), mmap(2) and write(2).
"""

from __future__ import annotations

import errno

from fonds.model.errors import FondsError, StorageFullError, StoreUnavailableError

CAUSES_MAX = 20
_FILES = frozenset({errno.EMFILE, errno.ENFILE})
_MEMORY = frozenset({errno.ENOMEM, errno.ENOBUFS})
_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NO_THREAD = "can't start new thread"


def shortage(error: BaseException) -> FondsError | None:
    """The error to go by when an error, or what it was raised from, is a want of the machine; else None.

    StoreUnavailableError for what comes back by itself, StorageFullError for a full disk or quota.
    """
    found: BaseException | None = error
    for _ in range(CAUSES_MAX):
        if found is None:
            return None
        if isinstance(found, StorageFullError):
            return found
        told = _named(found)
        if told is not None:
            return told
        found = found.__cause__
    return None


def _named(error: BaseException) -> FondsError | None:
    if isinstance(error, MemoryError):
        return StoreUnavailableError("there is not enough memory just now; see `ulimit -v`")
    if isinstance(error, RuntimeError) and str(error) == _NO_THREAD:
        return StoreUnavailableError(
            "no more threads can be started here; see `ulimit -u` and `ulimit -v`"
        )
    if not isinstance(error, OSError):
        return None
    if error.errno in _FILES:
        return StoreUnavailableError(f"no more files can be opened{_of(error)}; see `ulimit -n`")
    if error.errno in _MEMORY:
        return StoreUnavailableError(f"there is not enough memory just now{_of(error)}")
    if error.errno in _ROOM:
        return StorageFullError(
            f"no space or quota left{_of(error)} ({error.strerror}); make room, then give the same"
            " command again."
        )
    return None


def _of(error: OSError) -> str:
    return f" for {error.filename}" if isinstance(error.filename, str) else ""
