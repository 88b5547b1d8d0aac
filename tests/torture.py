"""SIGKILL every long command that writes, at random; compare with an undisturbed home.

    PYTHONPATH=tests:scripts python tests/torture.py --kills 300

Every command is killed repeatedly at random times within its usual duration, and restarted until it
finishes. Then each home is compared with an undisturbed one: every row, cell, blob, document, capture,
outcome, match, embargo and takedown. A deep audit follows, which also checks the grouped collection. The
exit code is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from hashlib import sha1
from pathlib import Path
from typing import Any

from damaged_world import World
from damages import DAMAGES
from e2e.crawls import THEMES, page, write_crawl
from e2e.states import state
from fonds.audit.audit import run_audit
from fonds.audit.bodies import DeepAudit
from fonds.config import load_settings
from fonds.model.rows import CitationRow, EmbargoRow, MatchRow, TakedownRow
from fonds.wiring.collections import find_collection_writer
from fonds.wiring.pipeline_names import list_used_readers
from fonds.wiring.stores import close_stores, open_stores

RUN_MAX_S = 600.0
STARTS_MAX = 400
"""A command that has not finished after this many starts never will."""
SUCCESS_CODES = (0, 1)
KILLS_MIN = 6
"""Minimum kills of each command of a home, unless it finishes sooner."""
KINDS: tuple[type[Any], ...] = (MatchRow, CitationRow, EmbargoRow, TakedownRow)
PARTS = (
    *("outcomes", "files", "pdfs", "stories", "captures", "documents", "indexed"),
    *("table", "blobs", "strays", "left"),
    *(kind.TABLE for kind in KINDS),
)
"""Parts of a state that do not depend on repetitions; the number of dispositions does."""
COLLECTION = "test/story"
WORKS, WORKS_FILE = 3_000, "works.jsonl"
HIDDEN = [sha1(page(number)).hexdigest() for number in (1, 2, 3)]
REMOVED = [sha1(page(number)).hexdigest() for number in (4, 5, 6)]
REPAIRABLE_DAMAGES = (
    "cdxj-gone",
    "warc-truncated",
    "text-gone",
    "pdf-row-gone",
    "table-row-gone",
    "tally",
)


@dataclass
class Count:
    """Kills, starts and comparisons so far."""

    kills: Counter[str] = field(default_factory=Counter)
    starts: Counter[str] = field(default_factory=Counter)
    compared: int = 0


@dataclass
class Life:
    """One home from its first ingest to its repair. `usual_s` is None for the undisturbed run."""

    world: World
    count: Count
    chance: random.Random
    kills_max: int
    usual_s: dict[str, float] | None
    kills_min: int = KILLS_MIN
    took_s: dict[str, float] = field(default_factory=dict)

    def lead(self) -> None:
        """Run all commands, each until it finishes."""
        halves = sorted(self.world.crawl.iterdir())
        middle = len(halves) // 2
        self._run_until_finished("ingest", *halves[:middle])
        self._run_until_finished("ingest again", *halves)
        self._run_until_finished("retry")
        self._run_until_finished("catchup pdf")
        self._run_until_finished("catchup story")
        self._run_until_finished("reindex")
        for damage in DAMAGES:
            if damage.name in REPAIRABLE_DAMAGES:
                damage.act(self.world)
        self._run_until_finished("repair")
        self._run_until_finished("catalog load")
        self._run_until_finished("match")
        self._run_to_end(["collection", "create", COLLECTION, "--query", "kind:story"])
        self._run_until_finished("group")
        self._run_until_finished("group again")
        self._run_until_finished("embargo")
        self._run_until_finished("takedown")

    def _run_to_end(self, words: list[str]) -> None:
        """Run a command once, undisturbed."""
        subprocess.run([*self._build_command(), *words], check=True, stdout=subprocess.DEVNULL)

    def _build_command(self) -> list[str]:
        return [sys.executable, "-m", "fonds", "--home", str(self.world.home)]

    def _run_until_finished(self, name: str, *paths: Path) -> None:
        kills_before = self.count.kills.total()
        for start in range(STARTS_MAX):
            if self._run_once(name, paths, start):
                print(f"  {name}: {self.count.kills.total() - kills_before} kills", flush=True)
                return
        raise SystemExit(f"{name} did not finish in {STARTS_MAX} starts")

    def _run_once(self, name: str, paths: tuple[Path, ...], start: int) -> bool:
        """Start a command; return whether it finished."""
        args = {
            "ingest": ["ingest", "--json", *map(str, paths)],
            "ingest again": ["ingest", "--json", *map(str, paths)],
            "retry": ["failures", "retry", "--json"],
            "catchup pdf": ["catchup", "pdf", "--reextract", "--json"],
            "catchup story": ["catchup", "story", "--reextract", "--json"],
            "reindex": ["reindex", "--json"],
            "repair": ["repair", "--yes", "--json"],
            "catalog load": ["catalog", "load", str(self.world.root / WORKS_FILE)],
            "match": ["match"],
            "group": ["group", COLLECTION],
            "group again": ["group", COLLECTION],
            "embargo": ["embargo", *HIDDEN, "--until", "2099-01-01", "--reason", "review"],
            "takedown": ["takedown", *REMOVED, "--reason", "privacy", "--yes"],
        }[name]
        command = [*self._build_command(), *args]
        clean_environment = {
            key: value for key, value in os.environ.items() if not key.startswith("FONDS_")
        }
        wait_s = RUN_MAX_S
        is_killing = self.usual_s is not None and self.count.kills.total() < self.kills_max
        if is_killing and self.usual_s is not None:
            # The first kills fall within the usual duration. Later ones wait longer, so that the
            # command finishes even if the machine has become slower.
            is_early = start < self.kills_min
            share_max = (
                self.chance.choice((0.2, 0.5, 0.9))
                if is_early
                else 1.3 ** (start - self.kills_min + 1)
            )
            wait_s = self.chance.uniform(0.02, share_max) * self.usual_s[name]
        self.count.starts[name] += 1
        started_s = time.monotonic()
        process = subprocess.Popen(
            command, env=clean_environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            out, err = process.communicate(timeout=wait_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            if not is_killing:
                raise SystemExit(f"{name} took longer than {RUN_MAX_S:.0f} s") from None
            self.count.kills[name] += 1
            return False
        if process.returncode not in SUCCESS_CODES:
            output = (out + err).decode()[-2000:]
            raise SystemExit(f"{name} ended with {process.returncode}: {output}")
        self.took_s[name] = time.monotonic() - started_s
        return True


def find_faults(home: Path) -> list[str]:
    """Return the faults of a deep audit."""
    settings = load_settings(home, {})
    stores = open_stores(home, settings)
    try:
        deep = DeepAudit(stores, lambda: datetime.now(UTC), lambda: False)
        deep.run(None, lambda _: None)
        pipelines = list_used_readers(stores.records, stores.queue, settings)
        writer = find_collection_writer(stores, settings)
        return run_audit(stores, pipelines, collection_writer=writer).fault_texts
    finally:
        close_stores(stores)


def read_state(home: Path) -> dict[str, Any]:
    """Return the state of a home, with its matches and what is hidden or removed from it."""
    stores = open_stores(home, load_settings(home, {}))
    try:
        rows = {
            kind.TABLE: sorted(
                str({name: _hide_time(value) for name, value in asdict(row).items()})
                for row in stores.records.find(kind)
            )
            for kind in KINDS
        }
    finally:
        close_stores(stores)
    return {**state(home), **rows}


def _hide_time(value: object) -> object:
    return "a time" if isinstance(value, datetime) else value


def write_works(path: Path) -> None:
    """Write a catalogue, in which the papers of the crawl may be found."""
    works = (
        {
            "DOI": f"10.5555/work.{number}",
            "type": "journal-article",
            "title": [f"The {THEMES[number % len(THEMES)]} report, part {number}"],
            "author": [{"family": f"Stroom{number % 700}", "given": "Ada"}],
            "issued": {"date-parts": [[1950 + number % 60]]},
        }
        for number in range(WORKS)
    )
    path.write_text("".join(f"{json.dumps(work)}\n" for work in works))


def find_differences(actual: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """Return the parts of two states that differ."""
    return [part for part in PARTS if actual[part] != expected[part]]


def main() -> int:
    """Run once undisturbed, then with kills until their number is reached; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--folder", type=Path, help="where to work [a new folder, removed]")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="torture-"))
    count, chance = Count(), random.Random(arguments.seed)
    # Places are absolute paths, so every home is created at the same path.
    world = World(folder / "world")
    world.root.mkdir(parents=True)
    write_crawl(world.crawl)
    write_works(world.root / WORKS_FILE)
    shutil.copytree(world.crawl, folder / "crawl")
    started_s = time.monotonic()
    undisturbed = Life(world, Count(), chance, 0, None)
    undisturbed.lead()
    expected, audit_faults = read_state(world.home), find_faults(world.home)
    if audit_faults:
        print("undisturbed:", *audit_faults, sep="\n  ")
        return 1
    durations = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in undisturbed.took_s.items())
    print(f"undisturbed: {len(expected['outcomes'])} entries; {durations}", flush=True)
    different_count = 0
    while count.kills.total() < arguments.kills:
        shutil.rmtree(world.home)
        kills_before = count.kills.total()
        Life(world, count, chance, arguments.kills, undisturbed.took_s).lead()
        count.compared += 1
        different_parts, audit_faults = (
            find_differences(read_state(world.home), expected),
            find_faults(world.home),
        )
        verdict = (
            "equal"
            if not different_parts and not audit_faults
            else f"NOT equal: {different_parts} {audit_faults[:5]}"
        )
        print(
            f"home {count.compared}: {count.kills.total() - kills_before} kills, {verdict}",
            flush=True,
        )
        if different_parts or audit_faults:
            different_count += 1
            shutil.copytree(world.root, folder / f"differs-{count.compared}")
    minutes = (time.monotonic() - started_s) / 60
    print(f"kills {count.kills.total()}: " + ", ".join(f"{k} {n}" for k, n in count.kills.items()))
    print(
        f"restarts {count.starts.total()}, comparisons {count.compared},"
        f" {count.compared - different_count} equal; {minutes:.0f} minutes"
    )
    if not different_count and arguments.folder is None:
        shutil.rmtree(folder)
    return 1 if different_count else 0


if __name__ == "__main__":
    sys.exit(main())
