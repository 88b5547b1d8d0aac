"""Files that are to be hidden, put into a filled home: each says words that nothing else there says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from filled_home import Filled
from filled_pdfs import jpeg, pdf_document, pdf_row
from fonds.collections.changing.writing import Changes
from fonds.collections.documents import Document
from fonds.kinds.indexed import index_documents
from fonds.kinds.similarity.sketch import bands_of, file_sketch, sketch
from fonds.kinds.story import INDEXED
from fonds.kinds.story_versions import current_versions
from fonds.model.blob import Blob
from fonds.model.capture import to_datetime14
from fonds.model.disposition import Reason, Verdict
from fonds.model.keys import sha1_base32, text_blob_key, thumbnail_blob_key
from fonds.model.rows import InputRow, StoryMetaRow
from fonds.ports import Stores
from home_rows import NOW, Body, archived, ended, enter, entry, file_row, kept, write
from themed_home import LIBRARY

TITLE = "Zyzzogeton and the quorbatrix"
SITE = "zyzzo.example"
URL = f"http://{SITE}/quorbatrix.pdf"
MIRRORED = "http://mirror.example/zyzzogeton-again"
BROKEN = "http://broken.example/zyzzogeton-broken.pdf"
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
    is shown, and a PDF that failed: its input brought nothing else."""
    paper = Body(900, URL, NOW, "application/pdf", b"%PDF-1.7\n% zyzzogeton\n%%EOF\n")
    before = stores.records.get(StoryMetaRow, [filled.stories[1]])[0]
    page = b"<html><title>Vexillarious</title><p>Vexillarious waters.</p></html>"
    version = Body(901, before.url, NOW + timedelta(days=1), "text/html", page)
    broken = Body(902, BROKEN, NOW, "application/pdf", b"%PDF-1.7 zyzzogeton broken")
    page = page.replace(b"waters", b"waves")
    earlier = Body(904, before.url, NOW - timedelta(days=1), "text/html", page)
    paper, version, earlier = archived(stores, [paper, version, earlier])
    _add_pdf(stores, paper, changes)
    _add_version(stores, version, before, "Vexillarious waters")
    _add_version(stores, earlier, before, "Vexillarious waves")
    current = current_versions(stores.records, [before.story_id]).values()
    stores.index.put(list(index_documents(INDEXED, stores.records, stores.blobs, [*current])))
    at = replace(entry(broken), input_id="input-3")
    stores.ledger.enter([_input(at.input_id)], [at], ["identify"])
    failed = (Verdict.QUARANTINED, Reason.BROKEN_PDF, broken.sha1hex)
    write(stores, [file_row(broken), *ended(broken, "extract_pdf", *failed)])
    stores.archive.finish()
    captured = to_datetime14(paper.captured_at)
    return Hidden(
        paper.sha1hex, version.sha1hex, earlier.sha1hex, broken.sha1hex, before.url, captured
    )


def _add_pdf(stores: Stores, paper: Body, changes: Changes) -> None:
    text = f"{TITLE}. Flood waters and a council vote. " + "Zyzzogeton quorbatrix. " * 30
    mirrored = replace(paper, number=903, url=MIRRORED)
    row = pdf_row(paper, TITLE, 1, 99)
    sketched = file_sketch(row, to_datetime14(paper.captured_at), URL, text)
    rows = [*kept(paper, ("extract_pdf", "persist_pdf_text")), row, sketched, *bands_of(sketched)]
    enter(stores, [paper, mirrored])
    same = (Verdict.DROPPED, Reason.DUPLICATE, paper.sha1hex)
    write(stores, [*rows, *ended(mirrored, "persist_file", *same)])
    stores.blobs.put(
        [
            Blob(text_blob_key(paper.sha1hex), text.encode(), "text/plain"),
            Blob(thumbnail_blob_key(paper.sha1hex), jpeg(900), "image/jpeg"),
        ]
    )
    stores.index.put([pdf_document(paper, TITLE, 1, text)])
    changes.put(LIBRARY, [Document(paper.sha1hex, text, TITLE, URL, "en")])


def _add_version(stores: Stores, version: Body, before: StoryMetaRow, title: str) -> None:
    text = (stores.blobs.get(text_blob_key(before.sha1hex)) or b"").decode() + f" {title}."
    row = replace(
        before,
        sha1hex=version.sha1hex,
        captured=to_datetime14(version.captured_at),
        article_title=title,
    )
    sketched = sketch(row, text)
    enter(stores, [version])
    kept_rows = kept(version, ("parse_story", "import_story"))
    write(stores, [*kept_rows, row, sketched, *bands_of(sketched)])
    stores.blobs.put([Blob(text_blob_key(version.sha1hex), text.encode(), "text/plain")])


def _input(input_id: str) -> InputRow:
    return InputRow(
        input_id, "/scans/zyzzogeton.pdf", "file", "1:1", 1, 1, {}, 0, True, "zyzzogeton: cut off", NOW,
        "library",
    )  # fmt: skip
