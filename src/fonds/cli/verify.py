"""`fonds verify`: check an exported file, and compare its documents with the library."""

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


@command("verify", answers={"one": VerificationResult})
@click.argument("file", metavar="FILE")
def verify(app: App, file: str) -> int:
    """Verify an exported FILE and its search.

    FILE is compared with its manifest, and its search with the library.

    If the manifest lists the documents (up to 100,000), the state of each is shown: unchanged, read
    again, shown by another version, no longer found, taken down, under embargo, or gone. New
    documents are shown too. The exit code is 1 if the file has been changed. Changed search results
    are shown, but are not an error.

    \b
    fonds verify floods.csv
    fonds verify floods.csv.manifest.json --json
    """
    path = Path(file)
    manifest = read_manifest(path)
    file_path, is_intact = is_file_intact(path, manifest)
    stores = app.open_stores()

    def progress(count: int) -> None:
        if not app.is_quiet and count % REPORT_EVERY == 0:
            print_note(f"{pluralize(count, 'document')} examined")

    documents_max = max(WALKED_MAX, manifest.rows + 1)
    try:
        result = ManifestVerifier(stores, stores.records, documents_max, progress)(
            manifest, file_path, is_intact
        )
    except ValueError as error:
        raise ConfigurationError(f"Cannot repeat the search of {file_path}: {error}") from error
    if app.is_json:
        echo_json(result)
    else:
        open_console().print("\n".join(_format_comparison(result)), markup=False)
    return 0 if is_intact else 1


def _format_comparison(result: VerificationResult) -> list[str]:
    lines = [
        f"{result.file} is unchanged."
        if result.file_is_whole
        else f"{result.file} was CHANGED: its SHA-256 differs."
    ]
    if result.now is None:
        return lines
    if result.result_is_same:
        lines.append(f"Its search finds the same {pluralize(result.then, 'document')} today.")
    else:
        now = f"{result.now:,}" if not result.now_is_more else f"at least {result.now:,}"
        lines.append(f"Its search has changed: {result.then:,} then, {now} now.")
    lines.append(_format_generation(result))
    if result.compared is None:
        return lines
    lines += [
        f"  {account.count:>9,}  {account.words}"
        for account in build_accounts(result.compared)
        if account.count
    ]
    lines += [
        f"{account.change.replace('_', ' ')}: {account.id} {account.title[:100]} {account.why}".rstrip()
        for account in result.compared.listed
    ]
    return lines


def _format_generation(result: VerificationResult) -> str:
    if result.generation_is_same:
        return f"The index is unchanged (generation {result.generation_now})."
    old_generation, now = result.generation_then or "unknown", result.generation_now or "unknown"
    return f"The generation of the index was {old_generation[:40]} then and is {now} now."
