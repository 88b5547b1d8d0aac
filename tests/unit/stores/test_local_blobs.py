"""The blob store of a library folder beyond its port: what is a file, what is erased, and damage."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from fonds.model.archive import Blob
from fonds.model.keys import build_text_blob_key, build_thumbnail_blob_key
from fonds.stores.local_blobs import FILE_NAME, TEXT_MAX_BYTES, LocalBlobs
from home_texts import flip_packed_bit

KEY = build_text_blob_key("ab" * 20)
WORDS = b"a text about the flood of nineteen fifty-three "


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "blobs"


@pytest.fixture
def blobs(root: Path) -> Iterator[LocalBlobs]:
    store = LocalBlobs(root)
    yield store
    store.close()


def build_text(data: bytes) -> Blob:
    return Blob(KEY, data, "text/plain")


def list_files(root: Path) -> set[str]:
    paths = [path for path in root.rglob("*") if path.is_file()]
    return {path.relative_to(root).as_posix() for path in paths if FILE_NAME not in path.name}


def read_sqlite_files(root: Path) -> bytes:
    return b"".join(path.read_bytes() for path in root.glob(f"{FILE_NAME}*"))


def test_small_texts_have_no_file_but_thumbnails_do(root: Path, blobs: LocalBlobs) -> None:
    picture = Blob(build_thumbnail_blob_key("ab" * 20), b"picture", "image/jpeg")
    blobs.put([build_text(WORDS), picture])
    assert list_files(root) == {picture.key}
    assert blobs.get_sizes([KEY, picture.key]) == {KEY: len(WORDS), picture.key: 7}


@pytest.mark.parametrize(
    ("size_bytes", "is_file"), [(TEXT_MAX_BYTES, False), (TEXT_MAX_BYTES + 1, True)]
)
def test_a_text_over_the_limit_is_a_file(
    root: Path, blobs: LocalBlobs, size_bytes: int, is_file: bool
) -> None:
    blobs.put([build_text(b"x" * size_bytes)])
    assert list_files(root) == ({KEY} if is_file else set())
    assert blobs.get(KEY) == b"x" * size_bytes


def test_a_text_of_the_maximum_size_that_cannot_be_compressed_is_read(blobs: LocalBlobs) -> None:
    data = random.Random(1).randbytes(TEXT_MAX_BYTES)
    blobs.put([build_text(data)])
    assert blobs.get(KEY) == data


def test_a_text_that_grows_or_shrinks_past_the_limit_has_its_new_bytes(blobs: LocalBlobs) -> None:
    large = b"y" * (TEXT_MAX_BYTES + 1)
    for data in (WORDS, large, WORDS, large):
        blobs.put([build_text(data)])
        assert blobs.get(KEY) == data
        assert blobs.get_sizes([KEY]) == {KEY: len(data)}
    blobs.delete([KEY])
    assert blobs.get(KEY) is None


def test_a_replaced_text_leaves_no_bytes_after_a_purge(root: Path, blobs: LocalBlobs) -> None:
    # Random bytes cannot be compressed, so that they would be seen in the file.
    secret = bytes(range(256))
    blobs.put([build_text(secret)])
    assert secret[:200] in read_sqlite_files(root)
    blobs.put([build_text(b"other")])
    assert blobs.purge() == ()
    assert secret[:64] not in read_sqlite_files(root)


def test_a_damaged_text_counts_as_absent(root: Path, blobs: LocalBlobs) -> None:
    blobs.put([build_text(WORDS * 20)])
    blobs.close()
    flip_packed_bit(root.parent, KEY)
    store = LocalBlobs(root)
    assert store.get(KEY) is None
    assert store.get_sizes([KEY]) == {KEY: len(WORDS) * 20}
    store.close()


def test_texts_of_an_older_folder_are_still_read(root: Path, blobs: LocalBlobs) -> None:
    path = root / KEY
    path.parent.mkdir(parents=True)
    path.write_bytes(WORDS)
    assert blobs.get(KEY) == WORDS
    assert blobs.filter_existing([KEY]) == {KEY}
