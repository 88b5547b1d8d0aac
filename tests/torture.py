"""SIGKILLs at random over ingest, retry, catch-up, reindex and repair; a home must end as an undisturbed one.

    PYTHONPATH=tests:scripts python tests/torture.py --kills 300

Every command is killed again and again at moments drawn over its usual length, and started again until
it comes to its end by itself. In the end each home is compared with one that was left in peace: every row,
cell, blob, document, capture and outcome; and audited, deeply. Exit code 1 when anything differs.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from damaged_world import World
from damages import DAMAGES
from e2e.crawls import write_crawl
from e2e.states import state
from fonds.audit.audit import run_audit
from fonds.audit.bodies import DeepAudit
from fonds.config import load_settings
from fonds.wiring.pipelines import list_used_readers
from fonds.wiring.stores import close_stores, open_stores

RUN_MAX_S = 600.0
STARTS_MAX = 400
"""A command that has not come to its end after so many starts never will."""
FINE = (0, 1)
EACH = 6
"""So often each command of a home is killed, at least, unless it ends sooner."""
PARTS = (
    *("outcomes", "files", "pdfs", "stories", "captures", "documents", "indexed"),
    *("table", "blobs", "strays", "left"),
)
"""What is equal however often it was done again; how often a message went its way is not."""
WRECKED = ("cdxj-gone", "warc-truncated", "text-gone", "pdf-row-gone", "table-row-gone", "tally")


@dataclass
class Count:
    """What was done so far."""

    kills: Counter[str] = field(default_factory=Counter)
    starts: Counter[str] = field(default_factory=Counter)
    compared: int = 0


@dataclass
class Life:
    """One home from its first ingest to its repair. `usual_s` is None while nobody is killed."""

    world: World
    count: Count
    chance: random.Random
    kills_max: int
    usual_s: dict[str, float] | None
    each: int = EACH
    took_s: dict[str, float] = field(default_factory=dict)

    def lead(self) -> None:
        """All commands, each to its end."""
        halves = sorted(self.world.crawl.iterdir())
        middle = len(halves) // 2
        self._to_its_end("ingest", *halves[:middle])
        self._to_its_end("ingest again", *halves)
        self._to_its_end("retry")
        self._to_its_end("catchup pdf")
        self._to_its_end("catchup story")
        self._to_its_end("reindex")
        for damage in DAMAGES:
            if damage.name in WRECKED:
                damage.act(self.world)
        self._to_its_end("repair")

    def _to_its_end(self, name: str, *paths: Path) -> None:
        before = self.count.kills.total()
        for start in range(STARTS_MAX):
            if self._once(name, paths, start):
                print(f"  {name}: {self.count.kills.total() - before} kills", flush=True)
                return
        raise SystemExit(f"{name} did not come to its end in {STARTS_MAX} starts")

    def _once(self, name: str, paths: tuple[Path, ...], start: int) -> bool:
        """Start a command; whether it ended by itself."""
        words = {
            "ingest": ["ingest", "--json", *map(str, paths)],
            "ingest again": ["ingest", "--json", *map(str, paths)],
            "retry": ["failures", "retry", "--json"],
            "catchup pdf": ["catchup", "pdf", "--reextract", "--json"],
            "catchup story": ["catchup", "story", "--reextract", "--json"],
            "reindex": ["reindex", "--json"],
            "repair": ["repair", "--yes", "--json"],
        }[name]
        command = [sys.executable, "-m", "fonds", "--home", str(self.world.home), *words]
        bare = {key: value for key, value in os.environ.items() if not key.startswith("FONDS_")}
        wait_s = RUN_MAX_S
        killing = self.usual_s is not None and self.count.kills.total() < self.kills_max
        if killing and self.usual_s is not None:
            # The first times within its usual length, then ever longer, so that it ends some day: the
            # machine may have become slower meanwhile.
            early = start < self.each
            longest = (
                self.chance.choice((0.2, 0.5, 0.9)) if early else 1.3 ** (start - self.each + 1)
            )
            wait_s = self.chance.uniform(0.02, longest) * self.usual_s[name]
        self.count.starts[name] += 1
        started = time.monotonic()
        run = subprocess.Popen(command, env=bare, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out, err = run.communicate(timeout=wait_s)
        except subprocess.TimeoutExpired:
            run.kill()
            run.communicate()
            if not killing:
                raise SystemExit(f"{name} took longer than {RUN_MAX_S:.0f} s") from None
            self.count.kills[name] += 1
            return False
        if run.returncode not in FINE:
            told = (out + err).decode()[-2000:]
            raise SystemExit(f"{name} ended with {run.returncode}: {told}")
        self.took_s[name] = time.monotonic() - started
        return True


def faults(home: Path) -> list[str]:
    """What the audit says when everything was read and hashed."""
    settings = load_settings(home, {})
    stores = open_stores(home, settings)
    try:
        deep = DeepAudit(stores, lambda: datetime.now(UTC), lambda: False)
        deep.run(None, lambda _: None)
        return run_audit(stores, list_used_readers(stores, settings, None)).fault_texts
    finally:
        close_stores(stores)


def differing(found: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """The parts of two states that are not equal."""
    return [part for part in PARTS if found[part] != expected[part]]


def main() -> int:
    """Live undisturbed once, then be killed until the number is reached; returns the exit code."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--kills", type=int, default=300)
    options.add_argument("--seed", type=int, default=20261121)
    options.add_argument("--folder", type=Path, help="where to work [a new folder, removed]")
    chosen = options.parse_args()
    folder = chosen.folder or Path(tempfile.mkdtemp(prefix="torture-"))
    count, chance = Count(), random.Random(chosen.seed)
    # Places are absolute paths: every home is made at the same one.
    world = World(folder / "world")
    world.root.mkdir(parents=True)
    write_crawl(world.crawl)
    shutil.copytree(world.crawl, folder / "crawl")
    began = time.monotonic()
    calm = Life(world, Count(), chance, 0, None)
    calm.lead()
    expected, wrong = state(world.home), faults(world.home)
    if wrong:
        print("undisturbed:", *wrong, sep="\n  ")
        return 1
    usual = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in calm.took_s.items())
    print(f"undisturbed: {len(expected['outcomes'])} entries; {usual}", flush=True)
    bad = 0
    while count.kills.total() < chosen.kills:
        shutil.rmtree(world.home)
        before = count.kills.total()
        Life(world, count, chance, chosen.kills, calm.took_s).lead()
        count.compared += 1
        parts, wrong = differing(state(world.home), expected), faults(world.home)
        told = "equal" if not parts and not wrong else f"NOT equal: {parts} {wrong[:5]}"
        print(f"home {count.compared}: {count.kills.total() - before} kills, {told}", flush=True)
        if parts or wrong:
            bad += 1
            shutil.copytree(world.root, folder / f"differs-{count.compared}")
    minutes = (time.monotonic() - began) / 60
    print(f"kills {count.kills.total()}: " + ", ".join(f"{k} {n}" for k, n in count.kills.items()))
    print(
        f"restarts {count.starts.total()}, comparisons {count.compared},"
        f" {count.compared - bad} equal; {minutes:.0f} minutes"
    )
    if not bad and chosen.folder is None:
        shutil.rmtree(folder)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
