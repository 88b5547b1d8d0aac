"""A body that lies in a file open for reading."""

from __future__ import annotations

import os
from dataclasses import dataclass

from fonds.model.errors import TransientError


@dataclass(frozen=True, slots=True)
class OpenBody:
    """A body in a file open for reading, as an isolated process is handed it: no path, no way to write.

    `descriptor` is this process's number for it; where it was handed to, that process's own.
    """

    descriptor: int
    size_bytes: int

    def whole(self, what: str) -> bytes:
        """All its bytes. Raises TransientError, with `what` they are, when not all can be read."""
        try:
            data = os.pread(self.descriptor, self.size_bytes, 0)
        except OSError as error:
            raise TransientError(f"{what} cannot be read here: {error.strerror}") from error
        if len(data) != self.size_bytes:
            raise TransientError(f"{len(data)} of the {self.size_bytes} bytes of {what} came here")
        return data
