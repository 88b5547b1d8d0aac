"""An archive whose bodies are read in another way than by itself: out of the spool, out of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import BinaryIO, Protocol

from fonds.model.archive import Archived, ArchiveEntry, Held, Payload, Purged
from fonds.model.capture import Place
from fonds.model.takedown import Tombstone
from fonds.ports import WarcArchive
from fonds.ports.closing import close


class BodyReader(Protocol):
    """Reads bodies as the port Archive says."""

    def read(self, place: Place, sha1hex: str | None = None) -> Payload:
        """The body at a place."""


class ReadOver:
    """Implements the ports Archive and WarcFiles: bodies come from `bodies`, all else from `archive`."""

    def __init__(self, archive: WarcArchive, bodies: BodyReader) -> None:
        self._archive = archive
        self._bodies = bodies

    def read(self, place: Place, sha1hex: str | None = None) -> Payload:
        """As the port says."""
        return self._bodies.read(place, sha1hex)

    def write(self, entries: Sequence[ArchiveEntry]) -> list[Archived]:
        """As the port says."""
        return self._archive.write(entries)

    def recover(self, known: Callable[[str], int | None]) -> None:
        """As the port says."""
        self._archive.recover(known)

    def finish(self) -> None:
        """As the port says."""
        self._archive.finish()

    def names(self) -> Iterator[str]:
        """As the port says."""
        return self._archive.names()

    def open(self, path: str) -> BinaryIO:
        """As the port says."""
        return self._archive.open(path)

    def unsent(self) -> Mapping[str, int]:
        """As the port says."""
        return self._archive.unsent()

    def purge(
        self, name: str, tombstone: Tombstone, tick: Callable[[int], None] = lambda _: None
    ) -> Purged:
        """As the port says."""
        return self._archive.purge(name, tombstone, tick)

    def held(self, path: str, *, mend: bool = False) -> Held | None:
        """As the port says."""
        return self._archive.held(path, mend=mend)

    def close(self) -> None:
        """Close the archive below, where it can be closed."""
        close(self._archive)
