"""Every PDF of the corpus in the isolated reader, compared with poppler and qpdf."""

from __future__ import annotations

import gzip
import json
import re
import statistics
import sys
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pypdfium2
import pytest
from PIL import Image

from fonds.extract.pdf.extraction import extract_pdf
from fonds.extract.pdf.limits import PdfLimits
from fonds.isolation.calls import ChildLimits
from fonds.isolation.pool import ChildPool
from fonds.model.archive import OpenBody
from fonds.model.errors import ChildError
from fonds.model.pdf import PAGE0_FORM, PdfExtraction, PdfStatus
from fonds.model.pdf_extra import PdfExtra

CORPUS = Path(__file__).parents[3].parent / "shared" / "corpus"
GOLD = CORPUS / "gold" / "pdf.jsonl"
WORD = re.compile(r"\w+")


def write_line(line: str) -> None:
    sys.stdout.write(f"\n{line}")


pytestmark = [
    pytest.mark.skipif(not GOLD.exists(), reason=f"the corpus is not at {CORPUS}"),
]

Row = dict[str, Any]


@pytest.fixture(scope="module")
def extracted_pdfs() -> list[tuple[Row, PdfExtraction]]:
    rows = [json.loads(line) for line in GOLD.read_text().splitlines()]
    rows = [row for row in rows if (CORPUS / row["path"]).exists()]
    began = time.monotonic()
    with ChildPool(2, ChildLimits(wall_s=20, memory_bytes=2**31)) as pool:

        def extract(row: Row) -> tuple[Row, PdfExtraction]:
            path = CORPUS / row["path"]
            try:
                with path.open("rb") as file:
                    body = OpenBody(file.fileno(), path.stat().st_size)
                    return row, pool(extract_pdf, body, PdfLimits(text_max_s=10))
            except ChildError as error:
                status = next(status for status in PdfStatus if status.reason is error.reason)
                return row, PdfExtraction(status, error_msg=error.detail)

        with ThreadPoolExecutor(2) as threads:
            results = list(threads.map(extract, rows))
    took_s = time.monotonic() - began
    write_line(
        f"\n{len(results)} PDFs in {took_s:.1f} s, {len(results) / took_s:.1f} PDFs/s in two children"
    )
    for status, count in Counter(pdf.status.value for _, pdf in results).most_common():
        write_line(f"  {status:16}{count:6}")
    return results


def get_extra(pdf: PdfExtraction, name: str) -> Any:
    return getattr(pdf.pdf_extra or PdfExtra(), name)


def compute_agreement(
    extracted_pdfs: list[tuple[Row, PdfExtraction]],
    name: str,
    gold: Callable[[Row], Any],
    get_value: Callable[[PdfExtraction], Any],
) -> float:
    """Return the share of files with gold that agree; print the first differences."""
    with_gold = [(row, pdf, gold(row)) for row, pdf in extracted_pdfs if gold(row) is not None]
    differing = [(row, pdf, value) for row, pdf, value in with_gold if get_value(pdf) != value]
    share = 1 - len(differing) / len(with_gold)
    write_line(f"{name:14}{share:8.2%} of {len(with_gold)}")
    for row, pdf, value in differing[:40]:
        write_line(
            f"    {value!s:>34} {get_value(pdf)!s:<34} {pdf.status.value:14} {row['path'][4:]}"
        )
    return share


def get_known_version(row: Row) -> str | None:
    """Poppler reports 0.0 or -1.-1 for an unknown version."""
    version = row["poppler_cpp"].get("version") or "0.0"
    return None if version.startswith(("0", "-")) else version


def poppler(name: str) -> Callable[[Row], Any]:
    return lambda row: row["poppler_cpp"].get(name) or None


