"""A library whose answers are known from before some of its files were hidden, asked at each address."""

from __future__ import annotations

import asyncio
import gzip
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from fastapi import FastAPI
from httpx2 import ASGITransport, AsyncClient

from asked_routes import addresses
from depth import IS_NIGHTLY
from filled_home import Filled
from followed_home import fill_sources
from fonds.audit.repair.reindex import reindex
from fonds.config import Settings
from fonds.grouping.changes.curation import exclude
from fonds.grouping.changes.writer import CollectionWriter
from fonds.grouping.tables import Tables
from fonds.grouping.views.clusters import load_clusters
from fonds.grouping.views.documents import list_placements
from fonds.model.access import Role, Viewer
from fonds.model.rows import EmbargoRow, SourceRow, StoryMetaRow, TakedownRow
from fonds.ports import Stores
from fonds.restrictions.embargo import EmbargoService
from fonds.web.access.viewers import get_viewer
from fonds.web.app import create_app
from fonds.web.replay import create_replay
from hidden_files import MIRRORED, SITE, URL, Hidden, add_hidden
from home_rows import NOW
from ingesting import ingest
from takedowns import taking_down
from themed_home import LIBRARY, fill_themes

ORIGIN = "http://localhost:8765"
NOTE = "a-secret-note"
GZIP = b"\x1f\x8b"
UNTIL = NOW + timedelta(days=30)
QUESTIONS = (
    "flood",
    "council",
    "kind:pdf",
    "zyzzogeton",
    "zyzzogetn",
    "quorbatri*",
    "version:all vexillarious",
    "version:all waves",
    "flood waves",
    f"site:{SITE}",
    *("site:", "author:zyz", "status:", "year:", "theme:", "license:", "holder:vex", "prefers:no"),
    "license:none",
    "prefers:no-vex*",
    "holder:vexillarious",
)
UNASKED = "at after group entry n since whole filter collapse alike fl poll matchType resumeKey id"
UNASKED += " showResumeKey measure scale refresh"
"""These narrow what the others ask for, or take what an answer gave before."""
IN_QUERY: Mapping[str, tuple[str, ...]] = {
    "q": QUESTIONS,
    "find": ("zyzzo",),
    "unclustered": ("true",),
    "quote": ("zyzzo",),
    "facets": ("domain",),
    "key": (URL, MIRRORED, "zyzzogeton.pdf"),
    "next": ("/search",),
    "url": (URL, f"{SITE}/*", f"{SITE}&matchType=domain", "daily.example/*"),
    "domain": (SITE,),
    "site": (SITE, "daily.example"),
    "change": (
        *("edited", "same-text", "other-extractor", "unknown"),
        "unchanged&day=2026-03-14&q=flood",
        "added&day=2026-03-13",
        "taken_down&day=2026-03-12",
    ),
    "kind": ("pdf", "story"),
    "type": ("application/pdf", "text/html"),
    "outcome": ("done", "dropped", "quarantined"),
    "weight": ("failed",),
    "reason": ("broken-pdf", "duplicate"),
    "step": ("extract_pdf", "persist_file"),
    "beyond": ("fetch",),
    "pipeline": ("library",),
    "language": ("en",),
    "collection": ("reports", "default"),
    "themes": ("library/all",),
    "sort": ("newest", "oldest", "added"),
    "from": ("16", "2019", "2026-03-01"),
    "to": ("2030", "2026-03-31"),
    "days": ("7", "365"),
    "day": ("2026-03-14",),
    "undated": ("true",),
    "dates": ("captured", "added"),
    "match": ("best", "best&q=flood+zyzzogeton"),
    "size": ("50",),
    "page": ("1", "2"),
    "state": ("active",),
    "standing": ("failing",),
    "conf": ("DEFAULT",),
    "level": ("0",),
    "top": ("20",),
    "form": ("seed",),
    "count": ("100",),
    "changes": ("true",),
    "output": ("json",),
    "limit": ("5",),
    **dict.fromkeys(UNASKED.split(), ()),
}
WARC = "warc"
ALWAYS = re.compile(r"/(api/)?search\?")
SHOWS = re.compile(r"/(api/)?(search|records|file|files|complete|cdx)\b")
"""Addresses that are always asked, and those that show a file which is not hidden."""
FROM_ELSEWHERE = {"X-Forwarded-For": "192.0.2.1"}
"""A request that is nobody's who sits at this machine: of a reader."""
PASSING = (
    r"<p><time.*?</time>",
    r'"as_of":"[^"]*"',
    r'"generation":"[^"]*"',
    r' · index generation <span class="hash">[^<]*</span>',
    r'"modified":("[^"]*"|\d+)',
    r"updated <time.*?</time>",
    r"(?<=/themes/library/all),\d+,20[\w:.+-]+",
    r'"score":[\d.]+',
    r"<updated>[^<]*</updated>",
    r'"processed":\d+',
    r", \d+ documents? added since",
    r'"later":\d+',
    r'"+documents"+: ?\d+, ?"+themes"+',
    r"themes in \d+ documents",
)
"""What differs from one moment to the next, as the index's generation does with every write. A score depends
on how often its words are in the index, and tantivy counts what was deleted until it merges its files. A
clustering counts what was ever placed in it until it is built anew."""


