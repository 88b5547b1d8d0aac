"""The flavour `archive-only`: every body lies in a WARC in the end; nothing is parsed."""

from collections.abc import Sequence

from fonds.model.file import UnextractedPdf
from fonds.model.step import Output, Pipeline
from fonds.pipelines.flavours.stages import (
    ARCHIVE_BODY,
    ARCHIVE_UNPARSED,
    CAPTURED,
    UNARCHIVED,
    UNPARSED,
    build_file_stages,
    identify,
)


def build_archive_only(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """The flavour, with thumbnails of further forms (`360px-webp`) where it makes any.

    Raises ConfigurationError for a form that is none.
    """
    return Pipeline(
        "archive-only",
        CAPTURED,
        (
            identify(),
            *build_file_stages((UNPARSED, UNARCHIVED), Output(UnextractedPdf)),
            ARCHIVE_UNPARSED,
            ARCHIVE_BODY,
        ),
        "everything kept in WARC files, nothing parsed",
    )


FLAVOURS = {"archive-only": build_archive_only}
