"""`fonds verify`: whether an exported file is as it was written, and what became of its documents since."""

from __future__ import annotations

from pathlib import Path

import click

from fonds.cli.context import App, command, echo_json, open_console, print_note
from fonds.model.encoding import pluralize
from fonds.model.errors import ConfigurationError
from fonds.search.manifest import read_manifest
from fonds.search.verification import (
    WALKED_MAX,
    ManifestVerifier,
    VerificationResult,
    build_accounts,
    is_file_intact,
)

REPORT_EVERY = 20_000


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
    where, whole = is_file_intact(path, manifest)
    stores = app.open_stores()

    def progress(count: int) -> None:
        if not app.is_quiet and count % REPORT_EVERY == 0:
            print_note(f"{pluralize(count, 'document')} looked at")

    most = max(WALKED_MAX, manifest.rows + 1)
    try:
        found = ManifestVerifier(stores, stores.records, most, progress)(manifest, where, whole)
    except ValueError as error:
        raise ConfigurationError(f"the search of {where} cannot be asked: {error}") from error
    if app.is_json:
        echo_json(found)
    else:
        open_console().print("\n".join(_format_comparison(found)), markup=False)
    return 0 if whole else 1


def _format_comparison(result: VerificationResult) -> list[str]:
    told = [
        f"{result.file} is as it was written."
        if result.file_is_whole
        else f"{result.file} is NOT what was written: its SHA-256 is another."
    ]
    if result.now is None:
        return told
    if result.result_is_same:
        told.append(f"Its search finds the same {pluralize(result.then, 'document')} today.")
    else:
        now = f"{result.now:,}" if not result.now_is_more else f"at least {result.now:,}"
        told.append(f"Its search finds others today: {result.then:,} then, {now} now.")
    told.append(_format_generation(result))
    if result.compared is None:
        return told
    told += [
        f"  {one.count:>9,}  {one.words}" for one in build_accounts(result.compared) if one.count
    ]
    told += [
        f"{one.became.replace('_', ' ')}: {one.id} {one.title[:100]} {one.why}".rstrip()
        for one in result.compared.listed
    ]
    return told


def _format_generation(result: VerificationResult) -> str:
    if result.generation_is_same:
        return (
            f"The index is of generation {result.generation_now} still: nothing was written to it."
        )
    then, now = result.generation_then or "unknown", result.generation_now or "unknown"
    return f"The generation of the index was {then[:40]} then, and is {now} now."
