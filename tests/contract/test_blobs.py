"""Promises of every blob store (`fonds.ports.Blobs`)."""

from __future__ import annotations

import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from depth import examples
from fonds.model.archive import Blob
from fonds.model.errors import ConfigurationError
from fonds.model.keys import build_text_blob_key
from fonds.ports import Blobs
from fonds.stores.blobs import PARTS_FOLDER

KEY = build_text_blob_key("ab" * 20)


@pytest.mark.parametrize("data", [b"", b"text", bytes(range(256)) * 4096])
def test_a_blob_is_read_as_it_was_put(blobs: Blobs, name: str, data: bytes) -> None:
    blobs.put([Blob(f"{name}/{KEY}", data, "text/plain")])
    assert blobs.get(f"{name}/{KEY}") == data


def test_a_put_replaces_the_complete_blob(blobs: Blobs, name: str) -> None:
    blobs.put([Blob(f"{name}/a.txt", b"a long text", "text/plain")])
    blobs.put([Blob(f"{name}/a.txt", b"short", "text/plain")])
    assert blobs.get(f"{name}/a.txt") == b"short"


def test_a_missing_key_and_a_folder_have_no_blob(blobs: Blobs, name: str) -> None:
    blobs.put([Blob(f"{name}/folder/a.txt", b"", "text/plain")])
    absent = [f"{name}/b.txt", f"{name}/folder", f"{name}/folder/a.txt/b"]
    assert [blobs.get(key) for key in absent] == [None, None, None]
    assert blobs.filter_existing(absent) == set()


def test_filter_existing_includes_empty_blobs(blobs: Blobs, name: str) -> None:
    blobs.put([Blob(f"{name}/empty", b"", "text/plain")])
    assert blobs.filter_existing([f"{name}/empty", f"{name}/none"]) == {f"{name}/empty"}
    assert blobs.filter_existing([]) == set()


def test_get_sizes_returns_existing_blobs_only(blobs: Blobs, name: str) -> None:
    blobs.put([Blob(f"{name}/a/empty", b"", "text/plain")])
    blobs.put([Blob(f"{name}/a/five", b"12345", "text/plain")])
    keys = [f"{name}/a/empty", f"{name}/a/five", f"{name}/none", f"{name}/a"]
    assert blobs.get_sizes(keys) == {f"{name}/a/empty": 0, f"{name}/a/five": 5}
    assert blobs.get_sizes([]) == {}


def test_delete_ignores_missing_keys(blobs: Blobs, name: str) -> None:
    blobs.put([Blob(f"{name}/a/1", b"1", "text/plain")])
    blobs.put([Blob(f"{name}/a/2", b"2", "text/plain")])
    blobs.delete([f"{name}/a/1", f"{name}/none", f"{name}/a"])
    assert blobs.get(f"{name}/a/1") is None
    assert blobs.get(f"{name}/a/2") == b"2"


@pytest.mark.parametrize(
    "key",
    [
        "",
        "/",
        "/etc/passwd",
        "a//b",
        "a/",
        "../a",
        "a/../b",
        "a/..",
        ".",
        "a/./b",
        "a\x00b",
        "\ud800",
    ],
)
def test_every_method_refuses_unsafe_keys(blobs: Blobs, key: str) -> None:
    with pytest.raises(ConfigurationError, match="key"):
        blobs.put([Blob(key, b"", "text/plain")])
    with pytest.raises(ConfigurationError, match="key"):
        blobs.get(key)
    with pytest.raises(ConfigurationError, match="key"):
        blobs.filter_existing([key])
    with pytest.raises(ConfigurationError, match="key"):
        blobs.delete([key])


@pytest.mark.parametrize("key", ["x" * 256, "ü" * 128, "/".join(["x" * 200] * 6)])
def test_too_long_keys_are_refused(blobs: Blobs, key: str) -> None:
    with pytest.raises(ConfigurationError, match="longer"):
        blobs.put([Blob(key, b"", "text/plain")])


def test_concurrent_writers_of_a_key_leave_one_complete_blob(blobs: Blobs, name: str) -> None:
    versions = [bytes([i]) * 100_000 for i in range(8)]
    threads = [
        threading.Thread(target=blobs.put, args=([Blob(f"{name}/a", data, "text/plain")],))
        for data in versions
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert blobs.get(f"{name}/a") in versions


PARTS = st.text(
    st.characters(exclude_characters="/\x00", exclude_categories=["Cs"]), min_size=1, max_size=20
).filter(lambda part: part not in (".", "..", PARTS_FOLDER))


@settings(
    max_examples=examples(15),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
@given(parts=st.lists(PARTS, min_size=1, max_size=4), data=st.binary(max_size=50))
def test_any_relative_path_is_a_valid_key(
    blobs: Blobs, name: str, parts: list[str], data: bytes
) -> None:
    key = "/".join([name, *parts, "blob.bin"])
    blobs.put([Blob(key, data, "application/octet-stream")])
    assert blobs.get(key) == data
    blobs.delete([key])
    assert blobs.filter_existing([key]) == set()


def test_a_batch_stores_all_blobs_and_keeps_each_key_intact(blobs: Blobs, name: str) -> None:
    expected = {f"{name}/{number % 7}/{number}": bytes([number]) * number for number in range(50)}
    blobs.put([Blob(key, data, "text/plain") for key, data in expected.items()])
    assert {key: blobs.get(key) for key in expected} == expected
    blobs.put([])
    versions = [Blob(f"{name}/same", data, "text/plain") for data in (b"1" * 9_000, b"2" * 9_000)]
    blobs.put(versions)
    assert blobs.get(f"{name}/same") in {blob.data for blob in versions}


def test_an_invalid_key_in_a_batch_is_refused(blobs: Blobs, name: str) -> None:
    batch = [Blob(f"{name}/{key}", b"", "text/plain") for key in ("a", "../b", "c")]
    with pytest.raises(ConfigurationError):
        blobs.put(batch)


def test_a_key_is_limited_in_bytes_as_a_whole(blobs: Blobs, name: str) -> None:
    folder = name.partition("/")[0]
    longest = "/".join([folder, *["ü" * 100] * 5])
    longest = f"{longest}{'x' * (1024 - len(longest.encode()) - 1)}"
    assert len(longest.encode()) == 1023
    blobs.put([Blob(f"{longest}x", b"a", "text/plain")])
    assert blobs.get(f"{longest}x") == b"a"
    with pytest.raises(ConfigurationError, match="longer than 1024 bytes"):
        blobs.put([Blob(f"{longest}ü", b"a", "text/plain")])
