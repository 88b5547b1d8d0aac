"""Flavour `metadata-only`: extract text and metadata as in `library`, without copying bodies."""

from collections.abc import Sequence

from fonds.model.step import Output, Pipeline
from fonds.model.story import UnarchivedBody
from fonds.pipelines.flavours.stages import (
    CAPTURED,
    IMPORT_JATS,
    STORIES,
    UNEXTRACTED,
    UNPARSED,
    UNREAD_ARTICLES,
    build_file_stages,
    build_pdf_stages,
    build_story_stages,
    identify,
)


def build_metadata_only(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """Build the pipeline `metadata-only`. `more_thumbnails` are thumbnail formats besides the
    default, such as `360px-webp`.

    Raises ConfigurationError for an invalid format.
    """
    return Pipeline(
        "metadata-only",
        CAPTURED,
        (
            identify(),
            *build_file_stages((UNEXTRACTED, UNPARSED, UNREAD_ARTICLES), Output(UnarchivedBody)),
            *build_pdf_stages(more_thumbnails, (), Output(UnarchivedBody)),
            *build_story_stages((STORIES,), Output(UnarchivedBody)),
            IMPORT_JATS,
        ),
        "text and metadata, without copies of the bodies",
    )


FLAVOURS = {"metadata-only": build_metadata_only}
