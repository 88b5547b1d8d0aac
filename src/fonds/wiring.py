"""Puts the system together: which class stands behind a URL, and which step behind a name.

The only file that names technologies; backends are imported when their URL is chosen.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from fonds.config import Settings
from fonds.extract.file_meta import describe
from fonds.extract.page import EXTRACTOR as PAGE_EXTRACTOR
from fonds.extract.page import PageExtraction, parse_page
from fonds.extract.pdf import EXTRACTOR as PDF_EXTRACTOR
from fonds.extract.pdf import PdfLimits, extract_pdf
from fonds.formats.journal import COLUMNS, FAMILIES, check_columns, journal_table
from fonds.model.errors import ConfigurationError
from fonds.model.message import Subscription
from fonds.model.pdf import PdfExtraction
from fonds.model.rows import CdxRow
from fonds.model.step import Result
from fonds.pipelines.library import LIBRARY
from fonds.ports import Archive, Stores
from fonds.runtime.binding import Steps, bind, subscriptions
from fonds.runtime.children import ChildLimits, ChildPool
from fonds.runtime.crew import Crew
from fonds.runtime.handover import ByFile, sweep
from fonds.runtime.intake import Intake, Marks
from fonds.runtime.loop import Bound, Loop, RetryPolicy
from fonds.sources.paths import PathSource
from fonds.steps.archive_body import ArchiveBody
from fonds.steps.extract_pdf import ExtractPdf
from fonds.steps.identify import Identify
from fonds.steps.import_story import ImportStory
from fonds.steps.parse_story import ParseStory
from fonds.steps.persist_file import PersistFile
from fonds.steps.persist_pdf_text import PersistPdfText
from fonds.steps.persist_thumbnail import PersistThumbnail
from fonds.stores.archive.local import LocalArchive

BACKENDS: dict[str, dict[str, str]] = {
    "queue": {"sqlite": "fonds.queues.sqlite:SqliteQueue"},
    "table": {"sqlite": "fonds.stores.table.sqlite:SqliteTable"},
    "records": {"sqlite": "fonds.stores.records.sql:open_sqlite"},
    "blobs": {"file": "fonds.stores.blobs.folder:FolderBlobs"},
    "index": {"tantivy": "fonds.stores.index.tantivy_index:TantivyIndex"},
}

TEXT_SHARE = 0.6  # of a PDF's time may go into its text, so that the rest is kept
SALVAGE_S = 10.0
READER_MODULES = (extract_pdf.__module__, parse_page.__module__)


def now() -> datetime:
    """The clock everything is given: aware UTC."""
    return datetime.now(UTC)


def backend(port: str, url: str, home: Path) -> Any:
    """The backend a URL names, opened. Raises ConfigurationError for a scheme no backend has."""
    scheme, _, rest = url.partition(":")
    known = BACKENDS[port]
    if scheme not in known:
        raise ConfigurationError(
            f"{port} = {url!r}: no backend for {scheme!r}; known are {', '.join(sorted(known))}"
        )
    module, _, name = known[scheme].partition(":")
    return getattr(import_module(module), name)(home / rest)


def topic_prefix(settings: Settings) -> str:
    """What stands before every topic's name: `{group}-{env}`."""
    return f"{settings.group}-{settings.env}"


def library_subscriptions(settings: Settings) -> list[Subscription]:
    """The subscriptions of the main pipeline, the entry first."""
    return subscriptions(LIBRARY, topic_prefix(settings))


def open_stores(home: Path, settings: Settings) -> Stores:
    """Open all six stores of a home, making what is not there yet and migrating what is older.

    Raises ConfigurationError for what cannot be opened.
    """
    home.mkdir(parents=True, exist_ok=True)
    stores = Stores(
        queue=backend("queue", settings.queue, home),
        table=backend("table", settings.table, home),
        records=backend("records", settings.records, home),
        blobs=backend("blobs", settings.blobs, home),
        index=backend("index", settings.index, home),
        archive=open_archive(home, settings),
        journal=journal_table(settings.group, settings.table_version, settings.env),
    )
    stores.queue.declare(library_subscriptions(settings))
    check_columns(COLUMNS)
    stores.table.declare(stores.journal, FAMILIES)
    return stores


def close_stores(stores: Stores) -> None:
    """Close what can be closed: messages in hand are given back at once, files and connections ended."""
    for store in (stores.queue, stores.table, stores.records, stores.index):
        getattr(store, "close", _nothing)()


def _nothing() -> None:
    """What closing means to a store that holds nothing open."""


def open_archive(home: Path, settings: Settings) -> Archive:
    """The archive of a home; nothing is written before the first body is."""
    archive: Archive = LocalArchive(
        home,
        prefix=settings.archive_prefix,
        version=f"WARC/{settings.archive_version}",
        body_max_bytes=max(settings.pdf_max_bytes, settings.page_max_bytes),
        stories_max=settings.archive_stories_max,
        file_max_bytes=settings.archive_max_bytes,
        private_addresses=settings.private_addresses,
    )
    return archive


