"""Bibliographies read without a server, beside what a person reads in the same papers."""

from __future__ import annotations

import re
from functools import cache
from hashlib import sha1
from pathlib import Path
from typing import Any

import pytest

from fonds.extract.pdf.extraction import PdfLimits, extract_pdf_bytes
from nightly.corpus.paper_gold import GOLD

CORPUS = Path(__file__).parents[3].parent / "shared" / "corpus"
PDFS = CORPUS / "pdf"

pytestmark = [
    pytest.mark.skipif(not PDFS.is_dir(), reason=f"no PDFs in {CORPUS}"),
]


@cache
def readings() -> dict[str, dict[str, Any]]:
    """The bibliography of every paper of the gold file, by SHA-1."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(PDFS.rglob("*.pdf")):
        body = path.read_bytes()
        key = sha1(body).hexdigest()
        if key in GOLD and key not in found:
            read = extract_pdf_bytes(body, PdfLimits(thumbnails=()))
            found[key] = (read.pdf_extra or {})["bibliography"] or {}
    return found


def plain(text: str | None) -> str:
    return re.sub(r"[\W_]", "", text or "").lower()


def share(right: dict[str, bool]) -> float:
    wrong = sorted(key for key, is_right in right.items() if not is_right)
    print(f"{len(right) - len(wrong)} of {len(right)}; wrong: {wrong}")
    return 1 - len(wrong) / len(right)


def test_titles() -> None:
    found = readings()
    right = {key: plain(found[key].get("title")) == plain(GOLD[key][0]) for key in found}
    assert share(right) >= 0.92


def test_dois() -> None:
    found = readings()
    assert share({k: found[k].get("doi") == GOLD[k][1] for k in found if GOLD[k][1]}) >= 0.97
    invented = {k: found[k].get("doi") is None for k in found if GOLD[k][1] is None}
    assert share(invented) >= 0.97


def test_references_are_counted_within_a_tenth() -> None:
    found = readings()
    right = {}
    for key, (_, _, count) in GOLD.items():
        if count is not None and key in found:
            read = len(found[key].get("citations", ()))
            right[key] = abs(read - count) <= 0.1 * count
    assert share(right) >= 0.85
