"""Creation of pipeline steps: one function per step, which imports the step when a pipeline uses
it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from fonds.archive.warc.scanner import Damage, RecordHead, read_heads
from fonds.config import Settings
from fonds.ingest.steps.fetch_download import FetchDownloadStep
from fonds.ingest.steps.spool import Spool
from fonds.model.capture import Capture
from fonds.model.disposition import Disposition
from fonds.model.errors import ConfigurationError
from fonds.model.file import FileMeta, UnextractedPdf
from fonds.model.paper import GROBID_EXTRACTOR, UngrobidedPdf
from fonds.model.secrets import strip_credentials
from fonds.model.step import Result
from fonds.model.task import Task
from fonds.pipelines.runtime.binding import Steps
from fonds.ports import Archive, ConcurrentStep, Sink, Step, Stores
from fonds.stores.journal_table.cells import FILE_META, read_file
from fonds.stores.journal_table.keys import build_row_key
from fonds.wiring.archive import create_s3_opener
from fonds.wiring.flavours import get_configured_pipeline
from fonds.wiring.identification import create_identify
from fonds.wiring.readers import Readers
from fonds.wiring.stores import create_warc_names, get_utc_now

Work = UnextractedPdf | UngrobidedPdf
REST_MAX_S = 2.0
StepOrSink = Step[Any] | Sink[Any] | ConcurrentStep


def extract_pdf(
    archive: Archive,
    readers: Readers,
    remember: Callable[[UnextractedPdf], Disposition | None],
    take_in: Callable[[Task | UnextractedPdf], Result],
) -> Step[Any]:
    """Create the step `extract_pdf`, which extracts text, metadata and thumbnails from PDFs.

    `remember`: returns the disposition of a PDF that needs no reading, else None.
    `take_in`: converts a task of another program to the input that the step expects.
    """
    from fonds.ingest.steps.extract_pdf import ExtractPdfStep

    name = readers.pdf_extractor
    return ExtractPdfStep(archive, readers.extract, readers.salvage, name, remember, take_in)


def create_intake_step(
    stores: Stores,
    settings: Settings,
    work: Callable[[Capture, FileMeta], Work],
    remember: Callable[[Any], Disposition | None],
) -> Callable[[Task | Work], Result]:
    """Return a function that converts tasks of other programs to inputs of a pipeline step.

    It first records each task as if it were a capture. An input that already has the form that the
    step expects is returned unchanged, if its file is known.

    `work`: builds the input of the step from a capture and its file.
    `remember`: returns the disposition of an input that needs no reading, else None.
    """
    from fonds.ingest.sources.task_lists import TaskPlaces
    from fonds.ingest.steps.persist_file import PersistFileStep
    from fonds.ingest.steps.take_in import TaskIntake

    base, folder = strip_credentials(settings.warc.base), settings.elsewhere.task_folder
    places = TaskPlaces(base, folder, settings.follow_links)
    copy_bodies = should_copy_bodies(settings)
    name_location = create_warc_names(stores).name_place
    persist_file = PersistFileStep(
        stores.table, stores.records, stores.journal, copy_bodies, get_utc_now, name_location
    )
    identify = create_identify(stores.archive, settings)

    def load_file(sha1hex: str) -> FileMeta | None:
        key = build_row_key(sha1hex)
        cells = stores.table.get(stores.journal, [key], [FILE_META]).get(key, {})
        try:
            return read_file(cells)
        except ValueError:
            # The audit reports a damaged cell; meanwhile the file is read again.
            return None

    def scan(path: str) -> Iterator[RecordHead | Damage]:
        with stores.archive.open(path) as stream:
            yield from read_heads(stream)

    def needs_reading(item: Work) -> bool:
        return remember(item) is None

    return TaskIntake(
        stores.records,
        places,
        identify,
        persist_file,
        work,
        get_utc_now,
        name_location,
        load_file,
        scan,
        needs_reading,
    )


def pass_known_work(item: Task | Work) -> Result:
    """Return the input of a step unchanged, for steps that run without stores.

    Raises ConfigurationError for a task of another program, which would have to be recorded.
    """
    if isinstance(item, Task):
        raise ConfigurationError(
            f"{item.address}: tasks of other programs need a dedicated pipeline"
        )
    return Result(items=(item,))


def should_copy_bodies(settings: Settings) -> bool:
    """Return whether bodies in WARCs of other people are copied to WARCs written by Fonds."""
    return settings.warc.copy_bodies or get_configured_pipeline(settings).copies


def parse_story(archive: Archive, readers: Readers, settings: Settings) -> Step[Any]:
    """Create the step `parse_story`, which extracts stories from pages."""
    from fonds.ingest.steps.parse_story import ParseStoryStep
    from fonds.wiring.links import build_link_rules

    name, copy_bodies = readers.page_extractor, should_copy_bodies(settings)
    return ParseStoryStep(
        archive,
        readers.parse,
        name,
        copy_bodies,
        get_utc_now,
        build_link_rules(settings).find_refusal,
    )


def build_reading_steps(archive: Archive, readers: Readers, settings: Settings) -> Steps:
    """Create those steps that read bodies and store nothing, by name. `fonds extract` and bulk jobs
    use them.
    """
    from fonds.derivatives.pdf import find_no_ending
    from fonds.papers.jats_step import ArticleReader

    return {
        "identify": create_identify(archive, settings),
        "extract_pdf": extract_pdf(archive, readers, find_no_ending, pass_known_work),
        "parse_story": parse_story(archive, readers, settings),
        "read_article": ArticleReader(archive, readers.read_jats),
    }


def _build_identify(stores: Stores, readers: Readers, settings: Settings) -> StepOrSink:
    return create_identify(stores.archive, settings)


def _build_persist_file(stores: Stores, readers: Readers, settings: Settings) -> StepOrSink:
    from fonds.ingest.steps.persist_file import PersistFileStep

    name_location = create_warc_names(stores).name_place
    target_stores = (stores.table, stores.records, stores.journal)
    return PersistFileStep(*target_stores, should_copy_bodies(settings), get_utc_now, name_location)


def _build_index_rights(stores: Stores, readers: Readers, settings: Settings) -> StepOrSink:
    from fonds.ingest.steps.index_rights import IndexRightsStep

    return IndexRightsStep(stores.records, stores.blobs, stores.index)


def _build_fetch(stores: Stores, readers: Readers, settings: Settings) -> StepOrSink:
    from fonds.wiring.links import create_fetch

    return create_fetch(stores, settings)


def _build_archive_unparsed(stores: Stores, readers: Readers, settings: Settings) -> StepOrSink:
    from fonds.ingest.steps.archive_body import (
        ArchiveUnparsedStep,
    )

    return ArchiveUnparsedStep(should_copy_bodies(settings))


def _build_archive_body(stores: Stores, readers: Readers, settings: Settings) -> StepOrSink:
    from fonds.wiring.links import create_archive_body

    return create_archive_body(stores, settings)


def _build_extract_pdf(stores: Stores, readers: Readers, settings: Settings) -> StepOrSink:
    from fonds.derivatives.pdf import KnownPdfs

    known_pdfs = KnownPdfs(stores.records, readers.pdf_extractor, get_utc_now)
    return extract_pdf(
        stores.archive,
        readers,
        known_pdfs,
        create_intake_step(stores, settings, UnextractedPdf, known_pdfs),
    )


def _build_persist_pdf_text(stores: Stores, readers: Readers, settings: Settings) -> StepOrSink:
    from fonds.ingest.steps.persist_pdf import PersistPdfTextStep

    days = settings.pdf.stopped_days
    return PersistPdfTextStep(stores.records, stores.blobs, stores.index, get_utc_now, days)


def _build_persist_thumbnail(stores: Stores, readers: Readers, settings: Settings) -> StepOrSink:
    from fonds.ingest.steps.persist_pdf import (
        PersistThumbnailStep,
    )

    return PersistThumbnailStep(stores.blobs, stores.records)


def _build_parse_story(stores: Stores, readers: Readers, settings: Settings) -> StepOrSink:
    return parse_story(stores.archive, readers, settings)


def _build_restore_story(stores: Stores, readers: Readers, settings: Settings) -> StepOrSink:
    from fonds.ingest.steps.restore_story import RestoreStoryStep

    return RestoreStoryStep(stores.archive)


def _build_fetch_download(stores: Stores, readers: Readers, settings: Settings) -> StepOrSink:

    return create_fetch_download(stores, settings)


def _wait(away_s: float) -> None:
    time.sleep(min(away_s, REST_MAX_S))


def _build_grobid(stores: Stores, readers: Readers, settings: Settings) -> StepOrSink:
    from fonds.derivatives.grobid import KnownGrobid
    from fonds.papers.grobid_client import GrobidClient
    from fonds.papers.grobid_step import GrobidStep

    grobid_settings = settings.grobid
    grobid_client = GrobidClient(
        grobid_settings.url,
        grobid_settings.at_once,
        grobid_settings.timeout_s,
        grobid_settings.tei_max_bytes,
    )
    known_results = KnownGrobid(stores.records, GROBID_EXTRACTOR)
    intake_step = create_intake_step(stores, settings, UngrobidedPdf, known_results)
    return GrobidStep(
        stores.archive,
        grobid_client,
        GROBID_EXTRACTOR,
        known_results,
        intake_step,
        _wait,
        readers.read_tei,
    )


def _build_persist_bibliography(stores: Stores, readers: Readers, settings: Settings) -> StepOrSink:
    from fonds.papers.bibliography_step import PersistBibliographyStep

    return PersistBibliographyStep(stores.table, stores.records, stores.journal, get_utc_now)


def _build_persist_grobid(stores: Stores, readers: Readers, settings: Settings) -> StepOrSink:
    from fonds.papers.grobid_step import PersistGrobidStep

    target_stores = (stores.table, stores.records, stores.blobs, stores.journal)
    return PersistGrobidStep(*target_stores, readers.read_tei, get_utc_now)


def _build_import_jats(stores: Stores, readers: Readers, settings: Settings) -> StepOrSink:
    from fonds.papers.jats_step import ImportJatsStep

    target_stores = (stores.archive, stores.table, stores.records, stores.blobs, stores.index)
    return ImportJatsStep(*target_stores, stores.journal, readers.read_jats, get_utc_now)


def _build_match(stores: Stores, readers: Readers, settings: Settings) -> StepOrSink:
    from fonds.papers.catalog.store import Catalog, name_catalog_table
    from fonds.papers.match_step import MatchPapersStep

    @cache
    def catalog() -> Catalog:
        opened_catalog = Catalog(stores.table, name_catalog_table(settings.group, settings.env))
        opened_catalog.declare()
        return opened_catalog

    return MatchPapersStep(stores.table, stores.records, stores.journal, catalog, get_utc_now)


def _build_import_story(stores: Stores, readers: Readers, settings: Settings) -> StepOrSink:
    from fonds.ingest.steps.import_story import ImportStoryStep

    return ImportStoryStep(stores.records, stores.blobs, stores.index, get_utc_now)


STEPS: Mapping[str, Callable[[Stores, Readers, Settings], StepOrSink]] = {
    "fetch": _build_fetch,
    "fetch_download": _build_fetch_download,
    "identify": _build_identify,
    "persist_file": _build_persist_file,
    "index_rights": _build_index_rights,
    "archive_unparsed": _build_archive_unparsed,
    "archive_body": _build_archive_body,
    "extract_pdf": _build_extract_pdf,
    "persist_pdf_text": _build_persist_pdf_text,
    "persist_thumbnail": _build_persist_thumbnail,
    "grobid": _build_grobid,
    "persist_grobid": _build_persist_grobid,
    "persist_bibliography": _build_persist_bibliography,
    "parse_story": _build_parse_story,
    "restore_story": _build_restore_story,
    "match": _build_match,
    "import_jats": _build_import_jats,
    "import_story": _build_import_story,
}


def build_step(name: str, stores: Stores, readers: Readers, settings: Settings) -> StepOrSink:
    """Create the pipeline step with this name. Raises ConfigurationError if there is none."""
    if name not in STEPS:
        raise ConfigurationError(f"No step {name!r}. Known: {', '.join(STEPS)}")
    return STEPS[name](stores, readers, settings)


# Fetching of an older system's downloads from its bucket to the spool.


@dataclass(frozen=True, slots=True)
class S3Downloads:
    """Reads objects in S3, with the time at which they were written. Implements `DownloadStore`.

    `objects`: returns the S3 client. It is called when an object is needed.
    """

    objects: Callable[[], Any]

    def read_dated(
        self, url: str, max_bytes: int, version: str | None = None
    ) -> tuple[bytes, datetime]:
        """Return the bytes of an S3 object and the time when it was written (aware UTC).

        `url`: `s3://BUCKET/KEY`.
        `max_bytes`: maximum size of the object.
        `version`: id of a version of the object; None for the newest.
        """
        dated_object: tuple[bytes, datetime] = self.objects().read_dated(url, max_bytes, version)
        return dated_object

    def list_versions(self, url: str) -> list[tuple[str, datetime]]:
        """Return the version ids of an S3 object, each with the time when it was written (aware
        UTC).
        """
        versions: list[tuple[str, datetime]] = self.objects().list_versions(url)
        return versions


def create_fetch_download(stores: Stores, settings: Settings) -> Step[Any]:
    """Create the step `fetch_download`, which copies pages that an older system downloaded from S3
    to the spool.
    """
    downloads = S3Downloads(create_s3_opener(Path(), settings))
    return FetchDownloadStep(
        downloads, Spool(stores.blobs, stores.records, stores.archive), settings.page.max_bytes
    )
