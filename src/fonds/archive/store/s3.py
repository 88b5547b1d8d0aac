"""The archive in an S3 bucket: WARC files are written here, and moved there when they are finished."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from fonds.archive.store.folder import FolderArchive, translate_errors
from fonds.archive.store.mover import WarcBucket, WarcUploader, build_key, list_index_records
from fonds.archive.store.options import ArchiveOptions
from fonds.archive.store.purge import (
    UploadedWarcPurge,
    is_own_warc_name,
)
from fonds.archive.store.remote import (
    RANGE_SLACK_BYTES,
    open_ranges,
)
from fonds.archive.store.volume import (
    SUFFIX,
    index_path,
    is_written_here,
    lock_marker,
    marker_path,
    part_path,
    rebuild_index,
)
from fonds.archive.warc.reader import read_record
from fonds.model.archive import ArchivedRecord, ArchiveEntry, Payload, PurgeResult, WarcFileState
from fonds.model.capture import Place
from fonds.model.disposition import Reason
from fonds.model.errors import (
    FondsError,
    PermanentError,
    StoreUnavailableError,
    TransientError,
)
from fonds.model.record_offset import FILE_MAX_BYTES
from fonds.model.restrictions import Tombstone
from fonds.stores.s3.bucket import PIECE_BYTES, S3Bucket

AHEAD_BYTES = 128 * 1024
"""Fetched beyond a record: its reader looks so far ahead, and then need not ask a second time."""

INDEX_MAX_BYTES = 256 * 1024**2

logger = logging.getLogger(__name__)


class S3Archive:
    """Implements the ports Archive and WarcFiles.

    What is written is durable in `options.waiting_folder` when `write` returns. A finished file goes to
    `YYYY/MM/DD/NAME` in the bucket with its index, is read back, and removed here. While the bucket's
    server is away, work goes on until `options.waiting_max_bytes` wait; then `write` raises
    StoreUnavailableError, so that the step waits.
    """

    def __init__(
        self, url: str, options: ArchiveOptions, opens: Callable[[str], WarcBucket] = S3Bucket
    ) -> None:
        """`url` as `s3.address` says. Raises ConfigurationError when the bucket cannot be used."""
        self._bucket = opens(url)
        self._options = options
        self._mover = WarcUploader(options.waiting_folder, self._bucket)
        self._local_archive = FolderArchive(
            options.waiting_folder,
            options,
            on_finished=self._mover.wake,
            read_uploaded=self._read_moved,
        )

    def read(self, place: Place, sha1hex: str | None = None) -> Payload:
        """As the port says; what was moved is read by a range of its object."""
        return self._local_archive.read(place, sha1hex)

    def write(self, entries: Sequence[ArchiveEntry]) -> list[ArchivedRecord]:
        """As the port says. Raises StoreUnavailableError when too much waits here to be moved."""
        waiting_bytes = self._mover.count_waiting_bytes()
        if waiting_bytes > self._options.waiting_max_bytes:
            self._mover.wake()
            told = self._mover.trouble or "it is sent more slowly than it is written"
            raise StoreUnavailableError(
                f"{waiting_bytes} bytes of WARC files wait in {self._options.waiting_folder} to be moved"
                f" to {self._bucket.display_url}, and no more may: {told}"
            )
        return self._local_archive.write(entries)

    def recover(self, find_known_end: Callable[[str], int | None]) -> None:
        """As the port says; what a killed process did not come to move is moved then."""
        self._local_archive.recover(find_known_end)
        if self._mover.list_waiting():
            self._mover.wake()

    def finish(self) -> None:
        """As the port says, and move everything. What cannot be moved now waits here for the next start."""
        self._local_archive.finish()
        try:
            self._mover.move_all()
        except (FondsError, OSError) as error:
            logger.warning(
                "%d bytes of WARC files wait in %s for the next start: %s",
                self._mover.count_waiting_bytes(),
                self._options.waiting_folder,
                error,
            )

    def inspect(self, path: str, *, repair: bool = False) -> WarcFileState | None:
        """As the port says; what was moved is asked for in the bucket, and its index fetched from there.

        To be mended a file comes back here, and is moved again with its index."""
        here = self._local_archive.inspect(path, repair=repair)
        if here is not None or "/" in path:
            return here
        size_bytes = self._bucket.get_size(build_key(path))
        if size_bytes is None:
            return None
        if repair:
            return self._download_for_reindex(path, size_bytes)
        index = build_key(index_path(Path(path)).name)
        length = self._bucket.get_size(index)
        if length is None or length > INDEX_MAX_BYTES:
            return WarcFileState(size_bytes)
        data = self._bucket.fetch(index, 0, length)[0] if length else b""
        return WarcFileState(
            size_bytes, list_index_records(data.decode("utf-8", "replace").splitlines())
        )

    def _download_for_reindex(self, name: str, size_bytes: int) -> WarcFileState:
        """A file of the bucket with its index made again, to be moved; the marker keeps it here meanwhile.

        What there is of it is told before it may be moved: soon after, nothing of it lies here.
        """
        folder = self._options.waiting_folder
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / name
        with lock_marker(target) as mine:
            if not mine:
                return WarcFileState(size_bytes, None, is_open=True)
            self._download(target, size_bytes)
            rebuild_index(target)
            held = WarcFileState(
                size_bytes, list_index_records(index_path(target).read_text("utf-8").splitlines())
            )
        self._mover.wake()
        return held

    def _download(self, target: Path, size_bytes: int) -> None:
        # Under its name it lies here whole or not at all: what is left of it by a killed process is moved.
        part = part_path(target)
        with part.open("wb") as stream:
            for start in range(0, size_bytes, PIECE_BYTES):
                piece, _ = self._bucket.fetch(
                    build_key(target.name), start, min(PIECE_BYTES, size_bytes - start)
                )
                stream.write(piece)
        part.replace(target)

    def iter_names(self) -> Iterator[str]:
        """As the port says: those of this machine, then those of the bucket."""
        here = set(self._local_archive.iter_names())
        yield from sorted(here)
        for key in self._bucket.iter_keys():
            name = key.rpartition("/")[2]
            if name.endswith(SUFFIX) and key == build_key(name) and name not in here:
                yield name

    def open(self, path: str) -> BinaryIO:
        """As the port says; what was moved is read by ranges of its object."""
        try:
            return self._local_archive.open(path)
        except PermanentError as error:
            if error.reason is not Reason.MISSING_SOURCE or "/" in path:
                raise
        return open_ranges(self._bucket, build_key(path), 0, PIECE_BYTES, max_bytes=FILE_MAX_BYTES)

    def list_unsent(self) -> Mapping[str, int]:
        """What is finished and lies here."""
        return self._mover.get_waiting_sizes()

    def purge(
        self, name: str, tombstone: Tombstone, tick: Callable[[int], None] = lambda _: None
    ) -> PurgeResult:
        """As the port says; what lies here as yet is moved first. Raises StoreUnavailableError."""
        if not is_own_warc_name(name):
            return PurgeResult()
        folder = self._options.waiting_folder
        if (folder / name).exists() and marker_path(folder / name).exists():
            return PurgeResult(waits=f"{name} is being written to")
        with translate_errors(folder):
            return UploadedWarcPurge(folder, self._bucket, self._mover)(name, tombstone, tick)

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
                self._bucket, build_key(place.path), offset, size_bytes, max_bytes=bytes_max
            ) as stream:
                return read_record(stream, offset, body_max_bytes=body_max_bytes)
        except PermanentError as error:
            if error.reason is not Reason.MISSING_SOURCE or is_written_here(place.path):
                raise
            raise TransientError(
                f"{error.detail}; another machine wrote it and may not have sent it yet"
            ) from error
