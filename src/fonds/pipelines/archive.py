"""The flavour `archive`: stories out of archives of Media Cloud or ours, taken as they were parsed then.

Source: seed 004, Appendix A.
"""

from collections.abc import Sequence

from fonds.model.file import Kind, Unextracted
from fonds.model.step import Output, Pipeline
from fonds.model.story import Unarchived
from fonds.pipelines.stages import IMPORT_STORY, RESTORE_STORY, file_stages, identify, without
from fonds.pipelines.topics import CAPTURED, UNPARSED


def archive(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """The flavour; `more_thumbnails` makes none."""
    return Pipeline(
        "archive",
        CAPTURED,
        (
            identify(*without(Kind.PDF, Kind.JATS, Kind.UNREAD)),
            *file_stages((UNPARSED,), Output(Unextracted), Output(Unarchived)),
            RESTORE_STORY,
            IMPORT_STORY,
        ),
        "stories out of archived metadata, nothing parsed or archived again",
    )
