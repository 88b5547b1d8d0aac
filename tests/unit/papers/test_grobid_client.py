"""The GROBID client sends documented requests and distinguishes an unavailable server from a bad PDF."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from fixtures.grobid_server import GrobidResponse, GrobidServer, serve_grobid
from fixtures.tei import build_tei
from fonds.model.errors import ConfigurationError, PostponedError, TransientError
from fonds.model.paper import GrobidStatus
from fonds.papers import grobid_client
from fonds.papers.grobid_client import GrobidClient, ServerPressure

PDF = b"%PDF-1.7 \r\n--boundary\r\n%%EOF"
TEI_MAX_BYTES = 100_000


@pytest.fixture
def server() -> Iterator[GrobidServer]:
    with serve_grobid(GrobidResponse(body=build_tei())) as answering_server:
        yield answering_server


def create_client(server: GrobidServer, timeout_s: float = 20.0) -> GrobidClient:
    return GrobidClient(server.url, 4, timeout_s, TEI_MAX_BYTES)


def test_the_pdf_is_sent_with_the_documented_parameters(server: GrobidServer) -> None:
    answer = create_client(server)(PDF)
    assert (answer.status, answer.status_code, answer.tei) == ("success", 200, build_tei())
    (form,) = server.requests
    assert form.pop("input") == [PDF]
    assert form == {
        "consolidateHeader": [b"0"],
        "consolidateCitations": [b"0"],
        "includeRawCitations": [b"1"],
        "includeRawAffiliations": [b"1"],
        "segmentSentences": [b"1"],
        "teiCoordinates": [b"ref", b"figure", b"persName", b"formula", b"biblStruct"],
    }


@pytest.mark.parametrize(
    ("response", "status", "code", "message"),
    [
        (GrobidResponse(500, b"[BAD_INPUT_DATA] broken"), "error", 500, "[BAD_INPUT_DATA] broken"),
        (GrobidResponse(500), "error", 500, "status 500"),
        (GrobidResponse(413, b"too long"), "error", 413, "too long"),
        (GrobidResponse(204), "no-content", 204, "no content"),
        (GrobidResponse(200), "no-content", 200, "no content"),
        (GrobidResponse(200, b"x" * (TEI_MAX_BYTES + 1)), "tei-too-large", 200, "longer than"),
    ],
)
def test_a_response_about_the_document_is_a_result(
    server: GrobidServer, response: GrobidResponse, status: str, code: int, message: str
) -> None:
    server.next_responses = [response]
    answer = create_client(server)(PDF)
    assert (answer.status, answer.status_code, answer.tei) == (status, code, None)
    assert message in (answer.error_msg or "")


def test_tei_up_to_the_size_limit_is_accepted(server: GrobidServer) -> None:
    server.next_responses = [GrobidResponse(200, b"y" * TEI_MAX_BYTES)]
    assert create_client(server)(PDF).tei == b"y" * TEI_MAX_BYTES


@pytest.mark.parametrize("status", [503, 502, 504, 429, 404, 401, 301])
def test_a_response_about_the_server_postpones_the_request(
    server: GrobidServer, status: int
) -> None:
    server.next_responses = [GrobidResponse(status, b"engines are busy", retry_after="7")]
    ask = create_client(server)
    with pytest.raises(PostponedError, match=str(status)) as raised:
        ask(PDF)
    assert 5 < raised.value.after_s <= 7
    with pytest.raises(PostponedError):
        ask(PDF)
    assert len(server.requests) == 1, "no second request was sent"


def test_an_unreachable_server_postpones_the_request() -> None:
    with socket.socket() as unused_socket:
        unused_socket.bind(("127.0.0.1", 0))
        ask = GrobidClient(f"http://127.0.0.1:{unused_socket.getsockname()[1]}", 1, 5.0, 100)
        with pytest.raises(PostponedError, match="cannot reach GROBID"):
            ask(PDF)


def test_an_unresolvable_host_postpones_the_request() -> None:
    ask = GrobidClient("http://grobid.invalid", 1, 5.0, 100)
    with pytest.raises(PostponedError, match="cannot reach GROBID"):
        ask(PDF)


def test_an_invalid_url_stops_the_step() -> None:
    with pytest.raises(ConfigurationError, match=r"grobid\.url"):
        GrobidClient("grobid:8070", 1, 5.0, 100)(PDF)


@pytest.mark.parametrize(
    "response",
    [GrobidResponse(body=build_tei(), missing_bytes=50), GrobidResponse(closes_connection=True)],
)
def test_a_broken_connection_is_retried_and_counted(
    server: GrobidServer, response: GrobidResponse
) -> None:
    """The PDF can be what crashes the server: without counted attempts it would be sent forever."""
    server.next_responses = [response]
    with pytest.raises(TransientError) as raised:
        create_client(server)(PDF)
    assert not isinstance(raised.value, PostponedError)


def test_a_timeout_is_a_result(server: GrobidServer) -> None:
    server.next_responses = [GrobidResponse(body=build_tei(), delay_s=1.5)]
    answer = create_client(server, timeout_s=0.3)(PDF)
    assert (answer.status, answer.status_code) == (GrobidStatus.TIMEOUT, -4)


def test_a_pdf_over_the_size_limit_is_not_sent(
    server: GrobidServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grobid_client, "PDF_MAX_BYTES", 10)
    answer = create_client(server)(PDF)
    assert (answer.status, answer.status_code, server.requests) == ("blob-too-large", -5, [])


def test_concurrent_requests_are_limited() -> None:
    with serve_grobid(GrobidResponse(body=build_tei(), delay_s=0.2)) as server:
        ask = GrobidClient(server.url, 2, 20.0, TEI_MAX_BYTES)

        def try_request(_: int) -> bool:
            try:
                return ask(PDF).status is GrobidStatus.SUCCESS
            except PostponedError:
                return False

        with ThreadPoolExecutor(8) as threads:
            successes = list(threads.map(try_request, range(8)))
        assert any(successes)
        assert server.concurrent_max <= 2


def test_a_missing_url_raises_with_the_setting_to_change() -> None:
    with pytest.raises(ConfigurationError, match=r"grobid\.url"):
        GrobidClient("", 1, 1.0, 1)(PDF)


def test_pauses_for_an_unavailable_server_grow_up_to_a_maximum() -> None:
    now = [0.0]
    pressure = ServerPressure(clock=lambda: now[0])
    pauses = []
    for _ in range(9):
        pauses.append(pressure.mark_away("busy").after_s)
        assert pressure.mark_away("busy too").after_s == pauses[-1], (
            "only the first of several failures counts"
        )
        now[0] += pauses[-1]
    assert pauses == [5, 10, 20, 40, 80, 160, 300, 300, 300]
    pressure.mark_available()
    assert pressure.mark_away("busy").after_s == 5


@pytest.mark.parametrize(("requested_s", "pause_s"), [(1.0, 5.0), (60.0, 60.0), (86_400.0, 300.0)])
def test_a_server_may_ask_for_a_longer_pause_up_to_the_maximum(
    requested_s: float, pause_s: float
) -> None:
    pressure = ServerPressure(clock=lambda: 0.0)
    assert pressure.mark_away("busy", requested_s).after_s == pause_s
    with pytest.raises(PostponedError, match="busy") as postponed, pressure.take_turn(1):
        pass
    assert postponed.value.after_s == pause_s