def app_for(stores: Stores, role: Role = Role.READER) -> FastAPI:
    """The application as who has this role meets it."""
    app = create_app(stores)
    app.dependency_overrides[get_viewer] = lambda: Viewer("ann", role)
    return app


def in_path_of(stores: Stores, filled: Filled) -> dict[str, tuple[str, ...]]:
    """Values for every parameter of a path: of visible neighbours where a file is named."""
    story = filled.stories[1]
    (row,) = stores.records.get(StoryMetaRow, [story])
    sources = list(stores.records.find(SourceRow))
    return {
        "sha1hex": (filled.pdfs[3], story),
        "id": (filled.pdfs[3], row.story_id),
        "name": ("jsonl", "csv", "bibtex", "csl-json", "parquet", WARC),
        "number": ("1",),
        "act": ("retry", "accept"),
        "decision_id": ("none",),
        "source_id": (sources[0].source_id,),
        **dict.fromkeys(("namespace", "ns"), ("library", "made")),
        "key": ("all", "five"),
        **dict.fromkeys(("theme", "label"), (_theme(stores), "outlier")),
        "reason": ("outlier",),
        "conf": ("DEFAULT",),
        "rest": (f"2026/{URL}", f"timemap/link/{URL}"),
    }


def _theme(stores: Stores) -> str:
    """A theme of a collection of documents of the library."""
    clusters = load_clusters(Tables(stores.table), LIBRARY)
    assert clusters is not None
    return clusters.clusters[0].id


def _exclude(changes: CollectionWriter, ids: Sequence[str]) -> None:
    """Take those that are in a theme out of it."""
    for id_ in ids:
        for placement in list_placements(changes.tables, LIBRARY, id_):
            if placement.cluster_id:
                exclude(changes, LIBRARY, placement.conf, placement.cluster_id, [id_])


