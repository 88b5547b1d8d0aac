"""The archive in a folder: bodies read from any place, WARC files written there."""

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
    iter_abandoned,
    marker_path,
    part_path,
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

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST})


class FolderArchive:
    """Implements the ports Archive and WarcFiles; our files lie side by side in `folder`, which may be
    shared: each process writes files of its own."""

    def __init__(
        self,
        folder: Path,
        options: ArchiveOptions = DEFAULTS,
        *,
        on_finished: Callable[[], None] = lambda: None,
        read_uploaded: ReadUploaded | None = None,
    ) -> None:
        """Nothing is written, nor the folder made, before the first body is.

        `on_finished` is called when a file is; `read_uploaded` reads files of ours that are no longer here.
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
        """Made when the first body is read: most commands read none."""
        from fonds.archive.store.payloads import PlaceReader
        from fonds.archive.store.remote import open_elsewhere
        from fonds.fetching.addresses import is_public
        from fonds.fetching.http_client import HttpClient

        options = self._options
        allowed = (lambda _: True) if options.allows_private_addresses else is_public
        web = HttpClient(allowed, credentials=options.credentials)
        away = open_elsewhere(web, options.remotes, options.replay_url, options.petabox_url)
        limit = options.body_max_bytes
        return PlaceReader(
            self._folder,
            away,
            self._read_moved,
            body_max_bytes=limit,
            list_paths=options.list_paths,
        )

    def read(self, place: Place, sha1hex: str | None = None) -> Payload:
        """The body at `place`, codings undone; as the port says."""
        return self._place_reader.read(place, sha1hex)

    def write(self, entries: Sequence[ArchiveEntry]) -> list[ArchivedRecord]:
        """Append all entries and make them durable, or leave the files as they were and raise.

        Raises StorageFullError, ConfigurationError when the folder cannot be written, and
        StoreUnavailableError.
        """
        if not entries:
            return []
        with self._lock, translate_errors(self._folder):
            self._finish_full()
            batch = _WriteBatch(self._open)
            try:
                archived = [self._append(entry, batch) for entry in entries]
                batch.sync()
            except BaseException:
                batch.undo()
                raise
            self._full += batch.full
            # The one written to last stands last; of many prefixes the others are not kept open.
            older = {prefix: one for prefix, one in self._open.items() if prefix not in batch.open}
            self._open = {**older, **batch.open}
            for prefix in list(self._open)[:-PREFIXES_OPEN_MAX]:
                self._full.append(self._open.pop(prefix))
            return archived

    def _finish_full(self) -> None:
        while self._full:
            self._full[0].finish()
            del self._full[0]
            self._finished()

    def _create_writer(self, out: AppendableFile) -> RecordWriter | MediaCloudWriter:
        """Loaded when a file is begun: most commands write none."""
        from fonds.archive.warc.media_cloud import MediaCloudWriter
        from fonds.archive.warc.writer import RecordWriter

        kind = MediaCloudWriter if self._options.is_for_media_cloud else RecordWriter
        return kind(out, version=self._options.version, agent=self._options.agent)

    def _append(self, entry: ArchiveEntry, batch: _WriteBatch) -> ArchivedRecord:
        prefix = entry.prefix or self._options.prefix
        volume = batch.get_volume(prefix)
        if volume is None or self._is_full(volume, entry):
            volume = Volume(self._folder, prefix, self._options.clock(), self._create_writer)
            batch.begin(prefix, volume)
        return volume.append(entry)

    def _is_full(self, volume: Volume, entry: ArchiveEntry) -> bool:
        """Whether an entry goes to another file, so that none is longer than it may be."""
        options = self._options
        from fonds.archive.warc.writer import estimate_max_bytes

        reached = volume.size_bytes + estimate_max_bytes(entry)
        too_long = volume.entry_count > 0 and reached > options.file_max_bytes
        return too_long or volume.entry_count >= options.stories_max

    def recover(self, find_known_end: Callable[[str], int | None]) -> None:
        """Cut files left open by a killed process to what `find_known_end(name)` refers to, and finish them.

        Files another living process writes are left alone.
        """
        with self._lock, translate_errors(self._folder):
            for path in iter_abandoned(self._folder):
                recover_file(path, find_known_end(path.name))

    def inspect(self, path: str, *, repair: bool = False) -> WarcFileState | None:
        """As the port says; a bare name is a file of this folder."""
        ours = "/" not in path
        if "://" in path or "\x00" in path:
            return WarcFileState(None)
        if not ours and not path.startswith("/"):
            return self._inspect_by_name(path)
        with translate_errors(self._folder):
            return inspect_local_warc(self._folder / path, is_own=ours, repair=repair)

    def _inspect_by_name(self, name: str) -> WarcFileState | None:
        """Look at the longest file a WARC of others may be; nothing is known of one nobody saw."""
        paths: list[str] = []
        with suppress(PermanentError):
            paths += self._options.list_paths(name)
        found = [held for path in paths if (held := self.inspect(path)) is not None]
        if not paths:
            return WarcFileState(None)
        return max(found, key=lambda held: held.size_bytes or 0, default=None)

    def iter_names(self) -> Iterator[str]:
        """As the port says, in their order."""
        with translate_errors(self._folder):
            yield from sorted(path.name for path in self._folder.glob(f"*{SUFFIX}"))

    def open(self, path: str) -> BinaryIO:
        """As the port says; pipes and devices are refused without being opened."""
        from fonds.archive.store.payloads import MISSING_NAME, open_regular

        leads_up = not path.startswith("/") and ".." in path.split("/")
        if "\x00" in path or "://" in path or leads_up:
            raise PermanentError(
                Reason.UNREADABLE_SOURCE, f"{path}: neither an absolute path nor the name of a WARC"
            )
        if "/" in path and not path.startswith("/"):
            try:
                for found in self._options.list_paths(path):
                    with suppress(PermanentError):
                        return self.open(found)
            except PermanentError as error:
                raise PermanentError(error.reason, f"{path}: {error.detail}") from error
            raise PermanentError(Reason.MISSING_SOURCE, f"{path}: {MISSING_NAME}")
        return open_regular(self._folder / path)

    def list_unsent(self) -> Mapping[str, int]:
        """None: files stay where they are written."""
        return {}

    def purge(
        self, name: str, tombstone: Tombstone, tick: Callable[[int], None] = lambda _: None
    ) -> PurgeResult:
        """As the port says."""
        from fonds.archive.store.purge import is_own_warc_name, purge_local_warc

        path = self._folder / name
        if not is_own_warc_name(name):
            return PurgeResult()
        if marker_path(path).exists():
            return PurgeResult(waits=f"{name} is being written to")
        with translate_errors(self._folder):
            if path.is_file():
                return purge_local_warc(path, tombstone, tick)
            part_path(path).unlink(missing_ok=True)
        return PurgeResult()

    def finish(self) -> None:
        """Close the open file: its CDXJ index is beside it then, the marker is gone.

        Files left open for reading are closed too.
        """
        self._place_reader.close()
        with self._lock, translate_errors(self._folder):
            self._full += self._open.values()
            self._open = {}
            self._finish_full()


class _WriteBatch:
    """The files one batch is written to, and what undoes it: where those ended that were open before."""

    def __init__(self, volumes: Mapping[str, Volume]) -> None:
        self._previous_sizes = volumes
        self._ends: dict[str, tuple[int, int]] = {}
        self._begun: list[Volume] = []
        self.open: dict[str, Volume] = {}
        self.full: list[Volume] = []

    def get_volume(self, prefix: str) -> Volume | None:
        """The file to go on with."""
        volume = self.open.pop(prefix, None)
        if volume is None and (volume := self._previous_sizes.get(prefix)) is not None:
            self._ends[prefix] = volume.size_bytes, volume.entry_count
        if volume is not None:
            self.open[prefix] = volume
        return volume

    def begin(self, prefix: str, volume: Volume) -> None:
        """Go on with a new file."""
        self._begun.append(volume)
        if (before := self.open.pop(prefix, None)) is not None:
            self.full.append(before)
        self.open[prefix] = volume

    def sync(self) -> None:
        """All files of the batch are on the disk when this returns."""
        for volume in (*self.full, *self.open.values()):
            volume.sync()

    def undo(self) -> None:
        """Remove the files begun since, and cut the others back."""
        for volume in self._begun:
            volume.discard()
        for prefix, (size_bytes, stories) in self._ends.items():
            self._previous_sizes[prefix].cut(size_bytes, stories)


@contextmanager
def translate_errors(folder: Path) -> Iterator[None]:
    """Turn the faults of the file system into ours."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise StorageFullError(
                f"no room for the archive in {folder}: free some, then run the same command again"
            ) from error
        if error.errno in _FORBIDDEN:
            raise ConfigurationError(
                f"the archive in {folder} cannot be written ({error.strerror}); check its rights"
            ) from error
        raise StoreUnavailableError(
            f"the archive in {folder} fails just now: {cause_of(error)}"
        ) from error
