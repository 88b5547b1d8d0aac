"""What another program asks of Fonds on the topic of work, and what it may expect to find afterwards."""

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

from fixtures.answering import Given, answering
from fixtures.pdfs import text_pdf
from fixtures.warcs import gzipped, http_response, offsets
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
from fonds.wiring.pipelines import create_threads
from fonds.wiring.readers import open_readers
from fonds.wiring.stores import close_stores, list_readers, open_stores

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
"""The schema of `pdf-text` as seed 003 writes it down; `word_count` is in `pdf_extra`."""
FILE_META_FIELDS = {"sha1hex", "sha256hex", "md5hex", "size_bytes", "mimetype"}
LETTER = (0, 0, 612, 792)
WAIT_MAX_S = 60.0


def hashed(body: bytes) -> str:
    return sha1(body).hexdigest()


@dataclass
class Asked:
    """Messages, each a key and a body; the PDFs asked for by name, and how each message is to end."""

    folder: Path
    pdfs: dict[str, bytes] = field(default_factory=dict)
    messages: list[tuple[str, bytes]] = field(default_factory=list)
    ends: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    statuses: dict[str, str] = field(default_factory=dict)
    """The status of each SHA-1 whose task leads to no PDF."""
    requests: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    """What the server on loopback was asked."""

    def ask(self, key: str, task: Any, url: str, outcome: str, reason: str | None = None) -> None:
        """`url` is what its entry is called by."""
        body = task if isinstance(task, bytes) else json.dumps(task).encode()
        self.messages.append((key, body))
        self.ends[url] = (outcome, reason)

    @property
    def sha1hexes(self) -> dict[str, str]:
        return {hashed(body): name for name, body in self.pdfs.items()}


@contextmanager
def asked(folder: Path) -> Iterator[Asked]:
    """Work objects of every shape, good and bad, over a crawl in `folder` and a server on loopback."""
    names = ("stated", "unstated", "elsewhere", "loose")
    pdfs = {name: text_pdf([f"The {name} one has words."]) for name in names}
    one = Asked(folder, pdfs)
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
    members = [gzipped([record]) for record in records]
    (allowed / "crawl").mkdir()
    (allowed / "crawl" / "a.warc.gz").write_bytes(b"".join(members))
    starts = offsets(members)
    with answering() as server:
        one.requests = server.asked
        server.answers["/item-1/papers/a%20b.pdf"] = Given(body=pdfs["elsewhere"])
        one.settings = {
            "elsewhere_task_folder": str(allowed),
            "elsewhere_petabox_url": f"{server.url}/{{item}}/{{path}}",
            "elsewhere_private_addresses": True,
            "elsewhere_replay_url": "",
        }
        _ask_all(one, starts, str(outside))
        yield one


def _ask_all(one: Asked, starts: list[int], outside: str) -> None:
    def cdx(name: str, place: int, **more: Any) -> dict[str, Any]:
        """As `row_to_json` of the SQL table `cdx` gives it."""
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

    stated, elsewhere = hashed(one.pdfs["stated"]), hashed(one.pdfs["elsewhere"])
    of_cdx = cdx("stated", 0, sha1hex=stated, cdx_sha1hex=None)
    one.ask(stated, of_cdx, "http://x.example/stated", "done")
    one.ask("", cdx("unstated", 1), "http://x.example/unstated", "done")
    item = {"item": "item-1", "path": "papers/a b.pdf"}
    address = "https://archive.org/download/item-1/papers/a%20b.pdf"
    one.ask(elsewhere, {"sha1hex": elsewhere, "source": item}, address, "done")
    one.ask("", {"path": "loose.pdf"}, "loose.pdf", "done")

    wrong = cdx("wrong", 1, sha1hex="ab" * 20)
    one.ask("ab" * 20, wrong, "http://x.example/wrong", "quarantined", "damaged-record")
    one.statuses["ab" * 20] = "error-source"
    lost = {"cd" * 20: "lost.pdf", hashed(b""): "empty.pdf", hashed(b"no PDF"): "text.pdf"}
    (one.folder / "allowed" / "empty.pdf").write_bytes(b"")
    (one.folder / "allowed" / "text.pdf").write_bytes(b"no PDF")
    ends = [
        ("quarantined", "missing-source", "error-source"),
        ("dropped", "empty-body", "empty-blob"),
        ("dropped", "unsupported-type", "not-pdf"),
    ]
    for (key, path), (outcome, reason, status) in zip(lost.items(), ends, strict=True):
        one.ask(key, {"sha1hex": key, "path": path}, path, outcome, reason)
        one.statuses[key] = status
    page = cdx("page", 2)
    one.ask("", page, "http://x.example/page", "dropped", "unsupported-type")
    two = {**cdx("two", 0), "sha1hex": stated}
    one.ask(elsewhere, two, elsewhere, "quarantined", "bad-message")
    one.ask("nonsense", b"\x80\x03pickle", "nonsense", "quarantined", "bad-message")
    one.ask("nothing", {"sha1hex": stated}, "nothing", "quarantined", "bad-message")
    for path in (outside, "../outside.pdf", "link.pdf"):
        one.ask("", {"path": path}, path, "quarantined", "unreadable-source")
    gone = {"path": "gone.pdf"}
    one.ask("", gone, "gone.pdf", "quarantined", "missing-source")


