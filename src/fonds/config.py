"""Settings: defaults, `fonds.toml` in the home, `FONDS_*` variables, flags, each over the one before.

This file alone reads the environment.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fonds.model.errors import ConfigurationError
from fonds.model.names import nearest

ENVIRONMENT_PREFIX = "FONDS_"
SETTINGS_FILE = "fonds.toml"
FILE_SUFFIX = "_FILE"
PORTS = ("queue", "table", "records", "blobs", "index", "archive")
SECRET = re.compile(r"(?<=://)[^/@\s]+(?=@)|(?<=password=)[^&\s]+|(?<=secret=)[^&\s]+")
HIDDEN = "***"
DEFAULT_HOME = Path("fonds-data")
NOT_SETTINGS = frozenset({"FONDS_HOME"})


class Settings(BaseModel):
    """Every setting with its default; `docs/settings.md` is made from this class."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    queue: str = Field("sqlite:queue.sqlite", repr=False, description="URL of the queue")
    table: str = Field("sqlite:table.sqlite", repr=False, description="URL of the wide-row table")
    records: str = Field("sqlite:records.sqlite", repr=False, description="URL of the SQL records")
    blobs: str = Field("file:blobs", repr=False, description="URL of the blob store")
    index: str = Field("tantivy:index", repr=False, description="URL of the full-text index")
    archive: str = Field(
        "file:archive", repr=False, description="URL of where the WARC files we write are kept"
    )
    message_max_bytes: int = Field(
        900_000, ge=1, description="Largest body on the queue; larger ones lie in the blobs"
    )
    group: str = Field("fonds", description="Group in the table's name and prefix of topics")
    env: str = Field("local", description="Environment in the table's name and in topics")
    table_version: int = Field(0, ge=0, description="Version in the table's name")
    pipeline: str = Field(
        "library", description="Pipeline that captures go into; `fonds pipelines`"
    )
    collection: str = Field("default", description="Collection that new documents belong to")
    isolation: Literal["possible", "required"] = Field(
        "possible",
        description="Confine readers as far as this machine can, or refuse to start where it lacks a layer",
    )
    children: int = Field(0, ge=0, description="Isolated readers at once; 0 means one a core")
    workers: int = Field(
        0, ge=0, description="Processes `ingest`, `catchup` and retries may use; 0 means one a core"
    )
    worker_backlog: int = Field(
        500, ge=1, description="Waiting messages for which one more of these processes starts"
    )
    retries_max: int = Field(10, ge=0, description="Retries before a message is quarantined")
    retry_first_s: float = Field(
        5.0, gt=0, description="Delay of the first retry, doubled each time"
    )
    retry_longest_s: float = Field(3600.0, gt=0, description="Longest delay between retries")
    queue_high: int = Field(
        20_000, ge=1, description="Messages waiting at a step at which sources pause"
    )
    queue_low: int = Field(
        10_000, ge=0, description="Messages waiting at a step at which sources go on"
    )
    pdf_max_bytes: int = Field(256 * 1024**2, ge=1, description="Largest PDF read")
    page_max_bytes: int = Field(10_000_000, ge=1, description="Largest page body read")
    pdf_timeout_s: float = Field(60.0, gt=0, description="Longest time for one PDF")
    page_timeout_s: float = Field(20.0, gt=0, description="Longest time for one page")
    child_memory_bytes: int = Field(
        2 * 1024**3,
        ge=2**28,
        description="Memory of one reader at most; that of a PDF has 640 MiB and eight times its size",
    )
    pdf_pages_max: int = Field(2_000, ge=1, description="Pages of a PDF whose text is read")
    pdf_pixels_max: int = Field(50_000_000, ge=10_000, description="Pixels rendered at most")
    pdf_stopped_days: float = Field(
        30.0, gt=0, description="Days before a PDF that stopped a reader is tried again"
    )
    audit_days: int = Field(
        30, ge=1, description="Days in which `fonds run` reads and hashes everything that is kept"
    )
    more_thumbnails: str = Field(
        "", description="Thumbnails besides 180px-jpg, as 360px-jpg,360px-webp,180px-png"
    )
    archive_prefix: str = Field("fonds", description="Beginning of our WARC files' names")
    archive_version: str = Field(
        "1.1", pattern=r"^1\.[01]$", description="WARC version written, 1.1 or 1.0"
    )
    archive_stories_max: int = Field(5_000, ge=1, description="Bodies in one WARC file")
    archive_max_bytes: int = Field(1024**3, ge=1, description="Size at which a WARC is closed")
    archive_waiting_max_bytes: int = Field(
        20 * 1024**3, ge=0, description="Finished WARCs that may wait here for S3, in bytes"
    )
    copy_bodies: bool = Field(
        False, description="Copy bodies out of other people's WARCs into ours", alias="copy"
    )
    warc_base: str = Field("", description="Folder or URL where the WARCs of a CDX are")
    task_folder: str = Field(
        "", description="Folder whose files other programs' tasks may name; empty means none"
    )
    s3_url: str = Field(
        "",
        repr=False,
        description="Server and keys of places in S3; empty means AWS by its environment",
    )
    replay_url: str = Field(
        "https://web.archive.org/web/{timestamp}id_/{url}",
        pattern=r"^$|^https?://[^{}?#]+/[^{}?#]*\{timestamp\}[^{}?#]*\{url\}$",
        description="Web archive that replays captures, unrewritten; empty means none",
    )
    petabox_url: str = Field(
        "https://archive.org/serve/{item}/{path}",
        pattern=r"^$|^https?://[^{}?#]+/[^{}?#]*\{item\}[^{}?#]*/\{path\}$",
        description="Where the files of petabox items are; empty means nowhere",
    )
    private_addresses: bool = Field(
        False, description="Allow fetching from private and loopback addresses"
    )
    host: str = Field("127.0.0.1", description="Address the web page and the metrics listen on")
    port: int = Field(8765, ge=0, le=65535, description="Port the web page listens on")
    metrics_port: int = Field(
        0, ge=0, le=65535, description="Port of a worker's /metrics and /healthz; 0 means none"
    )


