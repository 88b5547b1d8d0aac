"""Flavour `stories-only`: process HTML pages as in `library`, without PDFs."""

from collections.abc import Sequence

from fonds.model.file import Kind, UnextractedPdf
from fonds.model.step import Output, Pipeline
from fonds.pipelines.flavours.stages import (
    ARCHIVE_BODY,
    CAPTURED,
    STORIES,
    UNARCHIVED,
    UNPARSED,
    build_file_stages,
    build_story_stages,
    identify,
    omit_kinds,
)


def build_stories_only(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """Build the pipeline `stories-only`. It makes no thumbnails, so `more_thumbnails` has no
    effect.
    """
    return Pipeline(
        "stories-only",
        CAPTURED,
        (
            identify(*omit_kinds(Kind.PDF, Kind.JATS, Kind.UNREAD)),
            *build_file_stages((UNPARSED, UNARCHIVED), Output(UnextractedPdf)),
            *build_story_stages((STORIES, UNARCHIVED)),
            ARCHIVE_BODY,
        ),
        "only pages; PDFs are not stored",
    )


FLAVOURS = {"stories-only": build_stories_only}
