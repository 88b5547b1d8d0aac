"""What each step is made of: one function a step, loaded when a pipeline has it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from fonds.config import Settings
from fonds.formats.journal import FILE_META, read_file, row_key
from fonds.formats.warc import Damage, RecordHead, read_heads
from fonds.model.capture import Capture
from fonds.model.disposition import Disposition
from fonds.model.errors import ConfigurationError
from fonds.model.file import FileMeta, Unextracted
from fonds.model.link import Link
from fonds.model.paper import ASKED_FOR, Ungrobided
from fonds.model.secrets import without_user
from fonds.model.step import Result
from fonds.model.task import Task
from fonds.ports import Archive, Errands, Sink, Step, Stores
from fonds.runtime.binding import Steps
from fonds.wiring.backends import now, pipeline_of, warc_names
from fonds.wiring.readers import Readers

Work = Unextracted | Ungrobided
REST_MAX_S = 2.0
ARCHIVE = "archive"
Made = Step[Any] | Sink[Any] | Errands


def identify(archive: Archive, settings: Settings) -> Step[Any]:
    """What a capture holds."""
    from fonds.extract.file_meta import describe
    from fonds.steps.intake.identify import KEPT_STATUSES, SUCCESSES, Identify

    # Whoever archived a story took its page for one, whichever of these its server answered.
    statuses = SUCCESSES if settings.pipeline == ARCHIVE else KEPT_STATUSES
    begins_with_links = pipeline_of(settings).entry.payload is Link
    limits = (settings.pdf.max_bytes, settings.page.max_bytes)
    return Identify(archive, describe, *limits, statuses, begins_with_links)


def extract_pdf(
    archive: Archive,
    readers: Readers,
    remember: Callable[[Unextracted], Disposition | None],
    take_in: Callable[[Task | Unextracted], Result],
) -> Step[Any]:
    """A PDF read; `remember` says how one ends that needs no reading, `take_in` makes work of a task."""
    from fonds.steps.pdf.extract_pdf import ExtractPdf

    name = readers.pdf_extractor
    return ExtractPdf(archive, readers.extract, readers.salvage, name, remember, take_in)


def take_in(
    stores: Stores,
    settings: Settings,
    work: Callable[[Capture, FileMeta], Work],
    remember: Callable[[Any], Disposition | None],
) -> Callable[[Task | Work], Result]:
    """Other programs' tasks, noted as every capture is; `work` makes of one what is asked for.

    `remember` says how work ends that needs no reading.
    """
    from fonds.sources.tasks import TaskPlaces
    from fonds.steps.intake.persist_file import PersistFile
    from fonds.steps.intake.take_in import TakeIn

    base, folder = without_user(settings.warc.base), settings.elsewhere.task_folder
    places = TaskPlaces(base, folder, settings.follow_links)
    copy_bodies = copies(settings)
    named = warc_names(stores).named
    persist = PersistFile(stores.table, stores.records, stores.journal, copy_bodies, now, named)
    read = identify(stores.archive, settings)

    def file_of(sha1hex: str) -> FileMeta | None:
        key = row_key(sha1hex)
        cells = stores.table.get(stores.journal, [key], [FILE_META]).get(key, {})
        try:
            return read_file(cells)
        except ValueError:
            # A damaged cell is for the audit; the file is read again meanwhile.
            return None

    def scan(path: str) -> Iterator[RecordHead | Damage]:
        with stores.archive.open(path) as stream:
            yield from read_heads(stream)

    def needs_reading(item: Work) -> bool:
        return remember(item) is None

    return TakeIn(
        stores.records, places, read, persist, work, now, named, file_of, scan, needs_reading
    )


def take_known(item: Task | Work) -> Result:
    """Known work as it is, where there are no stores to look into; tasks do not come there."""
    if isinstance(item, Task):
        raise ConfigurationError(
            f"{item.address}: tasks of other programs are for a pipeline alone"
        )
    return Result(items=(item,))


def copies(settings: Settings) -> bool:
    """Whether bodies out of other people's WARCs are written to ours."""
    return settings.warc.copy_bodies or pipeline_of(settings).copies


def parse_story(archive: Archive, readers: Readers, settings: Settings) -> Step[Any]:
    """A page read."""
    from fonds.steps.story.parse_story import ParseStory
    from fonds.wiring.links.link_inputs import link_rules

    name, copy_bodies = readers.page_extractor, copies(settings)
    return ParseStory(archive, readers.parse, name, copy_bodies, now, link_rules(settings).refusal)


def reading_steps(archive: Archive, readers: Readers, settings: Settings) -> Steps:
    """The steps that read bodies and store nothing: all that `fonds extract` needs."""
    from fonds.bulk.extraction.articles import ReadArticle
    from fonds.kinds.known_pdfs import forget

    return {
        "identify": identify(archive, settings),
        "extract_pdf": extract_pdf(archive, readers, forget, take_known),
        "parse_story": parse_story(archive, readers, settings),
        "read_article": ReadArticle(archive, readers.read_jats),
    }


def _identify(stores: Stores, readers: Readers, settings: Settings) -> Made:
    return identify(stores.archive, settings)


def _persist_file(stores: Stores, readers: Readers, settings: Settings) -> Made:
    from fonds.steps.intake.persist_file import PersistFile

    named = warc_names(stores).named
    kept = (stores.table, stores.records, stores.journal)
    return PersistFile(*kept, copies(settings), now, named)


def _index_rights(stores: Stores, readers: Readers, settings: Settings) -> Made:
    from fonds.steps.intake.index_rights import IndexRights

    return IndexRights(stores.records, stores.blobs, stores.index)