def recover(stores: Stores) -> None:
    """Mend what a killed process left behind: bodies in our WARCs that nobody refers to are cut off."""

    def settled_end(path: str) -> int | None:
        rows = stores.records.find(
            CdxRow, {"warc_path": path}, order=("-warc_offset",), count_max=1
        )
        last = next(rows, None)
        return None if last is None else last.warc_offset + (last.warc_csize or 0)

    stores.archive.recover(settled_end)


@dataclass(frozen=True, slots=True)
class Readers:
    """The native parsers in their isolated processes; `close` ends those."""

    pool: ChildPool
    extract: Callable[[bytes], PdfExtraction]
    salvage: Callable[[bytes], PdfExtraction]
    parse: Callable[[bytes, str, str | None, datetime, bool], PageExtraction]

    def close(self) -> None:
        """End the processes."""
        self.pool.close()


def open_readers(spool: Path, settings: Settings) -> Readers:
    """Start the isolated processes; bodies are handed over in files below `spool`."""
    sweep(spool)
    pdf = ChildLimits(wall_s=settings.pdf_timeout_s, memory_bytes=settings.child_memory_bytes)
    page = replace(pdf, wall_s=settings.page_timeout_s)
    pool = ChildPool(settings.children or cores(), pdf, modules=READER_MODULES)
    whole = PdfLimits(
        pages_max=settings.pdf_pages_max,
        pixels_max=settings.pdf_pixels_max,
        size_max_bytes=settings.pdf_max_bytes,
        text_max_s=TEXT_SHARE * settings.pdf_timeout_s,
    )
    bare = replace(whole, pages_max=0, thumbnail_width=0)
    brief = replace(pdf, wall_s=min(SALVAGE_S, settings.pdf_timeout_s))
    return Readers(
        pool,
        extract=ByFile(pool.limited(pdf), extract_pdf, (whole,), spool),
        salvage=ByFile(pool.limited(brief), extract_pdf, (bare,), spool),
        parse=partial(pool.limited(page), parse_page),
    )


def cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0))


def library_steps(stores: Stores, readers: Readers, settings: Settings) -> Steps:
    """The steps of the main pipeline by name, each with whether it takes a batch."""
    archive, records, blobs = stores.archive, stores.records, stores.blobs
    copy = settings.copy_bodies
    return {
        "identify": (identify_step(archive, settings), False),
        "persist_file": (PersistFile(stores.table, records, stores.journal, copy, now), True),
        "extract_pdf": (
            ExtractPdf(archive, readers.extract, readers.salvage, PDF_EXTRACTOR),
            False,
        ),
        "persist_pdf_text": (PersistPdfText(records, blobs, stores.index, now), True),
        "persist_thumbnail": (PersistThumbnail(blobs), True),
        "parse_story": (ParseStory(archive, readers.parse, PAGE_EXTRACTOR, copy, now), False),
        "import_story": (ImportStory(records, blobs, stores.index, now), True),
        "archive_body": (ArchiveBody(archive, records, stores.table, stores.journal, now), True),
    }


def extraction_steps(
    archive: Archive, readers: Readers, settings: Settings
) -> dict[str, Callable[[Any], Result]]:
    """The steps that only read: what `fonds extract` needs."""
    return {
        "identify": identify_step(archive, settings),
        "extract_pdf": ExtractPdf(archive, readers.extract, readers.salvage, PDF_EXTRACTOR),
        "parse_story": ParseStory(archive, readers.parse, PAGE_EXTRACTOR, False, now),
    }


def identify_step(archive: Archive, settings: Settings) -> Identify:
    """The step `identify` with the limits of the settings."""
    return Identify(archive, describe, settings.pdf_max_bytes, settings.page_max_bytes)


def library_crew(stores: Stores, readers: Readers, settings: Settings) -> Crew:
    """The threads of the main pipeline, not yet started."""
    retry = RetryPolicy(settings.retries_max, settings.retry_first_s, settings.retry_longest_s)
    stages = bind(LIBRARY, library_steps(stores, readers, settings), topic_prefix(settings))

    def make_loop(bound: Bound) -> Loop:
        return Loop(bound, stores.queue, stores.records, retry, now)

    return Crew(stores.queue, stages, make_loop, settings.children or cores())


def library_intake(stores: Stores, settings: Settings, stopping: Callable[[], bool]) -> Intake:
    """What enters captures into the main pipeline."""
    marks = Marks(settings.queue_high, settings.queue_low)
    entry = library_subscriptions(settings)[0]
    return Intake(stores.queue, stores.records, entry, marks, now, stopping)


def path_source(paths: Sequence[Path], home: Path, settings: Settings) -> PathSource:
    """The source for what a person names on the command line."""
    return PathSource(paths, home, settings.collection, settings.warc_base)
