"""Cache of fetched bodies: payloads are returned by place and SHA-1, and the oldest are dropped
first."""

from __future__ import annotations

from hashlib import sha1

from fonds.archive.store.fetched_bodies import BodyFileCache
from fonds.model.archive import Payload
from fonds.model.capture import Place, PlaceKind
from fonds.model.exchange import HttpHead


def make_place(name: str) -> Place:
    return Place(PlaceKind.PETABOX, f"item/{name}")


def compute_digest(body: bytes) -> str:
    return sha1(body).hexdigest()


def test_a_payload_is_returned_only_for_its_place_and_sha1() -> None:
    bodies = BodyFileCache()
    payload = Payload(b"body", HttpHead(200, "200 OK"), warc_headers={"WARC-Date": "x"})
    bodies.store(make_place("a"), payload)
    assert bodies.get(make_place("a"), compute_digest(b"body")) == payload
    assert bodies.get(make_place("a"), compute_digest(b"other")) is None
    assert bodies.get(make_place("b"), compute_digest(b"body")) is None
    bodies.close()
    assert bodies.get(make_place("a"), compute_digest(b"body")) is None


def test_the_oldest_bodies_are_dropped_beyond_the_limits() -> None:
    bodies = BodyFileCache(max_bytes=10, max_count=2)
    bodies.store(make_place("long"), Payload(bytes(11)))
    assert bodies.get(make_place("long"), compute_digest(bytes(11))) is None
    for name in ("aaaa", "bbbb"):
        bodies.store(make_place(name), Payload(name.encode()))
    assert bodies.get(make_place("aaaa"), compute_digest(b"aaaa")) is not None
    bodies.store(make_place("cc"), Payload(b"cc"))
    names = [
        name
        for name in ("aaaa", "bbbb", "cc")
        if bodies.get(make_place(name), compute_digest(name.encode()))
    ]
    assert names == ["aaaa", "cc"], "at most two; the last used stays"
    bodies.store(make_place("dddddddd"), Payload(b"dddddddd"))
    names = [
        name
        for name in ("aaaa", "cc")
        if bodies.get(make_place(name), compute_digest(name.encode()))
    ]
    assert names == ["cc"], "at most ten bytes"
    bodies.close()
