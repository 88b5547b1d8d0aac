"""The flavour `library`: bodies out of archives, folders and ZIPs become files and stories one can search.

captured ─ identify ─ identified ─ persist_file ┬ unextracted ─ extract_pdf ┬ pdf-text ─ persist_pdf_text
                                                │                           └ thumbnails ─ persist_thumbnail
                                                ├ unparsed ─ parse_story ─ stories ─ import_story
                                                └ unarchived ─ archive_body (PDFs; pages by parse_story)
"""

from collections.abc import Sequence

from fonds.model.capture import Capture
from fonds.model.file import Identified, Unextracted, Unparsed
from fonds.model.message import Traits
from fonds.model.pdf import PAGE0_FORM, PdfText, thumbnail_type
from fonds.model.step import Pipeline, Stage, Topic
from fonds.model.story import Parsed, Unarchived

CAPTURED = Topic("captured", Capture)
IDENTIFIED = Topic("identified", Identified)
UNEXTRACTED = Topic("unextracted", Unextracted, Traits(partitions=24))
PDF_TEXT = Topic("pdf-text", PdfText, Traits(compacted=True))
UNPARSED = Topic("unparsed", Unparsed)
STORIES = Topic("stories", Parsed)
UNARCHIVED = Topic("unarchived", Unarchived)

LINGER_S = 0.2


def library(more_thumbnails: Sequence[str] = ()) -> Pipeline:
    """The flavour with thumbnails of further forms (`360px-webp`) beside the usual one.

    Raises ConfigurationError for a form that is none.
    """
    forms = dict.fromkeys((PAGE0_FORM, *more_thumbnails))
    pictures = {form: _thumbnails(form) for form in forms}
    return Pipeline(
        "library",
        CAPTURED,
        (
            Stage("identify", CAPTURED, (IDENTIFIED,)),
            Stage(
                "persist_file",
                IDENTIFIED,
                (UNEXTRACTED, UNPARSED, UNARCHIVED),
                sink=True,
                linger_s=LINGER_S,
            ),
            Stage(
                "extract_pdf",
                UNEXTRACTED,
                (PDF_TEXT, *pictures.values()),
                workers=None,
                batch_max=4,
            ),
            Stage("persist_pdf_text", PDF_TEXT, sink=True, batch_max=20, linger_s=LINGER_S),
            *(
                Stage(_persisting(form), topic, sink=True, linger_s=LINGER_S)
                for form, topic in pictures.items()
            ),
            Stage("parse_story", UNPARSED, (STORIES, UNARCHIVED), workers=None, batch_max=8),
            Stage("import_story", STORIES, sink=True, batch_max=100, linger_s=LINGER_S),
            Stage("archive_body", UNARCHIVED, sink=True, batch_max=50, linger_s=LINGER_S),
        ),
    )


def _thumbnails(form: str) -> Topic:
    traits = Traits(compression="none", compacted=True)
    return Topic(f"pdf-thumbnail-{form}", thumbnail_type(form), traits)


def _persisting(form: str) -> str:
    return "persist_thumbnail" if form == PAGE0_FORM else f"persist_thumbnail-{form}"
