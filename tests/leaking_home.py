"""A home whose responses at all URLs are compared before and after files are hidden."""

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

from depth import IS_NIGHTLY
from filled_home import FilledHome
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
from hidden_files import MIRRORED, SITE, URL, HiddenFiles, add_hidden
from home_rows import NOW
from ingesting import ingest
from route_urls import addresses
from takedowns import create_takedown_service, take_down
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
UNTESTED_PARAMETERS = (
    "at after group entry n since whole filter collapse alike fl poll matchType resumeKey id"
)
"""Parameters that only narrow a request, or take a value from an earlier response."""
UNTESTED_PARAMETERS += " showResumeKey measure scale refresh"
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
    "health": ("failing",),
    "conf": ("DEFAULT",),
    "level": ("0",),
    "top": ("20",),
    "form": ("seed",),
    "count": ("100",),
    "changes": ("true",),
    "output": ("json",),
    "limit": ("5",),
    **dict.fromkeys(UNTESTED_PARAMETERS.split(), ()),
}
WARC = "warc"
ALWAYS_REQUESTED = re.compile(r"/(api/)?search\?")
VISIBLE_FILE_URL = re.compile(r"/(api/)?(search|records|file|files|complete|cdx)\b")
"""URLs that are requested on every push, and URLs that show a file which is not hidden."""
FROM_ELSEWHERE = {"X-Forwarded-For": "192.0.2.1"}
"""Headers of a request from another computer, which has the role reader."""
VOLATILE_PATTERNS = (
    r"<p><time.*?</time>",
    r'"as_of":"[^"]*"',
    r'"generation":"[^"]*"',
    r' · index generation <span class="hash">[^<]*</span>',
    r'"modified":("[^"]*"|\d+)',
    r"updated <time.*?</time>",
    r"(?<=library,all),\d+,\d+",
    r'"score":[\d.]+',
    r"<updated>[^<]*</updated>",
    r'"+processed"+: ?\d+',
    r", \d+ documents? added since",
    r'"later":\d+',
    r'"+documents"+: ?\d+, ?"+themes"+',
    r"themes in \d+ documents",
)
"""Patterns of text that changes without any leak.

The generation of the index changes with every write. A score depends on word frequencies in the
index, and tantivy counts deleted documents until it merges its files. A clustering counts every
document ever placed until it is rebuilt.
"""


def app_for(stores: Stores, role: Role = Role.READER) -> FastAPI:
    """Create the application for a viewer with this role."""
    app = create_app(stores)
    app.dependency_overrides[get_viewer] = lambda: Viewer("ann", role)
    return app


def in_path_of(stores: Stores, filled: FilledHome) -> dict[str, tuple[str, ...]]:
    """Return values for every path parameter; files are visible neighbours of the hidden ones."""
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
        **dict.fromkeys(("theme", "label"), (_get_theme_id(stores), "outlier")),
        "reason": ("outlier",),
        "conf": ("DEFAULT",),
        "rest": (f"2026/{URL}", f"timemap/link/{URL}"),
    }


def _get_theme_id(stores: Stores) -> str:
    """Return the id of a theme of a collection with documents of the library."""
    clusters = load_clusters(Tables(stores.table), LIBRARY)
    assert clusters is not None
    return clusters.clusters[0].id


def _exclude(writer: CollectionWriter, ids: Sequence[str]) -> None:
    """Exclude documents from the themes that contain them."""
    for id_ in ids:
        for placement in list_placements(writer.tables, LIBRARY, id_):
            if placement.cluster_id:
                exclude(writer, LIBRARY, placement.conf, placement.cluster_id, [id_])


