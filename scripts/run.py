"""What `make run` does: takes in the sample crawl, or the paths in DATA, and says what to type next.

The sample has a home of its own, so that nobody's data mixes with it. Exit code 0 when everything was
settled, also when some records failed: a crawl without a damaged record is rare, and what failed waits in
quarantine. Any other outcome keeps the exit code of `fonds ingest`.
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
The failed records are meant: the sample holds a broken PDF, a locked one and a WARC cut short, to
show what becomes of such."""
OWN = """\
Files of your own (WARC, CDX, ZIP, PDF, HTML, folders of them) are kept apart from it:
      make run DATA="PATH ..."
"""
FAILED = "Some records failed. Nothing is lost: they wait in quarantine, whole."


def main(data: str) -> int:
    """Take in what `data` names, or the sample crawl when it names nothing; the exit code."""
    sys.argv[0] = FONDS  # what is said to be typed next begins with it
    try:
        paths = paths_of(data)
    except ValueError as error:
        print(f"DATA={data}: {error}", file=sys.stderr)
        return EXIT_USAGE
    home = SAMPLE_HOME if not paths and not os.environ.get("FONDS_HOME") else None
    chosen = paths or [str(sample_crawl())]
    named = ["--home", home] if home else []
    print(f"Taking in {', '.join(chosen)}; everything is kept in {find_home(home)}\n", flush=True)
    code, settled = ingest([*named, "ingest", *chosen])
    if not settled:
        return code
    if code == EXIT_QUARANTINED:
        meant = not paths and _failed(find_home(home)) <= MEANT_REASONS
        print(f"\n{MEANT if meant else FAILED}")
    if not paths:
        print(f"\nIn the sample try: {shlex.join([FONDS, *named, 'search', 'flood'])}\n{OWN}")
    return 0


def paths_of(data: str) -> list[str]:
    """The paths in words as a shell takes them, or the one path all of it is, blanks and all.

    A pattern stands for what it fits. Raises ValueError for a quotation that does not end.
    """
    if not data.strip():
        return []
    if Path(data).exists():
        return [data]
    words = map(os.path.expanduser, shlex.split(data))
    return [path for word in words for path in sorted(glob.glob(word)) or [word]]  # noqa: PTH207


def sample_crawl() -> Path:
    """The folder of the sample crawl, written if it is not there; whole or not at all."""
    if SAMPLE.is_dir():
        print(f"The sample crawl is in {SAMPLE}/ already.")
        return SAMPLE
    partial = SAMPLE.with_name(f"{SAMPLE.name}.part")
    shutil.rmtree(partial, ignore_errors=True)
    summary = write_sample(partial)
    partial.rename(SAMPLE)
    captures = sum(summary.captures.values())
    print(f"Wrote a small crawl to {SAMPLE}/: {captures} captures of made-up sites.")
    return SAMPLE


def ingest(words: Sequence[str]) -> tuple[int, bool]:
    """The exit code of `fonds ingest`, and whether it came to its end.

    Its code 1 alone does not tell what was quarantined from what went wrong: an error is raised.
    """
    codes: list[int] = []

    def command() -> object:
        code = cli.main([*words], prog_name="fonds", standalone_mode=False)
        codes.append(code if isinstance(code, int) else 0)
        return code

    code = run(command)
    return code, codes in ([0], [EXIT_QUARANTINED])


def _failed(home: Path) -> set[str]:
    """The reasons of everything in quarantine."""
    settings = load_settings(home)
    return set(count_entries(open_backend("records", settings.records, home)).quarantined)


if __name__ == "__main__":
    sys.exit(main(os.environ.get("DATA", "")))
