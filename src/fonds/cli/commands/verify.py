"""`fonds verify`: whether an exported file is as it was written, and what became of its documents since."""

from __future__ import annotations

from pathlib import Path

import click

from fonds.cli.context import App, command, console, echo_json, say
from fonds.library.searching.manifest import read_manifest
from fonds.library.searching.since.verifying import (
    WALKED_MAX,
    Verified,
    Verifying,
    accounted,
    is_whole,
)
from fonds.model.errors import ConfigurationError
from fonds.model.numbers import how_many

SAID_EVERY = 20_000


@command("verify")
@click.argument("file", metavar="FILE")
def verify(app: App, file: str) -> int:
    """Hold an exported FILE against its manifest, and the search it came from against the library.

    Where the manifest names the documents (up to 100,000), it is told what became of each: unchanged, read
    again, shown by another version, no longer found, taken down, under embargo, gone; and which came since.
    Exit code 1 when the bytes are not those that were written. That a search finds other documents by now is
    told, and no fault.

    \b
    fonds verify floods.csv
    fonds verify floods.csv.manifest.json --json
    """
    path = Path(file)
    manifest = read_manifest(path)
    where, whole = is_whole(path, manifest)
    stores = app.stores()

    def progress(count: int) -> None:
        if not app.quiet and count % SAID_EVERY == 0:
            say(f"{how_many(count, 'document')} looked at")

    most = max(WALKED_MAX, manifest.rows + 1)
    try:
        found = Verifying(stores, stores.records, most, progress)(manifest, where, whole)
    except ValueError as error:
        raise ConfigurationError(f"the search of {where} cannot be asked: {error}") from error
    if app.json:
        echo_json(found)
    else:
        console().print("\n".join(_told(found)), markup=False)
    return 0 if whole else 1


def _told(found: Verified) -> list[str]:
    told = [
        f"{found.file} is as it was written."
        if found.file_is_whole
        else f"{found.file} is NOT what was written: its SHA-256 is another."
    ]
    if found.now is None:
        return told
    if found.result_is_same:
        told.append(f"Its search finds the same {how_many(found.then, 'document')} today.")
    else:
        now = f"{found.now:,}" if not found.now_is_more else f"at least {found.now:,}"
        told.append(f"Its search finds others today: {found.then:,} then, {now} now.")
    told.append(_generation_told(found))
    if found.compared is None:
        return told
    told += [f"  {one.count:>9,}  {one.words}" for one in accounted(found.compared) if one.count]
    told += [
        f"{one.became.replace('_', ' ')}: {one.id} {one.title[:100]} {one.why}".rstrip()
        for one in found.compared.listed
    ]
    return told


def _generation_told(found: Verified) -> str:
    if found.generation_is_same:
        return (
            f"The index is of generation {found.generation_now} still: nothing was written to it."
        )
    then, now = found.generation_then or "unknown", found.generation_now or "unknown"
    return f"The generation of the index was {then[:40]} then, and is {now} now."
