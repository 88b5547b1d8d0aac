"""The flavour `library`: bodies out of archives, folders and ZIPs become files and stories one can search.

captured ─ identify ─ identified ─ persist_file ┬ unextracted ─ extract_pdf ┬ pdf-text ─ persist_pdf_text
                                                │                           └ thumbnails ─ persist_thumbnail
                                                ├ unparsed ─ parse_story ─ stories ─ import_story
                                                └ unarchived ─ archive_body (PDFs; pages by parse_story)
"""

from fonds.model.capture import Capture
from fonds.model.file import Identified, Unextracted, Unparsed
from fonds.model.message import Traits
from fonds.model.pdf import PdfText, Thumbnail
from fonds.model.step import Pipeline, Stage, Topic
from fonds.model.story import Parsed, Unarchived

CAPTURED = Topic("captured", Capture)
IDENTIFIED = Topic("identified", Identified)
UNEXTRACTED = Topic("unextracted", Unextracted)
PDF_TEXT = Topic("pdf-text", PdfText, Traits(compacted=True))
PDF_THUMBNAIL = Topic(
    "pdf-thumbnail-180px-jpg", Thumbnail, Traits(compression="none", compacted=True)
)
UNPARSED = Topic("unparsed", Unparsed)
STORIES = Topic("stories", Parsed)
UNARCHIVED = Topic("unarchived", Unarchived)

LINGER_S = 0.2

LIBRARY = Pipeline(
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
        Stage("extract_pdf", UNEXTRACTED, (PDF_TEXT, PDF_THUMBNAIL), workers=None, batch_max=4),
        Stage("persist_pdf_text", PDF_TEXT, sink=True, batch_max=20, linger_s=LINGER_S),
        Stage("persist_thumbnail", PDF_THUMBNAIL, sink=True, linger_s=LINGER_S),
        Stage("parse_story", UNPARSED, (STORIES, UNARCHIVED), workers=None, batch_max=8),
        Stage("import_story", STORIES, sink=True, batch_max=100, linger_s=LINGER_S),
        Stage("archive_body", UNARCHIVED, sink=True, batch_max=50, linger_s=LINGER_S),
    ),
)
