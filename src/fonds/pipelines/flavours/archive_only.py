"""Flavour `archive-only`: write every body to a WARC without parsing."""

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
    """Build the pipeline `archive-only`. It makes no thumbnails, so `more_thumbnails` has no
    effect.
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
        "everything archived in WARC files, nothing parsed",
    )


FLAVOURS = {"archive-only": build_archive_only}
