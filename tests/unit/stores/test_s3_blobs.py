"""S3Blobs with URLs, keys and responses of a scripted server."""

from __future__ import annotations

import re
import threading
import time
import traceback
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("obstore", reason="the extra s3 is not installed")

from fonds.model.archive import Blob
from fonds.model.errors import (
    ConfigurationError,
    FondsError,
    StorageFullError,
    StoreUnavailableError,
)
from fonds.stores.s3 import blobs as s3
from fonds.stores.s3.blobs import THREADS_MAX, S3Blobs
from fonds.stores.s3.client import SILENCE_MAX_S, S3Address, parse_address

SECRET = "a+secret/with@signs"
ENCODED = "a%2Bsecret%2Fwith%40signs"
ABSENT = (404, "<Error><Code>NoSuchKey</Code><Message>none</Message></Error>")


@dataclass
class Script:
    """Responses of the server in order, then the default response, and the received requests."""

    answers: deque[tuple[int, str]] = field(default_factory=deque)
    default: tuple[int, str] = ABSENT
    requests: list[str] = field(default_factory=list)
    pause_s: float = 0.0
    active: int = 0
    active_max: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next(self, request: str) -> tuple[int, str]:
        with self.lock:
            self.requests.append(request)
            self.active += 1
            self.active_max = max(self.active_max, self.active)
            answer = self.answers.popleft() if self.answers else self.default
        time.sleep(self.pause_s)
        with self.lock:
            self.active -= 1
        return answer


def build_handler(script: Script) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, body = script.next(f"{self.command} {self.path}")
            self.send_response(status)
            self.send_header("ETag", '"e"')
            self.send_header("Last-Modified", "Sat, 21 Nov 2026 00:00:00 GMT")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body.encode())

        do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = answer

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    return Handler


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def url(script: Script) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), build_handler(script))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"s3://KEY:{ENCODED}@127.0.0.1:{server.server_port}/bucket/prefix?scheme=http"
    server.shutdown()
    thread.join()
    server.server_close()


@dataclass
class Clock:
    """Clock that advances only during sleep, independent of the speed of the computer."""

    now_s: float = 0.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


@pytest.fixture
def blobs(url: str, script: Script, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Blobs]:
    """Blobs that give up after the second attempt."""
    monkeypatch.setattr(s3, "time", Clock())
    blobs = S3Blobs(url, give_up_s=SILENCE_MAX_S + 0.15)
    script.requests.clear()
    yield blobs
    blobs.close()


def build_error(code: str, message: str = "words", more_xml: str = "") -> str:
    return f"<Error><Code>{code}</Code><Message>{message}</Message>{more_xml}</Error>"


def test_a_transient_error_is_retried(blobs: S3Blobs, script: Script) -> None:
    script.answers.append((503, build_error("SlowDown")))
    script.answers.append((200, "data"))
    assert blobs.get("a") == b"data"
    assert script.requests == ["GET /bucket/prefix/a"] * 2


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (500, "InternalError", StoreUnavailableError),
        (503, "SlowDown", StoreUnavailableError),
        (429, "TooManyRequests", StoreUnavailableError),
        (400, "RequestTimeout", StoreUnavailableError),
        (409, "OperationAborted", StoreUnavailableError),
        (507, "InsufficientStorage", StorageFullError),
        (403, "QuotaExceeded", StorageFullError),
        (403, "AccessDenied", ConfigurationError),
        (403, "InvalidAccessKeyId", ConfigurationError),
        (401, "Unauthorized", ConfigurationError),
        (404, "NoSuchBucket", ConfigurationError),
        (404, "NotFound", ConfigurationError),
        (400, "AuthorizationHeaderMalformed", ConfigurationError),
        (409, "ObjectParentIsFile", ConfigurationError),
        (301, "PermanentRedirect", ConfigurationError),
    ],
)
def test_a_refused_put_raises_an_error_of_its_kind(
    blobs: S3Blobs, script: Script, status: int, code: str, kind: type[FondsError]
) -> None:
    script.default = (status, build_error(code))
    with pytest.raises(kind) as error:
        blobs.put([Blob("a", b"", "text/plain")])
    assert type(error.value) is kind
    assert (len(script.requests) > 1) == (kind is StoreUnavailableError), (
        "only transient errors are retried"
    )


def test_a_refused_key_of_a_bulk_delete_raises_an_error(blobs: S3Blobs, script: Script) -> None:
    error_xml = "<Error><Key>prefix/a</Key><Code>AccessDenied</Code><Message>no</Message></Error>"
    script.default = (200, f"<DeleteResult>{error_xml}</DeleteResult>")
    with pytest.raises(ConfigurationError, match="AccessDenied"):
        blobs.delete(["a"])


def test_a_missing_bucket_raises_an_error(blobs: S3Blobs, script: Script) -> None:
    script.default = (404, build_error("NoSuchBucket"))
    with pytest.raises(ConfigurationError, match="create-bucket --bucket bucket "):
        blobs.get("a")


def test_errors_do_not_show_request_secrets(blobs: S3Blobs, script: Script) -> None:
    request_xml = "<CanonicalRequest>x-amz-security-token:TOKEN</CanonicalRequest>"
    script.default = (403, build_error("SignatureDoesNotMatch", "bad &#34;key&#34;", request_xml))
    with pytest.raises(ConfigurationError, match='bad "key"') as error:
        blobs.get("a")
    output = "".join(traceback.format_exception(error.value))
    assert "TOKEN" not in output
    assert SECRET not in output