def test_every_pdf_gets_one_status(
    extracted_pdfs: list[tuple[Row, PdfExtraction]],
) -> None:
    for row, pdf in extracted_pdfs:
        if pdf.status.reason is not None:
            write_line(
                f"    {pdf.status.value:14} {(pdf.error_msg or '')[:70]:70} {row['path'][4:]}"
            )
    assert all(isinstance(pdf.status, PdfStatus) for _, pdf in extracted_pdfs)
    assert all(pdf.error_msg for _, pdf in extracted_pdfs if pdf.status.reason is not None)


def test_pdfs_that_poppler_opens_are_rarely_refused(
    extracted_pdfs: list[tuple[Row, PdfExtraction]],
) -> None:
    opened = [(row, pdf) for row, pdf in extracted_pdfs if row["pdfinfo"]["rc"] == 0]
    refused = [(row, pdf) for row, pdf in opened if pdf.status.reason is not None]
    for row, pdf in refused:
        write_line(
            f"    {pdf.status.value:14} {row['pdfinfo']['fields'].get('Pages')} {row['path'][4:]}"
        )
    write_line(f"{len(refused)} of {len(opened)} refused that pdfinfo opens")
    assert len(refused) <= 0.005 * len(opened)


@pytest.mark.parametrize(
    ("name", "gold", "share_min"),
    [
        ("page_count", poppler("pages"), 0.99),
        ("permanent_id", poppler("permanent_id"), 0.999),
        ("update_id", poppler("update_id"), 0.999),
        ("pdf_version", lambda row: get_known_version(row), 0.995),
        ("encrypted", poppler("encrypted"), 0.999),
        ("linearized", lambda row: row["poppler_cpp"].get("linearized"), 0.995),
    ],
)
def test_metadata_agree_with_poppler(
    extracted_pdfs: list[tuple[Row, PdfExtraction]],
    name: str,
    gold: Callable[[Row], Any],
    share_min: float,
) -> None:
    assert (
        compute_agreement(extracted_pdfs, name, gold, lambda pdf: get_extra(pdf, name)) >= share_min
    )


def yes_or_no(name: str) -> Callable[[PdfExtraction], str]:
    return lambda pdf: "yes" if get_extra(pdf, name) else "no"


def info_entry(name: str) -> Callable[[PdfExtraction], Any]:
    """Return a getter of an Info entry, without blanks and controls, which programs show differently."""
    return lambda pdf: normalize((pdf.pdf_info or {}).get(name))


def normalize(text: str | None) -> str:
    return "".join(c for c in unicodedata.normalize("NFKC", text or "") if c.isalnum())


def convert_date(raw: str | None) -> str | None:
    """Return a raw PDF date in UTC, independently of our code; None for an invalid date."""
    match = re.fullmatch(r"D:(\d{14})(?:([Z+-])(?:(\d\d)'(\d\d)'?)?)?", raw or "")
    if match is None:
        return None
    try:
        local_time = datetime.strptime(match[1] + "+0000", "%Y%m%d%H%M%S%z")
    except ValueError:
        return None
    minutes = int(match[3] or 0) * 60 + int(match[4] or 0)
    offset = timedelta(minutes={"+": minutes, "-": -minutes}.get(match[2], 0))
    return f"{local_time - offset:%Y-%m-%dT%H:%M:%SZ}"


def pdfinfo(name: str) -> Callable[[Row], Any]:
    """Return a getter of a field of pdfinfo, which prints values in part if they are not Unicode."""
    return lambda row: row["pdfinfo"]["fields"].get(name)


