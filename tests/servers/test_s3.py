"""The S3 backend on a real server, beyond its port: keys, types, silence, a full disk, many threads."""

from __future__ import annotations

import secrets
import signal
import subprocess
import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import obstore
import pytest

from fonds.model.archive import Blob
from fonds.model.errors import (
    ConfigurationError,
    StorageFullError,
    StoreUnavailableError,
)
from fonds.model.keys import build_text_blob_key, build_thumbnail_blob_key
from fonds.stores.s3.blobs import PUBLIC_CACHE_CONTROL, S3Blobs
from fonds.stores.s3.client import SILENCE_MAX_S, open_store, parse_address
from real_servers import PrivateServer, run_private_server, url_of

pytestmark = pytest.mark.servers

SHORT_S = SILENCE_MAX_S + 1.0
"""So long a backend of these tests tries again."""


@pytest.fixture
def url() -> str:
    """The running server, below a prefix that no other test has."""
    whole = url_of("TEST_S3_URL")
    return whole.replace("?", f"/t{secrets.token_hex(6)}?")


@pytest.fixture
def blobs(url: str) -> Iterator[S3Blobs]:
    opened = S3Blobs(url)
    yield opened
    opened.close()


@pytest.fixture
def own() -> Iterator[PrivateServer]:
    with run_private_server("s3") as server:
        yield server


@pytest.fixture
def own_on_small_disk(own: PrivateServer) -> Iterator[PrivateServer]:
    """Its blobs lie on a disk of 4 MB."""
    own.stop()
    data = own.folder / "data"
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "fonds-test", data], check=True)
    try:
        own.start()
        yield own
    finally:
        own.stop()
        subprocess.run(["umount", "--lazy", data], check=True)


def attributes(url: str, key: str) -> dict[str, str]:
    """What the server keeps with a blob."""
    address = parse_address(url)
    found = obstore.get(open_store(address), f"{address.prefix}/{key}").attributes
    return {str(name): str(value) for name, value in found.items()}


def test_a_wrong_secret_stops_and_is_never_shown(url: str) -> None:
    secret = str(urlsplit(url).password)
    wrong = "0123456789" * 4
    with pytest.raises(ConfigurationError, match="refuses the keys") as caught:
        S3Blobs(url.replace(secret, wrong))
    told = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert secret not in told
    assert wrong not in told


def test_neither_key_nor_secret_is_in_what_represents_the_backend(url: str, blobs: S3Blobs) -> None:
    parts = urlsplit(url)
    shown = f"{blobs!r} {blobs._store!r} {blobs._address!r} {blobs._store.config!r}"
    assert str(parts.password) not in shown
    assert str(parts.username) not in shown


def test_a_bucket_that_does_not_exist_is_named_with_the_command_that_makes_it(url: str) -> None:
    with pytest.raises(ConfigurationError, match="create-bucket --bucket not-there --endpoint-url"):
        S3Blobs(url.replace("/fonds/", "/not-there/"))


def test_another_region_or_scheme_than_the_servers_stops(url: str) -> None:
    with pytest.raises(ConfigurationError, match="region"):
        S3Blobs(url.replace("us-east-1", "eu-north-1"))
    with pytest.raises(ConfigurationError, match="scheme"):
        S3Blobs(url.replace("scheme=http", "scheme=https"))


def test_the_environment_of_aws_does_not_change_where_a_url_leads(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of-somebody-else")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    monkeypatch.setenv("AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "true")
    opened = S3Blobs(url)
    opened.put([Blob("a", b"here", "text/plain")])
    assert opened.get("a") == b"here"
    opened.close()


def test_prefixes_keep_blobs_apart(url: str, blobs: S3Blobs) -> None:
    other = S3Blobs(url.replace("?", "/deeper?"))
    other.put([Blob("a.txt", b"deep", "text/plain")])
    assert blobs.get("a.txt") is None
    assert blobs.get("deeper/a.txt") == b"deep"
    other.close()


