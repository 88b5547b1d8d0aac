"""Tasks that another program sends to Fonds, and the results it may expect."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha1
from pathlib import Path
from typing import Any

import jsonschema
from starlette.testclient import TestClient

from fixtures.http_server import CannedResponse, serve_http
from fixtures.pdfs import text_pdf
from fixtures.warcs import gzip_records, http_response, list_offsets
from fonds.audit.audit import run_audit
from fonds.config import Settings
from fonds.model.rows import EntryRow
from fonds.ports import Stores
from fonds.queues.messages.contracts import build_schemas
from fonds.stores.journal_table.cells import read_file
from fonds.stores.journal_table.keys import build_row_key
from fonds.viewer.description import build_description
from fonds.web.app import create_app
from fonds.web.html.rendering import format_url
from fonds.wiring.flavours import list_readers
from fonds.wiring.pipelines import create_threads
from fonds.wiring.readers import open_readers
from fonds.wiring.stores import close_stores, open_stores

SEED_FIELDS: dict[str, type | tuple[type, ...]] = {
    "sha1hex": str,
    "status": str,
    "text": (str, type(None)),
    "page0_thumbnail": bool,
    "meta_xml": (str, type(None)),
    "pdf_info": (dict, type(None)),
    "pdf_extra": (dict, type(None)),
    "file_meta": dict,
    "source": dict,
}
"""The schema of `pdf-text` as in seed 003; `word_count` is in `pdf_extra`."""
FILE_META_FIELDS = {"sha1hex", "sha256hex", "md5hex", "size_bytes", "mimetype"}
LETTER = (0, 0, 612, 792)
WAIT_MAX_S = 60.0


def compute_sha1(body: bytes) -> str:
    return sha1(body).hexdigest()


@dataclass
class TaskBatch:
    """Messages to send, each a key and a body, with their expected outcomes.

    `pdfs` are the expected PDFs by name.
    """

    folder: Path
    pdfs: dict[str, bytes] = field(default_factory=dict)
    messages: list[tuple[str, bytes]] = field(default_factory=list)
    ends: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    statuses: dict[str, str] = field(default_factory=dict)
    """The expected status of each SHA-1 whose task leads to no PDF."""
    requests: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    """The requests that the local server received."""

    def ask(self, key: str, task: Any, url: str, outcome: str, reason: str | None = None) -> None:
        """Add a message; `url` is the URL of its entry."""
        body = task if isinstance(task, bytes) else json.dumps(task).encode()
        self.messages.append((key, body))
        self.ends[url] = (outcome, reason)

    @property
    def sha1hexes(self) -> dict[str, str]:
        return {compute_sha1(body): name for name, body in self.pdfs.items()}


@contextmanager
def prepare_tasks(folder: Path) -> Iterator[TaskBatch]:
    """Prepare valid and invalid work objects of every form.

    They refer to a crawl in `folder` and to a local server.
    """
    names = ("stated", "unstated", "elsewhere", "loose")
    pdfs = {name: text_pdf([f"The {name} one has words."]) for name in names}
    batch = TaskBatch(folder, pdfs)
    outside = folder / "outside.pdf"
    allowed = folder / "allowed"
    allowed.mkdir(parents=True)
    outside.write_bytes(text_pdf(["Not for others."]))
    (allowed / "loose.pdf").write_bytes(pdfs["loose"])
    (allowed / "link.pdf").symlink_to(outside)
    as_pdf = (("Content-Type", "application/pdf"),)
    records = [
        http_response(pdfs["stated"], headers=as_pdf, url="http://x.example/stated"),
        http_response(pdfs["unstated"], headers=as_pdf, url="http://x.example/unstated"),
        http_response(url="http://x.example/page"),
    ]
    members = [gzip_records([record]) for record in records]
    (allowed / "crawl").mkdir()
    (allowed / "crawl" / "a.warc.gz").write_bytes(b"".join(members))
    starts = list_offsets(members)
    with serve_http() as server:
        batch.requests = server.requests
        server.responses["/item-1/papers/a%20b.pdf"] = CannedResponse(body=pdfs["elsewhere"])
        batch.settings = {
            "elsewhere_task_folder": str(allowed),
            "elsewhere_petabox_url": f"{server.url}/{{item}}/{{path}}",
            "elsewhere_private_addresses": True,
            "elsewhere_replay_url": "",
        }
        _ask_all(batch, starts, str(outside))
        yield batch


def _ask_all(batch: TaskBatch, starts: list[int], outside: str) -> None:
    def cdx(name: str, place: int, **more: Any) -> dict[str, Any]:
        """Build a row as `row_to_json` returns it from the SQL table `cdx`."""
        return {
            "url": f"http://x.example/{name}",
            "datetime": "20240305060708",
            "mimetype": "application/pdf",
            "warc_path": "crawl/a.warc.gz",
            "warc_csize": 812,
            "warc_offset": starts[place],
            "row_created": "2020-01-02T03:04:05+00:00",
            **more,
        }

    stated_sha1, elsewhere_sha1 = (
        compute_sha1(batch.pdfs["stated"]),
        compute_sha1(batch.pdfs["elsewhere"]),
    )
    cdx_task = cdx("stated", 0, sha1hex=stated_sha1, cdx_sha1hex=None)
    batch.ask(stated_sha1, cdx_task, "http://x.example/stated", "done")
    batch.ask("", cdx("unstated", 1), "http://x.example/unstated", "done")
    item_source = {"item": "item-1", "path": "papers/a b.pdf"}
    address = "https://archive.org/download/item-1/papers/a%20b.pdf"
    batch.ask(elsewhere_sha1, {"sha1hex": elsewhere_sha1, "source": item_source}, address, "done")
    batch.ask("", {"path": "loose.pdf"}, "loose.pdf", "done")

    damaged_task = cdx("wrong", 1, sha1hex="ab" * 20)
    batch.ask("ab" * 20, damaged_task, "http://x.example/wrong", "quarantined", "damaged-record")
    batch.statuses["ab" * 20] = "error-source"
    files = {
        "cd" * 20: "lost.pdf",
        compute_sha1(b""): "empty.pdf",
        compute_sha1(b"no PDF"): "text.pdf",
    }
    (batch.folder / "allowed" / "empty.pdf").write_bytes(b"")
    (batch.folder / "allowed" / "text.pdf").write_bytes(b"no PDF")
    ends = [
        ("quarantined", "missing-source", "error-source"),
        ("dropped", "empty-body", "empty-blob"),
        ("dropped", "unsupported-type", "not-pdf"),
    ]
    for (key, path), (outcome, reason, status) in zip(files.items(), ends, strict=True):
        batch.ask(key, {"sha1hex": key, "path": path}, path, outcome, reason)
        batch.statuses[key] = status
    page_task = cdx("page", 2)
    batch.ask("", page_task, "http://x.example/page", "dropped", "unsupported-type")
    conflicting_task = {**cdx("two", 0), "sha1hex": stated_sha1}
    batch.ask(elsewhere_sha1, conflicting_task, elsewhere_sha1, "quarantined", "bad-message")
    batch.ask("nonsense", b"\x80\x03pickle", "nonsense", "quarantined", "bad-message")
    batch.ask("nothing", {"sha1hex": stated_sha1}, "nothing", "quarantined", "bad-message")
    for path in (outside, "../outside.pdf", "link.pdf"):
        batch.ask("", {"path": path}, path, "quarantined", "unreadable-source")
    missing_task = {"path": "gone.pdf"}
    batch.ask("", missing_task, "gone.pdf", "quarantined", "missing-source")


@contextmanager
def run_pipeline(home: Path, settings: Settings) -> Iterator[Stores]:
    """Open the stores of a home and run its pipeline in threads until the end."""
    stores = open_stores(home, settings)
    readers = open_readers(home / "tmp", settings)
    threads = create_threads(stores, readers, settings, threads=1)
    threads.start()
    try:
        yield stores
        assert threads.get_failure() is None
    finally:
        threads.stop()
        readers.close()
        stores.archive.finish()
        close_stores(stores)


def wait_until_processed(stores: Stores, count: int) -> None:
    """Wait until the given number of entries exist and none is pending."""
    deadline = time.monotonic() + WAIT_MAX_S
    while True:
        rows = list(stores.records.find(EntryRow))
        if len(rows) == count and not any(row.open_count for row in rows):
            return
        assert time.monotonic() < deadline, [row for row in rows if row.open_count]
        time.sleep(0.1)


def check_books(stores: Stores, batch: TaskBatch, topic: str, settings: Settings) -> None:
    """Check that every message has its expected outcome and every PDF all its rows."""
    rows = {row.url.removeprefix(f"{topic} "): row for row in stores.records.find(EntryRow)}
    assert {url: (row.outcome, row.reason) for url, row in rows.items()} == batch.ends
    assert all(row.detail for row in rows.values() if row.outcome == "quarantined")
    assert not any("Traceback" in (row.detail or "") for row in rows.values())
    pages = TestClient(create_app(stores), base_url="http://localhost:8765")
    for sha1hex, name in batch.sha1hexes.items():
        description = build_description(stores, sha1hex)
        assert description.file is not None, name
        pdf: Any = description.derivatives.get("pdf")
        assert pdf is not None, name
        assert (pdf.status, description.file.size_bytes) == ("success", len(batch.pdfs[name]))
        assert [row.sha1hex for row in description.captures] == [sha1hex], "it is in a WARC"
        assert {row.kind for row in description.entries} == {"message"}
        assert description.document is not None
        assert description.text_key, "it has a text"
        assert description.thumbnail_key, "it has a thumbnail"
        meta = read_file(
            stores.table.get(stores.journal, [build_row_key(sha1hex)])[build_row_key(sha1hex)]
        )
        assert meta is not None
        assert meta.sha1 == sha1hex
        page = pages.get(f"/file/{sha1hex}")
        assert (page.status_code, format_url(description.captures[0].url) in page.text) == (
            200,
            True,
        )
    audit = run_audit(stores, {"library": list_readers(settings)})
    assert audit.fault_texts == []


def check_result(body: bytes, batch: TaskBatch) -> str:
    """Check a `pdf-text` message as an external client reads it; return the file's SHA-1."""
    result = json.loads(body)
    jsonschema.Draft202012Validator(build_schemas()["pdf-text"]).validate(result)
    for name, field_type in SEED_FIELDS.items():
        assert isinstance(result[name], field_type), name
    sha1hex: str = result["sha1hex"]
    name = batch.sha1hexes[sha1hex]
    assert (result["status"], result["page0_thumbnail"]) == ("success", True)
    assert f"The {name} one has words." in result["text"]
    assert result["pdf_extra"]["word_count"] == 5
    assert result["pdf_extra"]["page_count"] == 1
    meta = result["file_meta"]
    assert meta.keys() >= FILE_META_FIELDS
    assert (meta["sha1hex"], meta["size_bytes"]) == (sha1hex, len(batch.pdfs[name]))
    assert meta["mimetype"] == "application/pdf"
    source = result["source"]
    expected_source = {
        "stated": ("http://x.example/stated", "warc_path"),
        "unstated": ("http://x.example/unstated", "warc_path"),
        "elsewhere": ("https://archive.org/download/item-1/papers/a%20b.pdf", "item"),
        "loose": ((batch.folder / "allowed" / "loose.pdf").as_uri(), "path"),
    }[name]
    assert source["url"] == expected_source[0]
    assert source[expected_source[1]], "its source is given"
    return sha1hex
