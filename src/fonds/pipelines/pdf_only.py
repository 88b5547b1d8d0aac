"""The flavour `pdf-only`: PDFs as in the library; pages are not wanted."""

from collections.abc import Sequence

from fonds.model.file import Kind, Unparsed
from fonds.model.step import Output, Pipeline
from fonds.pipelines.stages import ARCHIVE_BODY, file_stages, identify, pdf_stages, without
from fonds.pipelines.topics import CAPTURED, UNARCHIVED, UNEXTRACTED


def pdf_only(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """The flavour, with thumbnails of further forms (`360px-webp`) where it makes any.

    Raises ConfigurationError for a form that is none.
    """
    return Pipeline(
        "pdf-only",
        CAPTURED,
        (
            identify(*without(Kind.STORY, Kind.JATS, Kind.UNREAD)),
            *file_stages((UNEXTRACTED, UNARCHIVED), Output(Unparsed)),
            *pdf_stages(more_thumbnails, (UNARCHIVED,)),
            ARCHIVE_BODY,
        ),
        "PDFs alone; pages are not wanted",
    )
