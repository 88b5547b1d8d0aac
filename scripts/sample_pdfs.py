"""PDFs of the sample crawl, written object by object so that every run gives the same bytes.

Source: ISO 32000-1, sections 7 (syntax), 9 (text), 14.3 (metadata).
"""

from __future__ import annotations

import hashlib
import io
import math
import textwrap
import zlib
from xml.sax.saxutils import escape

import pikepdf

from sample_texts import Report

PAGE_WIDTH, PAGE_HEIGHT, MARGIN = 595, 842, 72
TITLE_SIZE, TEXT_SIZE, LEADING = 16, 11, 15
COLUMN_GAP = 24
PASSWORD = "lenna"


def build_pdf(report: Report) -> bytes:
    """Return the PDF of a report: title, author and dates in its Info, Helvetica text, one or two columns."""
    contents = [_draw_page(report, number) for number in range(len(report.pages))]
    return _build_file(contents, _build_info(report), _build_xmp(report) if report.doi else None)


def encrypt(report: Report) -> bytes:
    """Return the PDF encrypted with a user password.

    Uses RC4 with a fixed identifier, because all other ciphers add random bytes.
    """
    packed = io.BytesIO()
    lock = pikepdf.Encryption(user=PASSWORD, owner="marr", R=3, aes=False, metadata=False)
    with pikepdf.open(io.BytesIO(build_pdf(report))) as opened:
        opened.save(packed, encryption=lock, static_id=True)
    return packed.getvalue()


