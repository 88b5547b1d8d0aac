"""Which pages are sent to be parsed again: those of an older extractor, but not refused ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fonds.derivatives import story, thumbnail
from fonds.ingest.catch_up import CatchUp, CatchUpCount, CatchUpSelection
from fonds.model.disposition import Reason
from fonds.model.errors import ConfigurationError
from fonds.model.file import UnparsedPage
from fonds.model.message import DEFAULT_TRAITS, FORMAT, Subscription
from fonds.model.rows import DispositionRow, FileMetaRow, StoryMetaRow
from fonds.model.story import Story
from fonds.queues.messages.envelope import FORMAT_VERSION, decode
from fonds.queues.sqlite import SqliteQueue
from fonds.stores.journal_table.cells import build_file_cells
from fonds.stores.journal_table.keys import build_row_key
from step_bench import JOURNAL, LATER, MOMENT, PAGE, Bench, page_file

OUR_EXTRACTOR = "parser 2"
READER = Subscription("library.parse_story", "x.unparsed", DEFAULT_TRAITS, "library")


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[SqliteQueue]:
    opened = SqliteQueue(tmp_path / "queue.sqlite")
    opened.declare([READER])
    yield opened
    opened.close()


def store_page(
    bench: Bench, number: int, extractor: str | None, verdict: str = "done", mime: str = "text/html"
) -> str:
    """Store a page. `extractor` None: it has no row, and its parsing ended with `verdict`."""
    body = PAGE + b"<!-- %d -->" % number
    file = replace(page_file(body), mime=mime)
    capture = replace(bench.write_file(body), id=f"c{number}", url=f"http://news.example/{number}")
    bench.enter(capture)
    bench.records.put(
        [FileMetaRow(file.sha1, file.sha256, file.md5, file.size, mime, capture.id, MOMENT)]
    )
    bench.table.put(JOURNAL, [(build_row_key(file.sha1), build_file_cells(file))])
    bench.records.ledger.write([build_disposition(capture.id, "identify", "done", file.sha1)])
    bench.records.ledger.write([build_disposition(capture.id, "parse_story", verdict, file.sha1)])
    if extractor is not None:
        facts = ("http://e.org/", "", None, None, None, 1, Story(), extractor)
        times = ("20240305060708", MOMENT, "success")
        bench.records.put([StoryMetaRow(file.sha1, f"{number:064x}", *times, *facts)])
    return file.sha1


def build_disposition(entry_id: str, step: str, verdict: str, sha1hex: str) -> DispositionRow:
    reason = str(Reason.NO_TEXT) if verdict == "dropped" else None
    parents = (None, None) if step == "identify" else (entry_id, "persist_file")
    facts = (verdict, False, reason, "", sha1hex, 0, MOMENT, MOMENT)
    return DispositionRow(entry_id, "library", step, entry_id, *parents, *facts)


def send(
    bench: Bench, queue: SqliteQueue, **options: object
) -> tuple[CatchUpCount, list[UnparsedPage]]:
    selection = CatchUpSelection(story.KIND, OUR_EXTRACTOR, **options)  # type: ignore[arg-type]
    cdx_free = CatchUp(
        queue, bench.records, bench.records.ledger, bench.table, JOURNAL, READER, selection,
        lambda: LATER, lambda: True,
    )  # fmt: skip
    sent = cdx_free.run(lambda sent, entries: None)
    deliveries = queue.receive(READER.incoming, 100, 0.0)
    assert all(delivery.message.headers[FORMAT] == str(FORMAT_VERSION) for delivery in deliveries)
    return sent, [decode(delivery.message, UnparsedPage) for delivery in deliveries]


@pytest.fixture
def inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the place of loose files from their captures, because no input is in the ledger."""
    monkeypatch.setattr(
        "fonds.ingest.catch_up._find_first_place", lambda row, found_in: build_place(row.place)
    )


def build_place(text: str) -> object:
    from fonds.model.capture import Place, PlaceKind

    return Place(PlaceKind.FILE, text)


@pytest.mark.usefixtures("inputs")
def test_pages_of_an_older_extractor_are_sent_and_refused_pages_are_not(
    bench: Bench, queue: SqliteQueue
) -> None:
    store_page(bench, 1, OUR_EXTRACTOR)
    older = store_page(bench, 2, "parser 1")
    other_type = store_page(bench, 3, "parser 1", mime="application/xhtml+xml")
    store_page(bench, 4, None, "dropped")
    lost = store_page(bench, 5, None, "done")
    sent, work = send(bench, queue)
    assert {item.file.sha1 for item in work} == {older, other_type, lost}
    # Their bodies are archived already and must not be archived a second time.
    assert all(item.again for item in work)
    assert (sent.sent, sent.examined) == (3, 5)
    assert bench.records.ledger.recount() == []


@pytest.mark.usefixtures("inputs")
def test_rereads_send_refused_pages_too(bench: Bench, queue: SqliteQueue) -> None:
    read, refused = store_page(bench, 1, OUR_EXTRACTOR), store_page(bench, 2, None, "dropped")
    assert CatchUpSelection(story.KIND, OUR_EXTRACTOR).count_by_status(bench.records) == {}
    assert CatchUpSelection(story.KIND, OUR_EXTRACTOR, rereads=True).count_by_status(
        bench.records
    ) == {
        "success": 1,
        "": 1,
    }
    _, work = send(bench, queue, rereads=True)
    assert {item.file.sha1 for item in work} == {read, refused}


def test_a_kind_without_its_own_step_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="thumbnail is made together with another kind"):
        assert CatchUpSelection(thumbnail.KIND, OUR_EXTRACTOR).reading
