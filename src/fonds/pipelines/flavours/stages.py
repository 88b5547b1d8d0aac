"""Topics and stages from which pipelines are built. The pipeline decides what a stage writes or
omits.
"""

from __future__ import annotations

from collections.abc import Sequence

from fonds.model.capture import Capture
from fonds.model.entry import Link
from fonds.model.file import IdentifiedCapture, Kind, UnextractedPdf, UnindexedFile, UnparsedPage
from fonds.model.message import TopicTraits
from fonds.model.paper import GrobidOutput, UngrobidedPdf, UnmatchedPaper, UnreadArticle
from fonds.model.pdf import PAGE0_FORM, PdfText, Thumbnail, parse_thumbnail_form
from fonds.model.step import Output, Stage, Topic
from fonds.model.story import ParsedPage, UnarchivedBody

LINKS = Topic("links", Link)
DOWNLOADS = Topic("downloads", Link)
CAPTURED = Topic("captured", Capture)
IDENTIFIED = Topic("identified", IdentifiedCapture)
UNEXTRACTED = Topic("unextracted", UnextractedPdf, TopicTraits(partitions=24), public=True)
PDF_TEXT = Topic("pdf-text", PdfText, TopicTraits(compacted=True), public=True)
UNGROBIDED = Topic("ungrobided", UngrobidedPdf, TopicTraits(partitions=24), public=True)
GROBID_OUTPUT = Topic("grobid-output", GrobidOutput, TopicTraits(compacted=True), public=True)
UNMATCHED = Topic("unmatched", UnmatchedPaper)
UNREAD_ARTICLES = Topic("unread-articles", UnreadArticle)
UNINDEXED = Topic("unindexed", UnindexedFile)
UNPARSED = Topic("unparsed", UnparsedPage)
STORIES = Topic("stories", ParsedPage)
UNARCHIVED = Topic("unarchived", UnarchivedBody)


def build_thumbnail_topic(form: str) -> Topic:
    """Return the topic of thumbnails of a format, such as `180px-jpg`. The name is from seed 003."""
    traits = TopicTraits(compression="none", compacted=True)
    return Topic(f"pdf-thumbnail-{form}", Thumbnail, traits, tag=form, public=True)


LINGER_S = 0.2
NO_MATCH = (Output(UnmatchedPaper),)
"""Papers are not matched, unless `add_match` adds it."""


FETCH = Stage("fetch", LINKS, (CAPTURED, UNINDEXED), is_concurrent=True, batch_max=200)
"""Fetch links. Also emits files whose rights were changed by their host's tdmrep.json."""

FETCH_DOWNLOAD = Stage("fetch_download", DOWNLOADS, (CAPTURED,), threads=8, batch_max=8)
"""Fetch what an old system stored for its links."""


def identify(*omits: Output) -> Stage:
    """Return the stage that identifies what captures contain."""
    return Stage("identify", CAPTURED, (IDENTIFIED,), omits)


def omit_kinds(*kinds: Kind) -> tuple[Output, ...]:
    """Return outputs that a flavour omits, by kind of content."""
    return tuple(Output(IdentifiedCapture, str(kind)) for kind in kinds)


INDEX_RIGHTS = Stage(
    "index_rights", UNINDEXED, sink=True, batch_max=50, linger_s=LINGER_S, indexes=True
)
"""Index the rights stated by later captures of a file."""


def build_file_stages(writes: tuple[Topic, ...], *omits: Output) -> tuple[Stage, ...]:
    """Return the stages that record files with their captures and send them to readers of their
    kind.

    Rights stated by later captures are indexed. `add_grobid` adds sending to GROBID.
    """
    articles = () if UNREAD_ARTICLES in writes else (Output(UnreadArticle),)
    unsent = (*omits, Output(UngrobidedPdf), *articles)
    topics = (*writes, UNINDEXED)
    return (
        Stage("persist_file", IDENTIFIED, topics, unsent, sink=True, linger_s=LINGER_S),
        INDEX_RIGHTS,
    )


def build_pdf_stages(
    more_thumbnails: Sequence[str], writes: tuple[Topic, ...], *omits: Output
) -> tuple[Stage, ...]:
    """Return the stages that read PDFs and store the results, with thumbnails in the default and
    further formats.

    `writes` are the topics for bodies that came with tasks of other programs. Raises
    ConfigurationError for an invalid format.
    """
    forms = dict.fromkeys((PAGE0_FORM, *more_thumbnails))
    for form in forms:
        parse_thumbnail_form(form)
    pictures = {form: build_thumbnail_topic(form) for form in forms}
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


def build_story_stages(writes: tuple[Topic, ...], *omits: Output) -> tuple[Stage, ...]:
    """Return the stages that parse pages and store stories."""
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
"""Read and store articles in XML."""

IMPORT_STORY = build_story_stages(())[1]
RESTORE_STORY = Stage("restore_story", UNPARSED, (STORIES,), threads=None, batch_max=50)
"""Restore stories from metadata records instead of parsing the pages next to them."""

ARCHIVE_UNPARSED = Stage("archive_unparsed", UNPARSED, (UNARCHIVED,))
ARCHIVE_BODY = Stage("archive_body", UNARCHIVED, sink=True, batch_max=50, linger_s=LINGER_S)
