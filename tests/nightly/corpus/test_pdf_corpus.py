"""Every PDF of the corpus through the isolated reader, beside what poppler and qpdf say of it."""

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

from fonds.extract.pdf.extraction import PdfLimits, extract_pdf
from fonds.isolation.calls import ChildLimits
from fonds.isolation.pool import ChildPool
from fonds.model.errors import ChildError
from fonds.model.pdf import PAGE0_FORM, PdfExtraction, PdfStatus

CORPUS = Path(__file__).parents[3].parent / "shared" / "corpus"
GOLD = CORPUS / "gold" / "pdf.jsonl"
WORD = re.compile(r"\w+")


def say(line: str) -> None:
    sys.stdout.write(f"\n{line}")


pytestmark = [
    pytest.mark.skipif(not GOLD.exists(), reason=f"the corpus is not at {CORPUS}"),
]

Row = dict[str, Any]


@pytest.fixture(scope="module")
def extracted() -> list[tuple[Row, PdfExtraction]]:
    rows = [json.loads(line) for line in GOLD.read_text().splitlines()]
    rows = [row for row in rows if (CORPUS / row["path"]).exists()]
    began = time.monotonic()
    with ChildPool(2, ChildLimits(wall_s=20, memory_bytes=2**31)) as pool:

        def extract(row: Row) -> tuple[Row, PdfExtraction]:
            path = CORPUS / row["path"]
            try:
                return row, pool(
                    extract_pdf, str(path), 0, path.stat().st_size, PdfLimits(text_max_s=10)
                )
            except ChildError as error:
                status = next(one for one in PdfStatus if one.reason is error.reason)
                return row, PdfExtraction(status, error_msg=error.detail)

        with ThreadPoolExecutor(2) as threads:
            found = list(threads.map(extract, rows))
    took_s = time.monotonic() - began
    say(f"\n{len(found)} PDFs in {took_s:.1f} s, {len(found) / took_s:.1f} PDFs/s in two children")
    for status, count in Counter(one.status.value for _, one in found).most_common():
        say(f"  {status:16}{count:6}")
    return found


def extra(found: PdfExtraction, name: str) -> Any:
    return (found.pdf_extra or {}).get(name)


def agreement(
    extracted: list[tuple[Row, PdfExtraction]],
    name: str,
    gold: Callable[[Row], Any],
    ours: Callable[[PdfExtraction], Any],
) -> float:
    """The share of files that agree, of those the gold knows; the first disagreements are printed."""
    known = [(row, found, gold(row)) for row, found in extracted if gold(row) is not None]
    differing = [(row, found, told) for row, found, told in known if ours(found) != told]
    share = 1 - len(differing) / len(known)
    say(f"{name:14}{share:8.2%} of {len(known)}")
    for row, found, told in differing[:40]:
        say(f"    {told!s:>34} {ours(found)!s:<34} {found.status.value:14} {row['path'][4:]}")
    return share


def known_version(row: Row) -> str | None:
    """Poppler says 0.0 and -1.-1 when it found none."""
    version = row["poppler_cpp"].get("version") or "0.0"
    return None if version.startswith(("0", "-")) else version


def poppler(name: str) -> Callable[[Row], Any]:
    return lambda row: row["poppler_cpp"].get(name) or None


def test_every_pdf_ends_in_one_status_and_no_child_takes_the_parent_along(
    extracted: list[tuple[Row, PdfExtraction]],
) -> None:
    for row, found in extracted:
        if found.status.reason is not None:
            say(f"    {found.status.value:14} {(found.error_msg or '')[:70]:70} {row['path'][4:]}")
    assert all(isinstance(found.status, PdfStatus) for _, found in extracted)
    assert all(found.error_msg for _, found in extracted if found.status.reason is not None)


def test_what_poppler_can_open_is_opened(extracted: list[tuple[Row, PdfExtraction]]) -> None:
    opened = [(row, found) for row, found in extracted if row["pdfinfo"]["rc"] == 0]
    refused = [(row, found) for row, found in opened if found.status.reason is not None]
    for row, found in refused:
        say(
            f"    {found.status.value:14} {row['pdfinfo']['fields'].get('Pages')} {row['path'][4:]}"
        )
    say(f"{len(refused)} of {len(opened)} refused that pdfinfo opens")
    assert len(refused) <= 0.005 * len(opened)


@pytest.mark.parametrize(
    ("name", "gold", "least"),
    [
        ("page_count", poppler("pages"), 0.99),
        ("permanent_id", poppler("permanent_id"), 0.999),
        ("update_id", poppler("update_id"), 0.999),
        ("pdf_version", lambda row: known_version(row), 0.995),
        ("encrypted", poppler("encrypted"), 0.999),
        ("linearized", lambda row: row["poppler_cpp"].get("linearized"), 0.995),
    ],
)
def test_our_metadata_agree_with_popplers(
    extracted: list[tuple[Row, PdfExtraction]],
    name: str,
    gold: Callable[[Row], Any],
    least: float,
) -> None:
    assert agreement(extracted, name, gold, lambda found: extra(found, name)) >= least


