"""One worker process for one home: the second is refused, and told who holds it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType

from fonds.model.errors import ConfigurationError

LOCK_FILE = "lock"


class HomeLock:
    """Held while the context lasts; the kernel lets go when the process ends, however it ends."""

    def __init__(self, home: Path) -> None:
        self._path = home / LOCK_FILE
        self._handle: int | None = None

    def __enter__(self) -> HomeLock:
        """Raises ConfigurationError when another process works on the home."""
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(handle, 32).decode("ascii", "replace").strip() or "unknown"
            os.close(handle)
            raise ConfigurationError(
                f"{self._path.parent} is in use by process {holder}. Wait for it, or choose another --home."
            ) from error
        os.ftruncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
        self._handle = handle
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
