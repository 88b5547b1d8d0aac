"""The stages pipelines are put together from; what one writes or leaves unsent is the pipeline's to say."""

from __future__ import annotations

from collections.abc import Sequence

from fonds.model.file import Identified, Kind
from fonds.model.paper import Ungrobided, Unmatched, UnreadArticle
from fonds.model.pdf import PAGE0_FORM, thumbnail_box
from fonds.model.step import Output, Stage, Topic
from fonds.pipelines.topics import (
    CAPTURED,
    DOWNLOADS,
    IDENTIFIED,
    LINKS,
    PDF_TEXT,
    STORIES,
    UNARCHIVED,
    UNEXTRACTED,
    UNINDEXED,
    UNPARSED,
    UNREAD_ARTICLES,
    thumbnails,
)

LINGER_S = 0.2
NO_MATCH = (Output(Unmatched),)
"""Papers are matched where `with_match` adds it."""


FETCH = Stage("fetch", LINKS, (CAPTURED, UNINDEXED), many=True, batch_max=200)
"""What links lead to, and files whose rights their hosts' tdmrep.json changed."""

FETCH_DOWNLOAD = Stage("fetch_download", DOWNLOADS, (CAPTURED,), threads=8, batch_max=8)
"""What an old system kept of what its links led to."""


def identify(*omits: Output) -> Stage:
    """What captures hold."""
    return Stage("identify", CAPTURED, (IDENTIFIED,), omits)


def without(*kinds: Kind) -> tuple[Output, ...]:
    """What captures hold that a flavour has no use for."""
    return tuple(Output(Identified, str(kind)) for kind in kinds)


INDEX_RIGHTS = Stage(
    "index_rights", UNINDEXED, sink=True, batch_max=50, linger_s=LINGER_S, indexes=True
)
"""What later captures state, in the documents."""


def file_stages(writes: tuple[Topic, ...], *omits: Output) -> tuple[Stage, ...]:
    """Files and their captures noted, and handed to the readers of their kind; to GROBID where `with_grobid`
    adds it. Documents learn what later captures of their files state."""
    articles = () if UNREAD_ARTICLES in writes else (Output(UnreadArticle),)
    unsent = (*omits, Output(Ungrobided), *articles)
    written = (*writes, UNINDEXED)
    return (
        Stage("persist_file", IDENTIFIED, written, unsent, sink=True, linger_s=LINGER_S),
        INDEX_RIGHTS,
    )


def pdf_stages(
    more_thumbnails: Sequence[str], writes: tuple[Topic, ...], *omits: Output
) -> tuple[Stage, ...]:
    """PDFs read, and what they gave kept; with thumbnails of further forms beside the usual one.

    `writes` is where bodies go that other programs' tasks brought. Raises ConfigurationError for a form
    that is none.
    """
    forms = dict.fromkeys((PAGE0_FORM, *more_thumbnails))
    for form in forms:
        thumbnail_box(form)
    pictures = {form: thumbnails(form) for form in forms}
    return (
        Stage(
            "extract_pdf",
            UNEXTRACTED,
            (PDF_TEXT, *pictures.values(), *writes),
            omits,
            threads=None,
            batch_max=4,
        ),
        Stage(
            "persist_pdf_text", PDF_TEXT, sink=True, batch_max=20, linger_s=LINGER_S, indexes=True
        ),
        Stage(
            "persist_bibliography",
            PDF_TEXT,
            omits=NO_MATCH,
            sink=True,
            batch_max=20,
            linger_s=LINGER_S,
        ),
        *(
            Stage(
                "persist_thumbnail",
                topic,
                sink=True,
                tag="" if form == PAGE0_FORM else form,
                linger_s=LINGER_S,
            )
            for form, topic in pictures.items()
        ),
    )


def story_stages(writes: tuple[Topic, ...], *omits: Output) -> tuple[Stage, ...]:
    """Pages parsed, and stories kept."""
    return (
        Stage("parse_story", UNPARSED, writes, omits, threads=None, batch_max=8),
        Stage("import_story", STORIES, sink=True, batch_max=100, linger_s=LINGER_S, indexes=True),
    )


IMPORT_JATS = Stage(
    "import_jats",
    UNREAD_ARTICLES,
    omits=NO_MATCH,
    sink=True,
    batch_max=10,
    linger_s=LINGER_S,
    indexes=True,
)
"""Articles in XML read and kept."""

IMPORT_STORY = story_stages(())[1]
RESTORE_STORY = Stage("restore_story", UNPARSED, (STORIES,), threads=None, batch_max=50)
"""What metadata records hold, instead of parsing the pages beside them."""

ARCHIVE_UNPARSED = Stage("archive_unparsed", UNPARSED, (UNARCHIVED,))
ARCHIVE_BODY = Stage("archive_body", UNARCHIVED, sink=True, batch_max=50, linger_s=LINGER_S)
