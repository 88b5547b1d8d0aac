"""Links over TLS: certificates are checked in full unless a source relaxes this, and the capture
records it."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.certificates import create_multi_host_context, make_authority
from fixtures.web_of_hosts import serve_hosts
from fonds.following.link_rules import build_link
from fonds.model.disposition import Reason, Verdict
from fonds.model.entry import Link, TlsCheck
from fonds.model.rows import FetchedPageRow
from fonds.model.step import Result
from fonds.text.exchange import decode_exchange
from unit.fetching.fetch_step import Desk, get_capture, get_outcome, make_desk

HOSTS = {"secure.example": False, "expired.example": True}
BAD = (Verdict.DROPPED, Reason.BAD_CERTIFICATE)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ssl.SSLContext]:
    """The authority's certificate, and the servers' certificates."""
    folder = tmp_path_factory.mktemp("tls")
    return str(make_authority(folder)), create_multi_host_context(folder, HOSTS)


@pytest.fixture
def desk(tmp_path: Path, authority: tuple[str, ssl.SSLContext]) -> Iterator[Desk]:
    ca_file, context = authority
    with serve_hosts(context) as web:
        new_desk = make_desk(web, tmp_path, ca_file=ca_file)
        yield new_desk
        new_desk.fetch.close()
        new_desk.records.close()


def fetch_page(desk: Desk, host: str, tls: TlsCheck) -> Result | Exception:
    link = build_link(desk.web.build_tls_url(host), f"poll-{tls}", tls=tls)
    return _run_link(desk, link)


def _run_link(desk: Desk, link: Link) -> Result | Exception:
    desk.fetch.begin([(0, link)])
    for _ in range(60):
        for _, result in desk.fetch.collect_finished(0.5):
            return result
    raise AssertionError("the link did not finish")


def test_a_valid_certificate_allows_robots_txt_and_page(desk: Desk) -> None:
    page = get_capture(fetch_page(desk, "secure.example", TlsCheck.FULL))
    exchange, _ = decode_exchange(desk.blobs.get(page.place.path) or b"")
    assert (exchange.tls_check, exchange.hops[-1].tls is not None) == ("full", True)
    (row,) = desk.records.get(FetchedPageRow, [page.id])
    assert row.tls is not None
    assert row.tls_check == "full"
    assert [request.target for request in desk.web.list_requests("secure.example")] == [
        "/robots.txt",
        "/story",
    ]


@pytest.mark.parametrize("host", ["expired.example", "misnamed.example"])
@pytest.mark.parametrize("tls", [TlsCheck.FULL, TlsCheck.OLD])
def test_an_invalid_certificate_drops_the_link_before_any_request(
    desk: Desk, host: str, tls: TlsCheck
) -> None:
    assert get_outcome(fetch_page(desk, host, tls)) == BAD
    assert desk.web.list_requests(host) == []


@pytest.mark.parametrize("host", ["expired.example", "misnamed.example"])
def test_a_relaxed_check_is_recorded_and_applies_only_to_its_source(desk: Desk, host: str) -> None:
    assert get_outcome(fetch_page(desk, host, TlsCheck.FULL)) == BAD
    page = get_capture(fetch_page(desk, host, TlsCheck.NONE))
    exchange, _ = decode_exchange(desk.blobs.get(page.place.path) or b"")
    assert exchange.tls_check == "none"
    (row,) = desk.records.get(FetchedPageRow, [page.id])
    assert row.tls_check == "none"
    strict_link = build_link(desk.web.build_tls_url(host, "/other"), "poll", tls=TlsCheck.FULL)
    assert get_outcome(_run_link(desk, strict_link)) == BAD