def yes(name: str) -> Callable[[PdfExtraction], str]:
    return lambda found: "yes" if extra(found, name) else "no"


def said(name: str) -> Callable[[PdfExtraction], Any]:
    """An entry of the Info dictionary, without what two programs show differently: blanks, controls."""
    return lambda found: plain((found.pdf_info or {}).get(name))


def plain(text: str | None) -> str:
    return "".join(c for c in unicodedata.normalize("NFKC", text or "") if c.isalnum())


def moment(raw: str | None) -> str | None:
    """A raw PDF date in UTC by other code than ours; None for one that is none."""
    found = re.fullmatch(r"D:(\d{14})(?:([Z+-])(?:(\d\d)'(\d\d)'?)?)?", raw or "")
    if found is None:
        return None
    try:
        there = datetime.strptime(found[1] + "+0000", "%Y%m%d%H%M%S%z")
    except ValueError:
        return None
    minutes = int(found[3] or 0) * 60 + int(found[4] or 0)
    offset = timedelta(minutes={"+": minutes, "-": -minutes}.get(found[2], 0))
    return f"{there - offset:%Y-%m-%dT%H:%M:%SZ}"


def shown(name: str) -> Callable[[Row], Any]:
    """What pdfinfo printed; a value that is not Unicode it prints in pieces."""
    return lambda row: row["pdfinfo"]["fields"].get(name)


@pytest.mark.parametrize(
    ("field", "gold", "ours", "least"),
    [
        ("Form", shown("Form"), lambda found: extra(found, "form"), 0.99),
        ("JavaScript", shown("JavaScript"), yes("javascript"), 0.99),
        ("Tagged", shown("Tagged"), yes("tagged"), 0.99),
        ("UserProperties", shown("UserProperties"), yes("user_properties"), 0.99),
        ("Suspects", shown("Suspects"), yes("suspects"), 0.99),
        ("Encrypted", lambda row: (shown("Encrypted")(row) or "").split(" ")[0] or None,
         yes("encrypted"), 0.99),
        ("Optimized", shown("Optimized"), yes("linearized"), 0.99),
        ("Page rot", shown("Page rot"), lambda found: str(extra(found, "page0_rotation")), 0.99),
        ("Title", lambda row: plain(shown("Title")(row)) or None, said("Title"), 0.98),
        ("Author", lambda row: plain(shown("Author")(row)) or None, said("Author"), 0.98),
        ("Subject", lambda row: plain(shown("Subject")(row)) or None, said("Subject"), 0.95),
        ("Keywords", lambda row: plain(shown("Keywords")(row)) or None, said("Keywords"), 0.97),
        ("Creator", lambda row: plain(shown("Creator")(row)) or None, said("Creator"), 0.98),
        ("Producer", lambda row: plain(shown("Producer")(row)) or None, said("Producer"), 0.98),
        ("CreationDate", lambda row: moment(shown("CreationDate")(row)),
         lambda found: (found.pdf_info or {}).get("CreationDate"), 0.99),
        ("ModDate", lambda row: moment(shown("ModDate")(row)),
         lambda found: (found.pdf_info or {}).get("ModDate"), 0.99),
    ],
)  # fmt: skip
def test_our_traits_agree_with_pdfinfos(
    extracted: list[tuple[Row, PdfExtraction]],
    field: str,
    gold: Callable[[Row], Any],
    ours: Callable[[PdfExtraction], Any],
    least: float,
) -> None:
    assert agreement(extracted, field, gold, ours) >= least


def test_page_0_has_the_size_poppler_gives_it(
    extracted: list[tuple[Row, PdfExtraction]],
) -> None:
    def gold(row: Row) -> Any:
        width, height = (row["poppler_cpp"].get(f"page0_{side}") for side in ("width", "height"))
        if width is None:
            return None
        # poppler's rectangle is that of the page before it is turned.
        turned = row["pdfinfo"]["fields"].get("Page rot") in ("90", "270")
        return (round(height), round(width)) if turned else (round(width), round(height))

    def ours(found: PdfExtraction) -> Any:
        width, height = extra(found, "page0_width"), extra(found, "page0_height")
        return None if width is None else (round(width), round(height))

    assert agreement(extracted, "page0 size", gold, ours) >= 0.99


