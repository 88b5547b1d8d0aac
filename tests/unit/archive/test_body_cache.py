"""Bodies are read once for two steps, within limits, and never other bytes than requested."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fixtures.archives import build_entry
from fonds.archive.store import body_sources
from fonds.archive.store.body_sources import (
    BodyCache,
    LayeredArchive,
)
from fonds.archive.store.folder import FolderArchive
from fonds.archive.store.options import ArchiveOptions
from fonds.model.archive import Payload
from fonds.model.capture import Place, PlaceKind
from fonds.model.errors import DamagedInputError
from fonds.ports import WarcArchive

SIZE = 1_000


@dataclass
class CountingArchive:
    """Archive that records its reads."""

    wrapped: WarcArchive
    reads: list[Place] = field(default_factory=list)

    def read(self, place: Place, sha1hex: str | None = None) -> Payload:
        self.reads.append(place)
        return self.wrapped.read(place, sha1hex)


@pytest.fixture
def folder(tmp_path: Path) -> CountingArchive:
    return CountingArchive(FolderArchive(tmp_path / "archive", ArchiveOptions()))


@pytest.fixture
def files(tmp_path: Path) -> list[Place]:
    for number in range(5):
        (tmp_path / f"{number}.pdf").write_bytes(b"%d" % number * SIZE)
    return [Place(PlaceKind.FILE, str(tmp_path / f"{n}.pdf")) for n in range(5)]


def compute_sha1hex(body: bytes) -> str:
    return hashlib.sha1(body).hexdigest()


def test_a_body_read_by_one_step_is_cached_once_for_the_next(
    folder: CountingArchive, files: list[Place]
) -> None:
    cache = BodyCache(folder)
    first = cache.read(files[0])
    assert cache.read(files[0], compute_sha1hex(first.body)) is first
    assert folder.reads == files[:1]
    assert cache.read(files[0], compute_sha1hex(first.body)) == first
    assert folder.reads == files[:1] * 2


def test_bodies_without_space_are_read_again_and_the_oldest_stays(
    folder: CountingArchive, files: list[Place]
) -> None:
    cache = BodyCache(folder, max_bytes=2 * SIZE)
    bodies = [cache.read(place).body for place in files]
    folder.reads.clear()
    assert [
        cache.read(p, compute_sha1hex(b)).body for p, b in zip(files, bodies, strict=True)
    ] == bodies
    assert folder.reads == files[2:]
    cache.read(files[4])
    cache.read(files[4], compute_sha1hex(bodies[4]))
    assert folder.reads == [*files[2:], files[4]]


def test_expired_bodies_make_space(
    folder: CountingArchive, files: list[Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = BodyCache(folder, max_bytes=SIZE)
    body = cache.read(files[0]).body
    monkeypatch.setattr(body_sources, "CACHE_S", 0.0)
    other = cache.read(files[1]).body
    folder.reads.clear()
    assert cache.read(files[1], compute_sha1hex(other)).body == other
    assert folder.reads == []
    assert cache.read(files[0], compute_sha1hex(body)).body == body
    assert folder.reads == files[:1]


def test_a_large_body_is_not_cached(
    folder: CountingArchive, files: list[Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(body_sources, "BODY_MAX_BYTES", SIZE - 1)
    cache = BodyCache(folder)
    body = cache.read(files[0]).body
    cache.read(files[0], compute_sha1hex(body))
    assert folder.reads == files[:1] * 2


def test_other_bytes_than_requested_raise(folder: CountingArchive, files: list[Place]) -> None:
    cache = BodyCache(folder)
    cache.read(files[0])
    with pytest.raises(DamagedInputError):
        cache.read(files[0], compute_sha1hex(b"something else"))


def test_an_archived_body_is_read_through_the_cache(folder: CountingArchive) -> None:
    cache = LayeredArchive(folder.wrapped, BodyCache(folder))
    (archived,) = cache.write([build_entry()])
    assert cache.read(archived.place).body == build_entry().body
    cache.finish()
    assert cache.list_unsent() == {}
    cache.close()
    assert (
        cache.read(archived.place, compute_sha1hex(build_entry().body)).body == build_entry().body
    )
    assert folder.reads == [archived.place]


def test_parallel_threads_never_cache_more_than_the_limit(
    folder: CountingArchive, files: list[Place]
) -> None:
    cache = BodyCache(folder, max_bytes=3 * SIZE)

    def read_all() -> None:
        for _ in range(30):
            for place in files:
                body = cache.read(place).body
                assert cache.read(place, compute_sha1hex(body)).body == body

    threads = [threading.Thread(target=read_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for place in files:
        cache.read(place, compute_sha1hex(cache.read(place).body))
    folder.reads.clear()
    bodies = [cache.read(place).body for place in files]
    assert [
        cache.read(p, compute_sha1hex(b)).body for p, b in zip(files, bodies, strict=True)
    ] == bodies
    assert len(folder.reads) == 5 + 2, (
        "three bodies are still cached, so the size was counted correctly"
    )
