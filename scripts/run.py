"""Ingest the sample crawl or the paths in DATA for `make run`, and print the next commands.

The sample has a home of its own, so that it does not mix with other data. The exit code is 0 if every
record has an outcome, also if some failed: a crawl without a damaged record is rare, and failed records
are in quarantine. Otherwise it is the exit code of `fonds ingest`.
"""

from __future__ import annotations

import glob
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from fonds.cli.main import EXIT_QUARANTINED, EXIT_USAGE, cli, run
from fonds.config import find_home, load_settings
from fonds.failures.accounting.tallies import count_entries
from fonds.model.disposition import Reason
from fonds.wiring.stores import open_backend
from sample import write_sample

SAMPLE, SAMPLE_HOME = Path("sample-crawl"), "sample-library"
FONDS = ".venv/bin/fonds"
MEANT_REASONS = {Reason.BROKEN_PDF, Reason.ENCRYPTED_PDF, Reason.TRUNCATED_RECORD}
MEANT = """\
These failures are expected: the sample contains a broken PDF, an encrypted PDF and a truncated WARC,
to show how Fonds reports them."""
OWN = """\
To build a separate library from your own files (WARC, CDX, ZIP, PDF, HTML, or folders of these):
      make run DATA="PATH ..."
"""
FAILED = "Some records failed. They are in quarantine, with their reasons."


def main(data: str) -> int:
    """Ingest the paths in `data`, or the sample crawl if there are none. Return the exit code."""
    sys.argv[0] = FONDS  # The printed commands begin with it.
    try:
        paths = paths_of(data)
    except ValueError as error:
        print(f"DATA={data}: {error}", file=sys.stderr)
        return EXIT_USAGE
    home = SAMPLE_HOME if not paths and not os.environ.get("FONDS_HOME") else None
    chosen = paths or [str(sample_crawl())]
    named = ["--home", home] if home else []
    print(f"Adding {', '.join(chosen)} to the library in {find_home(home)}\n", flush=True)
    code, settled = ingest([*named, "ingest", *chosen])
    if not settled:
        return code
    if code == EXIT_QUARANTINED:
        meant = not paths and _failed(find_home(home)) <= MEANT_REASONS
        print(f"\n{MEANT if meant else FAILED}")
    if not paths:
        print(
            f"\nTo search the sample, run: {shlex.join([FONDS, *named, 'search', 'flood'])}\n{OWN}"
        )
    return 0


def paths_of(data: str) -> list[str]:
    """Return the paths in a text, split as a shell does, with patterns expanded.

    If the whole text is an existing path, return only it. Raises ValueError for an unclosed quote.
    """
    if not data.strip():
        return []
    if Path(data).exists():
        return [data]
    words = map(os.path.expanduser, shlex.split(data))
    return [path for word in words for path in sorted(glob.glob(word)) or [word]]  # noqa: PTH207


def sample_crawl() -> Path:
    """Return the folder of the sample crawl. Write it, completely or not at all, if it is missing."""
    if SAMPLE.is_dir():
        print(f"The sample crawl is already in {SAMPLE}/.")
        return SAMPLE
    partial = SAMPLE.with_name(f"{SAMPLE.name}.part")
    shutil.rmtree(partial, ignore_errors=True)
    summary = write_sample(partial)
    partial.rename(SAMPLE)
    captures = sum(summary.captures.values())
    print(f"Wrote a small crawl to {SAMPLE}/: {captures} captures of invented sites.")
    return SAMPLE


def ingest(words: Sequence[str]) -> tuple[int, bool]:
    """Return the exit code of `fonds ingest`, and whether it finished.

    Code 1 is ambiguous: it means both failed records and an error that was raised.
    """
    codes: list[int] = []

    def command() -> object:
        code = cli.main([*words], prog_name="fonds", standalone_mode=False)
        codes.append(code if isinstance(code, int) else 0)
        return code

    code = run(command)
    return code, codes in ([0], [EXIT_QUARANTINED])


def _failed(home: Path) -> set[str]:
    """Return the reasons of all messages in quarantine."""
    settings = load_settings(home)
    return set(count_entries(open_backend("records", settings.records, home)).quarantined)


if __name__ == "__main__":
    sys.exit(main(os.environ.get("DATA", "")))
