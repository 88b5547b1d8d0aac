"""Flavour `library`: make files and stories from archives, folders and ZIPs searchable."""

from collections.abc import Sequence

from fonds.model.step import Pipeline
from fonds.pipelines.flavours.stages import (
    ARCHIVE_BODY,
    CAPTURED,
    IMPORT_JATS,
    STORIES,
    UNARCHIVED,
    UNEXTRACTED,
    UNPARSED,
    UNREAD_ARTICLES,
    build_file_stages,
    build_pdf_stages,
    build_story_stages,
    identify,
)


def build_library(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """Build the pipeline `library`. `more_thumbnails` are thumbnail formats besides the default,
    such as `360px-webp`.

    Raises ConfigurationError for an invalid format.
    """
    return Pipeline(
        "library",
        CAPTURED,
        (
            identify(),
            *build_file_stages((UNEXTRACTED, UNPARSED, UNREAD_ARTICLES, UNARCHIVED)),
            *build_pdf_stages(more_thumbnails, (UNARCHIVED,)),
            *build_story_stages((STORIES, UNARCHIVED)),
            IMPORT_JATS,
            ARCHIVE_BODY,
        ),
        "PDFs, articles and pages: stored, archived and searchable",
    )


FLAVOURS = {"library": build_library}
