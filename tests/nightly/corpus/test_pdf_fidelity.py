"""Texts of papers read by Fonds and `pdftotext`, and examples of former extraction errors."""

from __future__ import annotations

import json
import re
import shutil
import statistics
import subprocess
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from lxml import etree

from fonds.extract.pdf.extraction import extract_pdf_bytes
from fonds.extract.pdf.limits import PdfLimits
from fonds.extract.pdf.structure import read_structure
from fonds.model.pdf import PdfExtraction, PdfStatus
from fonds.model.pdf_extra import PdfExtra
from nightly.corpus.test_pdf_corpus import CORPUS, WORD, word_f1, write_line

MANIFEST = CORPUS / "MANIFEST.jsonl"
PAPERS = ("mlresearch+v54", "WING-NUS+scisumm-corpus", "ReScience+articles")
LIMITS = PdfLimits(thumbnails=())
FEW_FORMULAS = 0.06
LIGATURE = re.compile("[\ufb00-\ufb06]")
HYPHEN = re.compile("(\\w)\u2010\n(?=(\\w))")

pytestmark = [
    pytest.mark.skipif(not MANIFEST.exists(), reason=f"the corpus is not at {CORPUS}"),
    pytest.mark.skipif(shutil.which("pdftotext") is None, reason="poppler-utils are not installed"),
]


@dataclass(frozen=True)
class PaperTexts:
    """A paper: its text by Fonds, by pdftotext, and by pdftotext with the font maps of Fonds."""

    path: str
    fonds: str
    pdftotext: str
    mapped_pdftotext: str

    @property
    def source(self) -> str:
        return self.path.split("/")[1]

    @property
    def has_few_formulas(self) -> bool:
        words = WORD.findall(self.mapped_pdftotext.lower())
        lone = sum(len(word) == 1 and word not in "ai" and not word.isdigit() for word in words)
        return lone < FEW_FORMULAS * len(words)


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> list[PaperTexts]:
    rows = [json.loads(line) for line in (CORPUS / "gold" / "pdf.jsonl").read_text().splitlines()]
    paths = [row["path"] for row in rows if row["ordinary"]]
    paths += [path for path in read_examples() if path.split("/")[1] in PAPERS]
    scratch = tmp_path_factory.mktemp("mapped") / "mapped.pdf"
    readings = [read(path, scratch) for path in paths if (CORPUS / path).exists()]
    return [paper for paper in readings if paper.pdftotext.strip()]


def read_examples() -> dict[str, str]:
    rows = map(json.loads, MANIFEST.read_text().splitlines())
    return {row["path"]: row["example_of"] for row in rows if "example_of" in row}


def read(path: str, scratch: Path) -> PaperTexts:
    data = (CORPUS / path).read_bytes()
    mapped = read_structure(data, xmp_max_bytes=1).mapped
    plain = mapped_text = run_pdftotext(CORPUS / path)
    if mapped is not None:
        scratch.write_bytes(mapped)
        mapped_text = run_pdftotext(scratch)
    text = extract_pdf_bytes(data, LIMITS).text or ""
    return PaperTexts(
        path, normalize(text), normalize(plain), HYPHEN.sub(join_words, normalize(mapped_text))
    )


def run_pdftotext(path: Path) -> str:
    result = subprocess.run(["pdftotext", path, "-"], capture_output=True, check=False, timeout=60)
    return result.stdout.decode("utf-8", "replace")


def join_words(match: re.Match[str]) -> str:
    return match[1] if match[2].islower() else f"{match[1]}-"


def normalize(text: str) -> str:
    """Return text in NFC with ligatures as letters; pdftotext keeps ligatures of font maps."""
    letters = LIGATURE.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    return unicodedata.normalize("NFC", letters)


def group_by_source(papers: list[PaperTexts]) -> Iterator[tuple[str, list[PaperTexts]]]:
    for source in sorted({paper.source for paper in papers}):
        yield source, [paper for paper in papers if paper.source == source]


