"""Archive in a local folder: writes WARC files to the folder, and reads bodies from any
location.
"""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from fonds.archive.store.mover import inspect_local_warc
from fonds.archive.store.options import ArchiveOptions
from fonds.archive.store.volume import (
    SUFFIX,
    Volume,
    build_marker_path,
    build_part_path,
    iter_abandoned,
    recover_file,
)
from fonds.model.archive import ArchivedRecord, ArchiveEntry, Payload, PurgeResult, WarcFileState
from fonds.model.capture import Place
from fonds.model.disposition import Reason
from fonds.model.errors import (
    ConfigurationError,
    PermanentError,
    StorageFullError,
    StoreUnavailableError,
    cause_of,
)

if TYPE_CHECKING:
    from fonds.archive.store.payloads import PlaceReader, ReadUploaded
    from fonds.archive.warc.media_cloud import MediaCloudWriter
    from fonds.archive.warc.writer import AppendableFile, RecordWriter
    from fonds.model.restrictions import Tombstone

DEFAULTS = ArchiveOptions()
PREFIXES_OPEN_MAX = 8

_STORAGE_FULL_CODES = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_FORBIDDEN_CODES = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST})


class FolderArchive:
    """Archive whose WARC files are all in one local folder, without subfolders.

    Implements the interfaces `Archive` and `WarcFiles` of `fonds.ports`. Several processes may
    share the folder: each writes its own files.
    """

    def __init__(
        self,
        folder: Path,
        options: ArchiveOptions = DEFAULTS,
        *,
        on_finished: Callable[[], None] = lambda: None,
        read_uploaded: ReadUploaded | None = None,
    ) -> None:
        """Open the archive in a folder. No folder or file is created before the first body is
        written.

        `on_finished` is called each time a WARC file is finished. `read_uploaded` reads records of
        WARC files that Fonds wrote here and then moved to another store; None if files are never
        moved.
        """
        self._finished = on_finished
        self._folder = folder
        self._options = options
        self._lock = threading.Lock()
        self._open: dict[str, Volume] = {}
        self._full: list[Volume] = []
        self._read_moved = read_uploaded

    @cached_property
    def _place_reader(self) -> PlaceReader:
        """Reader of bodies from any location. It is created on first use, because most commands
        read no body.
        """
        from fonds.archive.store.payloads import PlaceReader
        from fonds.archive.store.remote import create_remote_bodies
        from fonds.fetching.addresses import choose_address_check
        from fonds.fetching.service_client import ServiceClient

        options = self._options
        is_allowed = choose_address_check(allows_private=options.allows_private_addresses)
        client = ServiceClient(is_allowed, credentials=options.credentials)
        remote_bodies = create_remote_bodies(
            client, options.remotes, options.replay_url, options.petabox_url
        )
        body_max_bytes = options.body_max_bytes
        return PlaceReader(
            self._folder,
            remote_bodies,
            self._read_moved,
            body_max_bytes=body_max_bytes,
            list_paths=options.list_paths,
        )

    def read(self, place: Place, sha1hex: str | None = None) -> Payload:
        """Return the decoded body stored at `place`.

        Raises DamagedInputError if the body does not have the SHA-1 `sha1hex`, PermanentError if it
        cannot be read, and TransientError if a retry may help.
        """
        return self._place_reader.read(place, sha1hex)

    def write(self, entries: Sequence[ArchiveEntry]) -> list[ArchivedRecord]:
        """Append all entries (bodies to be archived, with metadata) durably to WARC files.

        Returns the location and WARC-Record-ID of each entry, in order. On an error the files are
        restored to their previous content. Raises StorageFullError if no space is left,
        ConfigurationError if the folder is not writable, and StoreUnavailableError for other errors
        of the file system.
        """
        if not entries:
            return []
        with self._lock, translate_errors(self._folder):
            self._finish_full()
            batch = _WriteBatch(self._open)
            try:
                archived_records = [self._append(entry, batch) for entry in entries]
                batch.sync()
            except BaseException:
                batch.undo()
                raise
            self._full += batch.full
            # The prefix written last goes last. Only the files of the last few prefixes stay open.
            older = {
                prefix: volume for prefix, volume in self._open.items() if prefix not in batch.open
            }
            self._open = {**older, **batch.open}
            for prefix in list(self._open)[:-PREFIXES_OPEN_MAX]:
                self._full.append(self._open.pop(prefix))
            return archived_records

    def _finish_full(self) -> None:
        while self._full:
            self._full[0].finish()
            del self._full[0]
            self._finished()

    def _create_writer(self, out: AppendableFile) -> RecordWriter | MediaCloudWriter:
        """Create the writer of records for one WARC file. Imports happen here because most commands
        write no file.
        """
        from fonds.archive.warc.media_cloud import MediaCloudWriter
        from fonds.archive.warc.writer import RecordWriter

        writer_class = MediaCloudWriter if self._options.is_for_media_cloud else RecordWriter
        return writer_class(out, version=self._options.version, agent=self._options.agent)

    def _append(self, entry: ArchiveEntry, batch: _WriteBatch) -> ArchivedRecord:
        prefix = entry.prefix or self._options.prefix
        volume = batch.get_volume(prefix)
        if volume is None or self._is_full(volume, entry):
            volume = Volume(self._folder, prefix, self._options.clock(), self._create_writer)
            batch.begin(prefix, volume)
        return volume.append(entry)

    def _is_full(self, volume: Volume, entry: ArchiveEntry) -> bool:
        """Return whether `entry` must go to a new WARC file, because it would exceed a limit of the
        open file `volume`.

        The limits are the maximum size of a WARC file and its maximum number of entries.
        """
        options = self._options
        from fonds.archive.warc.writer import estimate_max_bytes

        size_with_entry = volume.size_bytes + estimate_max_bytes(entry)
        is_too_large = volume.entry_count > 0 and size_with_entry > options.file_max_bytes
        return is_too_large or volume.entry_count >= options.stories_max

    def recover(self, find_known_end: Callable[[str], int | None]) -> None:
        """Truncate and finish the WARC files that killed processes left open. A finished file has
        its CDXJ index.

        Each file is truncated to `find_known_end(name)`, the offset at which its last recorded
        entry ends. A file for which the function returns None is removed. Files that another living
        process is writing are left alone.
        """
        with self._lock, translate_errors(self._folder):
            for path in iter_abandoned(self._folder):
                recover_file(path, find_known_end(path.name))

    def inspect(self, path: str, *, repair: bool = False) -> WarcFileState | None:
        """Return the size of a WARC file and the records that its CDXJ index lists, or None if the
        file does not exist.

        A name without a slash is a file in the archive's folder. Only such a file has an index that
        is read. With `repair`, its index is rebuilt first if the WARC is finished.
        """
        is_own = "/" not in path
        if "://" in path or "\x00" in path:
            return WarcFileState(None)
        if not is_own and not path.startswith("/"):
            return self._inspect_by_name(path)
        with translate_errors(self._folder):
            return inspect_local_warc(self._folder / path, is_own=is_own, repair=repair)

    def _inspect_by_name(self, name: str) -> WarcFileState | None:
        """Inspect the file to which the name of a WARC written by another program refers.

        If several files may have the name, the result is for the largest. The result has no size if
        Fonds knows no path for the name, and it is None if no file exists at the known paths.
        """
        paths: list[str] = []
        with suppress(PermanentError):
            paths += self._options.list_paths(name)
        states = [state for path in paths if (state := self.inspect(path)) is not None]
        if not paths:
            return WarcFileState(None)
        return max(states, key=lambda state: state.size_bytes or 0, default=None)

    def iter_names(self) -> Iterator[str]:
        """Yield the names of the WARC files in the archive's folder, sorted."""
        with translate_errors(self._folder):
            yield from sorted(path.name for path in self._folder.glob(f"*{SUFFIX}"))

    def open(self, path: str) -> BinaryIO:
        """Open a WARC file for reading, by name or absolute path.

        Raises PermanentError if the file is missing, the path is invalid, or the file is a pipe or
        device.
        """
        from fonds.archive.store.payloads import MISSING_WARC_MESSAGE, open_regular

        leads_up = not path.startswith("/") and ".." in path.split("/")
        if "\x00" in path or "://" in path or leads_up:
            raise PermanentError(
                Reason.UNREADABLE_SOURCE, f"{path}: not an absolute path or a WARC name"
            )
        if "/" in path and not path.startswith("/"):
            try:
                for known_path in self._options.list_paths(path):
                    with suppress(PermanentError):
                        return self.open(known_path)
            except PermanentError as error:
                raise PermanentError(error.reason, f"{path}: {error.detail}") from error
            raise PermanentError(Reason.MISSING_SOURCE, f"{path}: {MISSING_WARC_MESSAGE}")
        return open_regular(self._folder / path)

    def list_unsent(self) -> Mapping[str, int]:
        """Return an empty mapping, because files in a folder archive are never uploaded."""
        return {}

    def purge(
        self, name: str, tombstone: Tombstone, tick: Callable[[int], None] = lambda _: None
    ) -> PurgeResult:
        """Replace each record of a file under takedown by a tombstone, in the WARC file `name`.

        A WARC that is still being written is left unchanged, and the result says that the purge
        waits. `tick` is called with the number of bytes processed so far.
        """
        from fonds.archive.store.purge import is_own_warc_name, purge_local_warc

        path = self._folder / name
        if not is_own_warc_name(name):
            return PurgeResult()
        if build_marker_path(path).exists():
            return PurgeResult(waiting_reason=f"{name} is still being written")
        with translate_errors(self._folder):
            if path.is_file():
                return purge_local_warc(path, tombstone, tick)
            build_part_path(path).unlink(missing_ok=True)
        return PurgeResult()

    def finish(self) -> None:
        """Finish all open WARC files: write their CDXJ indexes and remove their markers
        `NAME.warc.gz.open`.

        Files that are open for reading are closed too.
        """
        self._place_reader.close()
        with self._lock, translate_errors(self._folder):
            self._full += self._open.values()
            self._open = {}
            self._finish_full()


