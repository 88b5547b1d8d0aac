"""Lock on a library folder (home): held exclusively by one process, or shared by several."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType

from fonds.model.errors import ConfigurationError

LOCK_FILE = "lock"
HOME_MODE = 0o700


def create_home(home: Path) -> None:
    """Create the library folder (home) if it is missing. Only its owner may read it.

    Raises ConfigurationError if the folder cannot be created.
    """
    try:
        home.mkdir(mode=HOME_MODE, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot create the home {home}: {error.strerror}. Choose another --home."
        ) from error


class HomeLock:
    """Lock on a library folder (home), held while the context lasts. The kernel releases it however
    the process ends.

    With `shared`, several processes can hold the lock at once: workers of single steps, and whole
    pipelines whose stores support several processes. Otherwise the lock is exclusive.
    """

    def __init__(self, home: Path, *, is_shared: bool = False) -> None:
        self._path = home / LOCK_FILE
        self._shared = is_shared
        self._handle: int | None = None

    def __enter__(self) -> HomeLock:
        """Take the lock on the library folder without waiting.

        Raises ConfigurationError if another process holds a conflicting lock, or the lock file
        cannot be written.
        """
        try:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise ConfigurationError(
                f"Cannot write {self._path.name} in {self._path.parent} "
                f"({error.strerror}). Make it writable for this user or choose another "
                "--home."
            ) from error
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if self._shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(handle, 32).decode("ascii", "replace").strip()
            os.close(handle)
            raise ConfigurationError(
                f"{self._path.parent} is in use by {holder or 'workers'}. Wait for it or "
                "choose another --home."
            ) from error
        os.ftruncate(handle, 0)
        if not self._shared:
            os.write(handle, f"process {os.getpid()}".encode())
        self._handle = handle
        return self

    def fileno(self) -> int:
        """Return the file descriptor of the library folder's lock file.

        A child process that inherits the descriptor holds the lock too. Raises ValueError if the
        lock is not held.
        """
        if self._handle is None:
            raise ValueError("the lock is not held")
        return self._handle

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
