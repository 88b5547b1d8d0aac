"""Where Fonds and `pdftotext` read a PDF differently: a page with a picture of each place and both readings.

    python scripts/pdf_places.py paper.pdf other.pdf --out places.html
    python scripts/pdf_places.py ../shared/corpus/pdf/mlresearch+v54 --words su cient

Words are put side by side page by page; where they part, the place is the one poppler names. Needs poppler's
`pdftotext`. The pictures are of the PDFs given: the page is for looking at, not for the repository.
"""

from __future__ import annotations

import argparse
import base64
import difflib
import html
import io
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pypdfium2
from lxml import etree

from fonds.extract.pdf.extraction import PdfLimits, extract_pdf_bytes

POPPLER_MAX_S = 120.0
SCALE = 2.5
MARGIN_PT = 12.0
RUN_MAX_WORDS = 12
"""A longer run that differs is another order of reading, and no one place."""
HYPHENATED = re.compile("([a-z])[-\u00ad\u2010] (?=[a-z])")
"""With boxes `pdftotext` leaves words parted at the end of a line, which without it joins."""
STYLE = (
    "body{font:15px/1.45 sans-serif;margin:2em;max-width:70em}td,th{padding:.4em 1em .4em 0;"
    "vertical-align:top;text-align:left;border-top:1px solid #ccc}img{max-width:32em;display:block}"
    "code{font-size:1.05em;white-space:pre-wrap}"
)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of poppler's and its box: left, top, right, bottom in points from the upper left corner."""

    text: str
    box: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Place:
    """One place: the page's number from 1, both readings, the box around poppler's words."""

    page: int
    theirs: str
    ours: str
    box: tuple[float, float, float, float]


def main() -> int:
    """Read, compare, write the page; exit code 1 when nothing differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path, help="PDFs, or folders of them")
    parser.add_argument("--out", type=Path, default=Path("pdf-places.html"))
    parser.add_argument(
        "--words", nargs="*", default=(), help="only places where poppler has one of these"
    )
    parser.add_argument("--each", type=int, default=12, help="at most so many places of a PDF [12]")
    args = parser.parse_args()
    rows, count = [], 0
    for path in _files(args.paths):
        found = [
            one for one in places(path) if not args.words or set(args.words) & {*one.theirs.split()}
        ]
        shown = found[: args.each]
        count += len(shown)
        print(f"{path}: {len(found)} places differ, {len(shown)} shown", file=sys.stderr)
        rows += list(_rows(path, shown))
    head = "<tr><th>where</th><th>the place</th><th>poppler</th><th>Fonds</th></tr>"
    args.out.write_text(
        f"<!doctype html><meta charset=utf-8><title>Places</title><style>{STYLE}</style>"
        f"<table>{head}{''.join(rows)}</table>",
        "utf-8",
    )
    print(f"{args.out}: {count} places")
    return 0 if count else 1


def places(path: Path) -> Iterator[Place]:
    """Where the two part, in the order of the pages."""
    ours = (extract_pdf_bytes(path.read_bytes(), PdfLimits(thumbnails=())).text or "").split("\f")
    for number, theirs in enumerate(_poppler(path)):
        mine = _composed(ours[number]).split() if number < len(ours) else []
        texts = [_composed(word.text) for word in theirs]
        matcher = difflib.SequenceMatcher(None, texts, mine, autojunk=False)
        for kind, a, b, c, d in matcher.get_opcodes():
            if kind != "replace" or max(b - a, d - c) > RUN_MAX_WORDS:
                continue
            if HYPHENATED.sub(r"\1", " ".join(texts[a:b])) != " ".join(mine[c:d]):
                yield Place(
                    number + 1, " ".join(texts[a:b]), " ".join(mine[c:d]), _around(theirs[a:b])
                )


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        yield from sorted(path.rglob("*.pdf")) if path.is_dir() else [path]


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _poppler(path: Path) -> Iterator[list[Word]]:
    """The words of each page. Raises CalledProcessError when poppler cannot open the file."""
    command = ["pdftotext", "-bbox", str(path), "-"]
    done = subprocess.run(command, capture_output=True, check=True, timeout=POPPLER_MAX_S)
    text = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f]", "", done.stdout.decode("utf-8", "replace"))
    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True, huge_tree=True)
    for page in etree.fromstring(text.encode(), parser).iter("{*}page"):
        yield [Word(one.text or "", _box(one)) for one in page.iter("{*}word")]


def _box(word: etree._Element) -> tuple[float, float, float, float]:
    left, top, right, bottom = (
        float(word.get(name) or 0) for name in ("xMin", "yMin", "xMax", "yMax")
    )
    return left, top, right, bottom


def _around(words: Sequence[Word]) -> tuple[float, float, float, float]:
    lefts, tops, rights, bottoms = zip(*(word.box for word in words), strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def _rows(path: Path, found: Sequence[Place]) -> Iterator[str]:
    with pypdfium2.PdfDocument(path) as document:
        for one in found:
            picture = base64.b64encode(_picture(document, one)).decode()
            yield (
                f"<tr><td>{html.escape(path.name)}, p. {one.page}</td>"
                f'<td><img alt="" src="data:image/png;base64,{picture}"></td>'
                f"<td><code>{html.escape(one.theirs)}</code></td>"
                f"<td><code>{html.escape(one.ours)}</code></td></tr>"
            )


def _picture(document: pypdfium2.PdfDocument, place: Place) -> bytes:
    """The box with some paper around it."""
    whole = document[place.page - 1].render(scale=SCALE).to_pil()
    left, top, right, bottom = place.box
    edges = (left - 4 * MARGIN_PT, top - MARGIN_PT, right + 4 * MARGIN_PT, bottom + MARGIN_PT)
    out = io.BytesIO()
    whole.crop(tuple(int(edge * SCALE) for edge in edges)).save(out, "PNG")
    return out.getvalue()


if __name__ == "__main__":
    sys.exit(main())
