"""WARCs in a bucket are purged on this machine; after a kill at any operation, a rerun completes
it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fixtures.archives import build_entry
from fixtures.buckets import FolderBucket
from fonds.archive.store import purge, volume
from fonds.archive.store.mover import build_key
from fonds.archive.store.s3 import S3Archive
from fonds.audit.warcs import verify
from fonds.model.archive import ArchivedRecord
from fonds.model.errors import StoreUnavailableError
from purged_files import holders, purge_body
from unit.archive.archive_in_bucket import list_local_files, open_archive

SECRET = os.urandom(5_000)


@pytest.fixture
def bucket(tmp_path: Path) -> FolderBucket:
    return FolderBucket(tmp_path / "bucket")


def make_moved_archive(
    tmp_path: Path, bucket: FolderBucket
) -> tuple[S3Archive, list[ArchivedRecord]]:
    archive = open_archive(tmp_path, bucket)
    archived = archive.write([build_entry(1), build_entry(2, body=SECRET), build_entry(3)])
    archive.finish()
    assert list_local_files(tmp_path) == []
    return archive, archived


def assert_others_readable(archive: S3Archive, archived: list[ArchivedRecord]) -> None:
    for number in (0, 2):
        assert archive.read(archived[number].place).body == build_entry(number + 1).body


def test_a_record_in_the_bucket_is_purged_there(tmp_path: Path, bucket: FolderBucket) -> None:
    archive, archived = make_moved_archive(tmp_path, bucket)
    assert holders(tmp_path, SECRET) != []
    assert purge_body(archive, archived[1].place, SECRET).records == 1
    assert (list_local_files(tmp_path), holders(tmp_path, SECRET)) == ([], [])
    assert_others_readable(archive, archived)
    assert verify(archive, archived[0].place.path).faults == []
    uploads = bucket.acts.count("upload")
    assert purge_body(archive, archived[1].place, SECRET).records == 0
    assert bucket.acts.count("upload") == uploads


def test_a_waiting_file_is_moved_before_the_purge(tmp_path: Path, bucket: FolderBucket) -> None:
    bucket.is_unavailable = True
    archive = open_archive(tmp_path, bucket)
    archived = archive.write([build_entry(1), build_entry(2, body=SECRET), build_entry(3)])
    archive.finish()
    assert len(list_local_files(tmp_path)) == 2
    with pytest.raises(StoreUnavailableError):
        purge_body(archive, archived[1].place, SECRET)
    bucket.is_unavailable = False
    assert purge_body(archive, archived[1].place, SECRET).records == 1
    assert (list_local_files(tmp_path), holders(tmp_path, SECRET)) == ([], [])
    assert_others_readable(archive, archived)


class KilledError(BaseException):
    """Simulated kill; nothing is cleaned up."""


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_killed_purge_keeps_other_records_and_a_rerun_completes_it(
    moment: str, tmp_path: Path, bucket: FolderBucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive, archived = make_moved_archive(tmp_path, bucket)
    name = archived[1].place.path
    files = {path: path.read_bytes() for path in bucket.folder.rglob("*") if path.is_file()}
    n_done = 0
    while True:
        for path, data in files.items():
            path.write_bytes(data)
        n_left = [n_done]

        def die(act: str, key: str, n_left: list[int] = n_left) -> None:
            if n_left[0] == 0:
                raise KilledError
            n_left[0] -= 1

        setattr(bucket, moment, die)
        with monkeypatch.context() as patches:
            # A dead process removes nothing.
            patches.setattr(Path, "unlink", lambda path, missing_ok=False: None)
            try:
                report = purge_body(archive, archived[1].place, SECRET)
            except KilledError:
                report = None
        setattr(bucket, moment, lambda act, key: None)
        reopened = open_archive(tmp_path, bucket)
        assert_others_readable(reopened, archived)
        reopened.recover(lambda _: None)
        assert not purge_body(reopened, archived[1].place, SECRET).waiting_reason
        assert (list_local_files(tmp_path), holders(tmp_path, SECRET)) == ([], [])
        assert_others_readable(reopened, archived)
        assert verify(reopened, name).faults == []
        if report is not None:
            break
        n_done += 1
        assert n_done < 50
    assert n_done >= (8 if moment == "before" else 2)


def test_a_file_that_another_machine_has_not_sent_is_postponed(
    tmp_path: Path, bucket: FolderBucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = open_archive(tmp_path, bucket)
    (archived,) = archive.write([build_entry(2, body=SECRET)])
    other_archive = open_archive(tmp_path / "other", bucket)
    monkeypatch.setattr(purge, "is_written_here", lambda name: False)
    assert (
        "Another machine wrote it"
        in purge_body(other_archive, archived.place, SECRET).waiting_reason
    )
    assert "still being written" in purge_body(archive, archived.place, SECRET).waiting_reason
    archive.finish()
    assert purge_body(other_archive, archived.place, SECRET).records == 1
    assert holders(bucket.folder, SECRET) == []


def test_a_file_under_repair_is_not_purged(tmp_path: Path, bucket: FolderBucket) -> None:
    archive, archived = make_moved_archive(tmp_path, bucket)
    reasons: list[str] = []

    def purge_meanwhile(act: str, key: str) -> None:
        if act == "fetch" and not reasons:
            reasons.append("")
            other = open_archive(tmp_path, bucket)
            reasons.append(purge_body(other, archived[1].place, SECRET).waiting_reason)

    bucket.before = purge_meanwhile
    archive.inspect(archived[1].place.path, repair=True)
    bucket.before = lambda act, key: None
    archive.finish()
    assert reasons[1] != ""
    assert purge_body(archive, archived[1].place, SECRET).records == 1
    assert holders(tmp_path, SECRET) == []


def test_a_kill_during_the_download_keeps_the_object_unchanged(
    tmp_path: Path, bucket: FolderBucket
) -> None:
    archive, archived = make_moved_archive(tmp_path, bucket)
    name = archived[0].place.path
    before = (bucket.folder / build_key(name)).read_bytes()

    def die(act: str, key: str) -> None:
        if act == "fetch":
            raise KilledError

    bucket.before = die
    with pytest.raises(KilledError):
        archive.inspect(name, repair=True)
    bucket.before = lambda act, key: None
    reopened = open_archive(tmp_path, bucket)
    end = archived[2].place.offset + (archived[2].place.size_bytes or 0)
    reopened.recover(lambda _: end)
    reopened.finish()
    assert (bucket.folder / build_key(name)).read_bytes() == before
    assert_others_readable(reopened, archived)


def test_a_local_file_is_locked_only_once(tmp_path: Path) -> None:
    path = tmp_path / "one.warc.gz"
    with volume.lock_marker(path) as first, volume.lock_marker(path) as second:
        assert (first, second) == (True, False)
    assert not volume.build_marker_path(path).exists()
    # A marker that a killed process left.
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
    # A marked file that exists locally must be recovered first.
    assert volume.build_marker_path(path).exists()
