"""Errors that Fonds raises on purpose.

    FondsError
    ├── TransientError          try again later: the message is retried
    │   ├── PostponedError          no failure: its turn has not come
    │   └── StoreUnavailableError   a backend does not answer: messages are held until it does
    ├── PermanentError          no retry helps: the message is quarantined with a reason
    │   ├── DamagedInputError       the bytes do not match their container
    │   ├── LimitError              the input exceeds a limit
    │   └── ChildError              the isolated process was killed or died
    ├── FaultError              a bug, caught in an isolated process
    └── ConfigurationError      a person must change something first: do not start, or stop
        └── StorageFullError        a disk or a quota is full

Any other error is a bug: the unsettled message is delivered again.
"""

from __future__ import annotations

import errno

from fonds.model.disposition import Reason


def cause_of(error: BaseException) -> str:
    """Return why an operation failed, for people; for an OSError without its number and path."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, UnicodeDecodeError):
        return f"not valid {error.encoding.upper()}"
    return str(error) or type(error).__name__


class FondsError(Exception):
    """Base error. The message says what happened, to which file or URL, and what to do next."""


class TransientError(FondsError):
    """Fault that may disappear; the runtime retries the message."""


class PostponedError(TransientError):
    """The server may not be asked yet; try again after `after_s` seconds."""

    def __init__(self, message: str, after_s: float) -> None:
        super().__init__(message)
        self.after_s = after_s


class StoreUnavailableError(TransientError):
    """A backend does not answer or refuses for now."""


class PermanentError(FondsError):
    """Fault that no retry fixes; the runtime quarantines the message with `reason`."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


class DamagedInputError(PermanentError):
    """The bytes do not match their container."""


class LimitError(PermanentError):
    """The input is larger, deeper or denser than a limit allows."""


class ChildError(PermanentError):
    """An isolated process was killed for exceeding a limit, or died."""


class FaultError(FondsError):
    """Bug in Fonds inside an isolated process; the text is its traceback."""


class ConfigurationError(FondsError):
    """Fonds cannot work until a person changes a setting, a file or the machine."""


class StorageFullError(ConfigurationError):
    """A disk or a quota is full. Nothing was lost; the same command resumes once there is space."""


# Resource shortages of the machine: files, memory, threads, disk space. No message causes them.
#
# Source: errno(3); the meaning of each number for open(2), mmap(2) and write(2).


CAUSES_MAX = 20
_FILES = frozenset({errno.EMFILE, errno.ENFILE})
_MEMORY = frozenset({errno.ENOMEM, errno.ENOBUFS})
_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NO_THREAD = "can't start new thread"


def find_shortage(error: BaseException) -> FondsError | None:
    """Return the error to raise if an error or one of its causes is a resource shortage; else None.

    StoreUnavailableError for shortages that pass, StorageFullError for a full disk or quota.
    """
    cause: BaseException | None = error
    for _ in range(CAUSES_MAX):
        if cause is None:
            return None
        if isinstance(cause, StorageFullError):
            return cause
        shortage = _classify_error(cause)
        if shortage is not None:
            return shortage
        cause = cause.__cause__
    return None


def _classify_error(error: BaseException) -> FondsError | None:
    if isinstance(error, MemoryError):
        return StoreUnavailableError("not enough memory right now; check `ulimit -v`")
    if isinstance(error, RuntimeError) and str(error) == _NO_THREAD:
        return StoreUnavailableError("cannot start more threads; check `ulimit -u` and `ulimit -v`")
    if not isinstance(error, OSError):
        return None
    if error.errno in _FILES:
        return StoreUnavailableError(
            f"cannot open more files{_classify_os_error(error)}; check `ulimit -n`"
        )
    if error.errno in _MEMORY:
        return StoreUnavailableError(f"not enough memory right now{_classify_os_error(error)}")
    if error.errno in _ROOM:
        return StorageFullError(
            f"no disk space or quota left{_classify_os_error(error)} ({error.strerror}). "
            "Free some space, then run the same command again."
        )
    return None


def _classify_os_error(error: OSError) -> str:
    return f" for {error.filename}" if isinstance(error.filename, str) else ""
