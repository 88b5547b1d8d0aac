"""The topics of the pipelines that keep what captures hold: names, payloads, and what is public."""

from fonds.model.capture import Capture
from fonds.model.file import Identified, Unextracted, Unindexed, Unparsed
from fonds.model.link import Link
from fonds.model.message import Traits
from fonds.model.paper import GrobidOutput, Ungrobided, Unmatched, UnreadArticle
from fonds.model.pdf import PdfText, Thumbnail
from fonds.model.step import Topic
from fonds.model.story import Parsed, Unarchived

LINKS = Topic("links", Link)
DOWNLOADS = Topic("downloads", Link)
CAPTURED = Topic("captured", Capture)
IDENTIFIED = Topic("identified", Identified)
UNEXTRACTED = Topic("unextracted", Unextracted, Traits(partitions=24), public=True)
PDF_TEXT = Topic("pdf-text", PdfText, Traits(compacted=True), public=True)
UNGROBIDED = Topic("ungrobided", Ungrobided, Traits(partitions=24), public=True)
GROBID_OUTPUT = Topic("grobid-output", GrobidOutput, Traits(compacted=True), public=True)
UNMATCHED = Topic("unmatched", Unmatched)
UNREAD_ARTICLES = Topic("unread-articles", UnreadArticle)
UNINDEXED = Topic("unindexed", Unindexed)
UNPARSED = Topic("unparsed", Unparsed)
STORIES = Topic("stories", Parsed)
UNARCHIVED = Topic("unarchived", Unarchived)


def thumbnails(form: str) -> Topic:
    """The topic of thumbnails of a form, as `180px-jpg`; its name is seed 003's."""
    traits = Traits(compression="none", compacted=True)
    return Topic(f"pdf-thumbnail-{form}", Thumbnail, traits, tag=form, public=True)
