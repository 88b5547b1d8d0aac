"""The flavour `library`: bodies out of archives, folders and ZIPs become files and stories one can search."""

from collections.abc import Sequence

from fonds.model.step import Pipeline
from fonds.pipelines.stages import (
    ARCHIVE_BODY,
    IMPORT_JATS,
    file_stages,
    identify,
    pdf_stages,
    story_stages,
)
from fonds.pipelines.topics import (
    CAPTURED,
    STORIES,
    UNARCHIVED,
    UNEXTRACTED,
    UNPARSED,
    UNREAD_ARTICLES,
)


def library(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """The flavour, with thumbnails of further forms (`360px-webp`) where it makes any.

    Raises ConfigurationError for a form that is none.
    """
    return Pipeline(
        "library",
        CAPTURED,
        (
            identify(),
            *file_stages((UNEXTRACTED, UNPARSED, UNREAD_ARTICLES, UNARCHIVED)),
            *pdf_stages(more_thumbnails, (UNARCHIVED,)),
            *story_stages((STORIES, UNARCHIVED)),
            IMPORT_JATS,
            ARCHIVE_BODY,
        ),
        "PDFs, articles and pages, kept, archived and searchable",
    )