class LeakingHome:
    """A home whose answers are known from before the hidden files came."""

    def __init__(self, stores: Stores, home: Path, settings: Settings, filled: Filled) -> None:
        self.stores, self.filled, self._home, self._settings = stores, filled, home, settings
        # What waits is worked off: later the hidden files come alone.
        ingest(stores, home, [], settings)
        reindex(stores.records, stores.blobs, stores.index, lambda _: None)
        self.changes: CollectionWriter = fill_themes(stores)
        fill_sources(stores)
        in_path = in_path_of(stores, self.filled)
        # A story is missing from collections while one of its versions is hidden.
        self.changes.delete(LIBRARY, in_path["id"][1:])
        # What is equally good is told in the order it was put: this one will be put again.
        (story,) = stores.index.get(in_path["id"][1:]).values()
        (paper,) = stores.index.get(in_path["id"][:1]).values()
        # The file that is asked about has a neighbour that will be hidden.
        day = {"publication_date": story.publication_date}
        stores.index.put([replace(paper, canonical_domain=story.canonical_domain, **day), story])
        self.app = app_for(stores)
        self.replay = create_replay(stores)
        self.paths = list(addresses(self.app, in_path, IN_QUERY))
        (row,) = stores.records.get(StoryMetaRow, [self.filled.stories[1]])
        self.captures = [
            f"/web/{form}/{url}"
            for url in (URL, MIRRORED, row.url)
            for form in ("timemap/link", "timemap/json", "2026", "20260315092653")
        ]
        self.hidden: Hidden
        self.before: Mapping[str, tuple[int, bytes]] = {}
        self.between: Mapping[str, tuple[int, bytes]] = {}
        self.after: Mapping[str, tuple[int, bytes]] = {}

    def add_and_hide(self, act: str) -> None:
        """Put the files there, and hide them; with what is answered before, in between and afterwards."""
        if act == "embargo":
            self.before = self.answers()
        self.hidden = add_hidden(self.stores, self._home, self._settings, self.filled, self.changes)
        _exclude(self.changes, self.hidden.files)
        if act == "embargo":
            self.between = ask_all(self.app, [path for path in self.paths if SHOWS.match(path)])
        ACTS[act][0](self.stores, self.changes, self.hidden)
        self.after = self.answers()

    def answers(self) -> dict[str, tuple[int, bytes]]:
        """What every address answers with now, its headers behind the bytes."""
        replayed = ask_all(self.replay, self.captures)
        return ask_all(self.app, self.paths) | {
            f"replay {path}": one for path, one in replayed.items()
        }

    def differing(self) -> list[str]:
        """The addresses that answer otherwise than before the files came, moments and scores apart."""
        return [
            path
            for path, (status, told) in self.before.items()
            # Each WARC has a moment and an id of its own.
            if f"/export/{WARC}" not in path
            and (status, lasting(told)) != (self.after[path][0], lasting(self.after[path][1]))
        ]

    def leaks(self, answers: Mapping[str, tuple[int, bytes]]) -> dict[str, list[str]]:
        """Which marks stand in which answers; those a question brought itself do not count."""
        found = {}
        for path, (_, told) in answers.items():
            marks = [one for one in (*self.hidden.marks, NOTE) if one.lower() not in path.lower()]
            there = [mark for mark in marks if mark.lower().encode() in told.lower()]
            if there:
                found[path] = there
        return found


def ask_all(
    app: FastAPI, paths: Sequence[str], headers: Mapping[str, str] = FROM_ELSEWHERE
) -> dict[str, tuple[int, bytes]]:
    """Each path's status and body, its headers behind the body.

    All are asked in one event loop: a `TestClient` goes from thread to thread ten times a request, which
    takes longer than most answers.
    """

    async def ask() -> dict[str, tuple[int, bytes]]:
        transport = ASGITransport(app=app)
        async with AsyncClient(transport=transport, base_url=ORIGIN, headers=headers) as client:
            return {path: await _answer_of(client, path) for path in paths}

    return asyncio.run(ask())


async def _answer_of(client: AsyncClient, path: str) -> tuple[int, bytes]:
    answer = await client.get(path, follow_redirects=False)
    assert answer.status_code < 500, path
    body = answer.content
    if body.startswith(GZIP):
        body = gzip.decompress(body)
    headers = {name: value for name, value in answer.headers.items() if name != "date"}
    return answer.status_code, body + str(sorted(headers.items())).encode()


def part_of(paths: Sequence[str]) -> list[str]:
    """The addresses asked on a push: those without a question, all of a search, and each third of the others.

    The same question goes with many routes, and which third of them a route is asked differs from one to
    the next: each question is asked at some.
    """
    return [
        path
        for number, path in enumerate(paths)
        if IS_NIGHTLY or "?" not in path or ALWAYS.match(path) or number % 3 == 0
    ]


def lasting(told: bytes) -> bytes:
    text = told.decode("utf-8", "replace")
    for one in PASSING:
        text = re.sub(one, "", text)
    # Pages differ in length with what was left out.
    return re.sub(r"'(content-length|etag)', '[^']*'", "", text).encode()


def _embargo(stores: Stores, changes: CollectionWriter, hidden: Hidden) -> None:
    act = EmbargoService(stores, changes, lambda: NOW)
    for file in hidden.files:
        act.hide(EmbargoRow(file, "publication", NOTE, UNTIL, "ann", NOW))


def _takedown(stores: Stores, changes: CollectionWriter, hidden: Hidden) -> None:
    act = taking_down(stores, changes)
    for file in hidden.files:
        act(TakedownRow(file, "privacy", NOTE, "ann", NOW))


ACTS: Mapping[str, tuple[Callable[[Stores, CollectionWriter, Hidden], None], int, str, str]] = {
    "embargo": (_embargo, 403, "publication", "13 Apr 2026"),
    "takedown": (_takedown, 410, "privacy", "14 Mar 2026"),
}
"""What is done, how its addresses answer, and what they tell."""
