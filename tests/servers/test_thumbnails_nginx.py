"""nginx with our configuration serves thumbnails publicly, and no other blobs."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from string import Template

import pytest

from fonds.model.archive import Blob
from fonds.model.keys import build_text_blob_key, build_thumbnail_blob_key
from fonds.ports import Blobs
from fonds.stores.blobs import FolderBlobs
from fonds.stores.s3.blobs import S3Blobs
from fonds.stores.s3.client import parse_address
from real_servers import free_port, url_of
from serving import install_packages

pytestmark = pytest.mark.servers

CONFIGURATIONS = Path(__file__).parents[2] / "deploy" / "nginx"
NGINX = Path("/usr/sbin/nginx")
SHA1HEX = "c69b478ed25083f3780f9557908fed410b4864eb"
THUMBNAIL, TEXT = build_thumbnail_blob_key(SHA1HEX), build_text_blob_key(SHA1HEX)
LARGER = build_thumbnail_blob_key(SHA1HEX, "360px-webp")
PAGE = build_thumbnail_blob_key("ef" * 20).replace(".180px.jpg", ".html")
JPEG = b"\xff\xd8\xff\xe0 a picture"
MAIN_CONFIGURATION = """
daemon off;
{user}
worker_processes 1;
pid nginx.pid;
error_log stderr;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fcgi;
    scgi_temp_path scgi; uwsgi_temp_path uwsgi;
    include served.conf;
}}
"""


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Site:
    """nginx on a loopback port."""

    port: int

    def request(self, path: str, method: str = "GET", **headers: str) -> Answer:
        """Send a request with the path unchanged."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.putrequest(method, path, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        response = connection.getresponse()
        response_headers = {name.lower(): value for name, value in response.getheaders()}
        answer = Answer(response.status, response_headers, response.read())
        connection.close()
        return answer


@contextmanager
def run_nginx(folder: Path, name: str, values: dict[str, str]) -> Iterator[Site]:
    """Run nginx with one of our configurations, with its placeholders replaced."""
    install_packages(
        {str(NGINX): "nginx-light", "/etc/ssl/certs/ca-certificates.crt": "ca-certificates"}
    )
    folder.mkdir()
    port = free_port()
    filled = {**values, "THUMBNAILS_LISTEN": f"127.0.0.1:{port}"}
    text = (CONFIGURATIONS / name).read_text("utf-8")
    for placeholder, value in filled.items():
        text = text.replace(f"${{{placeholder}}}", value)
    (folder / "served.conf").write_text(text)
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(MAIN_CONFIGURATION.format(user=user))
    command = [NGINX, "-p", folder, "-c", folder / "nginx.conf", "-e", "stderr"]
    with (folder / "nginx.log").open("wb") as log:
        process = subprocess.Popen(list(map(str, command)), stdout=log, stderr=log)
    try:
        _wait_for(process, port, folder / "nginx.log")
        yield Site(port)
    finally:
        process.terminate()
        process.wait(20)


