"""The flavour `stories-only`: pages as in the library; PDFs are not wanted."""

from collections.abc import Sequence

from fonds.model.file import Kind, Unextracted
from fonds.model.step import Output, Pipeline
from fonds.pipelines.stages import ARCHIVE_BODY, file_stages, identify, story_stages, without
from fonds.pipelines.topics import CAPTURED, STORIES, UNARCHIVED, UNPARSED


def stories_only(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """The flavour, with thumbnails of further forms (`360px-webp`) where it makes any.

    Raises ConfigurationError for a form that is none.
    """
    return Pipeline(
        "stories-only",
        CAPTURED,
        (
            identify(*without(Kind.PDF, Kind.JATS, Kind.UNREAD)),
            *file_stages((UNPARSED, UNARCHIVED), Output(Unextracted)),
            *story_stages((STORIES, UNARCHIVED)),
            ARCHIVE_BODY,
        ),
        "pages alone; PDFs are not wanted",
    )
