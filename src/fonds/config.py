"""Load the settings from defaults, `fonds.toml` in the home, `FONDS_*` environment variables, and
flags.

A later one of these overrides an earlier one. The home is the folder of a library. Only this module
reads the environment.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import FieldInfo, asdict, fields

from fonds.config_options import (
    HIDDEN,
    AuditSettings,
    CollectionsSettings,
    FetchSettings,
    GrobidSettings,
    PageSettings,
    PdfSettings,
    RemoteSettings,
    SourcesSettings,
    WarcSettings,
    WebSettings,
    WorkSettings,
    format_settings,
)
from fonds.model.encoding import prepare_type
from fonds.model.errors import ConfigurationError, cause_of
from fonds.model.secrets import check_secrets, has_secret, redact_secrets
from fonds.model.suggestions import find_nearest_name

ENVIRONMENT_PREFIX = "FONDS_"
SETTINGS_FILE = "fonds.toml"
FILE_SUFFIX = "_FILE"
PORTS = ("queue", "table", "records", "blobs", "index", "archive")
DEFAULT_HOME = Path("fonds-data")
COMMAND_LINE = "the command line"
NOT_SETTINGS = frozenset({"FONDS_HOME"})
SWITCHES = {"yes": True, "on": True, "no": False, "off": False}


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """All settings with their defaults; `docs/settings.md` is generated from this class."""

    queue: Annotated[str, Meta(description="URL of the queue", extra=HIDDEN)] = (
        "sqlite:queue.sqlite"
    )
    table: Annotated[str, Meta(description="URL of the wide-row table", extra=HIDDEN)] = (
        "sqlite:table.sqlite"
    )
    records: Annotated[str, Meta(description="URL of the SQL records", extra=HIDDEN)] = (
        "sqlite:records.sqlite"
    )
    blobs: Annotated[str, Meta(description="URL of the blob store", extra=HIDDEN)] = "local:blobs"
    thumbnails: Annotated[
        str,
        Meta(
            description=(
                "URL of a separate blob store for thumbnails, such as a public "
                "bucket; empty: the blob store"
            ),
            extra=HIDDEN,
        ),
    ] = ""
    index: Annotated[str, Meta(description="URL of the full-text index", extra=HIDDEN)] = (
        "tantivy:index"
    )
    archive: Annotated[
        str, Meta(description="URL of the archive, where WARC files are stored", extra=HIDDEN)
    ] = "file:archive"
    message_max_bytes: Annotated[
        int,
        Meta(
            ge=1,
            description=(
                "Maximum size of a body in a message between steps; "
                "larger ones are stored in the blobs"
            ),
        ),
    ] = 900_000
    topic_message_max_bytes: Annotated[
        int,
        Meta(
            ge=10_000,
            description=(
                "Maximum size of a message on a public topic, up to the broker's "
                "limit; the text or TEI of a larger one is stored in the blobs"
            ),
        ),
    ] = 16_000_000
    group: Annotated[str, Meta(description="Group in table names")] = "fonds"
    topic_group: Annotated[
        str, Meta(description="Group in topic names; empty: the same as `group`")
    ] = ""
    env: Annotated[str, Meta(description="Environment in table and topic names")] = "local"
    table_version: Annotated[int, Meta(ge=0, description="Version in table names")] = 0
    table_families: Annotated[
        str,
        Meta(
            description=("Additional column families, such as `pdf0=pdf_status,pdf_certainty:json`")
        ),
    ] = ""
    pipeline: Annotated[
        str, Meta(description="Pipeline that processes new captures; see `fonds pipelines`")
    ] = "library"
    collection: Annotated[str, Meta(description="Collection of new documents")] = "default"
    takedown_list: Annotated[
        str,
        Meta(
            description=(
                "Path of a file outside the library that lists all takedowns. A library that "
                "lacks one, such as a restored backup, is not opened until they are applied"
            )
        ),
    ] = ""
    isolation: Annotated[
        Literal["possible", "required"],
        Meta(
            description=(
                "Confine readers as far as this machine can, or refuse to start "
                "if a layer is missing"
            )
        ),
    ] = "possible"
    follow_links: Annotated[
        bool,
        Meta(description="Follow links out of the given folders, and record each"),
    ] = False
    match: Annotated[
        bool,
        Meta(
            description=(
                "Match papers and their references with the catalogue; see `fonds catalog load`"
            )
        ),
    ] = False
    work: WorkSettings = field(default_factory=WorkSettings)
    pdf: PdfSettings = field(default_factory=PdfSettings)
    grobid: GrobidSettings = field(default_factory=GrobidSettings)
    page: PageSettings = field(default_factory=PageSettings)
    warc: WarcSettings = field(default_factory=WarcSettings)
    elsewhere: RemoteSettings = field(default_factory=RemoteSettings)
    fetch: FetchSettings = field(default_factory=FetchSettings)
    sources: SourcesSettings = field(default_factory=SourcesSettings)
    audit: AuditSettings = field(default_factory=AuditSettings)
    collections: CollectionsSettings = field(default_factory=CollectionsSettings)
    web: WebSettings = field(default_factory=WebSettings)

    __repr__ = format_settings

    def flatten(self) -> dict[str, Any]:
        """Return the value of every setting by name. A setting in a group is named `group.name`."""
        return dict(_flatten({name: _to_table(value) for name, value in asdict(self).items()}))

    def replace_values(self, **values: object) -> Settings:
        """Return a copy of the settings with some values changed. A setting in a group is named
        `group_name`.

        Raises ConfigurationError for an invalid value.
        """
        changes = {JOINED_NAMES[name]: value for name, value in values.items()}
        return build_settings({**self.flatten(), **changes})


@dataclass(frozen=True, slots=True)
class Setting:
    """Type, default value and metadata of one setting.

    `limits` is the msgspec metadata of the setting: its description, and the limits of its value.
    """

    kind: type
    default: Any
    limits: Meta

    @property
    def description(self) -> str:
        """Description of the setting for people; "" if it has none."""
        return self.limits.description or ""


def _build_settings() -> dict[str, Setting]:
    settings: dict[str, Setting] = {}
    for setting_field in fields(Settings):
        if isinstance(setting_field.type, type):
            settings |= {
                f"{setting_field.name}.{inner.name}": _build_setting(inner)
                for inner in fields(setting_field.type)
            }
        else:
            settings[setting_field.name] = _build_setting(setting_field)
    return settings


def _build_setting(field: FieldInfo) -> Setting:
    kind, limits = get_args(field.type)
    return Setting(kind, field.default, limits)


SETTINGS = _build_settings()
"""Every setting by name. A setting in a group is named `group.name`."""
JOINED_NAMES = {name.replace(".", "_"): name for name in SETTINGS}
"""Names of all settings by their form without a dot (`group_name`), which is used after `FONDS_`
and in Python.
"""


def find_home(flag: str | None) -> Path:
    """Return the absolute path of the home, which is the folder of a library.

    It is `flag` if given, else FONDS_HOME, else `./fonds-data`. Raises ConfigurationError for the
    home folder of an unknown user (`~name`). Raises it also for a name that is not UTF-8, because
    the databases and the index cannot store it.
    """
    path = flag or os.environ.get("FONDS_HOME") or str(DEFAULT_HOME)
    try:
        home = Path(path).expanduser().absolute()
    except (RuntimeError, FileNotFoundError) as error:
        raise ConfigurationError(f"The home {path!r} is not usable: {cause_of(error)}") from error
    try:
        str(home).encode("utf-8")
    except UnicodeEncodeError as error:
        printable = os.fsencode(home).decode("utf-8", "backslashreplace")
        raise ConfigurationError(
            f"The home {printable} has a name that is not UTF-8. Rename the folder or "
            "choose another --home."
        ) from error
    return home


def load_settings(home: Path, flags: Mapping[str, Any] | None = None) -> Settings:
    """Load the settings of the library in the folder `home`. `flags` are settings from the command
    line.

    Raises ConfigurationError for an unknown setting, with the nearest existing name, for an invalid
    value, and for a list of takedowns inside the library.
    """
    layers: list[tuple[str, Mapping[str, Any]]] = [
        (str(home / SETTINGS_FILE), _load_file(home / SETTINGS_FILE)),
        ("the environment", _load_environment()),
        (COMMAND_LINE, flags or {}),
    ]
    values: dict[str, Any] = {}
    for origin, layer in layers:
        named_values = {_resolve_name(name, origin): value for name, value in layer.items()}
        _check_secrets(named_values, origin, may_hold=origin != COMMAND_LINE)
        values |= named_values
    settings = build_settings(values)
    _check_takedown_list(home, settings.takedown_list)
    return settings


def _check_takedown_list(home: Path, path: str) -> None:
    """Raise ConfigurationError if the list of takedowns is inside the library. A backup that is
    restored would replace it.
    """
    if path and Path(path).expanduser().resolve().is_relative_to(home.resolve()):
        raise ConfigurationError(
            f"setting 'takedown_list': {path} is inside the library {home}, so a restored backup "
            "would replace it. Name a file outside the library."
        )


def build_settings(values: Mapping[str, Any]) -> Settings:
    """Build the settings from texts or values by name. A setting in a group is named `group.name`.

    Missing settings have their defaults. Raises ConfigurationError for an invalid value.
    """
    parsed_values = {
        name: _parse_switch(value) if SETTINGS[name].kind is bool else value
        for name, value in values.items()
    }
    try:
        return msgspec.convert(_group_values(parsed_values), prepare_type(Settings), strict=False)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).replace("Expected", "expected").partition(" - at `$.")
        name = path.rstrip("`")
        if allowed_values := get_args(SETTINGS[name].kind):
            problem = f"expected one of {', '.join(allowed_values)}"
        value = redact_secrets(str(values.get(name)))
        raise ConfigurationError(
            f"setting {name!r}: {problem.replace('`', '')} (it is {value!r})"
        ) from None


def _parse_switch(value: object) -> object:
    """Convert the words yes, on, no and off to a boolean. Other values are returned unchanged."""
    return SWITCHES.get(value.lower(), value) if isinstance(value, str) else value


def _to_table(value: object) -> object:
    return asdict(value) if isinstance(value, Struct) else value


def _group_values(values: Mapping[str, Any]) -> dict[str, Any]:
    grouped_values: dict[str, Any] = {}
    for name, value in values.items():
        group, dot, member = name.partition(".")
        if dot:
            grouped_values.setdefault(group, {})[member] = value
        else:
            grouped_values[name] = value
    return grouped_values


def _load_file(path: Path) -> Mapping[str, Any]:
    try:
        parsed_values = tomllib.loads(path.read_text("utf-8"))
        return dict(_flatten(parsed_values))
    except FileNotFoundError:
        return {}
    except NotADirectoryError as error:
        raise ConfigurationError(
            f"{path.parent} is not a folder. Choose another --home."
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise ConfigurationError(f"Cannot read {path}: {cause_of(error)}") from error


def _flatten(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the name and value of each setting in nested tables. A setting in a group is named
    `group.name`.
    """
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from (
                (f"{name}.{member}", member_value) for member, member_value in value.items()
            )
        else:
            yield name, value


