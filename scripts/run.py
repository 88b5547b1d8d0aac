"""What `make run` does: takes in the sample crawl, or the paths it is given, and says what to type next.

Exit code 0 when everything was settled, also when some records failed: a crawl without a damaged record
is rare, and what failed waits in quarantine. Any other outcome keeps the exit code of `fonds ingest`.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from fonds.cli.main import EXIT_QUARANTINED, cli, run
from fonds.config import home_folder, load_settings
from fonds.library.accounting import tally
from fonds.model.disposition import Reason
from fonds.wiring.backends import backend
from sample import write_sample

SAMPLE = Path("sample-crawl")
FONDS = ".venv/bin/fonds"
MEANT_REASONS = {Reason.BROKEN_PDF, Reason.ENCRYPTED_PDF, Reason.TRUNCATED_RECORD}
MEANT = f"""\
The failed records are meant: the sample holds a broken PDF, a locked one and a WARC cut short, to
show what becomes of such. `{FONDS} failures` lists them."""
FAILED = f"""\
Some records failed. Nothing is lost: they wait in quarantine, whole. See why with
  {FONDS} failures --list"""


def main(paths: Sequence[str]) -> int:
    """Take in `paths`, or without any the sample crawl; the exit code."""
    chosen = list(paths) or [str(sample_crawl())]
    home = home_folder(None)
    print(f"Taking in {', '.join(chosen)}; everything is kept in {home}\n", flush=True)
    code, settled = ingest(chosen)
    if not settled:
        return code
    if code == EXIT_QUARANTINED:
        print(f"\n{MEANT if not paths and _failed(home) <= MEANT_REASONS else FAILED}")
    print(f"\n{_next_words(home, is_sample=not paths)}")
    return 0


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


def ingest(paths: Sequence[str]) -> tuple[int, bool]:
    """The exit code of `fonds ingest`, and whether it came to its end.

    Its code 1 alone does not tell what was quarantined from what went wrong: an error is raised.
    """
    codes: list[int] = []

    def command() -> object:
        code = cli.main(["ingest", *paths], prog_name="fonds", standalone_mode=False)
        codes.append(code if isinstance(code, int) else 0)
        return code

    code = run(command)
    return code, codes in ([0], [EXIT_QUARANTINED])


def _failed(home: Path) -> set[str]:
    """The reasons of everything in quarantine."""
    settings = load_settings(home)
    return set(tally(backend("records", settings.records, home)).quarantined)


def _next_words(home: Path, *, is_sample: bool) -> str:
    there = "" if home == home_folder(str(Path("fonds-data"))) else f" --home {home}"
    words = "flood" if is_sample else '"some words"'
    return (
        "Next:\n"
        f"  {FONDS} search{there} {words}\n"
        f"  {FONDS} serve{there}          then open the address it prints\n"
        '  make run DATA="PATH ..."        takes in files of your own: WARC, CDX, ZIP, PDF, HTML, folders'
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
