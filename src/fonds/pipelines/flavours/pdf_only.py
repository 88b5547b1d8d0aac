"""Flavour `pdf-only`: process PDFs as in `library`, without HTML pages."""

from collections.abc import Sequence

from fonds.model.file import Kind, UnparsedPage
from fonds.model.step import Output, Pipeline
from fonds.pipelines.flavours.stages import (
    ARCHIVE_BODY,
    CAPTURED,
    UNARCHIVED,
    UNEXTRACTED,
    build_file_stages,
    build_pdf_stages,
    identify,
    omit_kinds,
)


def build_pdf_only(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """Build the pipeline `pdf-only`. `more_thumbnails` are thumbnail formats besides the default,
    such as `360px-webp`.

    Raises ConfigurationError for an invalid format.
    """
    return Pipeline(
        "pdf-only",
        CAPTURED,
        (
            identify(*omit_kinds(Kind.STORY, Kind.JATS, Kind.UNREAD)),
            *build_file_stages((UNEXTRACTED, UNARCHIVED), Output(UnparsedPage)),
            *build_pdf_stages(more_thumbnails, (UNARCHIVED,)),
            ARCHIVE_BODY,
        ),
        "only PDFs; pages are not stored",
    )


FLAVOURS = {"pdf-only": build_pdf_only}
