"""WARCs in a bucket are purged by way of this machine; killed at any act, a rerun ends it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fixtures.archives import entry
from fixtures.buckets import FolderBucket
from fonds.archive.store import purge, volume
from fonds.archive.store.mover import build_key
from fonds.archive.store.s3 import S3Archive
from fonds.audit.warcs import verify
from fonds.model.archive import ArchivedRecord
from fonds.model.errors import StoreUnavailableError
from purged_files import holders, purge_body
from unit.archive.archive_in_bucket import here, opened

SECRET = os.urandom(5_000)


@pytest.fixture
def bucket(tmp_path: Path) -> FolderBucket:
    return FolderBucket(tmp_path / "bucket")


def moved(tmp_path: Path, bucket: FolderBucket) -> tuple[S3Archive, list[ArchivedRecord]]:
    archive = opened(tmp_path, bucket)
    archived = archive.write([entry(1), entry(2, body=SECRET), entry(3)])
    archive.finish()
    assert here(tmp_path) == []
    return archive, archived


def others_are_right(archive: S3Archive, archived: list[ArchivedRecord]) -> None:
    for number in (0, 2):
        assert archive.read(archived[number].place).body == entry(number + 1).body


def test_what_lies_in_the_bucket_is_purged_there(tmp_path: Path, bucket: FolderBucket) -> None:
    archive, archived = moved(tmp_path, bucket)
    assert holders(tmp_path, SECRET) != []
    assert purge_body(archive, archived[1].place, SECRET).records == 1
    assert (here(tmp_path), holders(tmp_path, SECRET)) == ([], [])
    others_are_right(archive, archived)
    assert verify(archive, archived[0].place.path).faults == []
    uploads = bucket.acts.count("upload")
    assert purge_body(archive, archived[1].place, SECRET).records == 0
    assert bucket.acts.count("upload") == uploads


def test_what_waits_here_is_moved_first(tmp_path: Path, bucket: FolderBucket) -> None:
    bucket.away = True
    archive = opened(tmp_path, bucket)
    archived = archive.write([entry(1), entry(2, body=SECRET), entry(3)])
    archive.finish()
    assert len(here(tmp_path)) == 2
    with pytest.raises(StoreUnavailableError):
        purge_body(archive, archived[1].place, SECRET)
    bucket.away = False
    assert purge_body(archive, archived[1].place, SECRET).records == 1
    assert (here(tmp_path), holders(tmp_path, SECRET)) == ([], [])
    others_are_right(archive, archived)


class KilledError(BaseException):
    """What happens to the process: nothing of it is tidied up."""


@pytest.mark.parametrize("taken", ["before", "after"])
def test_killed_at_any_act_nothing_else_is_lost_and_a_rerun_ends_it(
    taken: str, tmp_path: Path, bucket: FolderBucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive, archived = moved(tmp_path, bucket)
    name = archived[1].place.path
    kept = {path: path.read_bytes() for path in bucket.folder.rglob("*") if path.is_file()}
    killed = 0
    while True:
        for path, data in kept.items():
            path.write_bytes(data)
        left = [killed]

        def die(act: str, key: str, left: list[int] = left) -> None:
            if left[0] == 0:
                raise KilledError
            left[0] -= 1

        setattr(bucket, taken, die)
        with monkeypatch.context() as dead:
            # A dead process removes nothing.
            dead.setattr(Path, "unlink", lambda path, missing_ok=False: None)
            try:
                done = purge_body(archive, archived[1].place, SECRET)
            except KilledError:
                done = None
        setattr(bucket, taken, lambda act, key: None)
        again = opened(tmp_path, bucket)
        others_are_right(again, archived)
        again.recover(lambda _: None)
        assert not purge_body(again, archived[1].place, SECRET).waiting_reason
        assert (here(tmp_path), holders(tmp_path, SECRET)) == ([], [])
        others_are_right(again, archived)
        assert verify(again, name).faults == []
        if done is not None:
            break
        killed += 1
        assert killed < 50
    assert killed >= (8 if taken == "before" else 2)


def test_a_file_another_machine_has_not_sent_yet_is_waited_for(
    tmp_path: Path, bucket: FolderBucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = opened(tmp_path, bucket)
    (archived,) = archive.write([entry(2, body=SECRET)])
    elsewhere = opened(tmp_path / "other", bucket)
    monkeypatch.setattr(purge, "is_written_here", lambda name: False)
    assert (
        "Another machine wrote it" in purge_body(elsewhere, archived.place, SECRET).waiting_reason
    )
    assert "still being written" in purge_body(archive, archived.place, SECRET).waiting_reason
    archive.finish()
    assert purge_body(elsewhere, archived.place, SECRET).records == 1
    assert holders(bucket.folder, SECRET) == []


def test_a_file_that_is_brought_here_to_be_mended_is_left_to_whom_has_it(
    tmp_path: Path, bucket: FolderBucket
) -> None:
    archive, archived = moved(tmp_path, bucket)
    told: list[str] = []

    def meanwhile(act: str, key: str) -> None:
        if act == "fetch" and not told:
            told.append("")
            other = opened(tmp_path, bucket)
            told.append(purge_body(other, archived[1].place, SECRET).waiting_reason)

    bucket.before = meanwhile
    archive.inspect(archived[1].place.path, repair=True)
    bucket.before = lambda act, key: None
    archive.finish()
    assert told[1] != ""
    assert purge_body(archive, archived[1].place, SECRET).records == 1
    assert holders(tmp_path, SECRET) == []


def test_killed_while_it_is_brought_here_the_object_stays_whole(
    tmp_path: Path, bucket: FolderBucket
) -> None:
    archive, archived = moved(tmp_path, bucket)
    name = archived[0].place.path
    before = (bucket.folder / build_key(name)).read_bytes()

    def die(act: str, key: str) -> None:
        if act == "fetch":
            raise KilledError

    bucket.before = die
    with pytest.raises(KilledError):
        archive.inspect(name, repair=True)
    bucket.before = lambda act, key: None
    again = opened(tmp_path, bucket)
    end = archived[2].place.offset + (archived[2].place.size_bytes or 0)
    again.recover(lambda _: end)
    again.finish()
    assert (bucket.folder / build_key(name)).read_bytes() == before
    others_are_right(again, archived)


def test_what_somebody_has_in_hand_here_is_marked_once(tmp_path: Path) -> None:
    path = tmp_path / "one.warc.gz"
    with volume.lock_marker(path) as first, volume.lock_marker(path) as second:
        assert (first, second) == (True, False)
    assert not volume.build_marker_path(path).exists()
    # Left by a killed process.
    volume.build_marker_path(path).touch()
    with volume.lock_marker(path) as third:
        assert third
    assert not volume.build_marker_path(path).exists()
    path.touch()
    with volume.lock_marker(path) as fourth:
        assert not fourth
    volume.build_marker_path(path).touch()
    with volume.lock_marker(path) as fifth:
        assert not fifth
    # Of a file that is here what is marked is to be recovered.
    assert volume.build_marker_path(path).exists()