@pytest.mark.parametrize(
    ("field", "gold", "get_value", "share_min"),
    [
        ("Form", pdfinfo("Form"), lambda pdf: get_extra(pdf, "form"), 0.99),
        ("JavaScript", pdfinfo("JavaScript"), yes_or_no("javascript"), 0.99),
        ("Tagged", pdfinfo("Tagged"), yes_or_no("tagged"), 0.99),
        ("UserProperties", pdfinfo("UserProperties"), yes_or_no("user_properties"), 0.99),
        ("Suspects", pdfinfo("Suspects"), yes_or_no("suspects"), 0.99),
        ("Encrypted", lambda row: (pdfinfo("Encrypted")(row) or "").split(" ")[0] or None,
         yes_or_no("encrypted"), 0.99),
        ("Optimized", pdfinfo("Optimized"), yes_or_no("linearized"), 0.99),
        ("Page rot", pdfinfo("Page rot"), lambda pdf: str(get_extra(pdf, "page0_rotation")), 0.99),
        ("Title", lambda row: normalize(pdfinfo("Title")(row)) or None, info_entry("Title"), 0.98),
        ("Author", lambda row: normalize(pdfinfo("Author")(row)) or None, info_entry("Author"), 0.98),
        ("Subject", lambda row: normalize(pdfinfo("Subject")(row)) or None, info_entry("Subject"), 0.95),
        ("Keywords", lambda row: normalize(pdfinfo("Keywords")(row)) or None, info_entry("Keywords"), 0.97),
        ("Creator", lambda row: normalize(pdfinfo("Creator")(row)) or None, info_entry("Creator"), 0.98),
        ("Producer", lambda row: normalize(pdfinfo("Producer")(row)) or None, info_entry("Producer"), 0.98),
        ("CreationDate", lambda row: convert_date(pdfinfo("CreationDate")(row)),
         lambda pdf: (pdf.pdf_info or {}).get("CreationDate"), 0.99),
        ("ModDate", lambda row: convert_date(pdfinfo("ModDate")(row)),
         lambda pdf: (pdf.pdf_info or {}).get("ModDate"), 0.99),
    ],
)  # fmt: skip
def test_traits_agree_with_pdfinfo(
    extracted_pdfs: list[tuple[Row, PdfExtraction]],
    field: str,
    gold: Callable[[Row], Any],
    get_value: Callable[[PdfExtraction], Any],
    share_min: float,
) -> None:
    assert compute_agreement(extracted_pdfs, field, gold, get_value) >= share_min


def test_the_size_of_page_0_agrees_with_poppler(
    extracted_pdfs: list[tuple[Row, PdfExtraction]],
) -> None:
    def gold(row: Row) -> Any:
        width, height = (row["poppler_cpp"].get(f"page0_{side}") for side in ("width", "height"))
        if width is None:
            return None
        # Poppler's rectangle is that of the page before rotation.
        is_rotated = row["pdfinfo"]["fields"].get("Page rot") in ("90", "270")
        return (round(height), round(width)) if is_rotated else (round(width), round(height))

    def get_size(pdf: PdfExtraction) -> Any:
        width, height = get_extra(pdf, "page0_width"), get_extra(pdf, "page0_height")
        return None if width is None else (round(width), round(height))

    assert compute_agreement(extracted_pdfs, "page0 size", gold, get_size) >= 0.99


def test_words_of_ordinary_papers_agree_with_pdftotext(
    extracted_pdfs: list[tuple[Row, PdfExtraction]],
) -> None:
    with gzip.open(CORPUS / "gold" / "pdf_text.jsonl.gz", "rt") as lines:
        texts = {row["sha256"]: row for row in map(json.loads, lines)}
    scores, orders = [], []
    for row, pdf in extracted_pdfs:
        gold = texts.get(row["sha256"])
        if row["ordinary"] and gold and not gold["truncated"]:
            scores.append((word_f1(pdf.text or "", gold["text"]), row["path"]))
            orders.append(word_f1(pdf.text or "", gold["text"], run=5))
    values = [score for score, _ in scores]
    sources: dict[str, list[float]] = {}
    for score, path in scores:
        sources.setdefault(path.split("/")[1], []).append(score)
    for source, source_scores in sorted(sources.items()):
        write_line(
            f"  {source:36}{len(source_scores):4} median {statistics.median(source_scores):.4f}"
        )
    mean, median = statistics.mean(values), statistics.median(values)
    write_line(f"word F1 of {len(scores)}: mean {mean:.4f}, median {median:.4f}")
    for score, path in sorted(scores)[:5]:
        write_line(f"    {score:.4f} {path}")
    assert mean >= 0.985
    assert median >= 0.96
    # If columns were mixed, few runs of five words would agree.
    write_line(
        f"F1 of runs of five words: median {statistics.median(orders):.4f}, minimum {min(orders):.4f}"
    )
    assert statistics.median(orders) >= 0.93


