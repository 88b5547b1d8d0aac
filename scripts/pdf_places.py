"""Write an HTML page of the places where Fonds and `pdftotext` read a PDF differently, with pictures.

    python scripts/pdf_places.py paper.pdf other.pdf --out places.html
    python scripts/pdf_places.py ../shared/corpus/pdf/mlresearch+v54 --words su cient

The words of each page are compared; the location of a difference is that of poppler's words. Needs poppler's
`pdftotext`. The page contains pictures of the given PDFs: do not commit it.
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

from fonds.extract.pdf.extraction import extract_pdf_bytes
from fonds.extract.pdf.limits import PdfLimits

POPPLER_MAX_S = 120.0
SCALE = 2.5
MARGIN_PT = 12.0
RUN_MAX_WORDS = 12
"""A longer run means a different reading order, not a single place."""
HYPHENATED = re.compile("([a-z])[-\u00ad\u2010] (?=[a-z])")
"""With `-bbox`, `pdftotext` does not join words that are hyphenated at the end of a line."""
STYLE = (
    "body{font:15px/1.45 sans-serif;margin:2em;max-width:70em}td,th{padding:.4em 1em .4em 0;"
    "vertical-align:top;text-align:left;border-top:1px solid #ccc}img{max-width:32em;display:block}"
    "code{font-size:1.05em;white-space:pre-wrap}"
)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of poppler and its box: left, top, right, bottom in points from the upper left corner."""

    text: str
    box: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Place:
    """One difference: page number from 1, both readings, and the box around poppler's words."""

    page: int
    poppler_text: str
    own_text: str
    box: tuple[float, float, float, float]


def main() -> int:
    """Write the page of differences. The exit code is 1 if there are none."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path, help="PDFs, or folders of them")
    parser.add_argument("--out", type=Path, default=Path("pdf-places.html"))
    parser.add_argument(
        "--words", nargs="*", default=(), help="only places where poppler reads one of these"
    )
    parser.add_argument(
        "--each", type=int, default=12, help="maximum number of places per PDF [12]"
    )
    args = parser.parse_args()
    rows, count = [], 0
    for path in _iter_files(args.paths):
        differences = [
            place
            for place in iter_places(path)
            if not args.words or set(args.words) & {*place.poppler_text.split()}
        ]
        listed = differences[: args.each]
        count += len(listed)
        print(f"{path}: {len(differences)} places differ, {len(listed)} shown", file=sys.stderr)
        rows += list(_iter_rows(path, listed))
    head = "<tr><th>where</th><th>the place</th><th>poppler</th><th>Fonds</th></tr>"
    args.out.write_text(
        f"<!doctype html><meta charset=utf-8><title>Places</title><style>{STYLE}</style>"
        f"<table>{head}{''.join(rows)}</table>",
        "utf-8",
    )
    print(f"{args.out}: {count} places")
    return 0 if count else 1


def iter_places(path: Path) -> Iterator[Place]:
    """Yield the differences in page order."""
    own_pages = (extract_pdf_bytes(path.read_bytes(), PdfLimits(thumbnails=())).text or "").split(
        "\f"
    )
    for number, poppler_words in enumerate(_iter_poppler_pages(path)):
        own_words = _compose(own_pages[number]).split() if number < len(own_pages) else []
        texts = [_compose(word.text) for word in poppler_words]
        matcher = difflib.SequenceMatcher(None, texts, own_words, autojunk=False)
        for kind, a, b, c, d in matcher.get_opcodes():
            if kind != "replace" or max(b - a, d - c) > RUN_MAX_WORDS:
                continue
            if HYPHENATED.sub(r"\1", " ".join(texts[a:b])) != " ".join(own_words[c:d]):
                yield Place(
                    number + 1,
                    " ".join(texts[a:b]),
                    " ".join(own_words[c:d]),
                    _merge_boxes(poppler_words[a:b]),
                )


def _iter_files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        yield from sorted(path.rglob("*.pdf")) if path.is_dir() else [path]


def _compose(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _iter_poppler_pages(path: Path) -> Iterator[list[Word]]:
    """Yield the words of each page. Raises CalledProcessError if poppler cannot open the file."""
    command = ["pdftotext", "-bbox", str(path), "-"]
    done = subprocess.run(command, capture_output=True, check=True, timeout=POPPLER_MAX_S)
    text = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f]", "", done.stdout.decode("utf-8", "replace"))
    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True, huge_tree=True)
    for page in etree.fromstring(text.encode(), parser).iter("{*}page"):
        yield [Word(word.text or "", _get_box(word)) for word in page.iter("{*}word")]


def _get_box(word: etree._Element) -> tuple[float, float, float, float]:
    left, top, right, bottom = (
        float(word.get(name) or 0) for name in ("xMin", "yMin", "xMax", "yMax")
    )
    return left, top, right, bottom


def _merge_boxes(words: Sequence[Word]) -> tuple[float, float, float, float]:
    lefts, tops, rights, bottoms = zip(*(word.box for word in words), strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def _iter_rows(path: Path, differences: Sequence[Place]) -> Iterator[str]:
    with pypdfium2.PdfDocument(path) as document:
        for place in differences:
            picture = base64.b64encode(_draw_picture(document, place)).decode()
            yield (
                f"<tr><td>{html.escape(path.name)}, p. {place.page}</td>"
                f'<td><img alt="" src="data:image/png;base64,{picture}"></td>'
                f"<td><code>{html.escape(place.poppler_text)}</code></td>"
                f"<td><code>{html.escape(place.own_text)}</code></td></tr>"
            )


def _draw_picture(document: pypdfium2.PdfDocument, place: Place) -> bytes:
    """Return a PNG of the box with a margin."""
    image = document[place.page - 1].render(scale=SCALE).to_pil()
    left, top, right, bottom = place.box
    edges = (left - 4 * MARGIN_PT, top - MARGIN_PT, right + 4 * MARGIN_PT, bottom + MARGIN_PT)
    out = io.BytesIO()
    image.crop(tuple(int(edge * SCALE) for edge in edges)).save(out, "PNG")
    return out.getvalue()


if __name__ == "__main__":
    sys.exit(main())
