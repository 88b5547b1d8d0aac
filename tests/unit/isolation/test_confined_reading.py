"""A confined reader returns the same as an unconfined one: the confinement refuses nothing it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from fixtures import pdfs
from fonds.config import Settings
from fonds.extract.page import parse_page
from fonds.extract.page_extraction import PageExtraction
from fonds.extract.pdf.extraction import extract_pdf
from fonds.extract.pdf.limits import PdfLimits
from fonds.isolation.calls import ChildLimits
from fonds.isolation.pool import ChildPool, FileCall, LimitedPool, open_unnamed_body
from fonds.model.pdf import PdfExtraction
from fonds.wiring.readers import open_readers

MOMENT = datetime(2024, 3, 5, tzinfo=UTC)
FORMS = ("180px-jpg", "360px-webp", "180px-png")
FILES: dict[str, Callable[[], bytes]] = {
    "text": pdfs.text_pdf,
    "broken": pdfs.broken_xref_pdf,
    "cipher": lambda: pdfs.encrypted_pdf(owner="secret", user="", revision=6),
    "old cipher": lambda: pdfs.encrypted_pdf(owner="secret", user="", revision=3),
    "form": pdfs.form_pdf,
    "picture": pdfs.image_pdf,
    "scan": lambda: pdfs.scanned_pdf(["image", "recognised"]),
    "outline": pdfs.outlined_pdf,
    "tags": pdfs.tagged_pdf,
    "javascript": lambda: pdfs.javascript_pdf("open"),
    "no pages": pdfs.no_pages_pdf,
}
WORDS = {
    "utf-8": "Žluťoučký kůň příliš úpěl",
    "windows-1251": "Съешь ещё этих мягких булок",
    "koi8-r": "Съешь ещё этих мягких булок",
    "shift_jis": "いろはにほへとちりぬるを",
    "euc-jp": "いろはにほへとちりぬるを",
    "gb18030": "天地玄黄宇宙洪荒日月盈昃",
    "big5": "天地玄黃宇宙洪荒日月盈昃",
    "euc-kr": "키스의 고유조건은 입술끼리",
    "windows-1255": "דג סקרן שט לו בים זך",
    "iso-8859-7": "Ξεσκεπάζω την ψυχοφθόρα σας",
    "windows-1252": "Voix ambiguë d'un cœur qui",
    "utf-16-le": "Zwölf Boxkämpfer jagen Viktor",
}


@pytest.fixture(scope="module")
def pool() -> Iterator[ChildPool]:
    with ChildPool(1, ChildLimits(tasks_max=3)) as opened:
        yield opened


@pytest.mark.parametrize("name", FILES)
def test_a_pdf_is_read_equally_in_a_child(pool: ChildPool, tmp_path: Path, name: str) -> None:
    limits = PdfLimits(thumbnails=FORMS)
    with open_unnamed_body(FILES[name](), tmp_path) as body:
        assert pool(extract_pdf, body, limits) == extract_pdf(body, limits)


def round_confidence(page: PageExtraction) -> PageExtraction:
    """Round the language confidence: sums of floats depend on the thread count, which is one in a child."""
    sure = round(page.metadata.language_confidence or 0.0, 3)
    return replace(page, metadata=replace(page.metadata, language_confidence=sure))


@pytest.mark.parametrize("charset", WORDS)
def test_a_page_is_read_equally_in_a_child(pool: ChildPool, charset: str) -> None:
    text = (
        f"<title>{WORDS[charset]}</title><article><p>{(WORDS[charset] + '. ') * 60}</p></article>"
    )
    page = (text.encode(charset), "https://news.example.co.uk/2024/03/05/a", charset, MOMENT, True)
    extraction = pool(parse_page, *page)
    assert round_confidence(extraction) == round_confidence(parse_page(*page))
    assert WORDS[charset] in (extraction.content.text_content or "")


def test_the_second_attempt_at_a_pdf_has_at_most_ten_seconds(tmp_path: Path) -> None:
    """The first attempt has the configured time. A shorter setting limits both."""
    for timeout_s, second_s in ((120.0, 10.0), (4.0, 4.0)):
        settings = Settings().replace_values(pdf_timeout_s=timeout_s)
        readers = open_readers(tmp_path / "spool", settings)
        calls = [
            cast("FileCall[PdfExtraction]", reader) for reader in (readers.extract, readers.salvage)
        ]
        limits = [cast("LimitedPool", call.isolate(1)).limits.wall_s for call in calls]
        readers.close()
        assert limits == [timeout_s, second_s]