def _check_secrets(values: Mapping[str, Any], origin: str, *, may_hold: bool) -> None:
    """Check whether the settings from one origin contain a secret, such as a password in a URL.

    - `origin`: where the settings come from, such as the command line, for the error message.
    - `may_hold`: whether a setting from this origin may contain a secret. It may not if others can
      read it there.

    Raises ConfigurationError for a secret where none is allowed, and for a URL whose password is
    ambiguous.
    """
    for name, value in values.items():
        if not isinstance(value, str):
            continue
        try:
            check_secrets(value)
        except ValueError as error:
            raise ConfigurationError(f"setting {name!r} in {origin}: {error}") from None
        if name == "warc.base" and value.startswith("s3://") and has_secret(value):
            raise ConfigurationError(
                "setting 'warc.base': put the S3 keys into elsewhere.s3_url instead"
            )
        if not may_hold and has_secret(value):
            raise ConfigurationError(
                f"setting {name!r}: anyone on this machine can read a user, password or "
                f"key on the command line; write it to {SETTINGS_FILE} in the home, or to "
                "a file named by "
                f"{ENVIRONMENT_PREFIX}{name.replace('.', '_').upper()}{FILE_SUFFIX}"
            )


def _load_environment() -> Mapping[str, str]:
    variables = {
        name: value
        for name, value in sorted(os.environ.items())
        if name.startswith(ENVIRONMENT_PREFIX) and name not in NOT_SETTINGS
    }
    return dict(_parse_variable(name, value) for name, value in variables.items())


def _parse_variable(variable: str, value: str) -> tuple[str, str]:
    """Return the name and value of the setting in one environment variable.

    The variable `FONDS_NAME_FILE` names a file that contains the value of the setting NAME, unless
    `name_file` is a setting itself. Raises ConfigurationError if the file cannot be read.
    """
    name = variable.removeprefix(ENVIRONMENT_PREFIX)
    if not name.endswith(FILE_SUFFIX) or name.lower() in JOINED_NAMES:
        return name.lower(), value
    try:
        return name.removesuffix(FILE_SUFFIX).lower(), Path(value).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"Cannot read {variable}={value}: {cause_of(error)}") from error


def _resolve_name(name: str, origin: str) -> str:
    """Return the full name of a setting from `group.name` or `group_name`.

    Raises ConfigurationError for an unknown setting. `origin` says in the message where the name
    was found.
    """
    if name in SETTINGS:
        return name
    if name in JOINED_NAMES:
        return JOINED_NAMES[name]
    near = find_nearest_name(name, [*SETTINGS, *JOINED_NAMES])
    hint = f" Did you mean {near!r}?" if near else " `fonds doctor` lists all settings."
    raise ConfigurationError(f"Unknown setting {name!r} in {origin}.{hint}")
