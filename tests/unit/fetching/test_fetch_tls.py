"""Links over TLS: servers are held to account in full, unless a source says otherwise; then that is kept."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.certificates import make_authority, many_names_context
from fixtures.web_of_hosts import web_of_hosts
from fonds.following.link_rules import build_link
from fonds.model.disposition import Reason, Verdict
from fonds.model.entry import Link, TlsCheck
from fonds.model.rows import FetchedPageRow
from fonds.model.step import Result
from fonds.text.exchange import decode_exchange
from unit.fetching.desk import Desk, capture, ended, make_desk

HOSTS = {"secure.example": False, "expired.example": True}
BAD = (Verdict.DROPPED, Reason.BAD_CERTIFICATE)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ssl.SSLContext]:
    """The authority's certificate, and the servers' certificates."""
    folder = tmp_path_factory.mktemp("tls")
    return str(make_authority(folder)), many_names_context(folder, HOSTS)


@pytest.fixture
def desk(tmp_path: Path, authority: tuple[str, ssl.SSLContext]) -> Iterator[Desk]:
    ca_file, context = authority
    with web_of_hosts(context) as web:
        ours = make_desk(web, tmp_path, ca_file=ca_file)
        yield ours
        ours.fetch.close()
        ours.records.close()


def fetched(desk: Desk, host: str, tls: TlsCheck) -> Result | Exception:
    link = build_link(desk.web.tls_url(host), f"poll-{tls}", tls=tls)
    return _end_of(desk, link)


def _end_of(desk: Desk, link: Link) -> Result | Exception:
    desk.fetch.begin([(0, link)])
    for _ in range(60):
        for _, end in desk.fetch.collect_finished(0.5):
            return end
    raise AssertionError("it never ended")


def test_a_certificate_that_holds_is_asked_for_by_robots_txt_and_page(desk: Desk) -> None:
    found = capture(fetched(desk, "secure.example", TlsCheck.FULL))
    exchange, _ = decode_exchange(desk.blobs.get(found.place.path) or b"")
    assert (exchange.tls_check, exchange.hops[-1].tls is not None) == ("full", True)
    (row,) = desk.records.get(FetchedPageRow, [found.id])
    assert row.tls is not None
    assert row.tls_check == "full"
    assert [one.target for one in desk.web.asked("secure.example")] == ["/robots.txt", "/story"]


@pytest.mark.parametrize("host", ["expired.example", "misnamed.example"])
@pytest.mark.parametrize("tls", [TlsCheck.FULL, TlsCheck.OLD])
def test_one_that_does_not_hold_ends_the_link_and_nothing_is_sent(
    desk: Desk, host: str, tls: TlsCheck
) -> None:
    assert ended(fetched(desk, host, tls)) == BAD
    assert desk.web.asked(host) == []


@pytest.mark.parametrize("host", ["expired.example", "misnamed.example"])
def test_what_was_relaxed_for_a_source_is_written_down_and_holds_for_it_alone(
    desk: Desk, host: str
) -> None:
    assert ended(fetched(desk, host, TlsCheck.FULL)) == BAD
    found = capture(fetched(desk, host, TlsCheck.NONE))
    exchange, _ = decode_exchange(desk.blobs.get(found.place.path) or b"")
    assert exchange.tls_check == "none"
    (row,) = desk.records.get(FetchedPageRow, [found.id])
    assert row.tls_check == "none"
    again = build_link(desk.web.tls_url(host, "/other"), "poll", tls=TlsCheck.FULL)
    assert ended(_end_of(desk, again)) == BAD
