"""`fonds verify`: whether an exported file is as it was written, and its search still finds the same."""

from __future__ import annotations

from pathlib import Path

import click

from fonds.cli.context import App, command, console, echo_json
from fonds.library.searching.manifest import Verified, read_manifest, verified


@command("verify")
@click.argument("file", metavar="FILE")
def verify(app: App, file: str) -> int:
    """Hold an exported FILE against its manifest, and the search it came from against the library.

    Exit code 1 when the bytes are not those that were written. That a search finds other documents by now is
    told, and no fault.

    \b
    fonds verify floods.csv
    fonds verify floods.csv.manifest.json --json
    """
    path = Path(file)
    found = verified(path, read_manifest(path), app.index())
    if app.json:
        echo_json(found)
    else:
        console().print("\n".join(_told(found)), markup=False)
    return 0 if found.file_is_whole else 1


def _told(found: Verified) -> list[str]:
    told = [
        f"{found.file} is as it was written."
        if found.file_is_whole
        else f"{found.file} is NOT what was written: its SHA-256 is another."
    ]
    if found.result_is_same is None:
        return told
    if found.result_is_same:
        return [*told, f"Its search finds the same {found.then:,} documents today."]
    now = f"{found.now or 0:,}" if (found.now or 0) <= found.then else f"more than {found.then:,}"
    return [*told, f"Its search finds others today: {found.then:,} then, {now} now."]
