"""Tasks that other programs put on the topic, processed with the embedded stores."""

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
from fonds.wiring.flavours import list_readers
from fonds.wiring.queue import open_queue
from fonds.wiring.stores import open_stores
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
OTHER_SUBSCRIPTIONS = [
    Subscription("others-text", f"{PREFIX}.pdf-text"),
    Subscription("others-pictures", f"{PREFIX}.pdf-thumbnail-180px-jpg"),
]


@dataclass
class OtherProgram:
    """Another program with its own queue on the same file, and without stores."""

    queue: Queue
    topic: str = f"{PREFIX}.unextracted"

    def put_tasks(self, batch: TaskBatch) -> None:
        messages = [Message(f"m{n}", body, key) for n, (key, body) in enumerate(batch.messages)]
        self.queue.put(self.topic, messages)

    def receive(self, reader: Subscription, count: int) -> list[Message]:
        messages: list[Message] = []
        deadline = time.monotonic() + WAIT_MAX_S
        while len(messages) < count:
            assert time.monotonic() < deadline, f"{len(messages)} of {count} messages received"
            deliveries = self.queue.receive(reader.incoming, count, 1.0)
            self.queue.settle(deliveries)
            messages += [delivery.message for delivery in deliveries]
        return messages


def start_other_program(home: Path, settings: Settings) -> OtherProgram:
    queue = open_queue(home, settings)
    queue.declare(OTHER_SUBSCRIPTIONS)
    return OtherProgram(queue)


def test_tasks_of_other_programs_are_processed_and_recorded(tmp_path: Path) -> None:
    with prepare_tasks(tmp_path / "crawl") as batch:
        settings, home = Settings().replace_values(**batch.settings), tmp_path / "home"
        open_stores(home, settings)
        other_program = start_other_program(home, settings)
        with run_pipeline(home, settings) as stores:
            other_program.put_tasks(batch)
            count = len(batch.pdfs) + len(batch.statuses)
            texts_by_key = {
                text.key: text for text in other_program.receive(OTHER_SUBSCRIPTIONS[0], count)
            }
            failed_texts = [texts_by_key.pop(key) for key in batch.statuses]
            texts = list(texts_by_key.values())
            pictures = other_program.receive(OTHER_SUBSCRIPTIONS[1], len(batch.pdfs))
            wait_until_processed(stores, len(batch.messages))
            assert {check_result(text.body, batch) for text in texts} == batch.sha1hexes.keys()
            assert {text.key for text in texts} == batch.sha1hexes.keys()
            assert {text.headers[PIPELINE] for text in texts} == {"-library"}
            assert {picture.key for picture in pictures} == batch.sha1hexes.keys()
            assert all(picture.body.startswith(b"\xff\xd8\xff") for picture in pictures)
            check_books(stores, batch, other_program.topic, settings)
            failures = {text.key: json.loads(text.body) for text in failed_texts}
            assert {key: text["status"] for key, text in failures.items()} == batch.statuses
            assert all(text["error_msg"] and text["source"] for text in failures.values())
            assert all(text["file_meta"] is None for text in failures.values())
            for text in failed_texts:
                jsonschema.Draft202012Validator(build_schemas()["pdf-text"]).validate(
                    json.loads(text.body)
                )
            rows = stores.records.get(PdfMetaRow, list(batch.statuses))
            assert {row.sha1hex: row.status for row in rows} == batch.statuses


def test_a_repeated_task_is_recorded_once(tmp_path: Path) -> None:
    with prepare_tasks(tmp_path / "crawl") as batch:
        settings, home = Settings().replace_values(**batch.settings), tmp_path / "home"
        open_stores(home, settings)
        other_program = start_other_program(home, settings)
        with run_pipeline(home, settings) as stores:
            key, body = batch.messages[0]
            for number in range(2):
                other_program.queue.put(
                    other_program.topic, [Message(f"again-{number}", body, key)]
                )
                wait_until_processed(stores, number + 1)
            assert len(list(stores.records.find(FileMetaRow))) == 1
            assert len(list(stores.records.find(CdxRow))) == 1
            rows = stores.records.find(DispositionRow, {"step": "persist_pdf_text"})
            assert len(list(rows)) == 1, "a text was extracted twice"
            dispositions = stores.records.get(
                DispositionRow, [("again-1", "library", "extract_pdf")]
            )
            assert [(row.verdict, row.about) for row in dispositions] == [("done", key)]


def test_a_file_of_a_petabox_item_is_fetched_once(tmp_path: Path) -> None:
    """Identifying, extracting and archiving share one download. Another URL of the file needs none."""
    with prepare_tasks(tmp_path / "crawl") as batch:
        settings, home = Settings().replace_values(**batch.settings), tmp_path / "home"
        open_stores(home, settings)
        other_program = start_other_program(home, settings)
        with run_pipeline(home, settings) as stores:
            key = compute_sha1(batch.pdfs["elsewhere"])
            item = {"item": "item-1", "path": "papers/a b.pdf"}
            tasks = [
                item,
                item,
                {**item, "url": "http://mirror.example/a.pdf", "datetime": "20240506070809"},
                {"url": "http://replayed.example/a.pdf", "datetime": "20240506070809"},
            ]
            for number, task in enumerate(tasks):
                body = json.dumps(task).encode()
                other_program.queue.put(other_program.topic, [Message(f"task-{number}", body, key)])
                wait_until_processed(stores, number + 1)
            assert [path for path, _ in batch.requests] == ["/item-1/papers/a%20b.pdf"]
            ids = [(f"task-{number}", "library", "extract_pdf") for number in range(len(tasks))]
            dispositions = stores.records.get(DispositionRow, ids)
            assert [(row.verdict, row.about) for row in dispositions] == [("done", key)] * len(
                tasks
            )
            assert len(list(stores.records.find(CdxRow))) == 1
            assert run_audit(stores, {"library": list_readers(settings)}).fault_texts == []


def test_a_task_for_another_pipeline_is_ignored(tmp_path: Path) -> None:
    with prepare_tasks(tmp_path / "crawl") as batch:
        settings, home = Settings().replace_values(**batch.settings), tmp_path / "home"
        open_stores(home, settings)
        other_program = start_other_program(home, settings)
        with run_pipeline(home, settings) as stores:
            _, body = batch.messages[1]
            own = Message("mine", body, headers={PIPELINE: "library"})
            other = Message("theirs", body, headers={PIPELINE: "pdf-only"})
            other_program.queue.put(other_program.topic, [own, other])
            wait_until_processed(stores, 1)
            (row,) = stores.records.find(FileMetaRow)
            assert row.capture_id == "mine"
