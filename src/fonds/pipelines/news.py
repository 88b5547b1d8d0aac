"""The flavours that begin with links: what they lead to is fetched, read, archived and searchable.

`queue-fetcher`, `csv` and `batch` are seed 004's: what comes in tells them apart, and the names of WARCs.
"""

from __future__ import annotations

from collections.abc import Sequence

from fonds.model.file import Identified, Kind, Unextracted
from fonds.model.step import Output, Pipeline
from fonds.pipelines.stages import (
    ARCHIVE_BODY,
    FETCH,
    identify,
    pdf_stages,
    persist_file,
    story_stages,
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
            persist_file((UNEXTRACTED, UNPARSED, UNARCHIVED)),
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


def _stories(name: str, about: str, warc_prefix: str) -> Pipeline:
    return Pipeline(
        name,
        LINKS,
        (
            FETCH,
            identify(Output(Identified, str(Kind.PDF))),
            persist_file((UNPARSED, UNARCHIVED), Output(Unextracted)),
            *story_stages((STORIES, UNARCHIVED)),
            ARCHIVE_BODY,
        ),
        about,
        warc_prefix=warc_prefix,
    )
