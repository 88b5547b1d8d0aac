"""What must have come of a web of news that was followed: in the books, the stores and the servers' log."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

from e2e.running import fonds
from fixtures.news_web import DELAY_S, TDMREP, NewsWeb
from fixtures.web_of_hosts import FORBIDDEN
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
ASKED_AGAIN_A_KILL = 128
"""What a worker that dies may lose: twice what it asks for at once."""
HOST_FILES = ("/robots.txt", TDMREP)
FOLLOWING, LISTED = "queue-fetcher", "csv"


@dataclass
class Checks:
    """One home after `kills`, with its settings as the environment carries them; each host was to be asked
    every `gap_s` seconds at most.
    """

    news: NewsWeb
    home: Path
    environment: Mapping[str, str]
    kills: int
    gap_s: float
    wrong: list[str] = field(default_factory=list)

    def faults(self) -> list[str]:
        """All that is not as it has to be, a sentence each."""
        for pipeline in (FOLLOWING, LISTED):
            words = ("audit", "--deep", "--pipeline", pipeline, "--json")
            audited = fonds(self.home, *words, wait_s=AUDIT_MAX_S, **self.environment)
            if audited.code != 0:
                self.wrong.append(
                    f"audit of {pipeline}: {audited.out[-1500:]} {audited.err[-500:]}"
                )
        with opened(self.home, self.environment) as stores:
            self._check_endings(stores)
            self._check_stores(stores)
            self._check_reservations(stores)
        self._check_log()
        return self.wrong

    def _check_endings(self, stores: Stores) -> None:
        expected = self.news.endings
        found: dict[str, list[str]] = {}
        for row in stores.records.find(EntryRow):
            found.setdefault(row.url, []).append(
                "" if row.outcome == "done" else f"{row.reason or row.outcome}"
            )
        for url, reason in expected.items():
            allowed = [reason] if "rebinding." not in url else ["", "private-address"]
            if len(found.get(url, [])) != 1 or found[url][0] not in allowed:
                self.wrong.append(f"{url}: {found.get(url)}, not {reason or 'kept'!r}")
        self.wrong += [f"{url}: nobody listed it" for url in found.keys() - expected.keys()]

    def _check_stores(self, stores: Stores) -> None:
        rows, kept = stores.records, self._kept(stores)
        # Each robots.txt that allowed something is kept too, once, and each tdmrep.json.
        files = {row.url for row in rows.find(CdxRow) if row.url.endswith(HOST_FILES)}
        counts = {
            "stories": rows.count(StoryMetaRow)[()],
            "captures": rows.count(CdxRow)[()] - len(files),
            "documents": stores.index.count(),
        }
        self.wrong += [f"{n} {what} of {kept}" for what, n in counts.items() if n != kept]
        written: Counter[str | None] = Counter()
        for path in sorted((self.home / "archive").glob("*.warc.gz")):
            with path.open("rb") as stream:
                for head in read_heads(stream):
                    if isinstance(head, Damage):
                        self.wrong.append(f"{path.name}: {head}")
                    elif head.type in ("response", "revisit"):
                        written[head.url] += 1
        twice = {url: n for url, n in written.items() if n != 1}
        if twice or len(written) != kept + len(files) or not files <= written.keys():
            self.wrong.append(f"{len(written)} of {kept} archived, not once: {twice}")
        spooled = rows.count(FetchedPageRow, ("in_spool",)).get((True,), 0)
        waiting = [path for path in (self.home / "blobs" / "spool").rglob("*") if path.is_file()]
        unread = {"bad-encoding", "bomb", "empty-body", "unsupported-type"}
        left = sum(reason in unread for reason in self.news.endings.values())
        if not spooled == len(waiting) == left:
            self.wrong.append(f"{spooled} rows and {len(waiting)} blobs in the spool, not {left}")

    def _check_reservations(self, stores: Stores) -> None:
        """Every story of a host that reserves its rights says so, and all hosts were asked once."""
        reserving = {site.host for site in self.news.sites if site.kind == "delayed"}
        rows = [
            row
            for row in stores.records.find(CdxRow)
            if find_host(row.url) in reserving and not row.url.endswith(HOST_FILES)
        ]
        stated = load_capture_rights(stores.records, {row.capture_id: row.sha1hex for row in rows})
        silent = [key for key, one in stated.items() if one.prefers != ("tdm-reservation=1",)]
        if silent or not rows:
            self.wrong.append(f"{len(silent)} of {len(rows)} captures state no reservation")
        asked = Counter(one.host for one in self.news.web.log if one.target == TDMREP)
        answered = {find_host(row.origin) for row in stores.records.find(TdmrepAnswerRow)}
        again = sum(asked[host] - 1 for host in answered)
        if again > self.kills:
            self.wrong.append(f"{again} hosts were asked for their tdmrep.json again")

    def _kept(self, stores: Stores) -> int:
        return stores.records.count(EntryRow, where={"outcome": "done"}).get((), 0)

    def _check_log(self) -> None:
        log = self.news.web.log
        if any(one.address == FORBIDDEN for one in log):
            self.wrong.append("a forbidden address was asked")
        moments: dict[str, list[float]] = {}
        for one in log:
            moments.setdefault(one.host, []).append(one.at_s)
        for host, times in moments.items():
            gap_s = DELAY_S if host.startswith("delayed") else self.gap_s
            if (fast := too_fast(times, gap_s)) is not None:
                self.wrong.append(f"{host} was asked faster than every {gap_s} s: {fast}")
        again = asked_again(self.news)
        most = ASKED_AGAIN_A_KILL * (self.kills + 2)
        if again > most:
            self.wrong.append(f"{again} pages asked for again after {self.kills} kills")


def asked_again(news: NewsWeb) -> int:
    """How many requests for stories there were beside the first of each.

    Not counted is what leads to another host: it waits in memory for that host's turn, however many wait, and
    is begun anew by who comes after a process that died.
    """
    asked = Counter((one.host, one.target) for one in news.web.log)
    return sum(
        asked[site.host, target] - 1
        for site in news.sites
        if site.kind not in ("throttled", "rebinding", "elsewhere")
        for target in site.targets
        if asked[site.host, target]
    )


def too_fast(times: list[float], gap_s: float) -> str | None:
    """Where requests came closer together than they can have been sent; None for nowhere.

    Each comes in when it was sent or later, and was sent after the one before had come in: of three, first
    and last are a gap apart, and of so many more so many gaps, however late one of them came in.
    """
    earliest = float("-inf")
    for nth, at_s in enumerate(times):
        if nth >= 2:
            earliest = max(earliest, times[nth - 2] - (nth - 1) * gap_s)
        if at_s < earliest + nth * gap_s - 0.001:
            near = ", ".join(f"{one - times[0]:.3f}" for one in times[max(0, nth - 3) : nth + 1])
            return f"request {nth} at {near}"
    return None


@contextmanager
def opened(home: Path, environment: Mapping[str, str]) -> Iterator[Stores]:
    """The stores of a home, of whose settings some stand in the environment."""
    with patch.dict(os.environ, environment):
        stores = open_stores(home, load_settings(home))
    try:
        yield stores
    finally:
        close_stores(stores)
