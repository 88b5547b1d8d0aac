"""The head of an HTTP response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HttpHead:
    """Status line and headers of an HTTP response as they stand in a record; header names as written."""

    status: int
    status_line: str
    headers: Sequence[tuple[str, str]] = ()

    def get(self, name: str) -> str | None:
        """The first header of this name, whatever its case."""
        lowered = name.lower()
        return next((value for key, value in self.headers if key.lower() == lowered), None)

    @property
    def charset(self) -> str | None:
        """The charset parameter of the Content-Type, as the server wrote it; Media Cloud's archives call it
        `encoding`."""
        declared = self.get("content-type")
        if not declared:
            return None
        from email.message import Message  # It costs as much as all else of the model.

        headers = Message()
        headers["Content-Type"] = declared.encode("ascii", "replace").decode()
        charset = headers.get_param("charset") or headers.get_param("encoding")
        return charset if isinstance(charset, str) and charset else None
