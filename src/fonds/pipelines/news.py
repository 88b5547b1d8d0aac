"""The flavours that begin with links: what they lead to is fetched, read, archived and searchable.

`queue-fetcher`, `csv`, `batch` and `historical` are seed 004's: what comes in tells them apart, and the names
of WARCs; `historical` fetches what an old system kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from fonds.model.file import Kind, Unextracted
from fonds.model.step import Output, Pipeline, Stage
from fonds.pipelines.stages import (
    ARCHIVE_BODY,
    FETCH,
    FETCH_DOWNLOAD,
    file_stages,
    identify,
    pdf_stages,
    story_stages,
    without,
)
from fonds.pipelines.topics import LINKS, STORIES, UNARCHIVED, UNEXTRACTED, UNPARSED


def news(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """The flavour, with thumbnails of further forms (`360px-webp`) where it makes any.

    Raises ConfigurationError for a form that is none.
    """
    return Pipeline(
        "news",
        LINKS,
        (
            FETCH,
            identify(),
            *file_stages((UNEXTRACTED, UNPARSED, UNARCHIVED)),
            *pdf_stages(more_thumbnails, (UNARCHIVED,)),
            *story_stages((STORIES, UNARCHIVED)),
            ARCHIVE_BODY,
        ),
        "links fetched; PDFs and pages kept, archived and searchable",
    )


def queue_fetcher(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """Links of sources that are followed; `more_thumbnails` makes none."""
    return _stories("queue-fetcher", "links of followed sources fetched; stories alone", "mc")


def csv(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """Links out of lists; `more_thumbnails` makes none."""
    return _stories("csv", "links of lists fetched; stories alone", "mccsv")


def batch(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """Links out of whole days of synthetic RSS; `more_thumbnails` makes none."""
    return _stories("batch", "links of whole-day RSS fetched; stories alone", "mc")


def historical(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """Downloads of an old system, by the ids its tables name; `more_thumbnails` makes none."""
    about = "downloads of an old system out of S3; stories alone"
    return _stories("historical", about, "mchist{YYYY}", FETCH_DOWNLOAD)


def _stories(name: str, about: str, warc_prefix: str, fetch: Stage = FETCH) -> Pipeline:
    return Pipeline(
        name,
        fetch.reads,
        (
            fetch,
            identify(*without(Kind.PDF, Kind.JATS, Kind.UNREAD)),
            *file_stages((UNPARSED, UNARCHIVED), Output(Unextracted)),
            *story_stages((STORIES, UNARCHIVED)),
            ARCHIVE_BODY,
        ),
        about,
        warc_prefix=warc_prefix,
    )
