"""Topics and stages from which pipelines are built.

A pipeline decides to which topics its stages write, and which outputs of a stage it omits.
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
    """Return the topic for thumbnails of a format, such as `180px-jpg`. The names of the topics
    are those of sandcrawler's PDF derivatives (seed document 003).
    """
    traits = TopicTraits(compression="none", compacted=True)
    return Topic(f"pdf-thumbnail-{form}", Thumbnail, traits, tag=form, public=True)


LINGER_S = 0.2
NO_MATCH = (Output(UnmatchedPaper),)
"""Type of result for papers to match with works. Stages omit it unless `add_match` adds it."""


FETCH = Stage("fetch", LINKS, (CAPTURED, UNINDEXED), is_concurrent=True, batch_max=200)
"""Stage that fetches links. It also emits files whose rights changed because of the tdmrep.json
(stated usage rights) of a host.
"""

FETCH_DOWNLOAD = Stage("fetch_download", DOWNLOADS, (CAPTURED,), threads=8, batch_max=8)
"""Stage that copies pages which an older system downloaded."""


def identify(*omits: Output) -> Stage:
    """Return the stage that reads the bytes of captures and identifies the file type.

    `omits` are the types of its results that the pipeline sends to no other stage.
    """
    return Stage("identify", CAPTURED, (IDENTIFIED,), omits)


def omit_kinds(*kinds: Kind) -> tuple[Output, ...]:
    """Return the results of the stage `identify` that a pipeline discards to ignore files of
    `kinds`.
    """
    return tuple(Output(IdentifiedCapture, str(kind)) for kind in kinds)


INDEX_RIGHTS = Stage(
    "index_rights", UNINDEXED, sink=True, batch_max=50, linger_s=LINGER_S, indexes=True
)
"""Stage that adds rights stated by later captures of a file to the search index."""


def build_file_stages(writes: tuple[Topic, ...], *omits: Output) -> tuple[Stage, ...]:
    """Return the stages that record each file with its captures, and send it on for processing.

    The kind of the file (such as PDF or web page) decides where it is sent. One of the stages
    indexes a file again when a later capture states other rights. No stage sends PDFs to GROBID;
    `add_grobid` adds that.

    - `writes`: topics to which files are sent.
    - `omits`: types of results that the pipeline sends to no other stage.
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
    """Return the stages that extract PDFs and store the results.

    - `more_thumbnails`: thumbnail formats besides the default.
    - `writes`: further topics to which the stage `extract_pdf` writes. A task of another program
      can contain the bytes of a file, which must then be archived too.
    - `omits`: types of results of `extract_pdf` that the pipeline sends to no other stage.

    Raises ConfigurationError for an invalid thumbnail format.
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
    """Return the stages that parse web pages, and that store and index the resulting stories.

    - `writes`: topics to which the parsing stage sends its results.
    - `omits`: types of its results that the pipeline sends to no other stage.
    """
    return (
        Stage("parse_story", UNPARSED, writes, omits, threads=None, batch_max=8),
        # Each batch has its own commits of database and index. With batches of 100, an ingest of
        # small pages takes 7 % more CPU; with batches of 500, as much as with 300.
        Stage("import_story", STORIES, sink=True, batch_max=300, linger_s=LINGER_S, indexes=True),
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
"""Stage that reads and stores articles in JATS XML."""

IMPORT_STORY = build_story_stages(())[1]
RESTORE_STORY = Stage("restore_story", UNPARSED, (STORIES,), threads=None, batch_max=50)
"""Stage that reads stories from the metadata records in a WARC, instead of parsing the pages."""

ARCHIVE_UNPARSED = Stage("archive_unparsed", UNPARSED, (UNARCHIVED,))
ARCHIVE_BODY = Stage("archive_body", UNARCHIVED, sink=True, batch_max=50, linger_s=LINGER_S)
