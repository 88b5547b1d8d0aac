"""Archive in an S3 bucket: WARC files are written to a local folder and moved to the bucket when
finished.
"""

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
    build_index_path,
    build_marker_path,
    build_part_path,
    is_written_here,
    lock_marker,
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

READ_AHEAD_BYTES = 128 * 1024
"""Bytes fetched from the bucket beyond the end of a WARC record. The reader of a record looks this
far ahead, so a second request is saved.
"""

INDEX_MAX_BYTES = 256 * 1024**2

logger = logging.getLogger(__name__)


class S3Archive:
    """Archive whose finished WARC files are in an S3 bucket.

    Implements the interfaces `Archive` and `WarcFiles` of `fonds.ports`. Entries are durable in
    `options.waiting_folder` when `write` returns. A finished file is uploaded with its index to
    `YYYY/MM/DD/NAME` in the bucket, read back, and removed from the folder. While the bucket is
    unavailable, work continues until the waiting files exceed `options.waiting_max_bytes`. Then
    `write` raises StoreUnavailableError, so that the step waits.
    """

    def __init__(
        self, url: str, options: ArchiveOptions, open_bucket: Callable[[str], WarcBucket] = S3Bucket
    ) -> None:
        """Open the archive in the bucket `url`, such as `s3://BUCKET/PREFIX` or
        `s3://KEY:SECRET@HOST/BUCKET/PREFIX`.

        Raises ConfigurationError if the bucket is not usable.
        """
        self._bucket = open_bucket(url)
        self._options = options
        self._mover = WarcUploader(options.waiting_folder, self._bucket)
        self._local_archive = FolderArchive(
            options.waiting_folder,
            options,
            on_finished=self._mover.wake,
            read_uploaded=self._read_moved,
        )

    def read(self, place: Place, sha1hex: str | None = None) -> Payload:
        """Return the decoded body stored at `place`. Records of uploaded WARC files are read with
        range requests.

        Raises DamagedInputError if the body does not have the SHA-1 `sha1hex`, PermanentError if it
        cannot be read, and TransientError if a retry may help.
        """
        return self._local_archive.read(place, sha1hex)

    def write(self, entries: Sequence[ArchiveEntry]) -> list[ArchivedRecord]:
        """Write entries (bodies to be archived, with metadata) durably to local WARC files. Return
        the location and WARC-Record-ID of each, in order.

        Raises StoreUnavailableError if more than `options.waiting_max_bytes` wait for upload,
        StorageFullError if no space is left, and ConfigurationError if the folder is not writable.
        """
        waiting_bytes = self._mover.count_waiting_bytes()
        if waiting_bytes > self._options.waiting_max_bytes:
            self._mover.wake()
            cause = self._mover.trouble or "the upload is slower than the writing"
            raise StoreUnavailableError(
                f"{waiting_bytes} bytes of WARC files in {self._options.waiting_folder} "
                f"are waiting to be moved to {self._bucket.display_url}, which is the "
                f"limit: {cause}"
            )
        return self._local_archive.write(entries)

    def recover(self, find_known_end: Callable[[str], int | None]) -> None:
        """Finish local WARC files that killed processes left open, and start to upload finished
        files.

        Each open file is truncated to `find_known_end(name)`, the offset at which its last recorded
        entry ends. A file for which the function returns None is removed.
        """
        self._local_archive.recover(find_known_end)
        if self._mover.list_waiting():
            self._mover.wake()

    def finish(self) -> None:
        """Finish all open WARC files and upload them. Files that cannot be uploaded stay in the
        local folder until the next start.
        """
        self._local_archive.finish()
        try:
            self._mover.move_all()
        except (FondsError, OSError) as error:
            logger.warning(
                "%d bytes of WARC files in %s wait for the next start: %s",
                self._mover.count_waiting_bytes(),
                self._options.waiting_folder,
                error,
            )

    def inspect(self, path: str, *, repair: bool = False) -> WarcFileState | None:
        """Return the size of a WARC file, local or in the bucket, and the records that its CDXJ
        index lists.

        Returns None if the file does not exist. With `repair`, an uploaded file is downloaded, its
        index is rebuilt, and both are uploaded again.
        """
        local_state = self._local_archive.inspect(path, repair=repair)
        if local_state is not None or "/" in path:
            return local_state
        size_bytes = self._bucket.get_size(build_key(path))
        if size_bytes is None:
            return None
        if repair:
            return self._download_for_reindex(path, size_bytes)
        index = build_key(build_index_path(Path(path)).name)
        index_bytes = self._bucket.get_size(index)
        if index_bytes is None or index_bytes > INDEX_MAX_BYTES:
            return WarcFileState(size_bytes)
        data = self._bucket.fetch(index, 0, index_bytes)[0] if index_bytes else b""
        return WarcFileState(
            size_bytes, list_index_records(data.decode("utf-8", "replace").splitlines())
        )

    def _download_for_reindex(self, name: str, size_bytes: int) -> WarcFileState:
        """Download a WARC file from the bucket, rebuild its CDXJ index, and start to upload both
        again.

        Meanwhile a locked marker keeps the file in the local folder. The returned size and records
        are read before the lock is released, because the file may be gone from the folder soon
        after.
        """
        folder = self._options.waiting_folder
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / name
        with lock_marker(target) as is_locked:
            if not is_locked:
                return WarcFileState(size_bytes, None, is_open=True)
            self._download(target, size_bytes)
            rebuild_index(target)
            state = WarcFileState(
                size_bytes,
                list_index_records(build_index_path(target).read_text("utf-8").splitlines()),
            )
        self._mover.wake()
        return state

    def _download(self, target: Path, size_bytes: int) -> None:
        # Download under a temporary name: any file under its final name is taken as complete and
        # moved to the bucket.
        part = build_part_path(target)
        with part.open("wb") as stream:
            for start in range(0, size_bytes, PIECE_BYTES):
                piece, _ = self._bucket.fetch(
                    build_key(target.name), start, min(PIECE_BYTES, size_bytes - start)
                )
                stream.write(piece)
        part.replace(target)

    def iter_names(self) -> Iterator[str]:
        """Yield the names of the archive's WARC files: sorted local files first, then those in the
        bucket.
        """
        local_names = set(self._local_archive.iter_names())
        yield from sorted(local_names)
        for key in self._bucket.iter_keys():
            name = key.rpartition("/")[2]
            if name.endswith(SUFFIX) and key == build_key(name) and name not in local_names:
                yield name

    def open(self, path: str) -> BinaryIO:
        """Open a WARC file for reading, by name or path. An uploaded file is read with range
        requests.

        Raises PermanentError if the file is missing or the path is invalid.
        """
        try:
            return self._local_archive.open(path)
        except PermanentError as error:
            if error.reason is not Reason.MISSING_SOURCE or "/" in path:
                raise
        return open_ranges(self._bucket, build_key(path), 0, PIECE_BYTES, max_bytes=FILE_MAX_BYTES)

    def list_unsent(self) -> Mapping[str, int]:
        """Return the finished local WARC files that wait for upload: size in bytes, including the
        index, by name.
        """
        return self._mover.get_waiting_sizes()

    def purge(
        self, name: str, tombstone: Tombstone, tick: Callable[[int], None] = lambda _: None
    ) -> PurgeResult:
        """Replace each record of a file under takedown by a tombstone, in the WARC file `name`. A
        local WARC is uploaded first.

        A WARC that is still being written is left unchanged, and the result says that the purge
        waits. `tick` is called with the number of bytes processed so far. Raises
        StoreUnavailableError if the bucket does not answer.
        """
        if not is_own_warc_name(name):
            return PurgeResult()
        folder = self._options.waiting_folder
        if (folder / name).exists() and build_marker_path(folder / name).exists():
            return PurgeResult(waiting_reason=f"{name} is still being written")
        with translate_errors(folder):
            return UploadedWarcPurge(folder, self._bucket, self._mover)(name, tombstone, tick)

    def close(self) -> None:
        """Stop the thread that uploads WARC files, without waiting for an upload in progress."""
        self._mover.close()

    def _read_moved(self, place: Place, body_max_bytes: int) -> Payload:
        """Read a record of an uploaded WARC file with range requests.

        Raises TransientError if the file is missing and another machine wrote it: it may not be
        uploaded yet.
        """
        read_max_bytes = body_max_bytes + RANGE_SLACK_BYTES
        offset = place.offset
        size_bytes = None if place.size_bytes is None else place.size_bytes + READ_AHEAD_BYTES
        try:
            with open_ranges(
                self._bucket, build_key(place.path), offset, size_bytes, max_bytes=read_max_bytes
            ) as stream:
                return read_record(stream, offset, body_max_bytes=body_max_bytes)
        except PermanentError as error:
            if error.reason is not Reason.MISSING_SOURCE or is_written_here(place.path):
                raise
            raise TransientError(
                f"{error.detail}. Another machine wrote it and may not have sent it yet"
            ) from error