def test_the_words_of_ordinary_papers_are_those_pdftotext_finds(
    extracted: list[tuple[Row, PdfExtraction]],
) -> None:
    with gzip.open(CORPUS / "gold" / "pdf_text.jsonl.gz", "rt") as lines:
        texts = {row["sha256"]: row for row in map(json.loads, lines)}
    scores, orders = [], []
    for row, found in extracted:
        gold = texts.get(row["sha256"])
        if row["ordinary"] and gold and not gold["truncated"]:
            scores.append((word_f1(found.text or "", gold["text"]), row["path"]))
            orders.append(word_f1(found.text or "", gold["text"], run=5))
    values = [score for score, _ in scores]
    sources: dict[str, list[float]] = {}
    for score, path in scores:
        sources.setdefault(path.split("/")[1], []).append(score)
    for source, those in sorted(sources.items()):
        say(f"  {source:36}{len(those):4} median {statistics.median(those):.4f}")
    mean, median = statistics.mean(values), statistics.median(values)
    say(f"word F1 of {len(scores)}: mean {mean:.4f}, median {median:.4f}")
    for score, path in sorted(scores)[:5]:
        say(f"    {score:.4f} {path}")
    assert mean >= 0.985
    assert median >= 0.96
    # Columns that ran into each other would leave no five words in a row.
    say(
        f"F1 of runs of five words: median {statistics.median(orders):.4f}, least {min(orders):.4f}"
    )
    assert statistics.median(orders) >= 0.93


def test_thumbnails_are_small_and_there_for_nearly_every_opened_pdf(
    extracted: list[tuple[Row, PdfExtraction]],
) -> None:
    readable = [(row, found) for row, found in extracted if found.status.reason is None]
    without = [row["path"] for row, found in readable if found.thumbnails.get(PAGE0_FORM) is None]
    sizes = [
        len(found.thumbnails.get(PAGE0_FORM))
        for row, found in readable
        if row["ordinary"] and found.thumbnails.get(PAGE0_FORM) is not None
    ]
    say(f"{len(without)} of {len(readable)} without thumbnail: {without[:20]}")
    say(f"ordinary thumbnails: mean {statistics.mean(sizes):.0f} bytes, largest {max(sizes)}")
    assert statistics.mean(sizes) <= 12_000
    assert len(without) <= 0.01 * len(readable)


def word_f1(ours: str, gold: str, run: int = 1) -> float:
    """Of the words, or of all runs of so many words."""
    found, told = (Counter(runs(WORD.findall(text.lower()), run)) for text in (ours, gold))
    total = sum(found.values()) + sum(told.values())
    return 2 * sum((found & told).values()) / total if total else 1.0


def runs(words: list[str], length: int) -> Iterator[tuple[str, ...]]:
    return zip(*(words[start:] for start in range(length)), strict=False)


def test_thumbnails_are_near_an_eightfold_rendering(
    extracted: list[tuple[Row, PdfExtraction]],
) -> None:
    values = []
    for row, found in extracted:
        picture = found.thumbnails.get(PAGE0_FORM)
        if row["ordinary"] and picture:
            image = Image.open(BytesIO(picture), formats=["JPEG"])
            with pypdfium2.PdfDocument(CORPUS / row["path"]) as document:
                page = document[0]
                size = (8 * image.width, 8 * image.height)
                large = page.render(scale=8 * image.width / page.get_width()).to_pil().resize(size)
                page.close()
            ideal = large.resize(image.size, Image.Resampling.LANCZOS)
            values.append((similarity(image, ideal), row["path"]))
    scores = [value for value, _ in values]
    say(f"SSIM of {len(scores)} thumbnails: mean {statistics.mean(scores):.4f}, {min(values)}")
    assert statistics.mean(scores) >= 0.975


def similarity(one: Image.Image, other: Image.Image) -> float:
    """The mean structural similarity of two grey pictures: windows of 11 pixels, sigma 1.5.

    Source: Wang et al., Image quality assessment, IEEE TIP 13 (2004).
    """
    x, y = (np.asarray(image.convert("L"), float) for image in (one, other))
    mean_x, mean_y = blurred(x), blurred(y)
    var_x, var_y = blurred(x * x) - mean_x**2, blurred(y * y) - mean_y**2
    both = blurred(x * y) - mean_x * mean_y
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    upper = (2 * mean_x * mean_y + c1) * (2 * both + c2)
    return float((upper / ((mean_x**2 + mean_y**2 + c1) * (var_x + var_y + c2))).mean())


def blurred(pixels: Any) -> Any:
    window = np.exp(-0.5 * (np.arange(-5, 6) / 1.5) ** 2)
    window /= window.sum()
    for axis in (0, 1):
        pixels = np.apply_along_axis(np.convolve, axis, pixels, window, mode="valid")
    return pixels
