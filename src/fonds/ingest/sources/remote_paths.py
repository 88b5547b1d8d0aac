"""Source of captures from files at http(s) and S3 URLs. The files are fetched, then read like local
files.

Source: seed document 004, "Queuers" (local files, directories, HTTP URLs, cloud storage with `*`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

from fonds.ingest.sources.damage_runs import Item
from fonds.ingest.sources.indexes import has_local_part, list_part_names
from fonds.ingest.sources.paths import PathSource, detect_kind
from fonds.ingest.sources.remote_files import (
    RemoteFile,
    RemoteFileStore,
    is_remote,
)
from fonds.model.capture import Capture
from fonds.model.disposition import Reason
from fonds.model.entry import Entry, build_capture_entry, compute_input_id, is_unread
from fonds.model.errors import LimitError, PermanentError, cause_of, find_shortage
from fonds.model.rows import InputRow
from fonds.pipelines.runtime.intake import (
    build_failed_input,
    build_unread_input,
)
from fonds.urls.parts import member_name, member_url

REMOTE = "remote"
"""Kind of an input at a URL. The content type is detected after the file was fetched."""
LISTS = ("index", "zipnum", "tasks")
URL_NAMED_KINDS = ("warc", "file")
_ODD_NAMES = ("", ".", "..")


@dataclass(frozen=True, slots=True)
class RemotePathSource:
    """Source of captures from http(s) and S3 URLs, and from local paths.

    - `local`: source of the local paths.
    - `urls`: the URLs; `s3://BUCKET/PREFIX*` means all objects with this prefix.
    - `remotes`: finds and fetches files.
    - `clock`: returns the current time (aware UTC).
    - `keeps_files`: whether fetched WARCs and single files are kept.

    Each file is fetched completely, to `inbox/INPUT-ID` in the library folder. If `keeps_files` is
    set, the file stays there and its captures refer to the local file. Otherwise (when workers on
    other machines read the files) it is deleted after reading, and its captures refer to the URL.

    Indexes and task lists (lists of WARC records or URLs to read) are always deleted after
    reading. The WARCs that they name are read at URLs below `local.warc_base` if it is set,
    otherwise below the URL folder of the index.
    """

    local: PathSource
    urls: Sequence[str]
    remotes: RemoteFileStore
    clock: Callable[[], datetime]
    keeps_files: bool = True
    _found_urls: set[str] = field(default_factory=set)

    def iter_inputs(self) -> Iterator[InputRow]:
        """Yield one input row per local or remote file. An unavailable file has a row too."""
        yield from self.local.iter_inputs()
        for url in self.urls:
            for remote_file in self.remotes.find(url):
                self._found_urls.add(remote_file.url)
                yield self._build_input(remote_file)

    def iter_entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        """Yield the entries of an input (file) from `row.position` on.

        Numbers between the entries are positions from which a later call can resume. Mappings count
        skipped records by reason.
        """
        if not is_remote(row.path):
            yield from self.local.iter_entries(row)
            return
        for item in self._iter_captures(row):
            yield build_capture_entry(item) if isinstance(item, Capture) else item

    def fetch(self, row: InputRow) -> Path:
        """Fetch the complete file of a `REMOTE` input to the inbox, and return its local path.

        Raises PermanentError if the server refuses, LimitError if the file is too large, and
        OSError if the file cannot be written.
        """
        if row.error is not None:
            raise PermanentError(Reason.MISSING_SOURCE, row.error)
        return self.remotes.fetch(
            row.path, _build_target_path(self.local.inbox, row.path, row.input_id)
        )

    def discard(self, path: Path) -> None:
        """Delete a fetched file, and the folders in the inbox that become empty."""
        path.unlink(missing_ok=True)
        folder = path.parent
        while folder != self.local.inbox and not any(folder.iterdir()):
            folder.rmdir()
            folder = folder.parent

    def _iter_captures(self, row: InputRow) -> Iterator[Item]:
        if row.error is not None:
            yield self.local.build_unreadable(row, row.error)
            return
        try:
            path = self.fetch(row)
        except (PermanentError, LimitError) as error:
            yield replace(
                self.local.build_unreadable(row, error.detail), damage_reason=error.reason
            )
            return
        except OSError as error:
            if (shortage := find_shortage(error)) is not None:
                raise shortage from error
            yield self.local.build_unreadable(row, cause_of(error))
            return
        kind = detect_kind(path)
        try:
            yield from self._read(row, path, kind)
        finally:
            if kind in LISTS or (kind in URL_NAMED_KINDS and not self.keeps_files):
                self.discard(path)

    def _read(self, row: InputRow, path: Path, kind: str) -> Iterator[Item]:
        folder_url = row.path.rpartition("/")[0]
        local = self.local
        if kind in LISTS:
            local = replace(
                local, warc_base=local.warc_base or folder_url, has_part=self._has_part(folder_url)
            )
        file_url = path.as_uri()
        for item in local.iter_captures(replace(row, path=str(path), kind=kind)):
            if not isinstance(item, Capture):
                yield item
                continue
            if is_unread(item.id) and item.damage is not None:
                yield self.local.build_unreadable(row, item.damage)
                continue
            if item.url == file_url:
                item = replace(item, url=row.path)
            elif item.url.startswith(f"{file_url}#"):
                item = replace(item, url=member_url(row.path, member_name(item.url) or ""))
            is_listed = kind in LISTS and item.place.path == str(path)
            if is_listed or (kind in URL_NAMED_KINDS and not self.keeps_files):
                item = replace(item, place=replace(item.place, path=row.path))
            yield item

    def _has_part(self, folder_url: str) -> Callable[[Path, bytes], bool]:
        """Return a function that checks whether a part (CDX file) of a ZipNum index is available.

        A part is available if the user gave its URL, if it was found by an S3 prefix, or if it is
        in the local folder of the index.
        """

        def has_part(index: Path, name: bytes) -> bool:
            is_listed = any(
                f"{folder_url}/{part_name}" in self._found_urls
                for part_name in list_part_names(name)
            )
            return is_listed or has_local_part(index, name)

        return has_part

    def _build_input(self, remote_file: RemoteFile) -> InputRow:
        """Build the input row of a remote file. Its id depends on URL, size, version and
        `warc_base`.

        For an unavailable file, the row contains the error.
        """
        if remote_file.error is not None:
            kind = "missing" if remote_file.is_missing else REMOTE
            return build_failed_input(remote_file.url, kind, self.clock(), remote_file.error)
        base = self.local.warc_base
        fingerprint = f"{remote_file.size_bytes}:{remote_file.version}" + (
            f":{base}" if base else ""
        )
        return build_unread_input(
            compute_input_id(remote_file.url.encode(), fingerprint),
            remote_file.url,
            REMOTE,
            fingerprint,
            self.clock(),
        )


def _build_target_path(inbox: Path, url: str, input_id: str) -> Path:
    """Return the local path for a fetched file.

    The path ends with at most the last two segments of the URL's path, from which a WARC gets its
    name.
    """
    parts = [unquote(part).replace("/", "_")[-200:] for part in urlsplit(url).path.split("/")]
    names = [part for part in parts if part.strip() not in _ODD_NAMES and "\0" not in part]
    return inbox.joinpath(input_id, *(names[-2:] or ["file"]))
