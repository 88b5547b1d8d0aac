"""Follow a web of news with two worker processes that are killed repeatedly, and check the results.

    PYTHONPATH=tests:scripts python tests/torture_news.py --stories 20000 --hosts 300 --kills 20 [--queue URL]

Feeds, sitemaps and a table list the stories of a web on this machine, some hosts of which misbehave
(`tests/fixtures/odd_hosts.py`). At the end every link must have its expected outcome, every story must be
in every store once, and `fonds audit --deep` must be balanced. The servers' log must show that the pace of
each host was respected and no forbidden address was requested. Otherwise the exit code is 1.
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

from e2e.running import CommandResult, fonds
from e2e.workers import Workers
from fixtures.news_web import NewsWeb, serve_news
from fonds.model.rows import EntryRow
from fonds.stores.records.sql import SqlRecords, open_sqlite
from news_checks import FOLLOWING, LISTED, Checks, count_repeats

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
"""Two processes, because the embedded index has one writer."""
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
"""Suffix of a broker's URL: the broker notices a killed reader soon."""
SMALL: dict[str, Any] = {
    "hosts": 46,
    "stories": 90,
    "kills": 2,
    "poll_s": 10.0,
    "odd_pages": 1,
    "total_s": 10.0,
    "retries": 1,
}
"""Parameters of the trial in a test."""
POLL_S = 0.5
SECOND_EDITION_AT = 0.6
"""Share of the first edition that must be processed before the second is published."""
REPORT_INTERVAL_S = 30.0
STALLED_S = 180.0
"""Without requests or outcomes for this long, the trial has stalled."""
FAULTS_SHOWN_MAX = 8