SETTING_NAMES = tuple(field.alias or name for name, field in Settings.model_fields.items())


def home_folder(flag: str | None) -> Path:
    """The home: the flag, else FONDS_HOME, else `./fonds-data`; absolute."""
    chosen = flag or os.environ.get("FONDS_HOME") or str(DEFAULT_HOME)
    return Path(chosen).expanduser().absolute()


def load_settings(home: Path, flags: Mapping[str, Any] | None = None) -> Settings:
    """Settings of a home. Raises ConfigurationError for an unknown or ill-typed one, naming the nearest."""
    layers: list[tuple[str, Mapping[str, Any]]] = [
        (str(home / SETTINGS_FILE), _from_file(home / SETTINGS_FILE)),
        ("the environment", _from_environment()),
        ("the command line", flags or {}),
    ]
    values: dict[str, Any] = {}
    for origin, layer in layers:
        for name, value in layer.items():
            _check_known(name, origin)
            values[name] = value
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        value = without_secrets(repr(values.get(name)))
        raise ConfigurationError(f"setting {name!r}: {first['msg']} (it is {value})") from None


def _from_file(path: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from error


def without_secrets(text: str) -> str:
    """The text with users and passwords in URLs hidden; what may be shown or logged."""
    return SECRET.sub(HIDDEN, text)


def _from_environment() -> Mapping[str, str]:
    found = {
        name: value
        for name, value in sorted(os.environ.items())
        if name.startswith(ENVIRONMENT_PREFIX) and name not in NOT_SETTINGS
    }
    return dict(_setting(name, value) for name, value in found.items())


def _setting(variable: str, value: str) -> tuple[str, str]:
    """The setting of a variable; `FONDS_NAME_FILE` names the file that holds the value of NAME."""
    name = variable.removeprefix(ENVIRONMENT_PREFIX)
    if not name.endswith(FILE_SUFFIX):
        return name.lower(), value
    try:
        return name.removesuffix(FILE_SUFFIX).lower(), Path(value).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{variable}={value} cannot be read: {error}") from error


def _check_known(name: str, origin: str) -> None:
    if name in SETTING_NAMES:
        return
    near = nearest(name, SETTING_NAMES)
    hint = f" Did you mean {near!r}?" if near else " `fonds doctor` lists all settings."
    raise ConfigurationError(f"unknown setting {name!r} in {origin}.{hint}")