class LeakingHome:
    """A home whose responses were recorded before the hidden files were added."""

    def __init__(self, stores: Stores, home: Path, settings: Settings, filled: FilledHome) -> None:
        self.stores, self.filled, self._home, self._settings = stores, filled, home, settings
        # Process pending input first, so that the hidden files are later ingested alone.
        ingest(stores, home, [], settings)
        reindex(stores.records, stores.blobs, stores.index, lambda _: None)
        self.writer: CollectionWriter = fill_themes(stores)
        fill_sources(stores)
        in_path = in_path_of(stores, self.filled)
        # A story is missing from collections while one of its versions is hidden.
        self.writer.delete(LIBRARY, in_path["id"][1:])
        # Equal scores keep the order of insertion, so insert this document last: it will be inserted again.
        (story,) = stores.index.get(in_path["id"][1:]).values()
        (paper,) = stores.index.get(in_path["id"][:1]).values()
        # The requested file has a neighbour that will be hidden.
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
        self.hidden: HiddenFiles
        self.before: Mapping[str, tuple[int, bytes]] = {}
        self.between: Mapping[str, tuple[int, bytes]] = {}
        self.after: Mapping[str, tuple[int, bytes]] = {}

    def add_and_hide(self, act: str) -> None:
        """Add the files and hide them; record the responses before, between and after."""
        if act == "embargo":
            self.before = self.answers()
        self.hidden = add_hidden(self.stores, self._home, self._settings, self.filled, self.writer)
        _exclude(self.writer, self.hidden.files)
        if act == "embargo":
            self.between = ask_all(
                self.app, [path for path in self.paths if VISIBLE_FILE_URL.match(path)]
            )
        ACTS[act][0](self.stores, self.writer, self.hidden)
        self.after = self.answers()

    def answers(self) -> dict[str, tuple[int, bytes]]:
        """Request every URL; return status and body, with the headers appended."""
        replay_responses = ask_all(self.replay, self.captures)
        return ask_all(self.app, self.paths) | {
            f"replay {path}": response for path, response in replay_responses.items()
        }

    def list_differences(self) -> list[str]:
        """List the URLs whose response changed, apart from times and scores."""
        return [
            path
            for path, (status, body) in self.before.items()
            # Each exported WARC has its own date and id.
            if f"/export/{WARC}" not in path
            and (status, remove_volatile_text(body))
            != (self.after[path][0], remove_volatile_text(self.after[path][1]))
        ]

    def leaks(self, answers: Mapping[str, tuple[int, bytes]]) -> dict[str, list[str]]:
        """Return the marks found in each response, without those from the request itself."""
        marks_by_path = {}
        for path, (_, body) in answers.items():
            marks = [
                mark for mark in (*self.hidden.marks, NOTE) if mark.lower() not in path.lower()
            ]
            found_marks = [mark for mark in marks if mark.lower().encode() in body.lower()]
            if found_marks:
                marks_by_path[path] = found_marks
        return marks_by_path


def ask_all(
    app: FastAPI, paths: Sequence[str], headers: Mapping[str, str] = FROM_ELSEWHERE
) -> dict[str, tuple[int, bytes]]:
    """Request all paths; return status and body, with the headers appended.

    All requests run in one event loop: a `TestClient` switches threads ten times per request, which
    takes longer than most responses.
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
    """Select the URLs that are requested on a push.

    They are all URLs without a query, all searches, and a third of the others. Each query is used
    with many routes, and a different third is selected for each, so every query is requested at
    some route.
    """
    return [
        path
        for number, path in enumerate(paths)
        if IS_NIGHTLY or "?" not in path or ALWAYS_REQUESTED.match(path) or number % 3 == 0
    ]


def remove_volatile_text(body: bytes) -> bytes:
    text = body.decode("utf-8", "replace")
    for pattern in VOLATILE_PATTERNS:
        text = re.sub(pattern, "", text)
    # The removed text also changes the length of a page.
    return re.sub(r"'(content-length|etag)', '[^']*'", "", text).encode()


def _embargo(stores: Stores, writer: CollectionWriter, hidden: HiddenFiles) -> None:
    service = EmbargoService(stores, writer, lambda: NOW)
    for file in hidden.files:
        service.hide(EmbargoRow(file, "publication", NOTE, UNTIL, "ann", NOW))


def _takedown(stores: Stores, writer: CollectionWriter, hidden: HiddenFiles) -> None:
    service = create_takedown_service(stores, writer)
    for file in hidden.files:
        take_down(service, TakedownRow(file, "privacy", NOTE, "ann", NOW))


ACTS: Mapping[
    str, tuple[Callable[[Stores, CollectionWriter, HiddenFiles], None], int, str, str]
] = {
    "embargo": (_embargo, 403, "publication", "13 Apr 2026"),
    "takedown": (_takedown, 410, "privacy", "14 Mar 2026"),
}
"""How files are hidden: the act, the status of their URLs, the reason and the date they show."""
