"""HTTP/2 with a server of others, nginx: many requests over one connection, at the limits of any other."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.certificates import make_authority, server_context
from fonds.fetching.crawl_client import CrawlClient
from fonds.fetching.crawl_request import CrawlRequest, CrawlResponse, RequestFailure, RequestLimits
from fonds.model.disposition import Reason
from fonds.urls.request_url import parse_request_url

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin")
HERE, HOST = "127.0.0.1", "two.example"
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

pytestmark = pytest.mark.skipif(NGINX is None, reason="there is no nginx here")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HERE, 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, int]]:
    folder, port = tmp_path_factory.mktemp("nginx"), _free_port()
    make_authority(folder)
    server_context(folder, HOST)
    (folder / "pages").mkdir()
    for number in range(PAGES):
        (folder / "pages" / f"{number}.html").write_text(f"<p>page {number}</p>" * 100)
    (folder / "pages" / "large.html").write_bytes(b"x" * 2_000_000)
    config = folder / "nginx.conf"
    config.write_text(CONFIG.format(folder=folder, host=HERE, port=port))
    command = [str(NGINX), "-c", str(config), "-p", str(folder)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        try:
            _wait_for(port, process)
            yield folder, port
        finally:
            process.terminate()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    ends_s = time.monotonic() + READY_MAX_S
    while time.monotonic() < ends_s:
        assert process.poll() is None, process.stderr.read() if process.stderr else b""
        with socket.socket() as probe:
            if probe.connect_ex((HERE, port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("nginx does not answer")


@pytest.fixture
def transfers(served: tuple[Path, int]) -> Iterator[CrawlClient]:
    ours = CrawlClient(
        RequestLimits(), lambda address: address == HERE, str(served[0] / "authority.pem")
    )
    yield ours
    ours.close()


def ask(port: int, target: str) -> CrawlRequest:
    return CrawlRequest(
        parse_request_url(f"https://{HOST}:{port}{target}"), (HERE,), "Fonds/0", 1_000_000
    )


def ends_of(
    transfers: CrawlClient, asks: list[CrawlRequest]
) -> dict[object, CrawlResponse | RequestFailure]:
    for number, one in enumerate(asks):
        transfers.begin(number, one)
    found: dict[object, CrawlResponse | RequestFailure] = {}
    while len(found) < len(asks):
        found |= dict(transfers.collect_finished(5.0))
    return found


def test_pages_come_over_http2_and_are_told_as_they_were_asked(
    served: tuple[Path, int], transfers: CrawlClient
) -> None:
    port = served[1]
    ends_of(transfers, [ask(port, "/0.html")])
    found = ends_of(transfers, [ask(port, f"/{number}.html") for number in range(PAGES)])
    for number, end in found.items():
        assert isinstance(end, CrawlResponse), end
        assert (end.hop.status, end.hop.protocol) == (200, "HTTP/2")
        assert end.body == f"<p>page {number}</p>".encode() * 100
        assert end.hop.request_head.startswith(f"GET /{number}.html HTTP/2\r\n")
        assert end.hop.tls is not None
        # The connection stood.
        assert end.hop.connected_s == 0.0


def test_what_is_too_large_is_not_read_and_harms_no_other_request(
    served: tuple[Path, int], transfers: CrawlClient
) -> None:
    port = served[1]
    found = ends_of(transfers, [ask(port, "/large.html"), ask(port, "/1.html")])
    assert isinstance(found[0], RequestFailure)
    assert found[0].reason is Reason.TOO_LARGE
    assert isinstance(found[1], CrawlResponse)
