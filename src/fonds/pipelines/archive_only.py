"""The flavour `archive-only`: every body lies in a WARC in the end; nothing is parsed."""

from collections.abc import Sequence

from fonds.model.file import Unextracted
from fonds.model.step import Output, Pipeline
from fonds.pipelines.stages import ARCHIVE_BODY, ARCHIVE_UNPARSED, file_stages, identify
from fonds.pipelines.topics import CAPTURED, UNARCHIVED, UNPARSED


def archive_only(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """The flavour, with thumbnails of further forms (`360px-webp`) where it makes any.

    Raises ConfigurationError for a form that is none.
    """
    return Pipeline(
        "archive-only",
        CAPTURED,
        (
            identify(),
            *file_stages((UNPARSED, UNARCHIVED), Output(Unextracted)),
            ARCHIVE_UNPARSED,
            ARCHIVE_BODY,
        ),
        "everything kept in WARC files, nothing parsed",
    )
