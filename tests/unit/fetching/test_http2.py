"""HTTP/2 with nginx: many requests over one connection, under the usual limits."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.certificates import create_server_context, make_authority
from fonds.fetching.crawl_client import CrawlClient
from fonds.fetching.crawl_request import CrawlRequest, CrawlResponse, RequestFailure, RequestLimits
from fonds.model.disposition import Reason
from fonds.urls.request_url import parse_request_url

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin")
LOOPBACK, HOST = "127.0.0.1", "two.example"
PAGES = 40
READY_MAX_S = 20.0
CONFIG = """
pid {folder}/nginx.pid;
error_log {folder}/error.log;
daemon off;
master_process off;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen {host}:{port} ssl http2;
        ssl_certificate {folder}/two.example.pem;
        ssl_certificate_key {folder}/two.example.key;
        root {folder}/pages;
    }}
}}
"""

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, int]]:
    folder, port = tmp_path_factory.mktemp("nginx"), _free_port()
    make_authority(folder)
    create_server_context(folder, HOST)
    (folder / "pages").mkdir()
    for number in range(PAGES):
        (folder / "pages" / f"{number}.html").write_text(f"<p>page {number}</p>" * 100)
    (folder / "pages" / "large.html").write_bytes(b"x" * 2_000_000)
    config = folder / "nginx.conf"
    config.write_text(CONFIG.format(folder=folder, host=LOOPBACK, port=port))
    command = [str(NGINX), "-c", str(config), "-p", str(folder)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        try:
            _wait_for(port, process)
            yield folder, port
        finally:
            process.terminate()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline_s = time.monotonic() + READY_MAX_S
    while time.monotonic() < deadline_s:
        assert process.poll() is None, process.stderr.read() if process.stderr else b""
        with socket.socket() as probe:
            if probe.connect_ex((LOOPBACK, port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("nginx does not respond")


@pytest.fixture
def client(site: tuple[Path, int]) -> Iterator[CrawlClient]:
    client = CrawlClient(
        RequestLimits(), lambda address: address == LOOPBACK, str(site[0] / "authority.pem")
    )
    yield client
    client.close()


def make_request(port: int, target: str) -> CrawlRequest:
    return CrawlRequest(
        parse_request_url(f"https://{HOST}:{port}{target}"), (LOOPBACK,), "Fonds/0", 1_000_000
    )


def run_requests(
    client: CrawlClient, requests: list[CrawlRequest]
) -> dict[object, CrawlResponse | RequestFailure]:
    for number, request in enumerate(requests):
        client.begin(number, request)
    results: dict[object, CrawlResponse | RequestFailure] = {}
    while len(results) < len(requests):
        results |= dict(client.collect_finished(5.0))
    return results


def test_pages_over_http2_belong_to_their_requests(
    site: tuple[Path, int], client: CrawlClient
) -> None:
    port = site[1]
    run_requests(client, [make_request(port, "/0.html")])
    results = run_requests(
        client, [make_request(port, f"/{number}.html") for number in range(PAGES)]
    )
    for number, result in results.items():
        assert isinstance(result, CrawlResponse), result
        assert (result.hop.status, result.hop.protocol) == (200, "HTTP/2")
        assert result.body == f"<p>page {number}</p>".encode() * 100
        assert result.hop.request_head.startswith(f"GET /{number}.html HTTP/2\r\n")
        assert result.hop.tls is not None
        # The connection was reused.
        assert result.hop.connected_s == 0.0


def test_an_oversized_body_is_not_read_and_affects_no_other_request(
    site: tuple[Path, int], client: CrawlClient
) -> None:
    port = site[1]
    results = run_requests(
        client, [make_request(port, "/large.html"), make_request(port, "/1.html")]
    )
    assert isinstance(results[0], RequestFailure)
    assert results[0].reason is Reason.TOO_LARGE
    assert isinstance(results[1], CrawlResponse)
