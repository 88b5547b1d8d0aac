"""Which errors are a shortage of disk space, memory, files or threads."""

from __future__ import annotations

import errno
import os
import platform
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from fonds.model.disposition import Reason
from fonds.model.errors import (
    CAUSES_MAX,
    FondsError,
    PermanentError,
    StorageFullError,
    StoreUnavailableError,
    TransientError,
    find_shortage,
)
from fonds.stores.sqlite_file import explain


def fault(number: int, name: str | None = None) -> OSError:
    return OSError(number, os.strerror(number), name)


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (fault(errno.EMFILE), StoreUnavailableError, "ulimit -n"),
        (fault(errno.ENFILE, "/a/file"), StoreUnavailableError, "/a/file"),
        (fault(errno.ENOMEM), StoreUnavailableError, "memory"),
        (MemoryError(), StoreUnavailableError, "memory"),
        (RuntimeError("can't start new thread"), StoreUnavailableError, "threads"),
        (fault(errno.ENOSPC, "/a/file"), StorageFullError, "/a/file"),
        (fault(errno.EDQUOT), StorageFullError, "quota"),
        (fault(errno.EFBIG), StorageFullError, "Free some space"),
        (StorageFullError("full"), StorageFullError, "full"),
    ],
)
def test_shortages_are_found_with_their_kind(
    error: Exception, kind: type[FondsError], message: str
) -> None:
    shortage = find_shortage(error)
    assert type(shortage) is kind
    assert message in str(shortage)


@pytest.mark.parametrize(
    "error",
    [
        fault(errno.ENOENT),
        fault(errno.EACCES),
        fault(errno.EIO),
        RuntimeError("another"),
        PermanentError(Reason.BROKEN_PDF, "broken"),
        TransientError("later"),
        ValueError(),
    ],
)
def test_other_errors_are_not_shortages(error: Exception) -> None:
    assert find_shortage(error) is None


def test_a_shortage_is_found_in_the_cause_of_an_error() -> None:
    outer_error, inner_error = (
        PermanentError(Reason.UNREADABLE_SOURCE, "cannot be read"),
        TransientError("x"),
    )
    outer_error.__cause__, inner_error.__cause__ = inner_error, fault(errno.EMFILE)
    assert isinstance(find_shortage(outer_error), StoreUnavailableError)


def test_the_context_of_an_error_is_ignored() -> None:
    error = ValueError()
    error.__context__ = fault(errno.EMFILE)
    assert find_shortage(error) is None


def test_a_cycle_of_causes_ends() -> None:
    first, second = ValueError(), ValueError()
    first.__cause__, second.__cause__ = second, first
    assert find_shortage(first) is None
    assert CAUSES_MAX < 100


QUOTA = """
import errno, sys
sys.path[:] = {paths!r}
from pathlib import Path
from fonds.isolation import privileges, seccomp
from fonds.isolation.seccomp import ARCHITECTURES
from fonds.queues.sqlite import SqliteQueue
from fonds.model.message import Message, Subscription
queue = SqliteQueue(Path({path!r}))
queue.declare([Subscription("s", "t", "p")])
privileges.forbid_new_privileges()
seccomp.install_program([
    (seccomp.LOAD, 0, 0, 0),
    (seccomp.EQUAL, 0, 1, {pwrite}),
    (seccomp.RETURN, 0, 0, seccomp.ERROR | {number}),
    (seccomp.RETURN, 0, 0, seccomp.ALLOW),
])
try:
    queue.put("t", [Message("1", b"x" * 100_000)])
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "aarch64"),
    reason="the filter needs the system call number of pwrite",
)
@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.EDQUOT, "StorageFullError"),
        (errno.ENOSPC, "StorageFullError"),
        (errno.EIO, "StoreUnavailableError"),
    ],
)
def test_sqlite_errors_distinguish_a_quota_from_a_broken_disk(
    tmp_path: Path, number: int, kind: str
) -> None:
    """A seccomp filter makes the kernel refuse the write."""
    pwrite = {"x86_64": 18, "aarch64": 68}[platform.machine()]
    path = str(tmp_path / "queue.sqlite")
    code = QUOTA.format(
        paths=[entry for entry in sys.path if entry], path=path, pwrite=pwrite, number=number
    )
    result = subprocess.run(
        (sys.executable, "-c", code), capture_output=True, text=True, check=False
    )
    assert result.stdout.startswith(kind), result.stdout + result.stderr


def test_sqlite_errors_distinguish_missing_descriptors_from_missing_rights(tmp_path: Path) -> None:
    error = sqlite3.OperationalError("unable to open database file")
    error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
    import resource

    soft_limit, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    explanations = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard_limit))
    try:
        explanations.append(explain(error, tmp_path / "queue.sqlite"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft_limit, hard_limit))
    assert isinstance(explanations[0], StoreUnavailableError)
    assert not isinstance(explain(error, tmp_path / "queue.sqlite"), StoreUnavailableError)