def damage(report: Report) -> bytes:
    """Return the first third of a PDF, as left by an interrupted download. It cannot be repaired."""
    data = build_pdf(report)
    return data[: len(data) // 3]


def _draw_page(report: Report, number: int) -> bytes:
    """Return the drawing operators of a page."""
    parts: list[str] = []
    top: float = PAGE_HEIGHT - MARGIN
    if number == 0:
        top = _draw_lines(parts, "F2", TITLE_SIZE, MARGIN, top, textwrap.wrap(report.title, 48), 20)
        top = _draw_lines(parts, "F1", TEXT_SIZE, MARGIN, top - 4, [report.author], 24)
        if report.drawing:
            top = _draw_arch(parts, top)
        if report.table:
            top = _draw_table(parts, top, report.table)
    _draw_columns(parts, report, number, top)
    _draw_lines(parts, "F1", 9, PAGE_WIDTH // 2, MARGIN // 2, [str(number + 1)], 0)
    return "\n".join(parts).encode("cp1252")


def _draw_columns(parts: list[str], report: Report, number: int, top: float) -> None:
    width = (PAGE_WIDTH - 2 * MARGIN - COLUMN_GAP * (report.columns - 1)) / report.columns
    # The average width of a letter in Helvetica is half an em.
    lines = [
        line
        for paragraph in report.pages[number]
        for line in [*textwrap.wrap(paragraph, int(width / (TEXT_SIZE * 0.5))), ""]
    ]
    lines_per_column = math.ceil(len(lines) / report.columns)
    for column in range(report.columns):
        left = MARGIN + column * (width + COLUMN_GAP)
        column_lines = lines[column * lines_per_column : (column + 1) * lines_per_column]
        _draw_lines(parts, "F1", TEXT_SIZE, left, top, column_lines, LEADING)


def _draw_lines(
    parts: list[str], font: str, size: int, left: float, top: float, lines: list[str], leading: int
) -> float:
    """Write lines downwards from `top`; return the height of the next line."""
    operators = "\n".join(f"({_escape(line)}) Tj T*" for line in lines)
    parts.append(f"BT /{font} {size} Tf {leading} TL {left:.1f} {top:.1f} Td\n{operators}\nET")
    return top - leading * len(lines)


def _draw_arch(parts: list[str], top: float) -> float:
    """Draw a coloured bridge of two arches, deck and hangers."""
    left, right, deck = MARGIN, PAGE_WIDTH - MARGIN, top - 130
    parts.append("q 0.55 0.12 0.10 RG 3 w")
    for rise in (150, 120):
        parts.append(
            f"{left} {deck} m {left + 110} {deck + rise} {right - 110} {deck + rise} {right} {deck} c S"
        )
    parts.append(f"0.3 g {left - 10} {deck - 8} {right - left + 20} 8 re f 1 w")
    for hanger in range(1, 24):
        at = hanger / 24
        across = left + (right - left) * at
        parts.append(f"{across:.1f} {deck} m {across:.1f} {deck + 3 * 120 * at * (1 - at):.1f} l S")
    parts.append(f"0.35 0.55 0.80 RG {left} {deck - 60} m {right} {deck - 60} l S Q")
    return deck - 90


def _draw_table(parts: list[str], top: float, rows: tuple[tuple[str, str], ...]) -> float:
    for name, value in rows:
        _draw_lines(parts, "F1", TEXT_SIZE, MARGIN, top, [name], 0)
        _draw_lines(parts, "F1", TEXT_SIZE, MARGIN + 300, top, [value], 0)
        parts.append(f"0.5 w {MARGIN} {top - 5:.1f} m {MARGIN + 360} {top - 5:.1f} l S")
        top -= LEADING + 4
    return top - LEADING


def _escape(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def _build_info(report: Report) -> bytes:
    date_text = f"D:{report.written_on:%Y%m%d}093000+01'00'"
    entries = {
        "Title": report.title,
        "Author": report.author,
        "Producer": "Fonds sample writer",
        "CreationDate": date_text,
        "ModDate": date_text,
    }
    if report.doi:
        entries["doi"] = report.doi
    return (
        b"<< "
        + b" ".join(b"/%s %s" % (k.encode(), _encode_string(v)) for k, v in entries.items())
        + b" >>"
    )


def _encode_string(text: str) -> bytes:
    if text.isascii():
        return b"(" + _escape(text).encode() + b")"
    return b"<" + (b"\xfe\xff" + text.encode("utf-16-be")).hex().encode() + b">"


def _build_xmp(report: Report) -> bytes:
    return f"""<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:prism="http://prismstandard.org/namespaces/basic/2.0/">
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">{escape(report.title)}</rdf:li></rdf:Alt></dc:title>
<prism:doi>{escape(report.doi or "")}</prism:doi>
</rdf:Description></rdf:RDF></x:xmpmeta>
<?xpacket end="w"?>""".encode()


def _build_file(contents: list[bytes], info: bytes, xmp: bytes | None) -> bytes:
    """Return a PDF file with these page contents."""
    first_page = 7
    kids = b" ".join(b"%d 0 R" % (first_page + 2 * n) for n in range(len(contents)))
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /%s /Encoding /WinAnsiEncoding >>"
    metadata = b" /Metadata 6 0 R" if xmp else b""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R%s >>" % metadata,
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(contents)),
        font % b"Helvetica",
        font % b"Helvetica-Bold",
        info,
        _build_stream(xmp, b" /Type /Metadata /Subtype /XML") if xmp else b"null",
    ]
    for number, content in enumerate(contents):
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>"
            % (PAGE_WIDTH, PAGE_HEIGHT, first_page + 2 * number + 1)
        )
        objects.append(_build_stream(zlib.compress(content, 9), b" /Filter /FlateDecode"))
    return _number_objects(objects)


def _build_stream(data: bytes, entries: bytes) -> bytes:
    return b"<< /Length %d%s >>\nstream\n%s\nendstream" % (len(data), entries, data)


def _number_objects(objects: list[bytes]) -> bytes:
    packed = bytearray(b"%PDF-1.5\n%\xe2\xe3\xcf\xd3\n")
    offsets = []
    for number, content in enumerate(objects, 1):
        offsets.append(len(packed))
        packed += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    identifier = hashlib.md5(packed, usedforsecurity=False).hexdigest().encode()
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    start = len(packed)
    packed += b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
    packed += b"trailer\n<< /Size %d /Root 1 0 R /Info 5 0 R /ID [<%s> <%s>] >>\n" % (
        len(objects) + 1,
        identifier,
        identifier,
    )
    return bytes(packed + b"startxref\n%d\n%%%%EOF\n" % start)
