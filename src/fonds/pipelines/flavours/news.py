"""The flavours that begin with links: what they lead to is fetched, read, archived and searchable.

`queue-fetcher`, `csv`, `batch` and `historical` are seed 004's: what comes in tells them apart, and the names
of WARCs; `historical` fetches what an old system kept."""

from __future__ import annotations

from collections.abc import Sequence

from fonds.model.file import Kind, UnextractedPdf
from fonds.model.step import Output, Pipeline, Stage
from fonds.pipelines.flavours.stages import (
    ARCHIVE_BODY,
    FETCH,
    FETCH_DOWNLOAD,
    LINKS,
    STORIES,
    UNARCHIVED,
    UNEXTRACTED,
    UNPARSED,
    build_file_stages,
    build_pdf_stages,
    build_story_stages,
    identify,
    omit_kinds,
)


def build_news(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """The flavour, with thumbnails of further forms (`360px-webp`) where it makes any.

    Raises ConfigurationError for a form that is none.
    """
    return Pipeline(
        "news",
        LINKS,
        (
            FETCH,
            identify(),
            *build_file_stages((UNEXTRACTED, UNPARSED, UNARCHIVED)),
            *build_pdf_stages(more_thumbnails, (UNARCHIVED,)),
            *build_story_stages((STORIES, UNARCHIVED)),
            ARCHIVE_BODY,
        ),
        "links fetched; PDFs and pages kept, archived and searchable",
    )


def build_queue_fetcher(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """Links of sources that are followed; `more_thumbnails` makes none."""
    return _build_stories("queue-fetcher", "links of followed sources fetched; stories alone", "mc")


def build_csv(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """Links out of lists; `more_thumbnails` makes none."""
    return _build_stories("csv", "links of lists fetched; stories alone", "mccsv")


def build_batch(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """Links out of whole days of synthetic RSS; `more_thumbnails` makes none."""
    return _build_stories("batch", "links of whole-day RSS fetched; stories alone", "mc")


def build_historical(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """Downloads of an old system, by the ids its tables name; `more_thumbnails` makes none."""
    about = "downloads of an old system out of S3; stories alone"
    return _build_stories("historical", about, "mchist{YYYY}", FETCH_DOWNLOAD)


def _build_stories(name: str, about: str, warc_prefix: str, fetch: Stage = FETCH) -> Pipeline:
    return Pipeline(
        name,
        fetch.reads,
        (
            fetch,
            identify(*omit_kinds(Kind.PDF, Kind.JATS, Kind.UNREAD)),
            *build_file_stages((UNPARSED, UNARCHIVED), Output(UnextractedPdf)),
            *build_story_stages((STORIES, UNARCHIVED)),
            ARCHIVE_BODY,
        ),
        about,
        warc_prefix=warc_prefix,
    )


FLAVOURS = {
    "news": build_news,
    "queue-fetcher": build_queue_fetcher,
    "csv": build_csv,
    "batch": build_batch,
    "historical": build_historical,
}
