"""Bibliographies read without a server agree with what a person read in the same papers."""

from __future__ import annotations

import re
from functools import cache
from hashlib import sha1
from pathlib import Path

import pytest

from fonds.extract.pdf.extraction import extract_pdf_bytes
from fonds.extract.pdf.limits import PdfLimits
from fonds.model.bibliography import Paper
from fonds.model.pdf_extra import PdfExtra
from nightly.corpus.paper_gold import GOLD

CORPUS = Path(__file__).parents[3].parent / "shared" / "corpus"
PDFS = CORPUS / "pdf"

pytestmark = [
    pytest.mark.skipif(not PDFS.is_dir(), reason=f"no PDFs in {CORPUS}"),
]


@cache
def read_bibliographies() -> dict[str, Paper]:
    """Return the bibliography of every paper of the gold file, by SHA-1."""
    bibliographies: dict[str, Paper] = {}
    for path in sorted(PDFS.rglob("*.pdf")):
        body = path.read_bytes()
        key = sha1(body).hexdigest()
        if key in GOLD and key not in bibliographies:
            extraction = extract_pdf_bytes(body, PdfLimits(thumbnails=()))
            bibliographies[key] = (extraction.pdf_extra or PdfExtra()).bibliography or Paper(
                grobid_version=""
            )
    return bibliographies


def normalize(text: str | None) -> str:
    return re.sub(r"[\W_]", "", text or "").lower()


def compute_share(right: dict[str, bool]) -> float:
    wrong = sorted(key for key, is_right in right.items() if not is_right)
    print(f"{len(right) - len(wrong)} of {len(right)}; wrong: {wrong}")
    return 1 - len(wrong) / len(right)


def test_titles_agree_with_gold() -> None:
    bibliographies = read_bibliographies()
    right = {
        key: normalize(bibliographies[key].title) == normalize(GOLD[key][0])
        for key in bibliographies
    }
    assert compute_share(right) >= 0.92


def test_dois_agree_with_gold() -> None:
    bibliographies = read_bibliographies()
    assert (
        compute_share(
            {k: bibliographies[k].doi == GOLD[k][1] for k in bibliographies if GOLD[k][1]}
        )
        >= 0.97
    )
    without_doi = {k: bibliographies[k].doi is None for k in bibliographies if GOLD[k][1] is None}
    assert compute_share(without_doi) >= 0.97


def test_reference_counts_differ_by_at_most_a_tenth() -> None:
    bibliographies = read_bibliographies()
    right = {}
    for key, (_, _, count) in GOLD.items():
        if count is not None and key in bibliographies:
            citation_count = len(bibliographies[key].citations)
            right[key] = abs(citation_count - count) <= 0.1 * count
    assert compute_share(right) >= 0.85
