"""Check a home that followed a web of news: its ledger, its stores and the log of the servers."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

from e2e.running import fonds
from fixtures.news_web import DELAY_S, TDMREP_PATH, NewsWeb
from fixtures.web_of_hosts import FORBIDDEN_ADDRESS
from fonds.archive.warc.scanner import Damage, read_heads
from fonds.config import load_settings
from fonds.model.rows import (
    CdxRow,
    EntryRow,
    FetchedPageRow,
    StoryMetaRow,
    TdmrepAnswerRow,
)
from fonds.ports import Stores
from fonds.rights.capture_rights import load_capture_rights
from fonds.urls.normalization import find_host
from fonds.wiring.stores import close_stores, open_stores

AUDIT_MAX_S = 3600.0
REPEATS_PER_KILL = 128
"""Requests that a killed worker may lose: twice what it sends at once."""
HOST_FILES = ("/robots.txt", TDMREP_PATH)
FOLLOWING, LISTED = "queue-fetcher", "csv"


@dataclass
class Checks:
    """Checks of one home after `kills`; `environment` holds its settings.

    `gap_s` is the minimum delay between requests to a host.
    """

    news: NewsWeb
    home: Path
    environment: Mapping[str, str]
    kills: int
    gap_s: float
    problems: list[str] = field(default_factory=list)

    def faults(self) -> list[str]:
        """Run all checks and return the faults, a sentence each."""
        for pipeline in (FOLLOWING, LISTED):
            args = ("audit", "--deep", "--pipeline", pipeline, "--json")
            result = fonds(self.home, *args, wait_s=AUDIT_MAX_S, **self.environment)
            if result.code != 0:
                self.problems.append(
                    f"audit of {pipeline}: {result.out[-1500:]} {result.err[-500:]}"
                )
        with open_home(self.home, self.environment) as stores:
            self._check_endings(stores)
            self._check_stores(stores)
            self._check_reservations(stores)
        self._check_log()
        return self.problems

    def _check_endings(self, stores: Stores) -> None:
        expected = self.news.expected_reasons
        reasons_by_url: dict[str, list[str]] = {}
        for row in stores.records.find(EntryRow):
            reasons_by_url.setdefault(row.url, []).append(
                "" if row.outcome == "done" else f"{row.reason or row.outcome}"
            )
        for url, reason in expected.items():
            allowed_reasons = [reason] if "rebinding." not in url else ["", "private-address"]
            if (
                len(reasons_by_url.get(url, [])) != 1
                or reasons_by_url[url][0] not in allowed_reasons
            ):
                self.problems.append(f"{url}: {reasons_by_url.get(url)}, not {reason or 'kept'!r}")
        self.problems += [f"{url}: not listed" for url in reasons_by_url.keys() - expected.keys()]

    def _check_stores(self, stores: Stores) -> None:
        rows, stored_count = stores.records, self._count_stored(stores)
        # Each robots.txt that allowed something, and each tdmrep.json, is stored once too.
        files = {row.url for row in rows.find(CdxRow) if row.url.endswith(HOST_FILES)}
        counts = {
            "stories": rows.count(StoryMetaRow)[()],
            "captures": rows.count(CdxRow)[()] - len(files),
            "documents": stores.index.count(),
        }
        self.problems += [
            f"{n} {name} of {stored_count}" for name, n in counts.items() if n != stored_count
        ]
        archived_counts: Counter[str | None] = Counter()
        for path in sorted((self.home / "archive").glob("*.warc.gz")):
            with path.open("rb") as stream:
                for head in read_heads(stream):
                    if isinstance(head, Damage):
                        self.problems.append(f"{path.name}: {head}")
                    elif head.type in ("response", "revisit"):
                        archived_counts[head.url] += 1
        wrong_counts = {url: n for url, n in archived_counts.items() if n != 1}
        if (
            wrong_counts
            or len(archived_counts) != stored_count + len(files)
            or not files <= archived_counts.keys()
        ):
            self.problems.append(
                f"{len(archived_counts)} of {stored_count} archived, wrong counts: {wrong_counts}"
            )
        spooled_count = rows.count(FetchedPageRow, ("in_spool",)).get((True,), 0)
        spool_files = [
            path for path in (self.home / "blobs" / "spool").rglob("*") if path.is_file()
        ]
        spool_reasons = {"bad-encoding", "bomb", "empty-body", "unsupported-type"}
        expected_count = sum(
            reason in spool_reasons for reason in self.news.expected_reasons.values()
        )
        if not spooled_count == len(spool_files) == expected_count:
            self.problems.append(
                f"{spooled_count} rows and {len(spool_files)} blobs in the spool, not {expected_count}"
            )

    def _check_reservations(self, stores: Stores) -> None:
        """Check that stories of reserving hosts state it, and that each host was asked once."""
        reserving_hosts = {site.host for site in self.news.sites if site.kind == "delayed"}
        rows = [
            row
            for row in stores.records.find(CdxRow)
            if find_host(row.url) in reserving_hosts and not row.url.endswith(HOST_FILES)
        ]
        stated_rights = load_capture_rights(
            stores.records, {row.capture_id: row.sha1hex for row in rows}
        )
        silent_captures = [
            key for key, item in stated_rights.items() if item.prefers != ("tdm-reservation=1",)
        ]
        if silent_captures or not rows:
            self.problems.append(
                f"{len(silent_captures)} of {len(rows)} captures state no reservation"
            )
        request_counts = Counter(
            item.host for item in self.news.web.log if item.target == TDMREP_PATH
        )
        answered_hosts = {find_host(row.origin) for row in stores.records.find(TdmrepAnswerRow)}
        repeat_count = sum(request_counts[host] - 1 for host in answered_hosts)
        if repeat_count > self.kills:
            self.problems.append(f"{repeat_count} repeated requests for tdmrep.json")

    def _count_stored(self, stores: Stores) -> int:
        return stores.records.count(EntryRow, where={"outcome": "done"}).get((), 0)

    def _check_log(self) -> None:
        log = self.news.web.log
        if any(request.address == FORBIDDEN_ADDRESS for request in log):
            self.problems.append("a forbidden address was requested")
        times_by_host: dict[str, list[float]] = {}
        for request in log:
            times_by_host.setdefault(request.host, []).append(request.at_s)
        for host, times in times_by_host.items():
            gap_s = DELAY_S if host.startswith("delayed") else self.gap_s
            if (violation := too_fast(times, gap_s)) is not None:
                self.problems.append(
                    f"{host} was requested faster than every {gap_s} s: {violation}"
                )
        repeat_count = count_repeats(self.news)
        repeat_max = REPEATS_PER_KILL * (self.kills + 2)
        if repeat_count > repeat_max:
            self.problems.append(f"{repeat_count} repeated requests after {self.kills} kills")


def count_repeats(news: NewsWeb) -> int:
    """Count the requests for stories after the first request of each.

    Stories that redirect to another host are not counted: they wait in memory for that host, and
    are requested again after a crash.
    """
    request_counts = Counter((request.host, request.target) for request in news.web.log)
    return sum(
        request_counts[site.host, target] - 1
        for site in news.sites
        if site.kind not in ("throttled", "rebinding", "elsewhere")
        for target in site.targets
        if request_counts[site.host, target]
    )


def too_fast(times: list[float], gap_s: float) -> str | None:
    """Describe the first request that came too early; None if there is none.

    A request arrives when it is sent or later, and is sent after the previous one arrived. So of
    three requests the first and last are at least one gap apart, and so on for longer runs, even if
    one arrived late.
    """
    earliest = float("-inf")
    for nth, at_s in enumerate(times):
        if nth >= 2:
            earliest = max(earliest, times[nth - 2] - (nth - 1) * gap_s)
        if at_s < earliest + nth * gap_s - 0.001:
            nearby_times = ", ".join(
                f"{time_s - times[0]:.3f}" for time_s in times[max(0, nth - 3) : nth + 1]
            )
            return f"request {nth} at {nearby_times}"
    return None


@contextmanager
def open_home(home: Path, environment: Mapping[str, str]) -> Iterator[Stores]:
    """Open the stores of a home whose settings are partly in the environment."""
    with patch.dict(os.environ, environment):
        stores = open_stores(home, load_settings(home))
    try:
        yield stores
    finally:
        close_stores(stores)