class _WriteBatch:
    """WARC files to which one batch of entries is written, with their sizes before the batch.

    If writing the batch fails, the files are truncated to these sizes.
    """

    def __init__(self, volumes: Mapping[str, Volume]) -> None:
        self._previous_sizes = volumes
        self._ends: dict[str, tuple[int, int]] = {}
        self._begun: list[Volume] = []
        self.open: dict[str, Volume] = {}
        self.full: list[Volume] = []

    def get_volume(self, prefix: str) -> Volume | None:
        """Return the open WARC file whose name begins with `prefix`, or None if there is none.

        When the batch first uses a file, the size of the file is remembered so that the batch can
        be undone.
        """
        volume = self.open.pop(prefix, None)
        if volume is None and (volume := self._previous_sizes.get(prefix)) is not None:
            self._ends[prefix] = volume.size_bytes, volume.entry_count
        if volume is not None:
            self.open[prefix] = volume
        return volume

    def begin(self, prefix: str, volume: Volume) -> None:
        """Add the new WARC file `volume` to the batch. The batch then writes entries with this
        prefix to it.

        The file that was open for the prefix before is added to the full files.
        """
        self._begun.append(volume)
        if (previous := self.open.pop(prefix, None)) is not None:
            self.full.append(previous)
        self.open[prefix] = volume

    def sync(self) -> None:
        """Write all WARC files of the batch durably to disk."""
        for volume in (*self.full, *self.open.values()):
            volume.sync()

    def undo(self) -> None:
        """Remove the WARC files that the batch created, and truncate the others to their earlier
        sizes.
        """
        for volume in self._begun:
            volume.discard()
        for prefix, (size_bytes, stories) in self._ends.items():
            self._previous_sizes[prefix].cut(size_bytes, stories)


@contextmanager
def translate_errors(folder: Path) -> Iterator[None]:
    """Translate file system errors of an archive folder that are raised inside the context.

    Raises StorageFullError if no space is left, ConfigurationError if the folder is not writable,
    and StoreUnavailableError for other errors.
    """
    try:
        yield
    except OSError as error:
        if error.errno in _STORAGE_FULL_CODES:
            raise StorageFullError(
                f"the archive folder {folder} is full. Free some space, then run the same "
                "command again"
            ) from error
        if error.errno in _FORBIDDEN_CODES:
            raise ConfigurationError(
                f"cannot write to the archive folder {folder} ({error.strerror}). Check "
                "its permissions"
            ) from error
        raise StoreUnavailableError(
            f"cannot write to the archive folder {folder} right now: {cause_of(error)}"
        ) from error
