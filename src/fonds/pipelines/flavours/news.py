"""Flavours that begin with links: fetch pages and PDFs, parse and archive them, and make them
searchable.

`queue-fetcher`, `csv`, `batch` and `historical` are from seed document 004. They differ in their
input and in the names of their WARCs. `historical` reads pages that an older system downloaded.
"""

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
    """Build the pipeline `news`. `more_thumbnails` are thumbnail formats besides the default, such
    as `360px-webp`.

    Raises ConfigurationError for an invalid format.
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
        "fetched links; PDFs and pages stored, archived and searchable",
    )


def build_queue_fetcher(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """Build the pipeline `queue-fetcher`, for links of followed sources. `more_thumbnails` has no
    effect.
    """
    return _build_stories("queue-fetcher", "fetched links of followed sources; only stories", "mc")


def build_csv(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """Build the pipeline `csv`, for links from lists. `more_thumbnails` has no effect."""
    return _build_stories("csv", "fetched links of lists; only stories", "mccsv")


def build_batch(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """Build the pipeline `batch`, for links from whole days of synthetic RSS. `more_thumbnails` has
    no effect.
    """
    return _build_stories("batch", "fetched links of whole days of RSS; only stories", "mc")


def build_historical(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """Build the pipeline `historical`, for pages downloaded by an older system, which tables list.

    `more_thumbnails` has no effect.
    """
    description = "downloads of an older system from S3; only stories"
    return _build_stories("historical", description, "mchist{YYYY}", FETCH_DOWNLOAD)


def _build_stories(name: str, description: str, warc_prefix: str, fetch: Stage = FETCH) -> Pipeline:
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
        description,
        warc_prefix=warc_prefix,
    )


FLAVOURS = {
    "news": build_news,
    "queue-fetcher": build_queue_fetcher,
    "csv": build_csv,
    "batch": build_batch,
    "historical": build_historical,
}
