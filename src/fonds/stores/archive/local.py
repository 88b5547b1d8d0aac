"""The archive on this machine: bodies read from any place, WARC files written below the home."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from fonds.model.archive import Archived, ArchiveEntry, Payload
from fonds.model.capture import Place, PlaceKind
from fonds.model.errors import ConfigurationError, StorageFullError, StoreUnavailableError
from fonds.stores.archive.elsewhere import OpenRemote, elsewhere
from fonds.stores.archive.places import PlaceReader
from fonds.stores.archive.volume import Volume, left_open, recover_file
from fonds.stores.archive.web import Web, is_public

FOLDER = "archive"

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST})


def _utc_now() -> datetime:
    return datetime.now(UTC)


class LocalArchive:
    """Implements the port Archive over a home folder; files lie in `archive/` below it.

    A file is closed at `stories_max` entries or once it has `file_max_bytes`. Bodies over
    `body_max_bytes` are not read. What is behind http(s) URLs is read from public addresses only,
    unless `private_addresses`; `remotes` open what reads the URLs of other schemes. `replay_url` and
    `petabox_url` are templates, as `Replays` and `item_url` say; empty: such places are refused.
    `now` gives the time for file names.
    """

    def __init__(
        self,
        home: Path,
        *,
        prefix: str = "fonds",
        body_max_bytes: int = 256 * 1024 * 1024,
        stories_max: int = 5000,
        file_max_bytes: int = 1024**3,
        version: str = "WARC/1.1",
        private_addresses: bool = False,
        remotes: Mapping[str, OpenRemote] | None = None,
        replay_url: str = "",
        petabox_url: str = "",
        now: Callable[[], datetime] = _utc_now,
    ) -> None:
        self._home = home
        self._prefix = prefix
        self._stories_max = stories_max
        self._file_max_bytes = file_max_bytes
        self._version = version
        self._now = now
        self._lock = threading.Lock()
        self._volume: Volume | None = None
        self._full: list[Volume] = []
        web = Web((lambda _: True) if private_addresses else is_public)
        away = elsewhere(web, remotes or {}, replay_url, petabox_url)
        self._places = PlaceReader(home, away, body_max_bytes=body_max_bytes)

    def read(self, place: Place) -> Payload:
        """The body at `place`, codings undone; as the port says."""
        return self._places.read(place)

    def write(self, entries: Sequence[ArchiveEntry]) -> list[Archived]:
        """Append all entries and make them durable, or leave the files as they were and raise.

        Raises StorageFullError, ConfigurationError when the folder cannot be written, and
        StoreUnavailableError.
        """
        if not entries:
            return []
        with self._lock, _translated(self._home / FOLDER):
            self._finish_full()
            batch = _Batch(self._volume)
            try:
                archived = [self._append(entry, batch) for entry in entries]
                batch.sync()
            except BaseException:
                self._volume = batch.undo()
                raise
            self._volume = batch.volumes[-1]
            self._full += batch.volumes[:-1]
            # The bodies are safe: should an index not find room, the next call tries again and says so.
            with suppress(OSError):
                self._finish_full()
            return archived

    def _finish_full(self) -> None:
        while self._full:
            self._full[0].finish()
            del self._full[0]

    def _append(self, entry: ArchiveEntry, batch: _Batch) -> Archived:
        volume = batch.volumes[-1] if batch.volumes else None
        if volume is None or self._is_full(volume):
            volume = Volume(self._home / FOLDER, self._prefix, self._now(), self._version)
            batch.volumes.append(volume)
        offset, size_bytes = volume.append(entry)
        path = f"{FOLDER}/{volume.path.name}"
        return Archived(entry.capture_id, Place(PlaceKind.WARC, path, offset, size_bytes))

    def _is_full(self, volume: Volume) -> bool:
        return volume.stories >= self._stories_max or volume.size_bytes >= self._file_max_bytes

    def recover(self, known: Callable[[str], int | None]) -> None:
        """Cut files left open by a killed process to what `known(path)` refers to, and finish them.

        `path` is relative to the home. Files another living process writes are left alone.
        """
        folder = self._home / FOLDER
        with self._lock, _translated(folder):
            for path in left_open(folder):
                recover_file(path, known(f"{FOLDER}/{path.name}"))

    def finish(self) -> None:
        """Close the open file: its CDXJ index is beside it then, the marker is gone.

        Files left open for reading are closed too.
        """
        self._places.close()
        with self._lock, _translated(self._home / FOLDER):
            self._finish_full()
            if self._volume is not None:
                self._volume.finish()
                self._volume = None


class _Batch:
    """The files one batch is written to, and what undoes it: where the first of them ended before."""

    def __init__(self, volume: Volume | None) -> None:
        self.volumes = [] if volume is None else [volume]
        self._before = volume
        self._size_bytes = 0 if volume is None else volume.size_bytes
        self._stories = 0 if volume is None else volume.stories

    def sync(self) -> None:
        """All files of the batch are on the disk when this returns."""
        for volume in self.volumes:
            volume.sync()

    def undo(self) -> Volume | None:
        """Cut the first file back and remove those created since; the file to go on with, or None."""
        for volume in self.volumes:
            if volume is not self._before:
                volume.discard()
        if self._before is not None:
            self._before.cut(self._size_bytes, self._stories)
        return self._before


@contextmanager
def _translated(folder: Path) -> Iterator[None]:
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
        raise StoreUnavailableError(f"the archive in {folder} fails just now: {error}") from error
