"""`fonds doctor`: check this machine and the library, and list the settings in effect."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import msgspec
from msgspec import Meta
from rich.markup import escape
from rich.table import Table

from fonds.cli.context import App, command, echo_json, open_console
from fonds.config import SETTINGS_FILE, Settings
from fonds.isolation.confinement import ACTIVE_MESSAGES, INACTIVE_MESSAGES, Layer
from fonds.model.encoding import pluralize
from fonds.model.errors import FondsError
from fonds.model.secrets import has_secret, redact_secrets

FREE_MIN_BYTES = 1024**3
OTHERS = stat.S_IRWXG | stat.S_IRWXO
"""All permissions of the group and of other users."""
LIBRARIES = ("pypdfium2", "pikepdf", "trafilatura", "py3langid", "tantivy", "SQLAlchemy", "warcio")


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Result of one check of the installation.

    - `name`: what was checked.
    - `fine`: whether the check passed.
    - `detail`: what was found.
    - `warning`: whether the check passed, but the result could be better.
    """

    name: str
    fine: bool
    detail: str
    warning: bool = False


class DoctorAnswer(msgspec.Struct, frozen=True):
    """JSON answer: the results of all checks of the installation, and the settings."""

    findings: Annotated[
        Sequence[CheckResult],
        Meta(description="results of the checks; one with `warning` passed, but could be better"),
    ]
    settings: Annotated[
        Mapping[str, object], Meta(description="all settings in effect, without passwords")
    ]
    home: Annotated[str, Meta(description="folder of the library")]


@command("doctor", answers={"one": DoctorAnswer})
def doctor(app: App) -> int:
    """Check the installation and list the settings in effect.

    Checks marked `weaker` work, but this machine could do better. The exit code is 1 if a check
    fails.

    \b
    fonds doctor
    fonds doctor --json
    fonds doctor --set isolation=required
    """
    settings = app.load_settings()
    findings = list(_run_checks(app, settings))
    values = {
        name: redact_secrets(value) if isinstance(value, str) else value
        for name, value in settings.flatten().items()
    }
    if app.is_json:
        echo_json(DoctorAnswer(findings, values, str(app.home)))
    else:
        _print(findings, values)
    return 0 if all(finding.fine for finding in findings) else 1


def _run_checks(app: App, settings: Settings) -> Iterator[CheckResult]:
    yield CheckResult("libraries", True, ", ".join(f"{name} {version(name)}" for name in LIBRARIES))
    yield _check_pdf_extractor(settings)
    yield _check_disk_space(app.home)
    if not app.home.is_dir():
        yield CheckResult("home", True, f"{app.home} does not exist yet; `fonds ingest` creates it")
        return
    writable = os.access(app.home, os.W_OK)
    detail = str(app.home) if writable else f"{app.home} is read-only, so nothing can be added"
    yield CheckResult("home", writable, detail)
    yield _check_privacy(app.home)
    yield from _check_settings_file(app.home / SETTINGS_FILE)
    yield _check_stores(app, settings)
    yield from _check_readers(app, settings)


def _check_pdf_extractor(settings: Settings) -> CheckResult:
    # Imported here because the readers are slow to import.
    from fonds.wiring.readers import name_pdf_extractor

    try:
        return CheckResult("PDF extractor", True, name_pdf_extractor(settings))
    except FondsError as error:
        return CheckResult("PDF extractor", False, str(error))


def _check_disk_space(home: Path) -> CheckResult:
    place = next(path for path in (home, *home.parents) if path.exists())
    free = shutil.disk_usage(place).free
    return CheckResult("disk", free >= FREE_MIN_BYTES, f"{free / 1024**3:.1f} GiB free at {place}")


