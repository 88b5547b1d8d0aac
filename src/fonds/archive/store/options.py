"""Options of an archive, wherever its files lie."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from fonds.model.secrets import Credentials

if TYPE_CHECKING:
    from fonds.archive.store.remote import OpenRemote


def get_utc_now() -> datetime:
    """Return the current time, aware UTC."""
    return datetime.now(UTC)


def find_no_paths(_: str) -> Sequence[str]:
    """Return no paths for any WARC."""
    return ()


@dataclass(frozen=True, slots=True)
class ArchiveOptions:
    """How WARC files are written, and which other places may be read.

    Writing:
    - `prefix` begins a file's name unless an entry names another.
    - `agent` is the User-Agent that Fonds fetches with.
    - `version` is `WARC/1.1` or `WARC/1.0`.
    - `is_for_media_cloud` selects the format of `archive/warc/media_cloud.py`, whatever `version`
      is.
    - `stories_max` and `file_max_bytes` limit a file, but a single entry may be longer.
    - `waiting_folder` holds files until they are moved, if they are moved.
    - `waiting_max_bytes` is its maximum size. Writing stops above it.
    - `clock` gives the time for file names.

    Reading:
    - `body_max_bytes` is the size of the largest body that is read.
    - `allows_private_addresses` permits http(s) URLs of private addresses.
    - `remotes` opens readers for URLs of other schemes.
    - `replay_url` is the template of `WebArchiveReader`. If empty, such places are rejected.
    - `petabox_url` is the template of `build_item_url`. If empty, such places are rejected.
    - `credentials` are those of the settings, for http(s) origins.
    - `list_paths` returns the paths and URLs where the foreign WARC of a name may lie.
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
