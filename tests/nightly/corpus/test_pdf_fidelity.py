"""What papers say, read by Fonds and by `pdftotext`; and the files that show what was read wrongly once."""

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

from fonds.extract.pdf.extraction import PdfLimits, extract_pdf_bytes
from fonds.extract.pdf.structure import read_structure
from fonds.model.pdf import PdfExtraction, PdfStatus
from nightly.corpus.test_pdf_corpus import CORPUS, WORD, say, word_f1

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
class Read:
    """One paper: its text by Fonds, by pdftotext, and by pdftotext where it is told what fonds' maps tell."""

    path: str
    ours: str
    theirs: str
    told: str

    @property
    def source(self) -> str:
        return self.path.split("/")[1]

    @property
    def few_formulas(self) -> bool:
        words = WORD.findall(self.told.lower())
        lone = sum(len(word) == 1 and word not in "ai" and not word.isdigit() for word in words)
        return lone < FEW_FORMULAS * len(words)


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> list[Read]:
    rows = [json.loads(line) for line in (CORPUS / "gold" / "pdf.jsonl").read_text().splitlines()]
    paths = [row["path"] for row in rows if row["ordinary"]]
    paths += [path for path in examples() if path.split("/")[1] in PAPERS]
    scratch = tmp_path_factory.mktemp("told") / "mapped.pdf"
    found = [read(path, scratch) for path in paths if (CORPUS / path).exists()]
    return [one for one in found if one.theirs.strip()]


def examples() -> dict[str, str]:
    rows = map(json.loads, MANIFEST.read_text().splitlines())
    return {row["path"]: row["example_of"] for row in rows if "example_of" in row}


def read(path: str, scratch: Path) -> Read:
    data = (CORPUS / path).read_bytes()
    mapped = read_structure(data, xmp_max_bytes=1).mapped
    theirs = told = pdftotext(CORPUS / path)
    if mapped is not None:
        scratch.write_bytes(mapped)
        told = pdftotext(scratch)
    ours = extract_pdf_bytes(data, LIMITS).text or ""
    return Read(path, nfc(ours), nfc(theirs), HYPHEN.sub(joined, nfc(told)))


def pdftotext(path: Path) -> str:
    done = subprocess.run(["pdftotext", path, "-"], capture_output=True, check=False, timeout=60)
    return done.stdout.decode("utf-8", "replace")


def joined(found: re.Match[str]) -> str:
    return found[1] if found[2].islower() else f"{found[1]}-"


def nfc(text: str) -> str:
    """Composed, and with ligatures as letters: pdftotext leaves them where a font maps to them."""
    letters = LIGATURE.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text)
    return unicodedata.normalize("NFC", letters)


def by_source(papers: list[Read]) -> Iterator[tuple[str, list[Read]]]:
    for source in sorted({paper.source for paper in papers}):
        yield source, [paper for paper in papers if paper.source == source]