@contextmanager
def working(home: Path, settings: Settings) -> Iterator[Stores]:
    """The stores of a home whose pipeline is worked off meanwhile by threads of this process."""
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


def settled(stores: Stores, count: int) -> None:
    """Waits until that many entries have come and have nothing open."""
    deadline = time.monotonic() + WAIT_MAX_S
    while True:
        rows = list(stores.records.find(EntryRow))
        if len(rows) == count and not any(row.open_count for row in rows):
            return
        assert time.monotonic() < deadline, [row for row in rows if row.open_count]
        time.sleep(0.1)


def check_books(stores: Stores, one: Asked, topic: str, settings: Settings) -> None:
    """Every message entered and ended as it should, and of every PDF all rows are there."""
    rows = {row.url.removeprefix(f"{topic} "): row for row in stores.records.find(EntryRow)}
    assert {url: (row.outcome, row.reason) for url, row in rows.items()} == one.ends
    assert all(row.detail for row in rows.values() if row.outcome == "quarantined")
    assert not any("Traceback" in (row.detail or "") for row in rows.values())
    pages = TestClient(create_app(stores), base_url="http://localhost:8765")
    for sha1hex, name in one.sha1hexes.items():
        description = build_description(stores, sha1hex)
        assert description.file is not None, name
        pdf: Any = description.derivatives.get("pdf")
        assert pdf is not None, name
        assert (pdf.status, description.file.size_bytes) == ("success", len(one.pdfs[name]))
        assert [row.sha1hex for row in description.captures] == [sha1hex], "it lies in a WARC"
        assert {row.kind for row in description.entries} == {"message"}
        assert description.document is not None
        assert description.text_key, "its text is there"
        assert description.thumbnail_key, "its picture is there"
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
    audited = run_audit(stores, {"library": list_readers(settings)})
    assert audited.fault_texts == []


def check_result(body: bytes, one: Asked) -> str:
    """A message of `pdf-text` as a bare client reads it; returns the file's SHA-1."""
    found = json.loads(body)
    jsonschema.Draft202012Validator(build_schemas()["pdf-text"]).validate(found)
    for name, kind in SEED_FIELDS.items():
        assert isinstance(found[name], kind), name
    sha1hex: str = found["sha1hex"]
    name = one.sha1hexes[sha1hex]
    assert (found["status"], found["page0_thumbnail"]) == ("success", True)
    assert f"The {name} one has words." in found["text"]
    assert found["pdf_extra"]["word_count"] == 5
    assert found["pdf_extra"]["page_count"] == 1
    meta = found["file_meta"]
    assert meta.keys() >= FILE_META_FIELDS
    assert (meta["sha1hex"], meta["size_bytes"]) == (sha1hex, len(one.pdfs[name]))
    assert meta["mimetype"] == "application/pdf"
    source = found["source"]
    wanted = {
        "stated": ("http://x.example/stated", "warc_path"),
        "unstated": ("http://x.example/unstated", "warc_path"),
        "elsewhere": ("https://archive.org/download/item-1/papers/a%20b.pdf", "item"),
        "loose": ((one.folder / "allowed" / "loose.pdf").as_uri(), "path"),
    }[name]
    assert source["url"] == wanted[0]
    assert source[wanted[1]], "where it came from can be followed"
    return sha1hex
