"""Work other programs put on the topic itself, worked off over the embedded stores."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

import jsonschema

from fonds.audit.audit import run_audit
from fonds.config import Settings
from fonds.model.message import PIPELINE, Message, Subscription
from fonds.model.rows import CdxRow, DispositionRow, FileMetaRow, PdfMetaRow
from fonds.ports import Queue
from fonds.queues.messages.contracts import build_schemas
from fonds.wiring.stores import list_readers, open_queue, open_stores
from foreign_work import (
    WAIT_MAX_S,
    TaskBatch,
    check_books,
    check_result,
    compute_sha1,
    prepare_tasks,
    run_pipeline,
    wait_until_processed,
)

PREFIX = "fonds-local"
OTHERS = [
    Subscription("others-text", f"{PREFIX}.pdf-text"),
    Subscription("others-pictures", f"{PREFIX}.pdf-thumbnail-180px-jpg"),
]


@dataclass
class Bare:
    """Another program: it has a queue of its own on the same file, and no stores."""

    queue: Queue
    topic: str = f"{PREFIX}.unextracted"

    def put(self, one: TaskBatch) -> None:
        messages = [Message(f"m{n}", body, key) for n, (key, body) in enumerate(one.messages)]
        self.queue.put(self.topic, messages)

    def take(self, reader: Subscription, count: int) -> list[Message]:
        found: list[Message] = []
        deadline = time.monotonic() + WAIT_MAX_S
        while len(found) < count:
            assert time.monotonic() < deadline, f"{len(found)} of {count} came"
            taken = self.queue.receive(reader.incoming, count, 1.0)
            self.queue.settle(taken)
            found += [one.message for one in taken]
        return found


def bare(home: Path, settings: Settings) -> Bare:
    queue = open_queue(home, settings)
    queue.declare(OTHERS)
    return Bare(queue)


def test_what_others_ask_for_is_done_and_stands_in_all_books(tmp_path: Path) -> None:
    with prepare_tasks(tmp_path / "crawl") as one:
        settings, home = Settings().replace_values(**one.settings), tmp_path / "home"
        open_stores(home, settings)
        others = bare(home, settings)
        with run_pipeline(home, settings) as stores:
            others.put(one)
            count = len(one.pdfs) + len(one.statuses)
            came = {text.key: text for text in others.take(OTHERS[0], count)}
            lost = [came.pop(key) for key in one.statuses]
            texts = list(came.values())
            pictures = others.take(OTHERS[1], len(one.pdfs))
            wait_until_processed(stores, len(one.messages))
            assert {check_result(text.body, one) for text in texts} == one.sha1hexes.keys()
            assert {text.key for text in texts} == one.sha1hexes.keys()
            assert {text.headers[PIPELINE] for text in texts} == {"-library"}
            assert {picture.key for picture in pictures} == one.sha1hexes.keys()
            assert all(picture.body.startswith(b"\xff\xd8\xff") for picture in pictures)
            check_books(stores, one, others.topic, settings)
            found = {text.key: json.loads(text.body) for text in lost}
            assert {key: text["status"] for key, text in found.items()} == one.statuses
            assert all(text["error_msg"] and text["source"] for text in found.values())
            assert all(text["file_meta"] is None for text in found.values())
            for text in lost:
                jsonschema.Draft202012Validator(build_schemas()["pdf-text"]).validate(
                    json.loads(text.body)
                )
            rows = stores.records.get(PdfMetaRow, list(one.statuses))
            assert {row.sha1hex: row.status for row in rows} == one.statuses


def test_asked_for_again_it_is_known_and_noted_once(tmp_path: Path) -> None:
    with prepare_tasks(tmp_path / "crawl") as one:
        settings, home = Settings().replace_values(**one.settings), tmp_path / "home"
        open_stores(home, settings)
        others = bare(home, settings)
        with run_pipeline(home, settings) as stores:
            key, body = one.messages[0]
            for number in range(2):
                others.queue.put(others.topic, [Message(f"again-{number}", body, key)])
                wait_until_processed(stores, number + 1)
            assert len(list(stores.records.find(FileMetaRow))) == 1
            assert len(list(stores.records.find(CdxRow))) == 1
            rows = stores.records.find(DispositionRow, {"step": "persist_pdf_text"})
            assert len(list(rows)) == 1, "nothing was read twice"
            ended = stores.records.get(DispositionRow, [("again-1", "library", "extract_pdf")])
            assert [(row.verdict, row.about) for row in ended] == [("done", key)]


def test_a_file_of_a_petabox_item_is_fetched_once(tmp_path: Path) -> None:
    """Identifying, extracting and archiving share one download; another URL of the file needs none."""
    with prepare_tasks(tmp_path / "crawl") as one:
        settings, home = Settings().replace_values(**one.settings), tmp_path / "home"
        open_stores(home, settings)
        others = bare(home, settings)
        with run_pipeline(home, settings) as stores:
            key = compute_sha1(one.pdfs["elsewhere"])
            item = {"item": "item-1", "path": "papers/a b.pdf"}
            tasks = [
                item,
                item,
                {**item, "url": "http://mirror.example/a.pdf", "datetime": "20240506070809"},
                {"url": "http://replayed.example/a.pdf", "datetime": "20240506070809"},
            ]
            for number, task in enumerate(tasks):
                body = json.dumps(task).encode()
                others.queue.put(others.topic, [Message(f"task-{number}", body, key)])
                wait_until_processed(stores, number + 1)
            assert [path for path, _ in one.requests] == ["/item-1/papers/a%20b.pdf"]
            ids = [(f"task-{number}", "library", "extract_pdf") for number in range(len(tasks))]
            ended = stores.records.get(DispositionRow, ids)
            assert [(row.verdict, row.about) for row in ended] == [("done", key)] * len(tasks)
            assert len(list(stores.records.find(CdxRow))) == 1
            assert run_audit(stores, {"library": list_readers(settings)}).fault_texts == []


def test_one_pipeline_may_be_meant_and_what_it_is_given_is_on_its_books(tmp_path: Path) -> None:
    with prepare_tasks(tmp_path / "crawl") as one:
        settings, home = Settings().replace_values(**one.settings), tmp_path / "home"
        open_stores(home, settings)
        others = bare(home, settings)
        with run_pipeline(home, settings) as stores:
            _, body = one.messages[1]
            mine = Message("mine", body, headers={PIPELINE: "library"})
            theirs = Message("theirs", body, headers={PIPELINE: "pdf-only"})
            others.queue.put(others.topic, [mine, theirs])
            wait_until_processed(stores, 1)
            (row,) = stores.records.find(FileMetaRow)
            assert row.capture_id == "mine"