def _check_privacy(home: Path) -> CheckResult:
    """Check that other users of this machine cannot read the library.

    Keys, roles and embargoes only protect what the server shows, not the files of the home.
    """
    if not stat.S_IMODE(home.stat().st_mode) & OTHERS:
        return CheckResult("privacy", True, "only the owner of the home can read it")
    umask = os.umask(0)
    os.umask(umask)
    detail = (
        f"others can open the home, which may contain files under embargo; run chmod 700 {home}"
    )
    if umask & OTHERS != OTHERS:
        detail += "; new files are readable for others too (umask)"
    return CheckResult("privacy", True, detail, warning=True)


def _check_settings_file(path: Path) -> Iterator[CheckResult]:
    """Check that only the owner can read the settings file, and yield the result.

    `path`: the settings file. Yields nothing if it does not exist, or has no user names or
        passwords.
    """
    if not path.exists() or not has_secret(path.read_text("utf-8")):
        return
    mode = stat.S_IMODE(path.stat().st_mode)
    detail = "contains a user or password; only its owner can read it"
    if mode & OTHERS:
        detail = f"contains a user or password, and others can read it; run chmod 600 {path}"
    yield CheckResult("settings file", not mode & OTHERS, detail)


def _check_stores(app: App, settings: Settings) -> CheckResult:
    try:
        stores = app.open_stores(settings)
        detail = f"open; {pluralize(stores.index.count(), 'document')} in the index"
        if unsent := sum(stores.archive.list_unsent().values()):
            detail += (
                f"; {unsent / 1024**2:,.1f} MiB of WARC files wait here to be uploaded "
                "to the archive"
            )
        return CheckResult("stores", True, detail)
    except FondsError as error:
        return CheckResult("stores", False, str(error))


def _check_readers(app: App, settings: Settings) -> Iterator[CheckResult]:
    """Check the isolated processes that parse files: start one, and have it parse a page.

    Yield a result for the parsing, and one for each layer of the process's confinement.
    """
    # Imported here because the readers and the stores are slow to import.
    from fonds.wiring.readers import open_readers
    from fonds.wiring.stores import get_utc_now

    page = b"<html><title>Fit</title><body><p>" + b"The reader is fit to work today. " * 20
    with TemporaryDirectory() as spool:
        try:
            # Start with `possible` even if the setting is `required`; missing layers are reported
            # one by one.
            readers = open_readers(Path(spool), settings.replace_values(isolation="possible"))
            try:
                parsed_page = readers.parse(
                    page, "http://doctor.example/", None, get_utc_now(), True, False
                )
                yield CheckResult(
                    "readers", parsed_page.status.reason is None, f"answered {parsed_page.status}"
                )
                for layer, why_not in readers.pool.get_layers().items():
                    yield _check_layer(layer, why_not, settings)
            finally:
                readers.close()
        except FondsError as error:
            yield CheckResult("readers", False, str(error))


def _check_layer(layer: Layer, inactive_reason: str, settings: Settings) -> CheckResult:
    """Return the check result for one confinement layer of the processes that parse files.

    `inactive_reason` is '' if the layer is active. An inactive layer is a failure if the settings
    require confinement, and otherwise a warning.
    """
    name = f"readers confined by {layer}"
    if not inactive_reason:
        return CheckResult(name, True, f"active: {ACTIVE_MESSAGES[layer]}")
    detail = f"not active: {INACTIVE_MESSAGES[layer]}. Reason: {inactive_reason}"
    if settings.isolation == "required":
        return CheckResult(name, False, f"{detail}. The setting isolation requires it.")
    return CheckResult(name, True, detail, warning=True)


def _print(findings: list[CheckResult], values: dict[str, object]) -> None:
    screen = open_console()
    for finding in findings:
        colour, word = ("green", "fine") if finding.fine else ("red", "failed")
        if finding.warning:
            colour, word = "yellow", "weaker"
        screen.print(f"[{colour}]{word:8}[/{colour}] {finding.name}: {escape(finding.detail)}")
    table = Table(
        box=None, show_header=False, pad_edge=False, title="\nSettings", title_justify="left"
    )
    for name, value in values.items():
        table.add_row(name, escape(str(value)))
    screen.print(table)
