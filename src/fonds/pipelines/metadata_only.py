"""The flavour `metadata-only`: text and metadata as in the library, and no copy of any body."""

from collections.abc import Sequence

from fonds.model.step import Output, Pipeline
from fonds.model.story import Unarchived
from fonds.pipelines.stages import IMPORT_JATS, file_stages, identify, pdf_stages, story_stages
from fonds.pipelines.topics import CAPTURED, STORIES, UNEXTRACTED, UNPARSED, UNREAD_ARTICLES


def metadata_only(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """The flavour, with thumbnails of further forms (`360px-webp`) where it makes any.

    Raises ConfigurationError for a form that is none.
    """
    return Pipeline(
        "metadata-only",
        CAPTURED,
        (
            identify(),
            *file_stages((UNEXTRACTED, UNPARSED, UNREAD_ARTICLES), Output(Unarchived)),
            *pdf_stages(more_thumbnails, (), Output(Unarchived)),
            *story_stages((STORIES,), Output(Unarchived)),
            IMPORT_JATS,
        ),
        "text and metadata, no copy of the bodies",
    )
