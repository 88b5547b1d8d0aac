"""Captures out of files behind http(s) URLs and in S3, read as files of this machine are.

Source: seed 004, "Queuers" (local files, directories, HTTP URLs, cloud storage with `*`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

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
"""The kind of such an input: what it is shows when it was fetched."""
LISTS = ("index", "zipnum", "tasks")
URL_NAMED_KINDS = ("warc", "file")
_ODD_NAMES = ("", ".", "..")


@dataclass(frozen=True, slots=True)
class RemotePathSource:
    """A Source of URLs, `s3://BUCKET/PREFIX*`, and the paths of `local`.

    Each file is fetched once and whole to `inbox/INPUT` of the home, and stays there: captures refer to it.
    With `keeps_files` False, as where workers on other machines read them, WARCs and loose files are removed
    again, and their captures refer to the URL. Indexes and lists of work are removed either way; WARCs that
    they name are read at their URLs, below `local.warc_base` or beside the index.
    """

    local: PathSource
    urls: Sequence[str]
    remotes: RemoteFileStore
    clock: Callable[[], datetime]
    keeps_files: bool = True
    _found_urls: set[str] = field(default_factory=set)

    def iter_inputs(self) -> Iterator[InputRow]:
        """Yield one input for each file; what cannot be had is one too."""
        yield from self.local.iter_inputs()
        for url in self.urls:
            for found in self.remotes.find(url):
                self._found_urls.add(found.url)
                yield self._build_input(found)

    def iter_entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        """Yield what lies in one input, from `row.position` on."""
        if not is_remote(row.path):
            yield from self.local.iter_entries(row)
            return
        for found in self._iter_captures(row):
            yield build_capture_entry(found) if isinstance(found, Capture) else found

    def fetch(self, row: InputRow) -> Path:
        """Return the file of an input that is `REMOTE`, in the inbox and whole.

        Raises PermanentError, LimitError and OSError.
        """
        if row.error is not None:
            raise PermanentError(Reason.MISSING_SOURCE, row.error)
        return self.remotes.fetch(
            row.path, _build_target_path(self.local.inbox, row.path, row.input_id)
        )

    def discard(self, path: Path) -> None:
        """Remove a file that was fetched, and the folders this leaves empty."""
        path.unlink(missing_ok=True)
        folder = path.parent
        while folder != self.local.inbox and not any(folder.iterdir()):
            folder.rmdir()
            folder = folder.parent

    def _iter_captures(self, row: InputRow) -> Iterator[Capture | Mapping[str, int] | int]:
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
            if (short := find_shortage(error)) is not None:
                raise short from error
            yield self.local.build_unreadable(row, cause_of(error))
            return
        kind = detect_kind(path)
        try:
            yield from self._read(row, path, kind)
        finally:
            if kind in LISTS or (kind in URL_NAMED_KINDS and not self.keeps_files):
                self.discard(path)

    def _read(
        self, row: InputRow, path: Path, kind: str
    ) -> Iterator[Capture | Mapping[str, int] | int]:
        beside = row.path.rpartition("/")[0]
        local = self.local
        if kind in LISTS:
            local = replace(
                local, warc_base=local.warc_base or beside, has_part=self._has_part(beside)
            )
        own = path.as_uri()
        for found in local.iter_captures(replace(row, path=str(path), kind=kind)):
            if not isinstance(found, Capture):
                yield found
                continue
            if is_unread(found.id) and found.damage is not None:
                yield self.local.build_unreadable(row, found.damage)
                continue
            if found.url == own:
                found = replace(found, url=row.path)
            elif found.url.startswith(f"{own}#"):
                found = replace(found, url=member_url(row.path, member_name(found.url) or ""))
            is_listed = kind in LISTS and found.place.path == str(path)
            if is_listed or (kind in URL_NAMED_KINDS and not self.keeps_files):
                found = replace(found, place=replace(found.place, path=row.path))
            yield found

    def _has_part(self, folder_url: str) -> Callable[[Path, bytes], bool]:
        """Whether a part of an index is named too, or was found by the same prefix."""

        def has_part(index: Path, name: bytes) -> bool:
            there = any(f"{folder_url}/{one}" in self._found_urls for one in list_part_names(name))
            return there or has_local_part(index, name)

        return has_part

    def _build_input(self, remote_file: RemoteFile) -> InputRow:
        """A file is the same input as long as its URL, size and version are."""
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
    """Where a file is kept: below two parts of its URL's path at most, which give a WARC its name."""
    parts = [unquote(one).replace("/", "_")[-200:] for one in urlsplit(url).path.split("/")]
    named = [one for one in parts if one.strip() not in _ODD_NAMES and "\0" not in one]
    return inbox.joinpath(input_id, *(named[-2:] or ["file"]))
