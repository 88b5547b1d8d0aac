"""Every error Fonds raises on purpose.

    FondsError
    ├── TransientError          try again later: the message is retried
    │   ├── PostponedError          nothing failed: its turn has not come
    │   └── StoreUnavailableError   a backend does not answer: messages wait in hand until it does
    ├── PermanentError          no retry helps: the message is quarantined with a reason
    │   ├── DamagedInputError       the bytes are not what their container says
    │   ├── LimitError              the input is larger than a limit allows
    │   └── ChildError              the isolated process was killed or died
    ├── FaultError              a bug, caught in an isolated process
    └── ConfigurationError      a person must change something first: do not start, or stop
        └── StorageFullError        a disk or a quota is full

Anything else that propagates is a bug: the unsettled message comes back.
"""

from __future__ import annotations

import errno

from fonds.model.disposition import Reason


def cause_of(error: BaseException) -> str:
    """Return why an operation failed, for people: of an OSError neither its number nor its path."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, UnicodeDecodeError):
        return f"it is not {error.encoding.upper()}"
    return str(error) or type(error).__name__


class FondsError(Exception):
    """What happened, to which file or URL, and what to do next."""


class TransientError(FondsError):
    """A fault that may be gone later; the runtime retries the message."""


class PostponedError(TransientError):
    """Whoever is to be asked may not be asked yet; in `after_s` seconds perhaps."""

    def __init__(self, message: str, after_s: float) -> None:
        super().__init__(message)
        self.after_s = after_s


class StoreUnavailableError(TransientError):
    """A backend does not answer or refuses for now."""


class PermanentError(FondsError):
    """A fault that no retry mends; the runtime quarantines the message with `reason`."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


class DamagedInputError(PermanentError):
    """The bytes are not what their container says they are."""


class LimitError(PermanentError):
    """The input is larger, deeper or denser than a limit allows."""


class ChildError(PermanentError):
    """An isolated process was killed for exceeding a limit, or died by itself."""


class FaultError(FondsError):
    """A fault in Fonds itself, inside an isolated process; the text is its traceback."""


class ConfigurationError(FondsError):
    """Fonds cannot work until a person changes a setting, a file or the machine."""


class StorageFullError(ConfigurationError):
    """A disk or a quota is full; nothing was lost, and the same command goes on once there is room."""


# What the machine itself is short of: files, memory, threads, room. No message is to blame for that.
#
# Source: errno(3); what each number means for open(2), mmap(2) and write(2).


CAUSES_MAX = 20
_FILES = frozenset({errno.EMFILE, errno.ENFILE})
_MEMORY = frozenset({errno.ENOMEM, errno.ENOBUFS})
_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NO_THREAD = "can't start new thread"


def find_shortage(error: BaseException) -> FondsError | None:
    """The error to go by when an error, or what it was raised from, is a want of the machine; else None.

    StoreUnavailableError for what comes back by itself, StorageFullError for a full disk or quota.
    """
    found: BaseException | None = error
    for _ in range(CAUSES_MAX):
        if found is None:
            return None
        if isinstance(found, StorageFullError):
            return found
        told = _classify_error(found)
        if told is not None:
            return told
        found = found.__cause__
    return None


def _classify_error(error: BaseException) -> FondsError | None:
    if isinstance(error, MemoryError):
        return StoreUnavailableError("there is not enough memory just now; see `ulimit -v`")
    if isinstance(error, RuntimeError) and str(error) == _NO_THREAD:
        return StoreUnavailableError(
            "no more threads can be started here; see `ulimit -u` and `ulimit -v`"
        )
    if not isinstance(error, OSError):
        return None
    if error.errno in _FILES:
        return StoreUnavailableError(
            f"no more files can be opened{_classify_os_error(error)}; see `ulimit -n`"
        )
    if error.errno in _MEMORY:
        return StoreUnavailableError(
            f"there is not enough memory just now{_classify_os_error(error)}"
        )
    if error.errno in _ROOM:
        return StorageFullError(
            f"no space or quota left{_classify_os_error(error)} ({error.strerror}); make"
            " room, then give the same"
            " command again."
        )
    return None


def _classify_os_error(error: OSError) -> str:
    return f" for {error.filename}" if isinstance(error.filename, str) else ""
