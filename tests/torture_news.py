"""A web of news followed by two worker processes that are killed again and again: what must come of it.

    PYTHONPATH=tests:scripts python tests/torture_news.py --stories 20000 --hosts 300 --kills 20 [--queue URL]

Feeds, sitemaps and a table list the stories of a web on this machine, some hosts of which misbehave in all
ways there are (`tests/fixtures/odd_hosts.py`). In the end every link has ended as it had to, every
story is there once in every store, everything adds up for `fonds audit --deep`, and the servers' log
shows that no host was asked faster than its pace and no forbidden address at all. Exit code 1 when anything
is otherwise.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from e2e.running import Ran, fonds
from e2e.workers import Workers
from fixtures.news_web import NewsWeb, news_web
from fonds.model.rows import EntryRow
from fonds.stores.records.sql import SqlRecords, open_sqlite
from news_checks import FOLLOWING, LISTED, Checks, asked_again

GAP_S = 0.4
STEPS = (
    (
        "fetch",
        "identify",
        "persist_file",
        "parse_story",
        "import_story",
        "index_rights",
        "archive_body",
    ),
    ("fetch", "identify", "persist_file", "parse_story", "archive_body"),
)
"""Two processes; the embedded index has one writer."""
SETTINGS = {
    "fetch_host_gap_s": GAP_S,
    "fetch_gap_longest_s": 4,
    "fetch_again_s": 1,
    "fetch_patience_s": 20,
    "fetch_connect_s": 20,
    "fetch_max_bytes": 1_000_000,
    "work_retry_first_s": 1,
    "work_retry_longest_s": 3,
    "work_children": 1,
    "elsewhere_private_addresses": "false",
}
BROKERS = {
    "rabbitmq": "",
    "kafka": "?partitions=4&session.timeout.ms=6000&heartbeat.interval.ms=1000",
}
"""What the URL of a broker is followed by: a reader that was killed is missed soon."""
SMALL: dict[str, Any] = {
    "hosts": 46,
    "stories": 90,
    "kills": 2,
    "poll_s": 10.0,
    "odd_pages": 1,
    "total_s": 10.0,
    "retries": 1,
}
"""What a test does."""
LOOK_EVERY_S = 0.5
NEXT_AT = 0.6
"""The second edition comes out when this share of the first has ended."""
TOLD_EVERY_S = 30.0
STALLED_S = 180.0
"""Nothing asked and nothing ended for so long: it never will be."""
WRONG_SHOWN = 8


@dataclass
class Trial:
    """One home and the web it follows; `environment` adds to the settings. `wrong` says what went wrong."""

    news: NewsWeb
    folder: Path
    kills_max: int
    environment: Mapping[str, str]
    poll_s: float
    total_s: float
    retries: int
    chance: random.Random
    kills: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def home(self) -> Path:
        """Where everything is kept."""
        return self.folder / "home"

    @cached_property
    def _records(self) -> SqlRecords:
        return open_sqlite(self.home / "records.sqlite")

    def settings(self) -> dict[str, str]:
        """The settings as the environment carries them."""
        told = {f"FONDS_{name.upper()}": str(value) for name, value in SETTINGS.items()}
        told["FONDS_FETCH_CA_FILE"] = str(self.news.ca_file)
        told["FONDS_FETCH_TOTAL_S"] = str(self.total_s)
        told["FONDS_WORK_RETRIES_MAX"] = str(self.retries)
        told["FONDS_SOURCES_POLL_SHORTEST_S"] = str(self.poll_s)
        told["FONDS_SOURCES_POLL_LONGEST_S"] = str(self.poll_s)
        return told | dict(self.environment)

    def run(self) -> None:
        """Follow both editions, then take the table in, killing workers meanwhile."""
        for tls, urls in self.news.sources().items():
            self._say("sources", "add", "--pipeline", FOLLOWING, "--tls", tls, *urls)
        followed = self._listed_by_sources()
        self._work(FOLLOWING, followed, self.kills_max * len(followed) // len(self.news.endings))
        table = self.folder / "table.csv"
        table.write_bytes(self.news.table())
        self._say("ingest", "--pipeline", LISTED, "--enter-only", table)
        self._work(LISTED, set(self.news.endings) - followed, self.kills_max)

    def _listed_by_sources(self) -> set[str]:
        table = set(self.news.table().decode().split())
        return set(self.news.endings) - table

    def _say(self, *words: str | Path) -> Ran:
        ran = fonds(self.home, *words, **self.settings())
        if ran.code != 0:
            raise SystemExit(f"fonds {' '.join(map(str, words[:4]))}: {ran.code} {ran.err[-2000:]}")
        return ran

    def _work(self, pipeline: str, urls: set[str], kills_max: int) -> None:
        """Let two processes work until all these links have ended; killed as often as that."""
        names = self.folder / "names.json"
        names.write_text(self.news.names())
        launcher = Path(__file__).with_name("launched.py")
        program = (str(launcher), str(names), "--")
        told = {**self.settings(), "FONDS_PIPELINE": pipeline}
        told["PYTHONPATH"] = f"{launcher.parent}:{os.environ.get('PYTHONPATH', '')}"
        workers = Workers(self.home, told, STEPS, program)
        first = self.kills
        began, ended = len(self.news.web.log), 0
        seen_s = told_s = time.monotonic()
        try:
            while ended < len(urls):
                workers.start()
                time.sleep(LOOK_EVERY_S)
                now = self._ended(pipeline)
                if now > ended:
                    ended, seen_s = now, time.monotonic()
                if seen_s - told_s > TOLD_EVERY_S:
                    told_s = seen_s
                    print(f"{pipeline}: {ended} of {len(urls)}, {self.kills} kills", flush=True)
                if ended >= NEXT_AT * self._first_edition(urls) and self.news.edition == 1:
                    self.news.edition = 2
                share = (len(self.news.web.log) - began) / len(urls)
                if self.kills < kills_max and share >= (self.kills - first + 0.5) / (
                    kills_max - first + 1
                ):
                    time.sleep(self.chance.uniform(0.0, 2.0))
                    workers.kill_one(self.chance)
                    self.kills += 1
                if time.monotonic() - seen_s > STALLED_S:
                    self.wrong.append(f"{pipeline}: {ended} of {len(urls)} ended, and then none")
                    return
        finally:
            codes = workers.stop()
        if any(codes):
            self.wrong.append(f"{pipeline}: workers told to stop ended with {codes}")

    def _first_edition(self, urls: set[str]) -> int:
        """How many of these links the first edition has."""
        later = {
            url
            for site in self.news.sites
            if site.via in ("feed", "sitemap", "index")
            for url in set(site.urls(self.news.web, 2)) - set(site.urls(self.news.web, 1))
        }
        return len(urls - later)

    def _ended(self, pipeline: str) -> int:
        """How many links have an end."""
        counted = self._records.count(EntryRow, ("outcome",), {"pipeline": pipeline})
        return sum(count for (outcome,), count in counted.items() if outcome != "pending")


def follow(
    folder: Path,
    *,
    hosts: int,
    stories: int,
    kills: int,
    poll_s: float,
    odd_pages: int = 2,
    total_s: float = 20.0,
    retries: int = 2,
    environment: Mapping[str, str] | None = None,
    seed: int = 20261122,
) -> Trial:
    """Lead one trial to its end, and check what came of it."""
    with news_web(folder / "web", hosts, stories, odd_pages) as news:
        chance = random.Random(seed)
        trial = Trial(news, folder, kills, environment or {}, poll_s, total_s, retries, chance)
        trial.run()
        trial.wrong += Checks(news, trial.home, trial.settings(), trial.kills, GAP_S).faults()
    return trial


def main() -> int:
    """Returns the exit code."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--stories", type=int, default=20_000)
    options.add_argument("--hosts", type=int, default=300)
    options.add_argument("--kills", type=int, default=20)
    options.add_argument("--poll-s", type=float, default=30.0)
    options.add_argument("--queue", default="", help="the URL of a broker [embedded]")
    options.add_argument("--folder", type=Path, help="where to work [a new folder, removed]")
    chosen = options.parse_args()
    folder = chosen.folder or Path(tempfile.mkdtemp(prefix="torture-news-"))
    folder.mkdir(parents=True, exist_ok=True)
    environment = {"FONDS_ENV": f"t{os.urandom(4).hex()}"}
    if chosen.queue:
        environment["FONDS_QUEUE"] = chosen.queue
    began = time.monotonic()
    trial = follow(
        folder,
        hosts=chosen.hosts,
        stories=chosen.stories,
        kills=chosen.kills,
        poll_s=chosen.poll_s,
        environment=environment,
    )
    minutes = (time.monotonic() - began) / 60
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"{trial.news.stories} stories of {len(trial.news.endings)} links, {len(trial.news.web.log)}"
        f" requests, {trial.kills} kills, {asked_again(trial.news)} asked for again; {minutes:.1f} minutes,"
        f" {(used.ru_utime + used.ru_stime) / 60:.1f} of CPU, {used.ru_maxrss // 1024} MiB at most"
    )
    for told in trial.wrong[:WRONG_SHOWN]:
        print(f"  {told}")
    if trial.wrong:
        print(f"{len(trial.wrong)} things are wrong; see {folder}")
        return 1
    if chosen.folder is None:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
