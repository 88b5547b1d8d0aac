"""Flavour `archive`: stories from WARCs of Media Cloud or Fonds, as they were parsed when
archived.

Source: seed document 004, Appendix A.
"""

from collections.abc import Sequence

from fonds.model.file import Kind, UnextractedPdf
from fonds.model.step import Output, Pipeline
from fonds.model.story import UnarchivedBody
from fonds.pipelines.flavours.stages import (
    CAPTURED,
    IMPORT_STORY,
    RESTORE_STORY,
    UNPARSED,
    build_file_stages,
    identify,
    omit_kinds,
)


def build_archive(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """Build the pipeline `archive`. It makes no thumbnails, so `more_thumbnails` has no effect."""
    return Pipeline(
        "archive",
        CAPTURED,
        (
            identify(*omit_kinds(Kind.PDF, Kind.JATS, Kind.UNREAD)),
            *build_file_stages((UNPARSED,), Output(UnextractedPdf), Output(UnarchivedBody)),
            RESTORE_STORY,
            IMPORT_STORY,
        ),
        "stories from archived metadata; nothing is parsed or archived again",
    )


FLAVOURS = {"archive": build_archive}
