"""What the benches read: PDFs and pages chosen by lot from the corpus, or from the sample crawl."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fonds.config import Settings
from fonds.extract.mime import describe
from fonds.extract.pdf.extraction import PdfLimits, extract_pdf
from fonds.isolation.calls import ChildLimits
from fonds.isolation.pool import ChildPool, open_unnamed_body
from fonds.model.capture import Capture
from fonds.model.entry import Entry
from fonds.model.errors import PermanentError
from fonds.model.file import Kind
from fonds.ports import Archive
from fonds.wiring.pipelines import create_path_source
from fonds.wiring.stores import open_archive
from sample import write_sample

ROOT = Path(__file__).parents[1]


CORPUS = ROOT.parent / "shared" / "corpus"


BODY_MAX_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the input."""

    url: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Input:
    """What everything is measured on."""

    pdfs: Sequence[bytes]
    pages: Sequence[Page]


def sample_crawl(folder: Path) -> Path:
    write_sample(folder)
    return folder


def gather(data: Path, count: int, home: Path) -> Input:
    """`count` PDFs and pages, chosen by lot from a fixed seed; those Fonds cannot read are left out."""
    settings = Settings()
    archive, source = open_archive(home, settings), create_path_source([data], home, settings)
    found = (entry for row in source.iter_inputs() for entry in source.iter_entries(row))
    items = (entry.item for entry in found if isinstance(entry, Entry))
    captures = [
        item
        for item in items
        if isinstance(item, Capture) and item.damage is None and item.record_type != "revisit"
    ]
    random.Random(1).shuffle(captures)
    pdfs: dict[str, bytes] = {}
    pages: dict[str, Page] = {}
    with ChildPool(1, ChildLimits(wall_s=20.0)) as pool:
        for capture, body in _bodies(captures, archive):
            if len(pdfs) >= count and len(pages) >= count:
                break
            file = describe(body, capture.mime)
            if file.kind is Kind.PDF and len(pdfs) < count and _is_read(pool, body, home):
                pdfs[file.sha1] = body
            elif file.kind is Kind.STORY and len(pages) < count:
                pages[file.sha1] = Page(f"http://bench.example/{file.sha1}", body)
    return Input(list(pdfs.values()), list(pages.values()))


def _bodies(captures: Sequence[Capture], archive: Archive) -> Iterator[tuple[Capture, bytes]]:
    for capture in captures:
        try:
            body = archive.read(capture.place).body
        except PermanentError:
            continue
        if 0 < len(body) <= BODY_MAX_BYTES:
            yield capture, body


def _is_read(pool: ChildPool, body: bytes, folder: Path) -> bool:
    """Whether Fonds gets text out of a PDF: a broken one would compare who gives up sooner."""
    folder.mkdir(parents=True, exist_ok=True)
    with open_unnamed_body(body, folder) as opened:
        try:
            found = pool(extract_pdf, opened, PdfLimits())
        except (PermanentError, RuntimeError):
            return False
    return found.status.reason is None and bool(found.text)
