"""What was taken down, replaced in a WARC of ours that was moved to a bucket.

It is fetched, written anew and sent again under its own key: a bucket shows an object whole, as it was or as
it is, and since no record moves, whoever reads a part of it finds the same bytes in both.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fonds.model.archive import Purged
from fonds.model.errors import StoreUnavailableError
from fonds.model.takedown import Tombstone
from fonds.stores.archive.finished.moving import Bucket, Mover, key_of
from fonds.stores.archive.finished.purging import (
    PIECE_BYTES,
    Tick,
    bury,
    counted,
    doomed,
    without,
    write_part,
)
from fonds.stores.archive.volume import index_of, marked, part_of, written_here


@dataclass(frozen=True, slots=True)
class PurgingMoved:
    """Purges WARCs of a bucket by way of a folder of this machine, where one of them has room."""

    folder: Path
    bucket: Bucket
    mover: Mover

    def __call__(self, name: str, tombstone: Tombstone, tick: Tick) -> Purged:
        """As the port's `purge` says, of a file that is finished. Raises OSError too."""
        if not self.mover.move(name):
            return Purged(waits=f"{name} is being sent to {self.bucket.shown} by another process")
        size_bytes = self.bucket.size_of(key_of(name))
        if size_bytes is None:
            there = f"{name} is neither here nor in {self.bucket.shown}"
            told = f"{there}: another machine wrote it and may not have sent it yet"
            return Purged(waits="" if written_here(name) else told)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / name
        with marked(path) as mine:
            if not mine:
                return Purged(waits=f"{name} is being fetched by another process")
            try:
                return self._purge(path, size_bytes, tombstone, tick)
            finally:
                part_of(path).unlink(missing_ok=True)
                part_of(index_of(path)).unlink(missing_ok=True)

    def _purge(self, path: Path, size_bytes: int, tombstone: Tombstone, tick: Tick) -> Purged:
        part = part_of(path)
        self._fetch(key_of(path.name), part, size_bytes, tick)
        with part.open("rb") as stream:
            found = doomed(stream, path.name, tombstone.sha1hex)
        if found:
            bury(part, path.name, found, tombstone)
            tick(size_bytes)
            self.mover.keep(part, path.name)
        if found is not None:
            self._purge_index(index_of(path), tombstone.sha1hex)
        return counted(found)

    def _purge_index(self, index: Path, sha1hex: str) -> None:
        part, key = part_of(index), key_of(index.name)
        size_bytes = self.bucket.size_of(key)
        if not size_bytes:
            return
        self._fetch(key, part, size_bytes, lambda _: None)
        before = part.read_bytes()
        after = without(before, sha1hex)
        if after != before:
            write_part(part, after)
            self.mover.keep(part, index.name)

    def _fetch(self, key: str, part: Path, size_bytes: int, tick: Tick) -> None:
        with part.open("wb") as stream:
            for start in range(0, size_bytes, PIECE_BYTES):
                wanted = min(PIECE_BYTES, size_bytes - start)
                piece, whole = self.bucket.fetch(key, start, wanted)
                if len(piece) != wanted or whole != size_bytes:
                    raise StoreUnavailableError(f"{key} of {self.bucket.shown} changed meanwhile")
                stream.write(piece)
                tick(start + wanted)
