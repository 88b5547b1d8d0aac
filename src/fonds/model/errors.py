"""Errors that Fonds raises on purpose.

    FondsError
    ├── TransientError          try again later: the message is retried
    │   ├── PostponedError          no failure: the server may not be contacted yet
    │   └── StoreUnavailableError   a backend does not answer: messages wait until it answers
    ├── PermanentError          no retry helps: the message is quarantined with a reason
    │   ├── DamagedInputError       the bytes do not match their container
    │   ├── LimitError              the input exceeds a limit
    │   └── ChildError              the isolated process was killed or died
    ├── FaultError              a bug, caught in an isolated process
    └── ConfigurationError      a person must change something first: do not start, or stop
        └── StorageFullError        a disk or a quota is full

Any other error is a bug. A message whose processing raises such an error is delivered again.
"""

from __future__ import annotations

import errno

from fonds.model.disposition import Reason


def cause_of(error: BaseException) -> str:
    """Return the cause of an error as text for people.

    For an OSError, the text leaves out the error number and the path.
    """
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, UnicodeDecodeError):
        return f"not valid {error.encoding.upper()}"
    return str(error) or type(error).__name__


class FondsError(Exception):
    """Base class of all errors that Fonds raises on purpose.

    The message says what happened, to which file or URL, and what to do next.
    """


class TransientError(FondsError):
    """Error that may disappear; the worker retries the message."""


class PostponedError(TransientError):
    """Error for a request that must wait, because the server may not be contacted yet.

    `after_s` is the number of seconds after which to try again.
    """

    def __init__(self, message: str, after_s: float) -> None:
        super().__init__(message)
        self.after_s = after_s


class StoreUnavailableError(TransientError):
    """Error for a store or other backend that does not answer or refuses requests for now."""


class PermanentError(FondsError):
    """Error that no retry fixes; the worker quarantines the message with `reason` and `detail`."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


class DamagedInputError(PermanentError):
    """Error for bytes that do not match the format of their container, such as a damaged WARC."""


class LimitError(PermanentError):
    """Error for an input that is larger, deeper or denser than a limit allows."""


class ChildError(PermanentError):
    """Error for an isolated process that was killed because it exceeded a limit, or that died."""


class FaultError(FondsError):
    """Error for a bug in Fonds inside an isolated process; the message is the traceback."""


class ConfigurationError(FondsError):
    """Error that lasts until a person changes a setting, a file or the machine."""


class DamagedRowError(ConfigurationError):
    """Error for a value in a database that has another type or format than Fonds writes.

    Another program or a broken disk has changed it. `is_located` tells whether the message names
    its table, row and column.
    """

    is_located = False


class StorageFullError(ConfigurationError):
    """Error for a full disk or quota.

    No data was lost. Once there is space, running the same command again resumes the work.
    """


# Resource shortages of the machine: files, memory, threads, disk space. No message causes them.
#
# Source: errno(3); the meaning of each number for open(2), mmap(2) and write(2).


CAUSES_MAX = 20
_FILES = frozenset({errno.EMFILE, errno.ENFILE})
_MEMORY = frozenset({errno.ENOMEM, errno.ENOBUFS})
_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NO_THREAD = "can't start new thread"


def find_shortage(error: BaseException) -> FondsError | None:
    """Return the Fonds error for a shortage of memory, threads, open files or disk space.

    Examines `error` and the chain of its causes. Returns StoreUnavailableError for a temporary
    shortage, StorageFullError for a full disk or quota, and None if the chain contains no shortage.
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
