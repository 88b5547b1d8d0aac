"""`fonds doctor`: whether this machine and this home are fit to work, and the settings in force."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from fonds.cli.context import App, command, console, echo_json
from fonds.config import SETTINGS_FILE, Settings
from fonds.model.errors import FondsError
from fonds.model.numbers import how_many
from fonds.model.secrets import holds_secret, without_secrets

if TYPE_CHECKING:
    from fonds.isolation.confinement import Layer

FREE_MIN_BYTES = 1024**3
LIBRARIES = ("pypdfium2", "pikepdf", "trafilatura", "py3langid", "tantivy", "SQLAlchemy", "warcio")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at; a `warning` is fine, and could be better."""

    name: str
    fine: bool
    detail: str
    warning: bool = False


@command("doctor")
def doctor(app: App) -> int:
    """Look whether everything is fit to work, and list the settings in force.

    Exit code 1 when something is not. What is `weaker` works, and this machine could do it better.

    \b
    fonds doctor
    fonds doctor --json
    fonds doctor --set isolation=required
    """
    settings = app.settings()
    findings = list(_look(app, settings))
    values = {
        name: without_secrets(value) if isinstance(value, str) else value
        for name, value in settings.named().items()
    }
    if app.json:
        echo_json({"findings": findings, "settings": values, "home": str(app.home)})
    else:
        _print(findings, values)
    return 0 if all(finding.fine for finding in findings) else 1


def _look(app: App, settings: Settings) -> Iterator[Finding]:
    yield Finding("libraries", True, ", ".join(f"{name} {version(name)}" for name in LIBRARIES))
    yield _pdf_extractor(settings)
    yield _room(app.home)
    if not app.home.is_dir():
        yield Finding("home", True, f"{app.home} is not there yet; `fonds ingest` makes it")
        return
    writable = os.access(app.home, os.W_OK)
    told = str(app.home) if writable else f"{app.home} can only be read: nothing can be taken in"
    yield Finding("home", writable, told)
    yield from _settings_file(app.home / SETTINGS_FILE)
    yield _stores(app, settings)
    yield from _readers(app, settings)


def _pdf_extractor(settings: Settings) -> Finding:
    from fonds.wiring.readers import pdf_extractor

    try:
        return Finding("PDF extractor", True, pdf_extractor(settings))
    except FondsError as error:
        return Finding("PDF extractor", False, str(error))


def _room(home: Path) -> Finding:
    place = next(path for path in (home, *home.parents) if path.exists())
    free = shutil.disk_usage(place).free
    return Finding("disk", free >= FREE_MIN_BYTES, f"{free / 1024**3:.1f} GiB free at {place}")


def _settings_file(path: Path) -> Iterator[Finding]:
    """Whether passwords in it are its owner's alone to read."""
    if not path.exists() or not holds_secret(path.read_text("utf-8")):
        return
    mode = stat.S_IMODE(path.stat().st_mode)
    told = "holds a user or password; its owner alone may read it"
    if mode & 0o077:
        told = f"holds a user or password, and others may read it: chmod 600 {path}"
    yield Finding("settings file", not mode & 0o077, told)


def _stores(app: App, settings: Settings) -> Finding:
    try:
        stores = app.stores(settings)
        told = f"open; {how_many(stores.index.count(), 'document')} in the index"
        if unsent := sum(stores.archive.unsent().values()):
            told += (
                f"; {unsent / 1024**2:,.1f} MiB of WARC files wait here to be moved to the archive"
            )
        return Finding("stores", True, told)
    except FondsError as error:
        return Finding("stores", False, str(error))


def _readers(app: App, settings: Settings) -> Iterator[Finding]:
    """Starts an isolated reader, asks what confines it, and lets it read a page."""
    from fonds.wiring.backends import now
    from fonds.wiring.readers import open_readers

    page = b"<html><title>Fit</title><body><p>" + b"The reader is fit to work today. " * 20
    with TemporaryDirectory() as spool:
        try:
            # What is required and not there is said layer by layer.
            readers = open_readers(Path(spool), settings.changed(isolation="possible"))
            try:
                found = readers.parse(page, "http://doctor.example/", None, now(), True, False)
                yield Finding("readers", found.status.reason is None, f"answered {found.status}")
                for layer, why_not in readers.pool.layers().items():
                    yield _layer(layer, why_not, settings)
            finally:
                readers.close()
        except FondsError as error:
            yield Finding("readers", False, str(error))


def _layer(layer: Layer, why_not: str, settings: Settings) -> Finding:
    """Whether one layer of a reader's confinement holds, and what follows."""
    from fonds.isolation.confinement import HELD, NOT_HELD

    name = f"readers confined by {layer}"
    if not why_not:
        return Finding(name, True, f"held: {HELD[layer]}")
    told = f"not held: {NOT_HELD[layer]}. Why: {why_not}"
    if settings.isolation == "required":
        return Finding(name, False, f"{told}. Required by the setting isolation.")
    return Finding(name, True, told, warning=True)


def _print(findings: list[Finding], values: dict[str, object]) -> None:
    screen = console()
    for finding in findings:
        colour, word = ("green", "fine") if finding.fine else ("red", "not fine")
        if finding.warning:
            colour, word = "yellow", "weaker"
        screen.print(f"[{colour}]{word:8}[/{colour}] {finding.name}: {escape(finding.detail)}")
    table = Table(
        box=None, show_header=False, pad_edge=False, title="\nSettings", title_justify="left"
    )
    for name, value in values.items():
        table.add_row(name, escape(str(value)))
    screen.print(table)
