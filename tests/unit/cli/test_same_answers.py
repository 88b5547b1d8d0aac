"""What a command writes as JSON and what the API answers are the same values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.testclient import TestClient

from calls import Call
from filled_home import fill_home, open_home
from fixtures.feeds import rss_with_links
from fonds.failures.groups import FailureGroup
from fonds.following.health import mute
from fonds.following.source_summary import PollSummary, SourceSummary
from fonds.grouping.views.clusterings import ClusteringView, CollectionView
from fonds.grouping.views.clusters import ClusterMember, ClusterMembers, ClusterView, LevelView
from fonds.model.rows import EntryRow
from fonds.web.app import create_app
from themed_home import FIVE, fill_themed
from unit.following.archives import add_polled_feed, poll_all, request_days, serve_archives
from unit.following.world import LINKS, World, advance, world

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["world"]
Answer = Mapping[str, Any]


@contextmanager
def asking(home: Path) -> Iterator[TestClient]:
    """Open the API over a home."""
    with (
        open_home(home) as stores,
        TestClient(create_app(stores), base_url="http://localhost:8765") as client,
    ):
        yield client


def told(call: Call, home: Path, *words: str) -> list[dict[str, Any]]:
    """Return the objects that a command writes with `--json`."""
    result = call(*words, "--json", "--home", str(home))
    assert result.code == 0, result.err
    return [json.loads(line) for line in result.out.splitlines()]


def shared(kind: type[DataclassInstance], answers: Iterable[Answer]) -> list[dict[str, Any]]:
    """Return only the fields of `kind` of each answer; none may be missing."""
    names = [field.name for field in fields(kind)]
    return [{name: answer[name] for name in names} for answer in answers]


def test_sources_and_polls(call: Call, world: World, tmp_path: Path) -> None:
    """One source is read with a backfill, one fails and is muted, and one was never polled."""
    serve_archives(world)
    row = add_polled_feed(world)
    request_days(world, row)
    poll_all(world)
    world.serve("/down", b"", 500)
    down = world.add("/down")
    poll_all(world)
    now = world.place.clock()
    mute(world.place.records, world.get_row(down.source_id), None, "they move", now)
    world.serve("/new", rss_with_links([*LINKS, "https://www.youtube.com/watch?v=9"]))
    world.add("/new")
    advance(world, days=1)
    with asking(tmp_path) as client:
        listed = client.get("/api/sources").json()["rows"]
        printed = told(call, tmp_path, "sources", "list")
        by_url = sorted(listed, key=lambda source: source["url"])
        assert shared(SourceSummary, printed) == shared(SourceSummary, by_url)
        assert {one["health"] for one in listed} == {"active", "muted", "waiting"}
        for source in listed:
            (shown,) = told(call, tmp_path, "sources", "show", source["source_id"])
            page = client.get(f"/api{source['href']}").json()
            assert shared(SourceSummary, [shown]) == shared(SourceSummary, [page["source"]])
            assert shown["last_polls"] == page["last_polls"][:10]
            for poll in page["last_polls"]:
                (detail,) = told(call, tmp_path, "sources", "show", poll["input_id"])
                assert shared(PollSummary, [detail]) == [poll]
        (read,) = (one for one in listed if one["source_id"] == row.source_id)
        polls = client.get(f"/api{read['href']}").json()["last_polls"]
    assert read["backfill"]["state"] == "ended"
    assert {poll["backfill"] is None for poll in polls} == {True, False}


def test_failure_groups_and_their_samples(call: Call, tmp_path: Path) -> None:
    """The failures are those of a home into which broken PDFs were ingested."""
    fill_home(tmp_path)
    (tmp_path / "cut.warc.gz").write_bytes(b"\x1f\x8b\x08 no more")
    call("ingest", str(tmp_path / "cut.warc.gz"), "--home", str(tmp_path))
    printed = [one for one in told(call, tmp_path, "failures") if "group" in one]
    note = ("failures", "note", "--group", printed[0]["group"], "--owner", "Ann")
    told(call, tmp_path, *note)
    answers = told(call, tmp_path, "failures")
    printed = [one for one in answers if "group" in one]
    with asking(tmp_path) as client:
        page = client.get("/api/failures").json()
        (record,) = client.get(f"/api/records?group={printed[0]['group']}").json()["rows"][:1]
    names = {field.name for field in fields(FailureGroup)} - {"sample"}
    assert len(printed) == page["groups_total"] > 1
    for ours, theirs in zip(printed, page["groups"], strict=True):
        assert {name: ours[name] for name in names} == {name: theirs[name] for name in names}
        assert [ours["sample"]] == shared(EntryRow, [theirs["sample"]])
    assert printed[0]["note"]["owner"] == "Ann"
    (entry, *_) = told(call, tmp_path, "failures", "--list", "--group", printed[0]["group"])
    assert [entry] == shared(EntryRow, [record])
    assert [one["input"] for one in answers if "input" in one] == page["inputs"] != []
    for new in page["recent"]["new"]:
        assert shared(FailureGroup, [new])[0] in printed


def test_collections_with_their_clusterings(call: Call, tmp_path: Path) -> None:
    """One collection was grouped twice, one not yet, and one is empty."""
    fill_themed(tmp_path)
    with asking(tmp_path) as client:
        printed = told(call, tmp_path, "collection", "list")
        listed = client.get("/collections").json()["collections"]
        lines = client.get("/api/themes").json()["collections"]
        assert shared(CollectionView, printed) == shared(CollectionView, listed)
        assert shared(CollectionView, lines) == shared(CollectionView, listed)
        assert {len(one["served"]) for one in listed} == {0, 1}
        for collection, line in zip(printed, lines, strict=True):
            (shown,) = told(call, tmp_path, "collection", "show", collection["collection"])
            path = f"/collections/{quote(shown['namespace'], '')}/{quote(shown['key'], '')}"
            answer = client.get(path).json()
            page = client.get(f"/api{line['href']}").json()
            for other in (answer["collection"], page):
                assert shared(CollectionView, [other]) == shared(CollectionView, [shown])
            for other in (answer["clusterings"], page["clusterings"]):
                assert shared(ClusteringView, other) == shown["clusterings"]
            assert shown["building"] == answer["building"] == page["building"]


def test_clusters_and_their_documents(call: Call, tmp_path: Path) -> None:
    fill_themed(tmp_path)
    themes = f"/clusters/{FIVE.namespace}/{FIVE.key}"
    pages = f"/api/themes/{FIVE.namespace}/{FIVE.key}"
    with asking(tmp_path) as client:
        (level,) = told(call, tmp_path, "clusters", str(FIVE))
        answer = client.get(themes).json()
        clusters = shared(ClusterView, answer["clusters"])
        assert level == {**shared(LevelView, [answer])[0], "clusters": clusters}
        label = clusters[0]["label"]
        reason = next(name for name, count in level["unclustered"].items() if count)
        for word, page in ((label, quote(label, "")), (reason, f"unclustered/{reason}")):
            (shown,) = told(call, tmp_path, "clusters", str(FIVE), word)
            answer = client.get(f"{themes}/{quote(word, '')}", params={"count": 20}).json()
            (members,) = shared(ClusterMembers, [answer])
            ours = answer["cluster"] and shared(ClusterView, [answer["cluster"]])[0]
            assert shown == {**members, "cluster": ours}
            listed = client.get(f"{pages}/{page}").json()
            assert shared(ClusterMember, listed["documents"]) == shown["members"]
            assert listed["next"] == shown["after"]
        (second,) = told(call, tmp_path, "clusters", str(FIVE), label, "--limit", "3")
        (rest,) = told(call, tmp_path, "clusters", str(FIVE), label, "--after", second["after"])
        theirs = client.get(f"{pages}/{quote(label, '')}", params={"after": second["after"]})
        assert shared(ClusterMember, theirs.json()["documents"]) == rest["members"]
        (_, previous) = client.get(f"/collections/{FIVE}").json()["clusterings"]
        (changes,) = told(call, tmp_path, "clusters", str(FIVE), "--changes")
        since = client.get(themes, params={"changes": previous["timestamp"]}).json()
    assert changes == since


def test_keys_and_actions(call: Call, tmp_path: Path) -> None:
    """An admin reads over the web what the commands wrote down."""
    (made,) = told(call, tmp_path, "keys", "create", "ada", "--role", "admin")
    told(call, tmp_path, "keys", "create", "ben", "--role", "reader", "--until", "2999-01-31")
    told(call, tmp_path, "keys", "create", "cy", "--role", "curator")
    told(call, tmp_path, "keys", "revoke", "cy", "--reason", "left")
    with asking(tmp_path) as client:
        secret = {"Authorization": f"Bearer {made['secret']}"}
        page = client.get("/api/admin", headers=secret).json()
        keys, acts = told(call, tmp_path, "keys", "list"), told(call, tmp_path, "keys", "acts")
    assert keys == page["keys"]
    assert [(key["name"], key["state"]) for key in keys] == [
        ("ada", "valid"),
        ("ben", "valid"),
        ("cy", "revoked"),
    ]
    assert acts == page["acts"]
    assert len(acts) == 4
