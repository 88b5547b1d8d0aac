"""The description of a file: its entries and its history in every pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha1
from pathlib import Path

import pytest

from filled_crawl import MIRRORS
from filled_home import FilledHome, fill_home, open_home
from fonds.model.capture import REVISIT_MIME
from fonds.model.rows import CdxRow
from fonds.ports import Stores
from fonds.viewer.description import build_description, read_body
from home_rows import NOW, Body, build_disposition, build_promise, entry


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Stores, FilledHome]]:
    folder = tmp_path_factory.mktemp("home")
    filled_home = fill_home(folder)
    with open_home(folder) as stores:
        yield stores, filled_home


def test_a_file_lists_every_entry_with_its_bytes(home: tuple[Stores, FilledHome]) -> None:
    stores, filled_home = home
    description = build_description(stores, filled_home.stories[0])
    urls = {row.url for row in description.entries}
    assert len(description.entries) == 1 + MIRRORS
    assert {f"http://mirror.example/{number}" for number in range(MIRRORS)} < urls


def test_promises_are_part_of_the_history(home: tuple[Stores, FilledHome]) -> None:
    stores, filled_home = home
    history = build_description(stores, filled_home.pending).history
    assert [(row.step, row.verdict, row.parent_step) for row in history] == [
        ("identify", "done", None),
        ("persist_file", "done", "identify"),
        ("archive_body", "pending", "persist_file"),
        ("extract_pdf", "pending", "persist_file"),
    ]


def test_the_history_covers_all_pipelines_and_messages(tmp_path: Path) -> None:
    body = Body(1, "http://a.example/1.pdf", NOW, "application/pdf", b"%PDF")
    child = f"{body.capture_id}.notes.1"
    with open_home(tmp_path) as stores:
        for pipeline in ("library", "pdf-only"):
            stores.ledger.enter([], [replace(entry(body), pipeline=pipeline)], ["identify"])
            rows = [
                build_disposition(body, "identify", 0),
                replace(build_disposition(body, "parse", 1, "identify"), message_id=child),
                replace(build_promise(body, "note", 2, "parse"), message_id=child, parent_id=child),
            ]
            stores.ledger.write([replace(row, pipeline=pipeline) for row in rows])
        description = build_description(stores, body.sha1hex)
    assert [(row.entry_id, row.pipeline) for row in description.entries] == [
        (body.capture_id, "library"),
        (body.capture_id, "pdf-only"),
    ]
    assert [(row.pipeline, row.message_id, row.step) for row in description.history] == [
        (pipeline, message, step)
        for step, message in (("identify", body.capture_id), ("parse", child), ("note", child))
        for pipeline in ("library", "pdf-only")
    ]
    assert description.is_known


def test_the_body_is_never_read_from_a_revisit(
    home: tuple[Stores, FilledHome],
) -> None:
    """The oldest recorded capture may be a revisit if its WARC was ingested first."""
    stores, _ = home
    row = next(row for row in stores.records.find(CdxRow) if row.mimetype != REVISIT_MIME)
    revisit = replace(
        row, datetime="19990101000000", mimetype=REVISIT_MIME, warc_path="older.warc.gz"
    )
    stores.records.put([revisit])
    description = build_description(stores, row.sha1hex)
    assert description.captures[0].mimetype == REVISIT_MIME
    assert description.body_place is not None
    assert description.body_place.path == row.warc_path
    assert sha1(read_body(stores, description)).hexdigest() == row.sha1hex