def _wait_for(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + 20
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(OSError):
            Site(port).request("/")
            return
        time.sleep(0.02)
    pytest.fail(f"nginx does not answer: {log.read_text()}")


def s3_values(url: str) -> dict[str, str]:
    address = parse_address(url)
    scheme, _, host = str(address.endpoint).partition("://")
    path = "/".join(filter(None, (address.bucket, address.prefix)))
    return {
        "S3_SCHEME": scheme,
        "S3_HOST": host,
        "S3_NAME": host.partition(":")[0],
        "S3_PATH": path,
    }


def put_blobs(blobs: Blobs) -> None:
    stored = [
        Blob(THUMBNAIL, JPEG, "image/jpeg"),
        Blob(LARGER, b"RIFF a larger one", "image/webp"),
        Blob(TEXT, b"private", "text/plain"),
        Blob(PAGE, b"<script>", "text/html"),
    ]
    blobs.put(stored)


@pytest.fixture(scope="module", params=["s3", "folder"])
def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """Nginx for the thumbnails of the S3 bucket, and for those of a blob folder."""
    url = url_of("TEST_S3_URL")
    folder = tmp_path_factory.mktemp("thumbnails")
    if request.param == "s3":
        blobs = S3Blobs(url)
        put_blobs(blobs)
        blobs.close()
        name, values = "thumbnails.conf", s3_values(url)
    else:
        put_blobs(FolderBlobs(folder / "blobs"))
        name, values = "thumbnails-folder.conf", {"BLOBS_FOLDER": str(folder / "blobs")}
    with run_nginx(folder / "nginx", name, values) as served:
        yield served


def test_a_thumbnail_has_its_type_and_is_cacheable_for_ever(site: Site) -> None:
    answer = site.request(f"/{THUMBNAIL}")
    assert (answer.status, answer.body) == (200, JPEG)
    assert answer.headers["content-type"] == "image/jpeg"
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert not [name for name in answer.headers if name.startswith("x-amz")]


def test_further_thumbnails_have_their_types(site: Site) -> None:
    answer = site.request(f"/{LARGER}")
    assert (answer.status, answer.headers["content-type"]) == (200, "image/webp")


def test_a_head_request_has_no_body(site: Site) -> None:
    answer = site.request(f"/{THUMBNAIL}", "HEAD")
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["content-length"] == str(len(JPEG))


def test_a_conditional_request_returns_not_modified(site: Site) -> None:
    etag = site.request(f"/{THUMBNAIL}").headers["etag"]
    assert site.request(f"/{THUMBNAIL}", If_None_Match=etag).status == 304


def test_a_missing_thumbnail_is_a_plain_404(site: Site) -> None:
    answer = site.request("/" + build_thumbnail_blob_key("0" * 40))
    assert answer.status == 404
    assert b"<Error>" not in answer.body
    assert "cache-control" not in answer.headers


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE", "PATCH", "OPTIONS", "PROPFIND"])
def test_methods_that_change_objects_are_refused(site: Site, method: str) -> None:
    assert site.request(f"/{THUMBNAIL}", method, Content_Length="0").status == 405
    assert site.request(f"/{THUMBNAIL}").body == JPEG


FOLDER = THUMBNAIL.rpartition("/")[0]
TRICKS = [
    "/",
    f"/{TEXT}",
    f"/{PAGE}",
    "/thumbnail",
    "/thumbnail/",
    f"/{FOLDER}/",
    f"/{THUMBNAIL}/",
    f"/fonds/{THUMBNAIL}",
    f"/fonds/{TEXT}",
    f"/thumbnail/../{TEXT}",
    f"/thumbnail/pdf/../../{TEXT}",
    f"/thumbnail/%2e%2e/{TEXT}",
    f"/thumbnail/%2E%2E%2F{TEXT}",
    f"/thumbnail/..%2f{TEXT}",
    f"/thumbnail%2f..%2f{TEXT}",
    f"/thumbnail/%252e%252e/{TEXT}",
    f"/thumbnail/..%5c{TEXT}",
    f"/thumbnail/pdf/..;/{TEXT}",
    f"/{THUMBNAIL}%00.txt",
    f"/{THUMBNAIL}%3facl",
    f"/{THUMBNAIL}%0a",
    f"/{THUMBNAIL}%20HTTP/1.1%0d%0aX:y",
    f"/{THUMBNAIL}/../../../../../../{TEXT}",
    "/?list-type=2",
    "/?acl",
    "/thumbnail/?list-type=2&prefix=text/",
    "/.parts",
    "/../../../etc/passwd",
]


@pytest.mark.parametrize("path", TRICKS)
def test_other_paths_are_refused(site: Site, path: str) -> None:
    answer = site.request(path)
    assert answer.status in (400, 404)
    assert b"private" not in answer.body
    assert b"xml" not in answer.body


@pytest.mark.parametrize("query", ["acl", "list-type=2", "versionId=x", "uploads", "tagging"])
def test_query_parameters_of_s3_are_ignored(site: Site, query: str) -> None:
    answer = site.request(f"/{THUMBNAIL}?{query}&response-content-type=text/html")
    assert (answer.status, answer.body) == (200, JPEG)
    assert answer.headers["content-type"] == "image/jpeg"


@dataclass
class Listener:
    """HTTP server in place of S3 that records its requests."""

    answer: int = 200
    requests: list[tuple[str, set[str]]] = field(default_factory=list)


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture
def proxy(tmp_path: Path, listener: Listener) -> Iterator[Site]:
    """Nginx with the listener as its S3 server."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            names = {name.lower() for name in self.headers}
            listener.requests.append((f"{self.command} {self.path}", names))
            self.send_response(listener.answer)
            self.send_header("Content-Type", "application/xml")
            self.send_header("Content-Length", "22")
            self.end_headers()
            self.wfile.write(b"<xml>of the bucket</xml>"[:22])

        do_PUT = do_POST = do_DELETE = do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    url_of("TEST_S3_URL")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    serving = threading.Thread(target=server.serve_forever, args=(0.01,))
    serving.start()
    url = f"s3://127.0.0.1:{server.server_port}/bucket/deep?scheme=http"
    try:
        with run_nginx(tmp_path / "nginx", "thumbnails.conf", s3_values(url)) as site:
            yield site
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


def test_refused_paths_and_methods_do_not_reach_s3(proxy: Site, listener: Listener) -> None:
    for path in TRICKS:
        proxy.request(path)
    for method in ("PUT", "POST", "DELETE"):
        proxy.request(f"/{THUMBNAIL}", method, Content_Length="0")
    assert listener.requests == []


def test_only_the_path_and_safe_headers_reach_s3(proxy: Site, listener: Listener) -> None:
    proxy.request(
        f"//thumbnail/./x/..{THUMBNAIL.removeprefix('thumbnail')}?acl&X-Amz-Signature=1",
        Authorization="AWS4 x",
        X_Amz_Acl="public-read-write",
        Cookie="c=1",
        Range="bytes=0-1",
        If_None_Match='"e"',
    )
    [(request, names)] = listener.requests
    assert request == f"GET /bucket/deep/{THUMBNAIL}"
    assert names <= {"host", "if-none-match"}


@pytest.mark.parametrize(("answer", "expected"), [(403, 404), (404, 404), (500, 502), (503, 502)])
def test_error_pages_of_s3_are_not_passed_on(
    proxy: Site, listener: Listener, answer: int, expected: int
) -> None:
    listener.answer = answer
    response = proxy.request(f"/{THUMBNAIL}")
    assert response.status == expected
    assert b"xml" not in response.body
    assert "cache-control" not in response.headers


def test_an_unreachable_s3_server_is_a_bad_gateway(tmp_path: Path) -> None:
    url_of("TEST_S3_URL")
    values = s3_values("s3://127.0.0.1:1/bucket?scheme=http")
    with run_nginx(tmp_path / "nginx", "thumbnails.conf", values) as site:
        assert site.request(f"/{THUMBNAIL}").status == 502


@pytest.mark.parametrize(
    "name", ["thumbnails.conf", "thumbnails-folder.conf", "thumbnails-policy.json"]
)
def test_every_placeholder_is_documented(name: str) -> None:
    """Each placeholder is listed in the `envsubst` command of the file."""
    text = (CONFIGURATIONS / name).read_text("utf-8")
    described = (CONFIGURATIONS / name.replace("-policy.json", ".conf")).read_text("utf-8")
    used = {match["braced"] for match in Template.pattern.finditer(text) if match["braced"]}
    assert used
    for placeholder in used:
        assert f"${placeholder}" in described
        assert f"{placeholder}=…" in described
