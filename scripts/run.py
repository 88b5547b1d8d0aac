"""Run `make run`: ingest the sample crawl, or the paths in DATA, and print the next commands.

The sample has its own home, so that it does not mix with your data. The exit code is 0 when all records
have an outcome, even if some failed: crawls without a damaged record are rare, and failed records are in
quarantine. Otherwise the exit code is that of `fonds ingest`.
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
from fonds.wiring.backends import open_backend
from sample import write_sample

SAMPLE, SAMPLE_HOME = Path("sample-crawl"), "sample-library"
FONDS = ".venv/bin/fonds"
INTENDED_REASONS = {Reason.BROKEN_PDF, Reason.ENCRYPTED_PDF, Reason.TRUNCATED_RECORD}
INTENDED = """\
The failed records are intended: the sample contains a broken PDF, an encrypted PDF and a truncated
WARC, to show how Fonds handles them."""
OWN = """\
To ingest your own files (WARC, CDX, ZIP, PDF, HTML or folders) into a separate library:
      make run DATA="PATH ..."
"""
FAILED = "Some records failed. Nothing is lost: they are in quarantine."


def main(data: str) -> int:
    """Ingest the paths in `data`, or the sample crawl if it is empty; return the exit code."""
    sys.argv[0] = FONDS  # The printed next commands begin with it.
    try:
        paths = split_paths(data)
    except ValueError as error:
        print(f"DATA={data}: {error}", file=sys.stderr)
        return EXIT_USAGE
    home = SAMPLE_HOME if not paths and not os.environ.get("FONDS_HOME") else None
    chosen = paths or [str(write_sample_crawl())]
    options = ["--home", home] if home else []
    print(f"Ingesting {', '.join(chosen)} into {find_home(home)}\n", flush=True)
    code, settled = ingest([*options, "ingest", *chosen])
    if not settled:
        return code
    if code == EXIT_QUARANTINED:
        is_intended = not paths and _load_quarantine_reasons(find_home(home)) <= INTENDED_REASONS
        print(f"\n{INTENDED if is_intended else FAILED}")
    if not paths:
        print(
            f"\nTry a search in the sample: {shlex.join([FONDS, *options, 'search', 'flood'])}\n{OWN}"
        )
    return 0


def split_paths(data: str) -> list[str]:
    """Split `data` into paths like a shell, unless all of it is one existing path with blanks.

    Patterns are expanded. Raises ValueError for an unclosed quotation.
    """
    if not data.strip():
        return []
    if Path(data).exists():
        return [data]
    words = map(os.path.expanduser, shlex.split(data))
    return [path for word in words for path in sorted(glob.glob(word)) or [word]]  # noqa: PTH207


def write_sample_crawl() -> Path:
    """Return the folder of the sample crawl. Writes it, completely or not at all, if it is missing."""
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
    """Run `fonds ingest`; return its exit code, and whether it finished.

    Code 1 is not enough, because it means quarantined records or an error.
    """
    codes: list[int] = []

    def command() -> object:
        code = cli.main([*words], prog_name="fonds", standalone_mode=False)
        codes.append(code if isinstance(code, int) else 0)
        return code

    code = run(command)
    return code, codes in ([0], [EXIT_QUARANTINED])


def _load_quarantine_reasons(home: Path) -> set[str]:
    """Return the reasons of all records in quarantine."""
    settings = load_settings(home)
    return set(count_entries(open_backend("records", settings.records, home)).quarantined)


if __name__ == "__main__":
    sys.exit(main(os.environ.get("DATA", "")))