def test_nearly_all_readable_pdfs_have_a_small_thumbnail(
    extracted_pdfs: list[tuple[Row, PdfExtraction]],
) -> None:
    readable = [(row, pdf) for row, pdf in extracted_pdfs if pdf.status.reason is None]
    without_thumbnail = [
        row["path"] for row, pdf in readable if pdf.thumbnails.get(PAGE0_FORM) is None
    ]
    sizes = [
        len(pdf.thumbnails.get(PAGE0_FORM))
        for row, pdf in readable
        if row["ordinary"] and pdf.thumbnails.get(PAGE0_FORM) is not None
    ]
    write_line(
        f"{len(without_thumbnail)} of {len(readable)} without thumbnail: {without_thumbnail[:20]}"
    )
    write_line(
        f"ordinary thumbnails: mean {statistics.mean(sizes):.0f} bytes, largest {max(sizes)}"
    )
    assert statistics.mean(sizes) <= 12_000
    assert len(without_thumbnail) <= 0.01 * len(readable)


def word_f1(actual: str, gold: str, run: int = 1) -> float:
    """Return the F1 of words, or of runs of `run` words."""
    counts, gold_counts = (
        Counter(iter_runs(WORD.findall(text.lower()), run)) for text in (actual, gold)
    )
    total = sum(counts.values()) + sum(gold_counts.values())
    return 2 * sum((counts & gold_counts).values()) / total if total else 1.0


def iter_runs(words: list[str], length: int) -> Iterator[tuple[str, ...]]:
    return zip(*(words[start:] for start in range(length)), strict=False)


def test_thumbnails_resemble_an_eightfold_rendering(
    extracted_pdfs: list[tuple[Row, PdfExtraction]],
) -> None:
    values = []
    for row, pdf in extracted_pdfs:
        picture = pdf.thumbnails.get(PAGE0_FORM)
        if row["ordinary"] and picture:
            image = Image.open(BytesIO(picture), formats=["JPEG"])
            with pypdfium2.PdfDocument(CORPUS / row["path"]) as document:
                page = document[0]
                size = (8 * image.width, 8 * image.height)
                large = page.render(scale=8 * image.width / page.get_width()).to_pil().resize(size)
                page.close()
            ideal = large.resize(image.size, Image.Resampling.LANCZOS)
            values.append((compute_similarity(image, ideal), row["path"]))
    scores = [value for value, _ in values]
    write_line(
        f"SSIM of {len(scores)} thumbnails: mean {statistics.mean(scores):.4f}, {min(values)}"
    )
    assert statistics.mean(scores) >= 0.975


def compute_similarity(first: Image.Image, second: Image.Image) -> float:
    """Return the mean structural similarity of two grey pictures: windows of 11 pixels, sigma 1.5.

    Source: Wang et al., Image quality assessment, IEEE TIP 13 (2004).
    """
    x, y = (np.asarray(image.convert("L"), float) for image in (first, second))
    mean_x, mean_y = blur(x), blur(y)
    var_x, var_y = blur(x * x) - mean_x**2, blur(y * y) - mean_y**2
    covariance = blur(x * y) - mean_x * mean_y
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    upper = (2 * mean_x * mean_y + c1) * (2 * covariance + c2)
    return float((upper / ((mean_x**2 + mean_y**2 + c1) * (var_x + var_y + c2))).mean())


def blur(pixels: Any) -> Any:
    window = np.exp(-0.5 * (np.arange(-5, 6) / 1.5) ** 2)
    window /= window.sum()
    for axis in (0, 1):
        pixels = np.apply_along_axis(np.convolve, axis, pixels, window, mode="valid")
    return pixels