@pytest.mark.parametrize(
    ("key", "content_type", "cached"),
    [
        (build_text_blob_key("a" * 40), "text/plain; charset=utf-8", None),
        (build_thumbnail_blob_key("a" * 40), "image/jpeg", PUBLIC_CACHE_CONTROL),
    ],
)
def test_a_blob_keeps_its_type_and_only_thumbnails_may_be_cached(
    url: str, blobs: S3Blobs, key: str, content_type: str, cached: str | None
) -> None:
    blobs.put([Blob(key, b"data", "application/octet-stream")])
    blobs.put([Blob(key, b"data", content_type)])
    kept = attributes(url, key)
    assert kept["Content-Type"] == content_type
    assert kept.get("Cache-Control") == cached


def test_a_blob_that_goes_up_in_parts_arrives_whole(url: str, blobs: S3Blobs) -> None:
    data = secrets.token_bytes(12_000_001)
    blobs.put([Blob("large.bin", data, "application/x-large")])
    assert blobs.get("large.bin") == data
    assert attributes(url, "large.bin")["Content-Type"] == "application/x-large"


def test_eight_threads_put_a_thousand_blobs_and_none_is_lost(blobs: S3Blobs) -> None:
    keys = [f"{number % 7}/{number}" for number in range(1000)]
    with ThreadPoolExecutor(8) as threads:
        list(
            threads.map(lambda key: blobs.put([Blob(key, key.encode() * 100, "text/plain")]), keys)
        )
        assert blobs.filter_existing([*keys, "7/none"]) == set(keys)
        assert list(threads.map(blobs.get, keys)) == [key.encode() * 100 for key in keys]
    blobs.delete(keys)
    assert blobs.filter_existing(keys) == set()


def test_a_server_that_is_away_is_unavailable_and_used_again_when_it_is_back(
    own: PrivateServer,
) -> None:
    blobs = S3Blobs(own.url, give_up_s=SHORT_S)
    blobs.put([Blob("before", b"1", "text/plain")])
    own.stop()
    for act in (
        lambda: blobs.get("before"),
        lambda: blobs.put([Blob("during", b"2", "text/plain")]),
    ):
        with pytest.raises(StoreUnavailableError, match="Connection refused"):
            act()
    started = time.monotonic()
    with pytest.raises(StoreUnavailableError):
        blobs.filter_existing([str(number) for number in range(500)])
    assert time.monotonic() - started < SHORT_S + 5
    own.start()
    assert blobs.get("before") == b"1"
    assert blobs.get("during") is None
    blobs.close()


def test_a_put_outlasts_a_short_absence(own: PrivateServer) -> None:
    blobs = S3Blobs(own.url)
    own.stop()
    putting = threading.Thread(target=blobs.put, args=([Blob("a", b"late", "text/plain")],))
    putting.start()
    own.start()
    putting.join(30)
    assert not putting.is_alive()
    assert blobs.get("a") == b"late"
    blobs.close()


def test_a_server_that_stands_still_is_unavailable_in_bounded_time(own: PrivateServer) -> None:
    blobs = S3Blobs(own.url, give_up_s=SHORT_S)
    blobs.put([Blob("a", b"1", "text/plain")])
    own.processes[0].send_signal(signal.SIGSTOP)
    started = time.monotonic()
    with pytest.raises(StoreUnavailableError, match="TimedOut"):
        blobs.put([Blob("b", b"2" * 4_000_000, "text/plain")])
    assert time.monotonic() - started < SHORT_S + SILENCE_MAX_S
    own.processes[0].send_signal(signal.SIGCONT)
    assert blobs.get("a") == b"1"
    blobs.close()


def test_a_full_disk_is_told_at_once_and_work_goes_on_when_there_is_room(
    own_on_small_disk: PrivateServer,
) -> None:
    blobs = S3Blobs(own_on_small_disk.url)
    data = secrets.token_bytes(900_000)
    blobs.put([Blob("kept", data, "text/plain")])
    ballast = own_on_small_disk.folder / "data" / "ballast"
    ballast.write_bytes(bytes(2_600_000))
    started = time.monotonic()
    with pytest.raises(StorageFullError, match="No space left"):
        blobs.put([Blob("new", data, "text/plain")])
    with pytest.raises(StorageFullError, match="No space left"):
        blobs.put([Blob("kept", bytes(900_000), "text/plain")])
    assert time.monotonic() - started < 5
    assert blobs.get("kept") == data, "what could not be replaced is still whole"
    assert blobs.filter_existing(["new"]) == set()
    ballast.unlink()
    blobs.put([Blob("new", data, "text/plain")])
    assert blobs.get("new") == data
    blobs.close()
