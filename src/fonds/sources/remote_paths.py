"""Captures out of files behind http(s) URLs and in S3, read as files of this machine are.

Source: seed 004, "Queuers" (local files, directories, HTTP URLs, cloud storage with `*`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

from fonds.address import member_name, member_url
from fonds.model.capture import Capture
from fonds.model.disposition import Reason
from fonds.model.entry import Entry, input_id_of, is_unread, of_capture
from fonds.model.errors import LimitError, PermanentError, cause_of
from fonds.model.rows import InputRow
from fonds.model.shortage import shortage
from fonds.sources.indexes import has_part_beside, part_names
from fonds.sources.input_rows import failed_input, unread_input
from fonds.sources.listed.remote_files import RemoteFile, Remotes, is_remote
from fonds.sources.paths import PathSource, kind_of

REMOTE = "remote"
"""The kind of such an input: what it is shows when it was fetched."""
LISTS = ("index", "zipnum", "tasks")
PLACED_BY_URL = ("warc", "file")
_ODD_NAMES = ("", ".", "..")


@dataclass(frozen=True, slots=True)
class RemotePaths:
    """A Source of URLs, `s3://BUCKET/PREFIX*`, and the paths of `local`.

    Each file is fetched once and whole to `inbox/INPUT` of the home, and stays there: captures refer to it.
    With `keeps_files` False, as where workers on other machines read them, WARCs and loose files are removed
    again, and their captures refer to the URL. Indexes and lists of work are removed either way; WARCs that
    they name are read at their URLs, below `local.warc_base` or beside the index.
    """

    local: PathSource
    urls: Sequence[str]
    remotes: Remotes
    clock: Callable[[], datetime]
    keeps_files: bool = True
    _found: set[str] = field(default_factory=set)

    def inputs(self) -> Iterator[InputRow]:
        """Yield one input for each file; what cannot be had is one too."""
        yield from self.local.inputs()
        for url in self.urls:
            for found in self.remotes.find(url):
                self._found.add(found.url)
                yield self._input(found)

    def entries(self, row: InputRow) -> Iterator[Entry | Mapping[str, int] | int]:
        """Yield what lies in one input, from `row.position` on."""
        if not is_remote(row.path):
            yield from self.local.entries(row)
            return
        for found in self._captures(row):
            yield of_capture(found) if isinstance(found, Capture) else found

    def fetched(self, row: InputRow) -> Path:
        """Return the file of an input that is `REMOTE`, in the inbox and whole.

        Raises PermanentError, LimitError and OSError.
        """
        if row.error is not None:
            raise PermanentError(Reason.MISSING_SOURCE, row.error)
        return self.remotes.fetched(row.path, _target(self.local.inbox, row.path, row.input_id))

    def discard(self, path: Path) -> None:
        """Remove a file that was fetched, and the folders this leaves empty."""
        path.unlink(missing_ok=True)
        folder = path.parent
        while folder != self.local.inbox and not any(folder.iterdir()):
            folder.rmdir()
            folder = folder.parent

    def _captures(self, row: InputRow) -> Iterator[Capture | Mapping[str, int] | int]:
        if row.error is not None:
            yield self.local.unreadable(row, row.error)
            return
        try:
            path = self.fetched(row)
        except (PermanentError, LimitError) as error:
            yield replace(self.local.unreadable(row, error.detail), damage_reason=error.reason)
            return
        except OSError as error:
            if (short := shortage(error)) is not None:
                raise short from error
            yield self.local.unreadable(row, cause_of(error))
            return
        kind = kind_of(path)
        try:
            yield from self._read(row, path, kind)
        finally:
            if kind in LISTS or (kind in PLACED_BY_URL and not self.keeps_files):
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
        for found in local.captures(replace(row, path=str(path), kind=kind)):
            if not isinstance(found, Capture):
                yield found
                continue
            if is_unread(found.id) and found.damage is not None:
                yield self.local.unreadable(row, found.damage)
                continue
            if found.url == own:
                found = replace(found, url=row.path)
            elif found.url.startswith(f"{own}#"):
                found = replace(found, url=member_url(row.path, member_name(found.url) or ""))
            is_listed = kind in LISTS and found.place.path == str(path)
            if is_listed or (kind in PLACED_BY_URL and not self.keeps_files):
                found = replace(found, place=replace(found.place, path=row.path))
            yield found

    def _has_part(self, beside: str) -> Callable[[Path, bytes], bool]:
        """Whether a part of an index is named too, or was found by the same prefix."""

        def has_part(index: Path, name: bytes) -> bool:
            there = any(f"{beside}/{one}" in self._found for one in part_names(name))
            return there or has_part_beside(index, name)

        return has_part

    def _input(self, found: RemoteFile) -> InputRow:
        """A file is the same input as long as its URL, size and version are."""
        if found.error is not None:
            kind = "missing" if found.missing else REMOTE
            return failed_input(found.url, kind, self.clock(), found.error)
        base = self.local.warc_base
        fingerprint = f"{found.size_bytes}:{found.version}" + (f":{base}" if base else "")
        return unread_input(
            input_id_of(found.url.encode(), fingerprint),
            found.url,
            REMOTE,
            fingerprint,
            self.clock(),
        )


def _target(inbox: Path, url: str, input_id: str) -> Path:
    """Where a file is kept: below two parts of its URL's path at most, which give a WARC its name."""
    parts = [unquote(one).replace("/", "_")[-200:] for one in urlsplit(url).path.split("/")]
    named = [one for one in parts if one.strip() not in _ODD_NAMES and "\0" not in one]
    return inbox.joinpath(input_id, *(named[-2:] or ["file"]))
