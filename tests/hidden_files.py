"""Files that are to be hidden, put into a filled home: each says words that nothing else there says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from filled_home import Filled
from filled_pdfs import import_pdf
from fixtures.pdfs import text_pdf
from fonds.collections.changing.writing import Changes
from fonds.collections.documents import Document
from fonds.model.capture import to_datetime14
from fonds.model.disposition import Reason, Verdict
from fonds.model.keys import sha1_base32, text_blob_key
from fonds.model.pdf import PAGE0_FORM
from fonds.model.rows import InputRow, StoryMetaRow
from fonds.ports import Stores
from home_rows import NOW, Body, archived, ended, enter, entry, note, passed, write
from story_pages import import_page, page_markup
from themed_home import LIBRARY

TITLE = "Zyzzogeton and the quorbatrix"
SITE = "zyzzo.example"
URL = f"http://{SITE}/quorbatrix.pdf"
MIRRORED = "http://mirror.example/zyzzogeton-again"
BROKEN = "http://broken.example/zyzzogeton-broken.pdf"
RIGHTS = "(c) Vexillarious Press, quorbatrix licence"
SIGNALS = (("X-Robots-Tag", "no-vexillarious"), ("Link", f"<http://{SITE}/terms>; rel=license"))
WORDS = ("zyzzogeton", "quorbatrix", "vexillarious")


@dataclass(frozen=True, slots=True)
class Hidden:
    """What was put there: the files, and every text that tells of them."""

    pdf: str
    version: str
    earlier: str
    broken: str
    story_url: str
    captured: str

    @property
    def files(self) -> tuple[str, ...]:
        """Their SHA-1s."""
        return (self.pdf, self.version, self.earlier, self.broken)

    @property
    def marks(self) -> tuple[str, ...]:
        """No answer may say any of these, in whatever case."""
        hashes = [sha1_base32(bytes.fromhex(one)) for one in self.files]
        return (*WORDS, SITE, *self.files, *hashes, *(one[:8] for one in self.files))


def add_hidden(stores: Stores, filled: Filled, changes: Changes) -> Hidden:
    """A PDF that lies in a collection and was captured twice, a later and an earlier version of a story that
    is shown, and a PDF that failed: its input brought nothing else. All are put there by the steps
    themselves."""
    lines = (f"{TITLE}.", "Flood waters and a council vote.", *["Zyzzogeton quorbatrix."] * 30)
    content = text_pdf(("\n".join(lines),), info={"Title": TITLE, "Copyright": RIGHTS})
    paper = Body(900, URL, NOW, "application/pdf", content, headers=SIGNALS)
    before = stores.records.get(StoryMetaRow, [filled.stories[1]])[0]
    text = (stores.blobs.get(text_blob_key(before.sha1hex)) or b"").decode()
    published = before.publication_date
    markup = page_markup(
        "Vexillarious waters", f"{text}\nVexillarious waters.", (), published, "en"
    )
    page = markup.replace(b"<title>", f'<meta name="copyright" content="{RIGHTS}"><title>'.encode())
    version = Body(901, before.url, NOW + timedelta(days=1), "text/html", page, headers=SIGNALS)
    broken = Body(902, BROKEN, NOW, "application/pdf", b"%PDF-1.7 zyzzogeton broken")
    page = page.replace(b"waters", b"waves")
    day_before = NOW - timedelta(days=1)
    earlier = Body(904, before.url, day_before, "text/html", page, headers=SIGNALS)
    paper, version, earlier, broken = archived(stores, [paper, version, earlier, broken])
    note(stores, [paper, broken], "reports")
    _add_pdf(stores, paper, changes)
    for one in (version, earlier):
        note(stores, [one])
        import_page(stores, one)
        enter(stores, [one])
        write(stores, passed(one, ("parse_story", "import_story")))
    at = replace(entry(broken), input_id="input-3")
    stores.ledger.enter([_input(at.input_id)], [at], ["identify"])
    failed = (Verdict.QUARANTINED, Reason.BROKEN_PDF, broken.sha1hex)
    write(stores, ended(broken, "extract_pdf", *failed))
    stores.archive.finish()
    captured = to_datetime14(paper.captured_at)
    return Hidden(
        paper.sha1hex, version.sha1hex, earlier.sha1hex, broken.sha1hex, before.url, captured
    )


def _add_pdf(stores: Stores, paper: Body, changes: Changes) -> None:
    read = import_pdf(stores, paper, "reports", thumbnails=(PAGE0_FORM,))
    mirrored = replace(paper, number=903, url=MIRRORED)
    enter(stores, [paper, mirrored])
    same = (Verdict.DROPPED, Reason.DUPLICATE, paper.sha1hex)
    way = passed(paper, ("extract_pdf", "persist_pdf_text"))
    write(stores, [*way, *ended(mirrored, "persist_file", *same)])
    changes.put(LIBRARY, [Document(paper.sha1hex, read.text or "", TITLE, URL, "en")])


def _input(input_id: str) -> InputRow:
    return InputRow(
        input_id, "/scans/zyzzogeton.pdf", "file", "1:1", 1, 1, {}, 0, True, "zyzzogeton: cut off", NOW,
        "library",
    )  # fmt: skip