def _fetch(stores: Stores, readers: Readers, settings: Settings) -> Made:
    from fonds.wiring.links.fetching import make_fetch

    return make_fetch(stores, settings)


def _archive_unparsed(stores: Stores, readers: Readers, settings: Settings) -> Made:
    from fonds.steps.intake.archive_unparsed import ArchiveUnparsed

    return ArchiveUnparsed(copies(settings))


def _archive_body(stores: Stores, readers: Readers, settings: Settings) -> Made:
    from fonds.steps.intake.archive_body import ArchiveBody
    from fonds.wiring.backends import pipeline_of

    kept = (stores.archive, stores.records, stores.table, stores.blobs)
    return ArchiveBody(*kept, stores.journal, now, pipeline_of(settings).warc_prefix)


def _extract_pdf(stores: Stores, readers: Readers, settings: Settings) -> Made:
    from fonds.kinds.known_pdfs import KnownPdfs

    known = KnownPdfs(stores.records, readers.pdf_extractor, now)
    return extract_pdf(
        stores.archive, readers, known, take_in(stores, settings, Unextracted, known)
    )


def _persist_pdf_text(stores: Stores, readers: Readers, settings: Settings) -> Made:
    from fonds.steps.pdf.persist_pdf_text import PersistPdfText

    days = settings.pdf.stopped_days
    return PersistPdfText(stores.records, stores.blobs, stores.index, now, days)


def _persist_thumbnail(stores: Stores, readers: Readers, settings: Settings) -> Made:
    from fonds.steps.pdf.persist_thumbnail import PersistThumbnail

    return PersistThumbnail(stores.blobs, stores.records)


def _parse_story(stores: Stores, readers: Readers, settings: Settings) -> Made:
    return parse_story(stores.archive, readers, settings)


def _restore_story(stores: Stores, readers: Readers, settings: Settings) -> Made:
    from fonds.steps.story.restore_story import RestoreStory

    return RestoreStory(stores.archive)


def _fetch_download(stores: Stores, readers: Readers, settings: Settings) -> Made:
    from fonds.wiring.elsewhere.downloads import make_fetch_download

    return make_fetch_download(stores, settings)


def _rest(away_s: float) -> None:
    time.sleep(min(away_s, REST_MAX_S))


def _grobid(stores: Stores, readers: Readers, settings: Settings) -> Made:
    from fonds.kinds.papers.grobid import KnownGrobid
    from fonds.services.grobid import Grobid
    from fonds.steps.paper.grobid import AskGrobid

    chosen = settings.grobid
    ask = Grobid(chosen.url, chosen.at_once, chosen.timeout_s, chosen.tei_max_bytes)
    known = KnownGrobid(stores.records, ASKED_FOR)
    asked = take_in(stores, settings, Ungrobided, known)
    return AskGrobid(stores.archive, ask, ASKED_FOR, known, asked, _rest, readers.read_tei)


def _persist_bibliography(stores: Stores, readers: Readers, settings: Settings) -> Made:
    from fonds.steps.paper.persist_bibliography import PersistBibliography

    return PersistBibliography(stores.table, stores.records, stores.journal, now)


def _persist_grobid(stores: Stores, readers: Readers, settings: Settings) -> Made:
    from fonds.steps.paper.persist_grobid import PersistGrobid

    kept = (stores.table, stores.records, stores.blobs, stores.journal)
    return PersistGrobid(*kept, readers.read_tei, now)


def _import_jats(stores: Stores, readers: Readers, settings: Settings) -> Made:
    from fonds.steps.paper.import_jats import ImportJats

    kept = (stores.archive, stores.table, stores.records, stores.blobs, stores.index)
    return ImportJats(*kept, stores.journal, readers.read_jats, now)


def _match(stores: Stores, readers: Readers, settings: Settings) -> Made:
    from fonds.catalog.keys import catalog_table
    from fonds.catalog.store import Catalog
    from fonds.steps.paper.match import MatchPapers

    @cache
    def catalog() -> Catalog:
        found = Catalog(stores.table, catalog_table(settings.group, settings.env))
        found.declare()
        return found

    return MatchPapers(stores.table, stores.records, stores.journal, catalog, now)


def _import_story(stores: Stores, readers: Readers, settings: Settings) -> Made:
    from fonds.steps.story.import_story import ImportStory

    return ImportStory(stores.records, stores.blobs, stores.index, now)


STEPS: Mapping[str, Callable[[Stores, Readers, Settings], Made]] = {
    "fetch": _fetch,
    "fetch_download": _fetch_download,
    "identify": _identify,
    "persist_file": _persist_file,
    "index_rights": _index_rights,
    "archive_unparsed": _archive_unparsed,
    "archive_body": _archive_body,
    "extract_pdf": _extract_pdf,
    "persist_pdf_text": _persist_pdf_text,
    "persist_thumbnail": _persist_thumbnail,
    "grobid": _grobid,
    "persist_grobid": _persist_grobid,
    "persist_bibliography": _persist_bibliography,
    "parse_story": _parse_story,
    "restore_story": _restore_story,
    "match": _match,
    "import_jats": _import_jats,
    "import_story": _import_story,
}


def build_step(name: str, stores: Stores, readers: Readers, settings: Settings) -> Made:
    """The step of this name. Raises ConfigurationError when there is none."""
    if name not in STEPS:
        raise ConfigurationError(f"there is no step {name!r}; there are {', '.join(STEPS)}")
    return STEPS[name](stores, readers, settings)
