"""S3 beyond the port, on a real server: keys, types, a stopped server, a full disk, many threads."""

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
"""Retry duration of the backends in these tests."""


@pytest.fixture
def url() -> str:
    """The URL of the running server with a unique prefix."""
    server_url = url_of("TEST_S3_URL")
    return server_url.replace("?", f"/t{secrets.token_hex(6)}?")


@pytest.fixture
def blobs(url: str) -> Iterator[S3Blobs]:
    opened = S3Blobs(url)
    yield opened
    opened.close()


@pytest.fixture
def private_server() -> Iterator[PrivateServer]:
    with run_private_server("s3") as server:
        yield server


@pytest.fixture
def server_on_small_disk(private_server: PrivateServer) -> Iterator[PrivateServer]:
    """A server whose blobs are on a disk of 4 MB."""
    private_server.stop()
    data = private_server.folder / "data"
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "fonds-test", data], check=True)
    try:
        private_server.start()
        yield private_server
    finally:
        private_server.stop()
        subprocess.run(["umount", "--lazy", data], check=True)


def get_attributes(url: str, key: str) -> dict[str, str]:
    """Return the attributes of a blob on the server."""
    address = parse_address(url)
    stored = obstore.get(open_store(address), f"{address.prefix}/{key}").attributes
    return {str(name): str(value) for name, value in stored.items()}


def test_a_wrong_secret_is_refused_and_never_printed(url: str) -> None:
    secret = str(urlsplit(url).password)
    wrong = "0123456789" * 4
    with pytest.raises(ConfigurationError, match="refuses the keys") as caught:
        S3Blobs(url.replace(secret, wrong))
    output = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert secret not in output
    assert wrong not in output


def test_representations_contain_neither_key_nor_secret(url: str, blobs: S3Blobs) -> None:
    parts = urlsplit(url)
    text = f"{blobs!r} {blobs._store!r} {blobs._address!r} {blobs._store.config!r}"
    assert str(parts.password) not in text
    assert str(parts.username) not in text


def test_a_missing_bucket_is_reported_with_the_command_to_create_it(url: str) -> None:
    with pytest.raises(ConfigurationError, match="create-bucket --bucket not-there --endpoint-url"):
        S3Blobs(url.replace("/fonds/", "/not-there/"))


def test_a_wrong_region_or_scheme_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="region"):
        S3Blobs(url.replace("us-east-1", "eu-north-1"))
    with pytest.raises(ConfigurationError, match="scheme"):
        S3Blobs(url.replace("scheme=http", "scheme=https"))


def test_aws_environment_variables_do_not_change_the_server(
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


def test_prefixes_have_separate_blobs(url: str, blobs: S3Blobs) -> None:
    deeper_blobs = S3Blobs(url.replace("?", "/deeper?"))
    deeper_blobs.put([Blob("a.txt", b"deep", "text/plain")])
    assert blobs.get("a.txt") is None
    assert blobs.get("deeper/a.txt") == b"deep"
    deeper_blobs.close()


@pytest.mark.parametrize(
    ("key", "content_type", "cached"),
    [
        (build_text_blob_key("a" * 40), "text/plain; charset=utf-8", None),
        (build_thumbnail_blob_key("a" * 40), "image/jpeg", PUBLIC_CACHE_CONTROL),
    ],
)
def test_a_blob_has_its_type_and_only_thumbnails_are_cacheable(
    url: str, blobs: S3Blobs, key: str, content_type: str, cached: str | None
) -> None:
    blobs.put([Blob(key, b"data", "application/octet-stream")])
    blobs.put([Blob(key, b"data", content_type)])
    attributes = get_attributes(url, key)
    assert attributes["Content-Type"] == content_type
    assert attributes.get("Cache-Control") == cached


def test_a_multipart_upload_stores_the_complete_blob(url: str, blobs: S3Blobs) -> None:
    data = secrets.token_bytes(12_000_001)
    blobs.put([Blob("large.bin", data, "application/x-large")])
    assert blobs.get("large.bin") == data
    assert get_attributes(url, "large.bin")["Content-Type"] == "application/x-large"


def test_eight_threads_store_a_thousand_blobs_without_loss(blobs: S3Blobs) -> None:
    keys = [f"{number % 7}/{number}" for number in range(1000)]
    with ThreadPoolExecutor(8) as threads:
        list(
            threads.map(lambda key: blobs.put([Blob(key, key.encode() * 100, "text/plain")]), keys)
        )
        assert blobs.filter_existing([*keys, "7/none"]) == set(keys)
        assert list(threads.map(blobs.get, keys)) == [key.encode() * 100 for key in keys]
    blobs.delete(keys)
    assert blobs.filter_existing(keys) == set()


def test_a_stopped_server_is_unavailable_and_used_again(
    private_server: PrivateServer,
) -> None:
    blobs = S3Blobs(private_server.url, give_up_s=SHORT_S)
    blobs.put([Blob("before", b"1", "text/plain")])
    private_server.stop()
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
    private_server.start()
    assert blobs.get("before") == b"1"
    assert blobs.get("during") is None
    blobs.close()


def test_a_put_survives_a_short_outage(private_server: PrivateServer) -> None:
    blobs = S3Blobs(private_server.url)
    private_server.stop()
    putting = threading.Thread(target=blobs.put, args=([Blob("a", b"late", "text/plain")],))
    putting.start()
    private_server.start()
    putting.join(30)
    assert not putting.is_alive()
    assert blobs.get("a") == b"late"
    blobs.close()


def test_a_hanging_server_is_unavailable_after_a_timeout(private_server: PrivateServer) -> None:
    blobs = S3Blobs(private_server.url, give_up_s=SHORT_S)
    blobs.put([Blob("a", b"1", "text/plain")])
    private_server.processes[0].send_signal(signal.SIGSTOP)
    started = time.monotonic()
    with pytest.raises(StoreUnavailableError, match="TimedOut"):
        blobs.put([Blob("b", b"2" * 4_000_000, "text/plain")])
    assert time.monotonic() - started < SHORT_S + SILENCE_MAX_S
    private_server.processes[0].send_signal(signal.SIGCONT)
    assert blobs.get("a") == b"1"
    blobs.close()


def test_a_full_disk_is_reported_at_once_and_puts_work_again_later(
    server_on_small_disk: PrivateServer,
) -> None:
    blobs = S3Blobs(server_on_small_disk.url)
    data = secrets.token_bytes(900_000)
    blobs.put([Blob("kept", data, "text/plain")])
    ballast = server_on_small_disk.folder / "data" / "ballast"
    ballast.write_bytes(bytes(2_600_000))
    started = time.monotonic()
    with pytest.raises(StorageFullError, match="No space left"):
        blobs.put([Blob("new", data, "text/plain")])
    with pytest.raises(StorageFullError, match="No space left"):
        blobs.put([Blob("kept", bytes(900_000), "text/plain")])
    assert time.monotonic() - started < 5
    assert blobs.get("kept") == data, "a blob that could not be replaced is damaged"
    assert blobs.filter_existing(["new"]) == set()
    ballast.unlink()
    blobs.put([Blob("new", data, "text/plain")])
    assert blobs.get("new") == data
    blobs.close()