def tenth(values: list[float]) -> float:
    return sorted(values)[(len(values) - 1) // 10]


def test_words_are_those_of_pdftotext_where_it_knows_the_fonts(papers: list[Read]) -> None:
    say(f"{'word F1':26} files  median   p10 | as it stands: median   p10")
    for source, those in by_source(papers):
        told = [word_f1(one.ours, one.told) for one in those]
        bare = [word_f1(one.ours, one.theirs) for one in those]
        say(
            f"{source:26} {len(those):5}  {statistics.median(told):.4f} {tenth(told):.4f} |"
            f" {statistics.median(bare):22.4f} {tenth(bare):.4f}"
        )
        assert statistics.median(told) >= 0.983
        assert tenth(told) >= 0.948


def test_runs_of_five_words_are_the_same_where_there_are_few_formulas(papers: list[Read]) -> None:
    plain = [paper for paper in papers if paper.few_formulas]
    for source, those in by_source(plain):
        scores = [word_f1(one.ours, one.told, run=5) for one in those]
        say(f"{source:26} {len(those):5}  runs of five: {statistics.median(scores):.4f}")
    everything = [word_f1(one.ours, one.told, run=5) for one in plain]
    say(f"of {len(plain)} papers with few formulas: {statistics.median(everything):.4f}")
    assert statistics.median(everything) >= 0.93


def accented(text: str) -> Counter[str]:
    words = WORD.findall(text.lower().replace("ı\u0308", "ï").replace("ı\u0301", "í"))
    return Counter(
        word
        for word in words
        if len(word) >= 4 and word.isalpha() and any(unicodedata.decomposition(c) for c in word)
    )


def test_words_with_accents_are_whole(papers: list[Read]) -> None:
    right = total = 0
    for paper in papers:
        theirs = accented(paper.told)
        missing = theirs - accented(paper.ours)
        right, total = right + (theirs - missing).total(), total + theirs.total()
        if missing:
            say(f"    {dict(missing)} {paper.path}")
    say(f"accented words: {right} of {total}")
    assert right >= 0.97 * total


def test_titles_and_authors_are_those_the_publisher_registered() -> None:
    right = total = names = 0
    for record in sorted((CORPUS / "pdf" / "openjournals+jose-papers").glob("*/10.*.crossref.xml")):
        paper = record.with_name(record.name.replace(".crossref.xml", ".pdf"))
        if not paper.exists():
            continue
        article = etree.parse(record).find(".//{*}journal_article")
        assert article is not None
        extra = extract_pdf_bytes(paper.read_bytes(), LIMITS).pdf_extra or {}
        families = [one.text for one in article.findall(".//{*}person_name/{*}surname")]
        found = [str(name).split()[-1] for name in extra["authors"] or ()]
        total += 1
        right += bare(extra["title"]) == bare(article.findtext(".//{*}title"))
        names += bool(families) and set(found) == {str(name).split()[-1] for name in families}
        assert extra["doi"] == article.findtext("{*}doi_data/{*}doi").lower()
    say(f"titles {right}, authors {names} of {total}")
    assert right >= 0.95 * total
    assert names >= 0.8 * total


def bare(text: str | None) -> str:
    return re.sub(r"\W+", "", nfc(text or "").lower())


def extracted(what: str) -> list[PdfExtraction]:
    paths = [path for path, said in examples().items() if what in said]
    assert paths
    return [extract_pdf_bytes((CORPUS / path).read_bytes(), LIMITS) for path in paths]


def test_the_examples_are_read_rightly() -> None:
    (beyond,) = extracted("beyond U+FFFF")
    assert sum(ord(one) > 0xFFFF for one in beyond.text or "") > 600
    (named,), (coded,) = extracted("without ToUnicode"), extracted("0x0B-0x0F")
    assert "sufficient" in (named.text or "")
    assert "difference" in (coded.text or "") or "different" in (coded.text or "")
    (maths,) = extracted("6 and >")
    assert "⩽" in (maths.text or "") or "⩾" in (maths.text or "")
    (dated,), (late,) = extracted("ends in Z'"), extracted("year 191xx")
    for found in (dated, late):
        assert re.fullmatch(r"20\d\d-.*Z", (found.pdf_info or {})["CreationDate"])
    (form,) = extracted("form fields")
    assert "Lucía" in (form.text or "")
    (beside,) = extracted("off the page")
    assert (beside.pdf_extra or {})["unseen"]
    assert "Signature établissement" not in (beside.text or "")
    (hebrew,) = extracted("Hebrew")
    assert "15(ב)(4)" in (hebrew.text or "")
    for found in extracted("nothing was read"):
        assert found.text or found.status is PdfStatus.PARTIAL
    for found in extracted("U+2010"):
        assert "\u2010\n" not in (found.text or "")
    for found in extracted("no Info title"):
        assert len(((found.pdf_extra or {})["title"] or "").split()) > 4
