"""Files that lie elsewhere, as who reads lists asks for them: what there is, and one of them on this disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

SCHEMES = ("http", "https", "s3")


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """One file. `version` tells it from what lay there before: its time, or what its server calls it.
    `error` says why it cannot be read, None where it can; `missing` that there is none."""

    url: str
    size_bytes: int = 0
    version: str = ""
    error: str | None = None
    missing: bool = False


class Remotes(Protocol):
    """What reaches other machines."""

    def find(self, url: str) -> Iterator[RemoteFile]:
        """Yield the file at a URL; for `s3://BUCKET/PREFIX*` all that begin so, in order of name. What cannot
        be had is one with an error. To have a file `fetched` before the next is wanted costs no request.
        """

    def fetched(self, url: str, target: Path) -> Path:
        """Return the file at `target`, fetched once and whole. Raises PermanentError and OSError."""


def is_remote(name: str) -> bool:
    """Whether a person means a file of another machine."""
    return urlsplit(name).scheme.lower() in SCHEMES if "://" in name[:12] else False