def test_keys_are_requested_in_parallel_up_to_the_limit(blobs: S3Blobs, script: Script) -> None:
    script.pause_s = 0.01
    assert blobs.filter_existing([str(number) for number in range(100)]) == set()
    assert 1 < script.active_max <= THREADS_MAX
    assert len(script.requests) == 100


def test_a_failed_key_cancels_the_others(blobs: S3Blobs, script: Script) -> None:
    script.default = (403, "")
    with pytest.raises(ConfigurationError):
        blobs.filter_existing([str(number) for number in range(5000)])
    assert len(script.requests) < 5000


def test_one_request_deletes_up_to_a_thousand_keys(blobs: S3Blobs, script: Script) -> None:
    script.default = (200, "<DeleteResult><Deleted><Key>k</Key></Deleted></DeleteResult>")
    blobs.delete([str(number) for number in range(2001)])
    blobs.delete([])
    assert script.requests == ["POST /bucket?delete"] * 3


def test_invalid_content_types_are_refused(blobs: S3Blobs, script: Script) -> None:
    for content_type in ("", "a\nb", "ü"):
        with pytest.raises(ConfigurationError, match="content type"):
            blobs.put([Blob("a", b"", content_type)])
    assert script.requests == []


def test_a_key_that_is_too_long_below_the_prefix_is_refused(blobs: S3Blobs) -> None:
    key = "/".join(["x" * 200] * 5)
    assert blobs.get(key) is None
    with pytest.raises(ConfigurationError, match="longer"):
        blobs.get(f"{key}/{'%' * 10}")


ADDRESSES = {
    "s3://bucket": S3Address("bucket", ""),
    "s3://bucket/a/b?region=eu-west-1": S3Address("bucket", "a/b", None, "eu-west-1"),
    f"s3://K:{ENCODED}@h:9000/bucket": S3Address(
        "bucket", "", "https://h:9000", "us-east-1", "K", SECRET
    ),
    "s3://K:s@h/bucket/p?scheme=http": S3Address("bucket", "p", "http://h", "us-east-1", "K", "s"),
    "s3://h/bucket?scheme=https": S3Address("bucket", "", "https://h", "us-east-1"),
    "s3://[::1]:9/bucket?scheme=http&region=x": S3Address("bucket", "", "http://[::1]:9", "x"),
}


@pytest.mark.parametrize(("url", "address"), ADDRESSES.items())
def test_a_url_is_parsed(url: str, address: S3Address) -> None:
    assert parse_address(url) == address


@pytest.mark.parametrize(
    "url",
    [
        "s3:",
        "s3:///bucket",
        "file://bucket",
        "s3://K:S3CR3T@h:9000",
        "s3://K:S3CR3T@h:9000/",
        "s3://K@h:9000/bucket",
        "s3://:S3CR3T@h:9000/bucket",
        "s3://K:S3CR3T/more@h:9000/bucket",
        "s3://K:123/S3CR3T@h:9000/bucket",
        "s3://K:S3CR3T?more@h:9000/bucket",
        "s3://K:S3CR3T#more@h:9000/bucket",
        "s3://K:1#S3CR3T@h:9000/bucket",
        "s3://K:S3CR3T@h:90000/bucket",
        "s3://K:S3CR3T@h:9000/bucket?scheme=ftp",
        "s3://K:S3CR3T@h:9000/bucket?unknown=S3CR3T",
        "s3://K:S3CR3T@h:9000/bucket?region=a%0Ab",
        "s3://K:S3CR3T%0A@h:9000/bucket",
        "s3://K:S3CR3T@h:9000/bucket/a/../b",
        "s3://K:S3CR3T@h h:9000/bucket",
    ],
)
def test_an_invalid_url_is_refused_without_its_secret(url: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        parse_address(url)
    assert "S3CR3T" not in "".join(traceback.format_exception(error.value))


@given(st.text())
def test_any_url_is_parsed_or_refused(text: str) -> None:
    for url in (text, f"s3://{text}", f"s3://K:{text}@h:1/bucket"):
        try:
            parse_address(url)
        except ConfigurationError:
            continue


def quote_key(key: str) -> str:
    blobs = S3Blobs.__new__(S3Blobs)
    blobs._address = S3Address("bucket", "")
    return blobs._quote_key(key)


CHARACTERS = st.characters(exclude_categories=["Cs"])


@given(st.lists(st.text(CHARACTERS | st.sampled_from("%\n\x7f\uffff2A"), max_size=20), max_size=2))
def test_different_keys_have_different_valid_names(keys: list[str]) -> None:
    names = [quote_key(key) for key in keys]
    assert len(set(names)) == len(set(keys))
    assert not any(re.search("[\x00-\x1f\x7f\ufffe\uffff]", name) for name in names)


def test_a_plain_key_is_its_name() -> None:
    assert quote_key("thumbnail/pdf/ab/cd/ü ~.jpg") == "thumbnail/pdf/ab/cd/ü ~.jpg"


def test_opening_sends_one_request_and_creates_nothing(url: str, script: Script) -> None:
    S3Blobs(url).close()
    assert script.requests == ["GET /bucket/prefix/.parts"]