def get_p10(values: list[float]) -> float:
    return sorted(values)[(len(values) - 1) // 10]


def test_words_agree_with_pdftotext_given_font_maps(papers: list[PaperTexts]) -> None:
    write_line(f"{'word F1':26} files  median   p10 | without maps: median   p10")
    for source, group in group_by_source(papers):
        with_maps = [word_f1(paper.fonds, paper.mapped_pdftotext) for paper in group]
        without_maps = [word_f1(paper.fonds, paper.pdftotext) for paper in group]
        write_line(
            f"{source:26} {len(group):5}  {statistics.median(with_maps):.4f} {get_p10(with_maps):.4f} |"
            f" {statistics.median(without_maps):22.4f} {get_p10(without_maps):.4f}"
        )
        assert statistics.median(with_maps) >= 0.983
        assert get_p10(with_maps) >= 0.948


def test_runs_of_five_words_agree_in_papers_with_few_formulas(
    papers: list[PaperTexts],
) -> None:
    plain = [paper for paper in papers if paper.has_few_formulas]
    for source, group in group_by_source(plain):
        scores = [word_f1(paper.fonds, paper.mapped_pdftotext, run=5) for paper in group]
        write_line(f"{source:26} {len(group):5}  runs of five: {statistics.median(scores):.4f}")
    all_scores = [word_f1(paper.fonds, paper.mapped_pdftotext, run=5) for paper in plain]
    write_line(f"of {len(plain)} papers with few formulas: {statistics.median(all_scores):.4f}")
    assert statistics.median(all_scores) >= 0.93


def count_accented_words(text: str) -> Counter[str]:
    words = WORD.findall(text.lower().replace("ı\u0308", "ï").replace("ı\u0301", "í"))
    return Counter(
        word
        for word in words
        if len(word) >= 4 and word.isalpha() and any(unicodedata.decomposition(c) for c in word)
    )


def test_accented_words_agree_with_pdftotext(papers: list[PaperTexts]) -> None:
    right = total = 0
    for paper in papers:
        expected = count_accented_words(paper.mapped_pdftotext)
        missing = expected - count_accented_words(paper.fonds)
        right, total = right + (expected - missing).total(), total + expected.total()
        if missing:
            write_line(f"    {dict(missing)} {paper.path}")
    write_line(f"accented words: {right} of {total}")
    assert right >= 0.97 * total


def test_titles_and_authors_agree_with_crossref_records() -> None:
    right = total = names = 0
    for record in sorted((CORPUS / "pdf" / "openjournals+jose-papers").glob("*/10.*.crossref.xml")):
        paper = record.with_name(record.name.replace(".crossref.xml", ".pdf"))
        if not paper.exists():
            continue
        article = etree.parse(record).find(".//{*}journal_article")
        assert article is not None
        extra = extract_pdf_bytes(paper.read_bytes(), LIMITS).pdf_extra or PdfExtra()
        families = [surname.text for surname in article.findall(".//{*}person_name/{*}surname")]
        surnames = [str(name).split()[-1] for name in extra.authors or ()]
        total += 1
        right += normalize_title(extra.title) == normalize_title(article.findtext(".//{*}title"))
        names += bool(families) and set(surnames) == {str(name).split()[-1] for name in families}
        assert extra.doi == article.findtext("{*}doi_data/{*}doi").lower()
    write_line(f"titles {right}, authors {names} of {total}")
    assert right >= 0.95 * total
    assert names >= 0.8 * total


def normalize_title(text: str | None) -> str:
    return re.sub(r"\W+", "", normalize(text or "").lower())


def extract_examples(part: str) -> list[PdfExtraction]:
    paths = [path for path, description in read_examples().items() if part in description]
    assert paths
    return [extract_pdf_bytes((CORPUS / path).read_bytes(), LIMITS) for path in paths]


def test_examples_of_former_errors_are_read_correctly() -> None:
    (astral,) = extract_examples("beyond U+FFFF")
    assert sum(ord(char) > 0xFFFF for char in astral.text or "") > 600
    (named,), (coded,) = extract_examples("without ToUnicode"), extract_examples("0x0B-0x0F")
    assert "sufficient" in (named.text or "")
    assert "difference" in (coded.text or "") or "different" in (coded.text or "")
    (maths,) = extract_examples("6 and >")
    assert "⩽" in (maths.text or "") or "⩾" in (maths.text or "")
    (dated,), (late,) = extract_examples("ends in Z'"), extract_examples("year 191xx")
    for pdf in (dated, late):
        assert re.fullmatch(r"20\d\d-.*Z", (pdf.pdf_info or {})["CreationDate"])
    (form,) = extract_examples("form fields")
    assert "Lucía" in (form.text or "")
    (off_page,) = extract_examples("off the page")
    assert (off_page.pdf_extra or PdfExtra()).unseen
    assert "Signature établissement" not in (off_page.text or "")
    (hebrew,) = extract_examples("Hebrew")
    assert "15(ב)(4)" in (hebrew.text or "")
    for pdf in extract_examples("nothing was read"):
        assert pdf.text or pdf.status is PdfStatus.PARTIAL
    for pdf in extract_examples("U+2010"):
        assert "\u2010\n" not in (pdf.text or "")
    for pdf in extract_examples("no Info title"):
        assert len(((pdf.pdf_extra or PdfExtra()).title or "").split()) > 4