@dataclass
class Trial:
    """One home and the web it follows; `environment` adds to the settings. `problems` lists the
    faults."""

    news: NewsWeb
    folder: Path
    kills_max: int
    environment: Mapping[str, str]
    poll_s: float
    total_s: float
    retries: int
    chance: random.Random
    kills: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def home(self) -> Path:
        """The folder of the library."""
        return self.folder / "home"

    @cached_property
    def _records(self) -> SqlRecords:
        return open_sqlite(self.home / "records.sqlite")

    def settings(self) -> dict[str, str]:
        """Return the settings as environment variables."""
        variables = {f"FONDS_{name.upper()}": str(value) for name, value in SETTINGS.items()}
        variables["FONDS_FETCH_CA_FILE"] = str(self.news.ca_file)
        variables["FONDS_FETCH_TOTAL_S"] = str(self.total_s)
        variables["FONDS_WORK_RETRIES_MAX"] = str(self.retries)
        variables["FONDS_SOURCES_POLL_SHORTEST_S"] = str(self.poll_s)
        variables["FONDS_SOURCES_POLL_LONGEST_S"] = str(self.poll_s)
        return variables | dict(self.environment)

    def run(self) -> None:
        """Follow both editions, then ingest the table, killing workers meanwhile."""
        for tls, urls in self.news.list_sources().items():
            self._run_fonds("sources", "add", "--pipeline", FOLLOWING, "--tls", tls, *urls)
        source_links = self._listed_by_sources()
        self._run_workers(
            FOLLOWING,
            source_links,
            self.kills_max * len(source_links) // len(self.news.expected_reasons),
        )
        table = self.folder / "table.csv"
        table.write_bytes(self.news.build_table())
        self._run_fonds("ingest", "--pipeline", LISTED, "--enter-only", table)
        self._run_workers(LISTED, set(self.news.expected_reasons) - source_links, self.kills_max)

    def _listed_by_sources(self) -> set[str]:
        table = set(self.news.build_table().decode().split())
        return set(self.news.expected_reasons) - table

    def _run_fonds(self, *args: str | Path) -> CommandResult:
        result = fonds(self.home, *args, **self.settings())
        if result.code != 0:
            raise SystemExit(
                f"fonds {' '.join(map(str, args[:4]))}: {result.code} {result.err[-2000:]}"
            )
        return result

    def _run_workers(self, pipeline: str, urls: set[str], kills_max: int) -> None:
        """Run two processes until all these links have an outcome, and kill them `kills_max`
        times."""
        names = self.folder / "names.json"
        names.write_text(self.news.build_name_table())
        launcher = Path(__file__).with_name("launcher.py")
        program = (str(launcher), str(names), "--")
        variables = {**self.settings(), "FONDS_PIPELINE": pipeline}
        variables["PYTHONPATH"] = f"{launcher.parent}:{os.environ.get('PYTHONPATH', '')}"
        workers = Workers(self.home, variables, STEPS, program)
        kills_before = self.kills
        requests_before, ended_count = len(self.news.web.log), 0
        progress_s = report_s = time.monotonic()
        try:
            while ended_count < len(urls):
                workers.start()
                time.sleep(POLL_S)
                new_count = self._count_ended(pipeline)
                if new_count > ended_count:
                    ended_count, progress_s = new_count, time.monotonic()
                if progress_s - report_s > REPORT_INTERVAL_S:
                    report_s = progress_s
                    print(
                        f"{pipeline}: {ended_count} of {len(urls)}, {self.kills} kills", flush=True
                    )
                if (
                    ended_count >= SECOND_EDITION_AT * self._count_first_edition(urls)
                    and self.news.edition == 1
                ):
                    self.news.edition = 2
                request_share = (len(self.news.web.log) - requests_before) / len(urls)
                if self.kills < kills_max and request_share >= (self.kills - kills_before + 0.5) / (
                    kills_max - kills_before + 1
                ):
                    time.sleep(self.chance.uniform(0.0, 2.0))
                    workers.kill_one(self.chance)
                    self.kills += 1
                if time.monotonic() - progress_s > STALLED_S:
                    self.problems.append(
                        f"{pipeline}: {ended_count} of {len(urls)} ended, and then none"
                    )
                    return
        finally:
            codes = workers.stop()
        if any(codes):
            self.problems.append(f"{pipeline}: workers told to stop ended with {codes}")

    def _count_first_edition(self, urls: set[str]) -> int:
        """Count the links that are in the first edition."""
        later_urls = {
            url
            for site in self.news.sites
            if site.listing_kind in ("feed", "sitemap", "index")
            for url in set(site.list_urls(self.news.web, 2)) - set(site.list_urls(self.news.web, 1))
        }
        return len(urls - later_urls)

    def _count_ended(self, pipeline: str) -> int:
        """Count the links with an outcome."""
        counts = self._records.count(EntryRow, ("outcome",), {"pipeline": pipeline})
        return sum(count for (outcome,), count in counts.items() if outcome != "pending")


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
    """Run one trial and check its results."""
    with serve_news(folder / "web", hosts, stories, odd_pages) as news:
        chance = random.Random(seed)
        trial = Trial(news, folder, kills, environment or {}, poll_s, total_s, retries, chance)
        trial.run()
        trial.problems += Checks(news, trial.home, trial.settings(), trial.kills, GAP_S).faults()
    return trial


def main() -> int:
    """Run a trial as the arguments say; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--stories", type=int, default=20_000)
    parser.add_argument("--hosts", type=int, default=300)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--poll-s", type=float, default=30.0)
    parser.add_argument("--queue", default="", help="the URL of a broker [embedded]")
    parser.add_argument("--folder", type=Path, help="where to work [a new folder, removed]")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="torture-news-"))
    folder.mkdir(parents=True, exist_ok=True)
    environment = {"FONDS_ENV": f"t{os.urandom(4).hex()}"}
    if arguments.queue:
        environment["FONDS_QUEUE"] = arguments.queue
    started_s = time.monotonic()
    trial = follow(
        folder,
        hosts=arguments.hosts,
        stories=arguments.stories,
        kills=arguments.kills,
        poll_s=arguments.poll_s,
        environment=environment,
    )
    minutes = (time.monotonic() - started_s) / 60
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"{trial.news.story_count} stories of {len(trial.news.expected_reasons)} links,"
        f" {len(trial.news.web.log)} requests, {trial.kills} kills,"
        f" {count_repeats(trial.news)} repeated requests;"
        f" {minutes:.1f} minutes,"
        f" {(usage.ru_utime + usage.ru_stime) / 60:.1f} of CPU, {usage.ru_maxrss // 1024} MiB at most"
    )
    for fault in trial.problems[:FAULTS_SHOWN_MAX]:
        print(f"  {fault}")
    if trial.problems:
        print(f"{len(trial.problems)} things are wrong; see {folder}")
        return 1
    if arguments.folder is None:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
