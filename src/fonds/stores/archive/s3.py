"""The archive in an S3 bucket: WARC files are written here, and moved there when they are finished."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from fonds.formats.warc import read_record
from fonds.model.archive import Archived, ArchiveEntry, Held, Payload, Purged
from fonds.model.capture import Place
from fonds.model.disposition import Reason
from fonds.model.errors import FondsError, PermanentError, StoreUnavailableError, TransientError
from fonds.model.record_offset import FILE_BYTES_MAX
from fonds.model.takedown import Tombstone
from fonds.stores.archive.elsewhere.by_scheme import RANGE_SLACK_BYTES
from fonds.stores.archive.elsewhere.ranges import open_ranges
from fonds.stores.archive.finished.looking import indexed
from fonds.stores.archive.finished.moving import Bucket, Mover, key_of
from fonds.stores.archive.finished.purging import is_named
from fonds.stores.archive.finished.purging_moved import PurgingMoved
from fonds.stores.archive.folder import FolderArchive, translated
from fonds.stores.archive.options import ArchiveOptions
from fonds.stores.archive.volume import (
    SUFFIX,
    index_again,
    index_of,
    marked,
    marker_of,
    part_of,
    written_here,
)
from fonds.stores.s3.bucket import PIECE_BYTES, S3Bucket

AHEAD_BYTES = 128 * 1024
"""Fetched beyond a record: its reader looks so far ahead, and then need not ask a second time."""

INDEX_BYTES_MAX = 256 * 1024**2

logger = logging.getLogger(__name__)


class S3Archive:
    """Implements the ports Archive and WarcFiles.

    What is written is durable in `options.waiting_folder` when `write` returns. A finished file goes to
    `YYYY/MM/DD/NAME` in the bucket with its index, is read back, and removed here. While the bucket's
    server is away, work goes on until `options.waiting_max_bytes` wait; then `write` raises
    StoreUnavailableError, so that the step waits.
    """

    def __init__(
        self, url: str, options: ArchiveOptions, opens: Callable[[str], Bucket] = S3Bucket
    ) -> None:
        """`url` as `s3.address` says. Raises ConfigurationError when the bucket cannot be used."""
        self._bucket = opens(url)
        self._options = options
        self._mover = Mover(options.waiting_folder, self._bucket)
        self._here = FolderArchive(
            options.waiting_folder, options, finished=self._mover.wake, moved=self._read_moved
        )

    def read(self, place: Place, sha1hex: str | None = None) -> Payload:
        """As the port says; what was moved is read by a range of its object."""
        return self._here.read(place, sha1hex)

    def write(self, entries: Sequence[ArchiveEntry]) -> list[Archived]:
        """As the port says. Raises StoreUnavailableError when too much waits here to be moved."""
        waiting_bytes = self._mover.waiting_bytes()
        if waiting_bytes > self._options.waiting_max_bytes:
            self._mover.wake()
            told = self._mover.trouble or "it is sent more slowly than it is written"
            raise StoreUnavailableError(
                f"{waiting_bytes} bytes of WARC files wait in {self._options.waiting_folder} to be moved"
                f" to {self._bucket.shown}, and no more may: {told}"
            )
        return self._here.write(entries)

    def recover(self, known: Callable[[str], int | None]) -> None:
        """As the port says; what a killed process did not come to move is moved then."""
        self._here.recover(known)
        if self._mover.waiting():
            self._mover.wake()

    def finish(self) -> None:
        """As the port says, and move everything. What cannot be moved now waits here for the next start."""
        self._here.finish()
        try:
            self._mover.move_all()
        except (FondsError, OSError) as error:
            logger.warning(
                "%d bytes of WARC files wait in %s for the next start: %s",
                self._mover.waiting_bytes(),
                self._options.waiting_folder,
                error,
            )

    def held(self, path: str, *, mend: bool = False) -> Held | None:
        """As the port says; what was moved is asked for in the bucket, and its index fetched from there.

        To be mended a file comes back here, and is moved again with its index."""
        here = self._here.held(path, mend=mend)
        if here is not None or "/" in path:
            return here
        size_bytes = self._bucket.size_of(key_of(path))
        if size_bytes is None:
            return None
        if mend:
            return self._bring_here(path, size_bytes)
        index = key_of(index_of(Path(path)).name)
        length = self._bucket.size_of(index)
        if length is None or length > INDEX_BYTES_MAX:
            return Held(size_bytes)
        data = self._bucket.fetch(index, 0, length)[0] if length else b""
        return Held(size_bytes, indexed(data.decode("utf-8", "replace").splitlines()))

    def _bring_here(self, name: str, size_bytes: int) -> Held:
        """A file of the bucket with its index made again, to be moved; the marker keeps it here meanwhile.

        What there is of it is told before it may be moved: soon after, nothing of it lies here.
        """
        folder = self._options.waiting_folder
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / name
        with marked(target) as mine:
            if not mine:
                return Held(size_bytes, None, is_open=True)
            self._fetch_here(target, size_bytes)
            index_again(target)
            held = Held(size_bytes, indexed(index_of(target).read_text("utf-8").splitlines()))
        self._mover.wake()
        return held

    def _fetch_here(self, target: Path, size_bytes: int) -> None:
        # Under its name it lies here whole or not at all: what is left of it by a killed process is moved.
        part = part_of(target)
        with part.open("wb") as stream:
            for start in range(0, size_bytes, PIECE_BYTES):
                piece, _ = self._bucket.fetch(
                    key_of(target.name), start, min(PIECE_BYTES, size_bytes - start)
                )
                stream.write(piece)
        part.replace(target)

    def names(self) -> Iterator[str]:
        """As the port says: those of this machine, then those of the bucket."""
        here = set(self._here.names())
        yield from sorted(here)
        for key in self._bucket.all_keys():
            name = key.rpartition("/")[2]
            if name.endswith(SUFFIX) and key == key_of(name) and name not in here:
                yield name

    def open(self, path: str) -> BinaryIO:
        """As the port says; what was moved is read by ranges of its object."""
        try:
            return self._here.open(path)
        except PermanentError as error:
            if error.reason is not Reason.MISSING_SOURCE or "/" in path:
                raise
        return open_ranges(self._bucket, key_of(path), 0, PIECE_BYTES, bytes_max=FILE_BYTES_MAX)

    def unsent(self) -> Mapping[str, int]:
        """What is finished and lies here."""
        return self._mover.waiting_sizes()

    def purge(
        self, name: str, tombstone: Tombstone, tick: Callable[[int], None] = lambda _: None
    ) -> Purged:
        """As the port says; what lies here as yet is moved first. Raises StoreUnavailableError."""
        if not is_named(name):
            return Purged()
        folder = self._options.waiting_folder
        if (folder / name).exists() and marker_of(folder / name).exists():
            return Purged(waits=f"{name} is being written to")
        with translated(folder):
            return PurgingMoved(folder, self._bucket, self._mover)(name, tombstone, tick)

    def close(self) -> None:
        """End the thread that moves files."""
        self._mover.close()

    def _read_moved(self, place: Place, body_max_bytes: int) -> Payload:
        """A record of a file that does not lie here."""
        bytes_max = body_max_bytes + RANGE_SLACK_BYTES
        offset = place.offset
        size_bytes = None if place.size_bytes is None else place.size_bytes + AHEAD_BYTES
        try:
            with open_ranges(
                self._bucket, key_of(place.path), offset, size_bytes, bytes_max=bytes_max
            ) as stream:
                return read_record(stream, offset, body_max_bytes=body_max_bytes)
        except PermanentError as error:
            if error.reason is not Reason.MISSING_SOURCE or written_here(place.path):
                raise
            raise TransientError(
                f"{error.detail}; another machine wrote it and may not have sent it yet"
            ) from error
