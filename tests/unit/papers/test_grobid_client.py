"""The client asks as GROBID wants to be asked, and tells a server that is away from a PDF that is bad."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from fixtures.grobid_server import Answer, GrobidServer, grobid_server
from fixtures.tei import tei
from fonds.model.errors import ConfigurationError, PostponedError, TransientError
from fonds.model.paper import GrobidStatus
from fonds.papers import grobid_client
from fonds.papers.grobid_client import GrobidClient, ServerPressure

PDF = b"%PDF-1.7 \r\n--boundary\r\n%%EOF"
TEI_MAX_BYTES = 100_000


@pytest.fixture
def server() -> Iterator[GrobidServer]:
    with grobid_server(Answer(body=tei())) as serving:
        yield serving


def client(server: GrobidServer, timeout_s: float = 20.0) -> GrobidClient:
    return GrobidClient(server.url, 4, timeout_s, TEI_MAX_BYTES)


def test_the_pdf_goes_out_whole_with_the_parameters(server: GrobidServer) -> None:
    answer = client(server)(PDF)
    assert (answer.status, answer.status_code, answer.tei) == ("success", 200, tei())
    (form,) = server.asked
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
    ("given", "status", "code", "told"),
    [
        (Answer(500, b"[BAD_INPUT_DATA] broken"), "error", 500, "[BAD_INPUT_DATA] broken"),
        (Answer(500), "error", 500, "status 500"),
        (Answer(413, b"too long"), "error", 413, "too long"),
        (Answer(204), "no-content", 204, "no content"),
        (Answer(200), "no-content", 200, "no content"),
        (Answer(200, b"x" * (TEI_MAX_BYTES + 1)), "tei-too-large", 200, "longer than"),
    ],
)
def test_an_answer_about_the_document_is_a_result(
    server: GrobidServer, given: Answer, status: str, code: int, told: str
) -> None:
    server.next = [given]
    answer = client(server)(PDF)
    assert (answer.status, answer.status_code, answer.tei) == (status, code, None)
    assert told in (answer.error_msg or "")


def test_tei_of_any_length_below_the_limit_is_kept(server: GrobidServer) -> None:
    server.next = [Answer(200, b"y" * TEI_MAX_BYTES)]
    assert client(server)(PDF).tei == b"y" * TEI_MAX_BYTES


@pytest.mark.parametrize("status", [503, 502, 504, 429, 404, 401, 301])
def test_an_answer_about_the_server_is_none_about_the_document(
    server: GrobidServer, status: int
) -> None:
    server.next = [Answer(status, b"engines are busy", retry_after="7")]
    ask = client(server)
    with pytest.raises(PostponedError, match=str(status)) as away:
        ask(PDF)
    assert 5 < away.value.after_s <= 7
    with pytest.raises(PostponedError):
        ask(PDF)
    assert len(server.asked) == 1, "it was left alone"


def test_a_server_that_is_not_there_is_away() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        ask = GrobidClient(f"http://127.0.0.1:{held.getsockname()[1]}", 1, 5.0, 100)
        with pytest.raises(PostponedError, match="cannot reach GROBID"):
            ask(PDF)


def test_a_name_without_address_is_away() -> None:
    ask = GrobidClient("http://grobid.invalid", 1, 5.0, 100)
    with pytest.raises(PostponedError, match="cannot reach GROBID"):
        ask(PDF)


def test_a_url_that_is_none_stops_the_step() -> None:
    with pytest.raises(ConfigurationError, match=r"grobid\.url"):
        GrobidClient("grobid:8070", 1, 5.0, 100)(PDF)


@pytest.mark.parametrize("given", [Answer(body=tei(), cut=50), Answer(dead=True)])
def test_a_connection_that_breaks_off_is_tried_again_and_charged(
    server: GrobidServer, given: Answer
) -> None:
    """It may be the PDF that ends the server: who is never charged is asked for ever."""
    server.next = [given]
    with pytest.raises(TransientError) as broken:
        client(server)(PDF)
    assert not isinstance(broken.value, PostponedError)


def test_a_server_that_takes_too_long_is_a_result(server: GrobidServer) -> None:
    server.next = [Answer(body=tei(), slow_s=1.5)]
    answer = client(server, timeout_s=0.3)(PDF)
    assert (answer.status, answer.status_code) == (GrobidStatus.TIMEOUT, -4)


def test_a_pdf_that_is_too_large_is_not_sent(
    server: GrobidServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grobid_client, "PDF_MAX_BYTES", 10)
    answer = client(server)(PDF)
    assert (answer.status, answer.status_code, server.asked) == ("blob-too-large", -5, [])


def test_no_more_are_sent_than_may_be_under_way() -> None:
    with grobid_server(Answer(body=tei(), slow_s=0.2)) as server:
        ask = GrobidClient(server.url, 2, 20.0, TEI_MAX_BYTES)

        def one(_: int) -> bool:
            try:
                return ask(PDF).status is GrobidStatus.SUCCESS
            except PostponedError:
                return False

        with ThreadPoolExecutor(8) as threads:
            done = list(threads.map(one, range(8)))
        assert any(done)
        assert server.at_once_most <= 2


def test_without_a_url_a_person_has_to_set_one() -> None:
    with pytest.raises(ConfigurationError, match=r"grobid\.url"):
        GrobidClient("", 1, 1.0, 1)(PDF)


def test_a_server_that_stays_away_is_left_alone_for_longer_and_longer() -> None:
    now = [0.0]
    pressure = ServerPressure(clock=lambda: now[0])
    pauses = []
    for _ in range(9):
        pauses.append(pressure.mark_away("busy").after_s)
        assert pressure.mark_away("busy too").after_s == pauses[-1], "of several the first tells"
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
