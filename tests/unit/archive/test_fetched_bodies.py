"""FetchedBodies: fetched payloads are returned by place and SHA-1, and the oldest are dropped
first."""

from __future__ import annotations

from hashlib import sha1

from fonds.archive.store.fetched_bodies import BodyFileCache
from fonds.model.archive import Payload
from fonds.model.capture import Place, PlaceKind
from fonds.model.exchange import HttpHead


def place(name: str) -> Place:
    return Place(PlaceKind.PETABOX, f"item/{name}")


def digest(body: bytes) -> str:
    return sha1(body).hexdigest()


def test_a_payload_is_returned_only_for_its_place_and_sha1() -> None:
    bodies = BodyFileCache()
    payload = Payload(b"body", HttpHead(200, "200 OK"), warc_headers={"WARC-Date": "x"})
    bodies.store(place("a"), payload)
    assert bodies.get(place("a"), digest(b"body")) == payload
    assert bodies.get(place("a"), digest(b"other")) is None
    assert bodies.get(place("b"), digest(b"body")) is None
    bodies.close()
    assert bodies.get(place("a"), digest(b"body")) is None


def test_the_oldest_bodies_are_dropped_beyond_the_limits() -> None:
    bodies = BodyFileCache(max_bytes=10, max_count=2)
    bodies.store(place("long"), Payload(bytes(11)))
    assert bodies.get(place("long"), digest(bytes(11))) is None
    for name in ("aaaa", "bbbb"):
        bodies.store(place(name), Payload(name.encode()))
    assert bodies.get(place("aaaa"), digest(b"aaaa")) is not None
    bodies.store(place("cc"), Payload(b"cc"))
    names = [
        name for name in ("aaaa", "bbbb", "cc") if bodies.get(place(name), digest(name.encode()))
    ]
    assert names == ["aaaa", "cc"], "at most two; the last used stays"
    bodies.store(place("dddddddd"), Payload(b"dddddddd"))
    names = [name for name in ("aaaa", "cc") if bodies.get(place(name), digest(name.encode()))]
    assert names == ["cc"], "at most ten bytes"
    bodies.close()
