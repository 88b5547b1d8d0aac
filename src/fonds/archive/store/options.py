"""Options of the archive, which apply whether its WARC files are in a folder or in a bucket."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from fonds.model.credentials import Credentials

if TYPE_CHECKING:
    from fonds.archive.store.remote import OpenRemote


def get_utc_now() -> datetime:
    """Return the current time as aware UTC. Default of `ArchiveOptions.clock`."""
    return datetime.now(UTC)


def find_no_paths(_: str) -> Sequence[str]:
    """Return no paths for the name of any WARC. Default of `ArchiveOptions.list_paths`."""
    return ()


@dataclass(frozen=True, slots=True)
class ArchiveOptions:
    """Options for writing WARC files, and for reading bodies from other locations.

    Writing:
    - `prefix` begins the name of a WARC file, unless an entry has its own prefix.
    - `agent` is the User-Agent with which Fonds fetches; "" to leave it out of WARC files.
    - `version` is `WARC/1.1` or `WARC/1.0`.
    - `is_for_media_cloud` selects the WARC format that Media Cloud reads, whatever `version` is.
    - `stories_max` and `file_max_bytes` limit the entries and size of a WARC file. A single entry
      may be longer.
    - `waiting_folder` is the local folder for files that wait for upload to a bucket.
    - `waiting_max_bytes` is the maximum total size of waiting files. Writing stops above it.
    - `clock` returns the current time for file names, aware UTC.

    Reading:
    - `body_max_bytes` is the maximum size of a body that is read.
    - `allows_private_addresses` permits http(s) URLs whose hosts have private addresses.
    - `remotes` opens readers for URLs of other schemes, by scheme.
    - `replay_url` is the URL template of a web archive, for `WebArchiveReader`. If empty, captures
      in a web archive cannot be read.
    - `petabox_url` is the URL template of files in petabox items, for `build_item_url`. If empty,
      they cannot be read.
    - `credentials` are the users and passwords in the settings, for http(s) origins.
    - `list_paths` returns the paths and URLs where a WARC written by another program may be, by its
      name.
    """

    prefix: str = "fonds"
    agent: str = ""
    version: str = "WARC/1.1"
    is_for_media_cloud: bool = False
    stories_max: int = 5000
    file_max_bytes: int = 1024**3
    body_max_bytes: int = 256 * 1024 * 1024
    waiting_folder: Path = Path("archive")
    waiting_max_bytes: int = 20 * 1024**3
    allows_private_addresses: bool = False
    remotes: Mapping[str, OpenRemote] = field(default_factory=dict)
    replay_url: str = ""
    petabox_url: str = ""
    credentials: Credentials = field(default_factory=Credentials)
    clock: Callable[[], datetime] = get_utc_now
    list_paths: Callable[[str], Iterable[str]] = find_no_paths
