"""What every archive of a home is told, wherever its files lie."""

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
    """The time of this machine, aware UTC."""
    return datetime.now(UTC)


def find_no_paths(_: str) -> Sequence[str]:
    """Know no paths of any WARC."""
    return ()


@dataclass(frozen=True, slots=True)
class ArchiveOptions:
    """How files are written, and what may be read besides them.

    A file has `stories_max` entries and `file_max_bytes` at most, but for one body that is longer alone;
    `prefix` begins its name where an entry names none, `agent` is the User-Agent we fetch with. `version`
    is `WARC/1.1` or `WARC/1.0`, unless they are written `is_for_media_cloud`, as
    `archive/warc/media_cloud.py` says. Bodies over `body_max_bytes` are not read. What is behind http(s)
    URLs is read from public addresses only, unless `allows_private_addresses`; `remotes` open what reads
    the URLs of other schemes. `replay_url` and `petabox_url` are templates, as `Replays` and `item_url`
    say; empty: such places are refused. `credentials` are those of settings, for their http(s) origins.
    Where files are moved away when they are finished, they are written to `waiting_folder`, and no more
    is written while `waiting_max_bytes` lie there. `clock` gives the time for file names. `list_paths`
    gives the paths and URLs where a WARC of others may lie, by its name."""

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
