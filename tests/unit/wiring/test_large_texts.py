"""Other programs read the text of a long PDF from the topic, even after the pipeline settled it."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from fixtures.pdfs import text_pdf
from fonds.audit.audit import run_audit
from fonds.config import Settings
from fonds.model.message import Message, Subscription
from fonds.model.rows import PdfMetaRow
from fonds.queues.sqlite import SqliteQueue
from fonds.stores.blobs import FolderBlobs
from fonds.wiring.flavours import list_readers
from fonds.wiring.stores import open_stores
from foreign_work import compute_sha1, prepare_tasks, run_pipeline, wait_until_processed
from published_results import read_text

OTHER_SUBSCRIPTION = Subscription("others.texts", "fonds-local.pdf-text")


@pytest.mark.parametrize("topic_max_bytes", [10_000, 16_000_000])
def test_another_program_reads_the_text_of_a_long_pdf(tmp_path: Path, topic_max_bytes: int) -> None:
    home, pages = tmp_path / "home", [f"Page {n} has words.\n" * 20 for n in range(60)]
    pdf = text_pdf(pages)
    with prepare_tasks(tmp_path / "crawl") as batch:
        (tmp_path / "crawl" / "allowed" / "long.pdf").write_bytes(pdf)
        limits = {"message_max_bytes": 5_000, "topic_message_max_bytes": topic_max_bytes}
        # Other programs read blobs as files.
        settings = Settings().replace_values(**batch.settings, **limits, blobs="file:blobs")
        open_stores(home, settings)
        with closing(SqliteQueue(home / "queue.sqlite")) as other_queue:
            other_queue.declare([OTHER_SUBSCRIPTION])
            with run_pipeline(home, settings) as stores:
                work = Message(os.urandom(5).hex(), b'{"path": "long.pdf"}')
                stores.queue.put("fonds-local.unextracted", [work])
                wait_until_processed(stores, 1)
                (row,) = stores.records.find(PdfMetaRow)
                assert (row.sha1hex, row.status) == (compute_sha1(pdf), "success")
                assert run_audit(stores, {"library": list_readers(settings)}).fault_texts == []
            (delivery,) = other_queue.receive(OTHER_SUBSCRIPTION.incoming, 10, 0.0)
            assert (b"text_blob" in delivery.message.body) == (topic_max_bytes == 10_000)
            blobs = FolderBlobs(home / "blobs")
            text = read_text(delivery.message.body, dict(delivery.message.headers), blobs)
    assert text.count("has words.") == 60 * 20
    remaining_files = [path for path in (home / "blobs" / "messages").rglob("*") if path.is_file()]
    assert remaining_files == []
