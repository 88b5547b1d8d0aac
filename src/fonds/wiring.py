"""Puts the system together: which class stands behind a URL, and which step behind a name.

The only file that names technologies. Backends are imported when their URL is chosen, and the parsers
only by what reads files, so that commands that only look start at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fonds.config import Settings
from fonds.extract.file_meta import describe
from fonds.formats.journal import COLUMNS, FAMILIES, check_columns, journal_table
from fonds.model.errors import ConfigurationError, FondsError
from fonds.model.message import Subscription
from fonds.model.rows import CdxRow
from fonds.pipelines.library import LIBRARY
from fonds.ports import Archive, Stores
from fonds.runtime.binding import Steps, bind, subscriptions
from fonds.runtime.children import ChildLimits, ChildPool
from fonds.runtime.children.handover import ByFile, sweep
from fonds.runtime.crew import Crew
from fonds.runtime.intake import Intake, Marks
from fonds.runtime.loop import Bound, Loop
from fonds.runtime.working import RetryPolicy
from fonds.sources.paths import PathSource
from fonds.stores.archive.local import LocalArchive

if TYPE_CHECKING:
    from fonds.extract.page import PageExtraction
    from fonds.model.pdf import PdfExtraction

BACKENDS: dict[str, dict[str, str]] = {
    "queue": {"sqlite": "fonds.queues.sqlite:SqliteQueue"},
    "table": {"sqlite": "fonds.stores.table.sqlite:SqliteTable"},
    "records": {"sqlite": "fonds.stores.records.sql:open_sqlite"},
    "blobs": {"file": "fonds.stores.blobs.folder:FolderBlobs"},
    "index": {"tantivy": "fonds.stores.index.tantivy_index:TantivyIndex"},
}

ON_THIS_MACHINE = frozenset({"sqlite", "file", "tantivy"})  # their URL is a path below the home
TEXT_SHARE = 0.6  # of a PDF's time may go into its text, so that the rest is kept
SALVAGE_S = 10.0
READING_STEPS = ("identify", "extract_pdf", "parse_story")


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
    place = home / rest if scheme in ON_THIS_MACHINE else url
    return getattr(import_module(module), name)(place)


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


def set_index_aside(stores: Stores, home: Path, settings: Settings) -> tuple[Stores, Path]:
    """The same stores with an empty index, and where the folder of the old one lies now.

    Raises ConfigurationError when the index is no folder of this machine, or cannot be moved.
    """
    scheme, _, rest = settings.index.partition(":")
    if scheme not in ON_THIS_MACHINE:
        raise ConfigurationError(
            f"index = {settings.index!r} is no folder that could be moved aside; empty it yourself,"
            " then run `fonds reindex` again"
        )
    folder = home / rest
    names = (folder.with_name(f"{folder.name}.damaged-{number}") for number in count(1))
    aside = next(path for path in names if not os.path.lexists(path))
    with suppress(FondsError):
        # A damaged index may not be closed without complaint; its lock is given up all the same.
        getattr(stores.index, "close", _nothing)()
    try:
        folder.rename(aside)
    except OSError as error:
        raise ConfigurationError(
            f"{folder} cannot be moved to {aside} ({error.strerror}). Move it away yourself,"
            " then run `fonds reindex` again."
        ) from error
    return replace(stores, index=backend("index", settings.index, home)), aside


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
    from fonds.extract.page import parse_page
    from fonds.extract.pdf import PdfLimits, extract_pdf

    sweep(spool)
    pdf = ChildLimits(wall_s=settings.pdf_timeout_s, memory_bytes=settings.child_memory_bytes)
    page = replace(pdf, wall_s=settings.page_timeout_s)
    pool = ChildPool(
        settings.children or cores(), pdf, modules=(extract_pdf.__module__, parse_page.__module__)
    )
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
    """The steps of the main pipeline by name."""
    resources = reading_resources(stores.archive, readers, settings) | {
        "table": stores.table,
        "records": stores.records,
        "blobs": stores.blobs,
        "index": stores.index,
        "journal": stores.journal,
    }
    return {stage.step: build_step(stage.step, resources) for stage in LIBRARY.stages}


def reading_steps(archive: Archive, readers: Readers, settings: Settings) -> Steps:
    """The steps that read bodies and store nothing: all that `fonds extract` needs."""
    resources = reading_resources(archive, readers, settings)
    return {name: build_step(name, resources) for name in READING_STEPS}


def reading_resources(archive: Archive, readers: Readers, settings: Settings) -> dict[str, Any]:
    """What a step may ask for by the name of a field, but for the stores."""
    from fonds.extract.page import EXTRACTOR as PAGE_EXTRACTOR
    from fonds.extract.pdf import EXTRACTOR as PDF_EXTRACTOR

    return {
        "archive": archive,
        "clock": now,
        "copy_bodies": settings.copy_bodies,
        "describe": describe,
        "extract": readers.extract,
        "page_extractor": PAGE_EXTRACTOR,
        "page_max_bytes": settings.page_max_bytes,
        "parse": readers.parse,
        "pdf_extractor": PDF_EXTRACTOR,
        "pdf_max_bytes": settings.pdf_max_bytes,
        "salvage": readers.salvage,
    }


def build_step(name: str, resources: Mapping[str, Any]) -> Callable[[Any], Any]:
    """The one class of `steps/NAME.py`, each field filled by the resource of its name.

    Raises ConfigurationError when there is no such step, or no such resource.
    """
    try:
        module = import_module(f"fonds.steps.{name}")
    except ModuleNotFoundError as error:
        raise ConfigurationError(f"there is no step {name!r}: {error}") from error
    (kind,) = (
        value
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__
    )
    wanted = [field.name for field in fields(kind)]
    missing = [field for field in wanted if field not in resources]
    if missing:
        raise ConfigurationError(f"the step {name!r} asks for {missing}, and nothing has that name")
    step: Callable[[Any], Any] = kind(**{field: resources[field] for field in wanted})
    return step


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
