"""Input of the benchmarks: a random choice of PDFs and pages from the corpus or the sample crawl."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fonds.config import Settings
from fonds.extract.mime import describe
from fonds.extract.pdf.extraction import extract_pdf
from fonds.extract.pdf.limits import PdfLimits
from fonds.isolation.calls import ChildLimits
from fonds.isolation.pool import ChildPool, open_unnamed_body
from fonds.model.capture import Capture
from fonds.model.entry import Entry
from fonds.model.errors import PermanentError
from fonds.model.file import Kind
from fonds.ports import Archive
from fonds.wiring.archive import open_archive
from fonds.wiring.pipelines import create_path_source
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
    """The PDFs and pages of all measurements."""

    pdfs: Sequence[bytes]
    pages: Sequence[Page]


def write_sample_crawl(folder: Path) -> Path:
    write_sample(folder)
    return folder


def gather(data: Path, count: int, home: Path) -> Input:
    """Choose `count` PDFs and pages at random with a fixed seed. Skips those that Fonds cannot read."""
    settings = Settings()
    archive, source = open_archive(home, settings), create_path_source([data], home, settings)
    entries = (entry for row in source.iter_inputs() for entry in source.iter_entries(row))
    items = (entry.item for entry in entries if isinstance(entry, Entry))
    captures = [
        item
        for item in items
        if isinstance(item, Capture) and item.damage is None and item.record_type != "revisit"
    ]
    random.Random(1).shuffle(captures)
    pdfs: dict[str, bytes] = {}
    pages: dict[str, Page] = {}
    with ChildPool(1, ChildLimits(wall_s=20.0)) as pool:
        for capture, body in _iter_bodies(captures, archive):
            if len(pdfs) >= count and len(pages) >= count:
                break
            file = describe(body, capture.mime)
            if file.kind is Kind.PDF and len(pdfs) < count and _is_read(pool, body, home):
                pdfs[file.sha1] = body
            elif file.kind is Kind.STORY and len(pages) < count:
                pages[file.sha1] = Page(f"http://bench.example/{file.sha1}", body)
    return Input(list(pdfs.values()), list(pages.values()))


def _iter_bodies(captures: Sequence[Capture], archive: Archive) -> Iterator[tuple[Capture, bytes]]:
    for capture in captures:
        try:
            body = archive.read(capture.place).body
        except PermanentError:
            continue
        if 0 < len(body) <= BODY_MAX_BYTES:
            yield capture, body


def _is_read(pool: ChildPool, body: bytes, folder: Path) -> bool:
    """Tell whether Fonds extracts text from a PDF. A broken one would only compare who gives up sooner."""
    folder.mkdir(parents=True, exist_ok=True)
    with open_unnamed_body(body, folder) as opened:
        try:
            result = pool(extract_pdf, opened, PdfLimits())
        except (PermanentError, RuntimeError):
            return False
    return result.status.reason is None and bool(result.text)
