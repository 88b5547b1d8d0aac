"""Detect the media type (MIME type) of a file by its first bytes, with a short description.

Source: WHATWG MIME Sniffing, sections 5 (supplied type), 6 (pattern tables) and 7 (unknown type);
ISO 32000-1, 7.5.2 and Annex H (junk before `%PDF-`); Adobe TN 5001 (PostScript).
Limits: only the first 64 KiB are examined, by expressions that never backtrack over more than a
tag.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from fonds.model.file import FileMeta

# Signatures of binary formats.
#
# Source: WHATWG MIME Sniffing, section 6, and the formats' own IANA registrations.


SIGNATURES: tuple[tuple[int, bytes, str, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png", "PNG image"),
    (0, b"\xff\xd8\xff", "image/jpeg", "JPEG image"),
    (0, b"GIF87a", "image/gif", "GIF image, version 87a"),
    (0, b"GIF89a", "image/gif", "GIF image, version 89a"),
    (8, b"WEBPVP", "image/webp", "WebP image"),
    (0, b"BM", "image/bmp", "BMP image"),
    (0, b"II*\x00", "image/tiff", "TIFF image, little-endian"),
    (0, b"MM\x00*", "image/tiff", "TIFF image, big-endian"),
    (0, b"\x00\x00\x01\x00", "image/x-icon", "Windows icon"),
    (4, b"ftypavif", "image/avif", "AVIF image"),
    (4, b"ftypheic", "image/heic", "HEIC image"),
    (4, b"ftyp", "video/mp4", "MP4 media"),
    (0, b"AT&TFORM", "image/vnd.djvu", "DjVu document"),
    (0, b"\x1f\x8b", "application/gzip", "gzip compressed data"),
    (0, b"\x28\xb5\x2f\xfd", "application/zstd", "Zstandard compressed data"),
    (0, b"BZh", "application/x-bzip2", "bzip2 compressed data"),
    (0, b"\xfd7zXZ\x00", "application/x-xz", "XZ compressed data"),
    (0, b"\x04\x22\x4d\x18", "application/x-lz4", "LZ4 compressed data"),
    (0, b"\x02\x21\x4c\x18", "application/x-lz4", "LZ4 compressed data, legacy"),
    (0, b"LZIP\x01", "application/x-lzip", "lzip compressed data"),
    (0, b"\x5d\x00\x00", "application/x-lzma", "LZMA compressed data"),
    (0, b"\x89LZO\x00\r\n\x1a\n", "application/x-lzop", "lzop compressed data"),
    (0, b"\xff\x06\x00\x00sNaPpY", "application/x-snappy-framed", "Snappy compressed data"),
    (0, b"\x1f\x9d", "application/x-compress", "compress'd data"),
    (0, b"MSCF\x00\x00\x00\x00", "application/vnd.ms-cab-compressed", "Cabinet archive"),
    (0, b"!<arch>\n", "application/x-archive", "ar archive"),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed", "7-zip archive"),
    (0, b"Rar!\x1a\x07", "application/vnd.rar", "RAR archive"),
    (0, b"PK\x05\x06", "application/zip", "ZIP archive, empty"),
    (257, b"ustar", "application/x-tar", "tar archive"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage", "OLE 2 document"),
    (0, b"{\\rtf", "application/rtf", "RTF document"),
    (0, b"ID3", "audio/mpeg", "MP3 audio"),
    (0, b"OggS\x00", "application/ogg", "Ogg media"),
    (0, b"fLaC", "audio/flac", "FLAC audio"),
    (8, b"WAVE", "audio/wav", "WAVE audio"),
    (8, b"AVI ", "video/x-msvideo", "AVI video"),
    (0, b"\x1aE\xdf\xa3", "video/webm", "Matroska or WebM media"),
    (0, b"CWS", "application/x-shockwave-flash", "Flash, compressed"),
    (0, b"FWS", "application/x-shockwave-flash", "Flash"),
    (0, b"wOFF", "font/woff", "WOFF font"),
    (0, b"wOF2", "font/woff2", "WOFF2 font"),
    (0, b"\x00\x01\x00\x00Standard ", "application/x-msaccess", "Access database"),
    (0, b"\x00\x01\x00\x00", "font/ttf", "TrueType font"),
    (0, b"true\x00", "font/ttf", "TrueType font, of Apple"),
    (0, b"OTTO", "font/otf", "OpenType font"),
    (0, b"ttcf", "font/collection", "TrueType or OpenType collection"),
    (34, b"LP", "application/vnd.ms-fontobject", "Embedded OpenType font"),
    (0, b"%!PS-AdobeFont-", "application/x-font-type1", "Type 1 font"),
    (0, b"%!FontType1-", "application/x-font-type1", "Type 1 font"),
    (6, b"%!PS-AdobeFont-", "application/x-font-type1", "Type 1 font, binary"),
    (0, b"\x00asm", "application/wasm", "WebAssembly module"),
    (0, b"SQLite format 3\x00", "application/vnd.sqlite3", "SQLite database"),
    (0, b"\x7fELF", "application/x-elf", "ELF executable"),
    (0, b"MZ", "application/x-dosexec", "DOS or Windows executable"),
    (0, b"filedesc:", "application/x-arc", "ARC archive"),
)
"""Signatures of formats: offset in the file, bytes, media type, description. The first match is
used.
"""

ZIP_KINDS: tuple[tuple[bytes, str, str], ...] = (
    (b"mimetypeapplication/epub+zip", "application/epub+zip", "EPUB document"),
    (
        b"mimetypeapplication/vnd.oasis.opendocument",
        "application/vnd.oasis.opendocument",
        "OpenDocument",
    ),
    (
        b"word/",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "Microsoft Word 2007+ document",
    ),
    (
        b"xl/",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "Microsoft Excel 2007+ workbook",
    ),
    (
        b"ppt/",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "Microsoft PowerPoint 2007+ presentation",
    ),
)
"""Formats that are ZIP files: bytes near the beginning of the ZIP, media type, description."""


HEAD_BYTES = 65536
"""Maximum number of bytes at the beginning of a file that are examined."""

PDF_JUNK_BYTES = 1024
"""Maximum offset of `%PDF-` in a PDF. Bytes before it are junk."""

HTML_MIMES = frozenset({"text/html", "application/xhtml+xml"})
FEED_MIMES = frozenset(
    {
        "application/rss+xml",
        "application/atom+xml",
        "application/sitemap+xml",
        "application/feed+json",
    }
)
"""Media types of feeds and sitemaps. Sitemaps have no registered type; Fonds uses its own."""

OCTETS, PLAIN, XML = "application/octet-stream", "text/plain", "text/xml"


@dataclass(frozen=True, slots=True)
class SniffedType:
    """Detected media type of a file.

    - `mime`: media type by the bytes, and by the declared type where the bytes are ambiguous.
    - `magic`: short description of the format, such as `PDF document, version 1.4`.
    - `magic_mime`: media type by the bytes alone.
    """

    mime: str
    magic: str
    magic_mime: str


_ALIASES = {
    name: mime
    for mime, names in {
        "application/pdf": "pdf .pdf image/pdf text/pdf application/acrobat applications/vnd.pdf",
        OCTETS: "unk unknown application/download application/x-download application/octetstream "
        "application/force-download application/x-force-download application/unknown "
        "application/x-unknown application/save application/x-octet-stream binary/octet-stream",
        XML: "xml application/xml",
        "text/html": "html htm text/htm",
        PLAIN: "text plain text/txt",
        "text/javascript": "application/javascript application/x-javascript text/x-javascript "
        "application/ecmascript",
        "application/json": "text/json application/x-json",
        "application/gzip": "application/x-gzip",
        "application/zip": "application/x-zip application/x-zip-compressed",
        "application/postscript": "application/ps",
        "image/jpeg": "image/jpg image/pjpeg",
        "image/x-icon": "image/vnd.microsoft.icon",
    }.items()
    for name in names.split()
}
_PREFIXES = {
    "application/pdf": "application/pdf",
    "application/x-pdf": "application/pdf",
    "application/postscript": "application/postscript",
    "text/html": "text/html",
    "text/xml": XML,
    "application/xml-": XML,
    "application/octet-stream": OCTETS,
}
_NAME = r"[a-z0-9!#$&^_.+-]{1,127}"
_TYPE = re.compile(rf"{_NAME}/{_NAME}")


def normalize_mime(declared_mime: str | None) -> str | None:
    """Return a declared media type in lower case, without parameters and with known misspellings
    corrected.

    Return None if the text is not a media type. `('application/pdf'`, `.pdf`, `image/pdf` and
    `Application/PDF;x=y` all become `application/pdf`.
    """
    if declared_mime is None:
        return None
    bare = (
        re.split(r"[;,]", declared_mime, maxsplit=1)[0].strip(" \t\r\n\f\v\x00\"'`()[]<>:").lower()
    )
    if bare in _ALIASES:
        return _ALIASES[bare]
    for prefix, mime in _PREFIXES.items():
        if bare.startswith(prefix):
            return mime
    return bare if _TYPE.fullmatch(bare) else None


_HTML_TAG = re.compile(
    rb"<(?:!doctype\s+html|(?:html|head|body|title|base|meta|link|script|style|noscript|iframe|frameset"
    rb"|h[1-6]|div|p|a|b|i|br|hr|em|strong|u|font|center|span|img|table|tbody|tr|td|ul|ol|dl|li|form"
    rb"|section|article|main|header|footer|nav|aside|figure|blockquote|pre|small|marquee)(?=[\s/>]))",
    re.IGNORECASE,
)
_HTML_LATER = re.compile(rb"^\s*<(?:!doctype\s+html|html(?=[\s>])|body(?=[\s>]))", re.I | re.M)
_HTML_LATER_BYTES = 4096
_ROOT = re.compile(rb"<(?:[A-Za-z_][\w.-]*:)?([A-Za-z_][\w.-]*)([^<>]*)")
_PROLOGUE = re.compile(
    rb"\s+|<!--.*?-->|<\?.*?\?>|<!doctype(?!\s+html)(?:[^<>\[]|\[[^\]]*\])*>", re.I | re.S
)
_ROOT_KINDS = {
    b"rss": ("application/rss+xml", "RSS feed"),
    b"channel": ("application/rss+xml", "RSS feed"),
    b"feed": ("application/atom+xml", "Atom feed"),
    b"urlset": ("application/sitemap+xml", "XML sitemap"),
    b"sitemapindex": ("application/sitemap+xml", "XML sitemap index"),
    b"svg": ("image/svg+xml", "SVG image"),
    b"tei": ("application/tei+xml", "TEI document"),
    b"teicorpus": ("application/tei+xml", "TEI corpus"),
}
_RSS_NAMESPACES = re.compile(rb"purl\.org/rss/1\.0|netscape\.com/rdf")
_JATS = re.compile(rb"dtd-version|article-type|JATS|NLM//DTD")
_JATS_FRONT = re.compile(rb"<front>\s{0,20}<(?:journal|article)-meta>")
_PDF_AT_START = re.compile(rb"\s{0,64}%PDF(?:-(\d\.\d))?")
_PDF_LATER = re.compile(rb"%PDF-(\d\.\d)?")
_PDF_OBJECT = re.compile(rb"\d{1,10}\s{1,4}\d{1,5}\s{1,4}obj\b")
_PDF_WITHOUT_HEADER = re.compile(
    rb"(?:%[^\r\n]{0,200}[\r\n]{1,4}){0,3}\s{0,64}\d{1,10}\s{1,4}\d{1,5}\s{1,4}obj\b\s{0,9}<<"
)
_PDF_TRACES = re.compile(
    rb"(?:endobj|endstream|startxref|trailer)\b|/Type\s*/(?:Page|Catalog|XRef)"
)
_TYPE1 = (b"%!PS-AdobeFont-", b"%!FontType1-")
_POSTSCRIPT = re.compile(rb"\x04?%!PS(?:-Adobe-[\d.]+(?: PDF-(\d\.\d))?)?")
_JSON = re.compile(rb'\{\s*(?:"|\}\s*$)|\[\s*(?:[\[{"\]]|-?\d+\s*,|true\b|false\b|null\b)')
_JSON_FEED = re.compile(rb"https?:\\?/\\?/jsonfeed\.org\\?/version")
_BINARY = bytes({*range(0x20)} - {*b"\t\n\f\r\x1b"})


def sniff(head: bytes, declared_mime: str | None) -> SniffedType:
    """Detect the type of a body by its first bytes and its declared media type. Never raises.

    A signature in the bytes decides. If the bytes are ambiguous (text, formats without a signature,
    formats inside a ZIP), the declared type decides.
    """
    head = head[:HEAD_BYTES]
    magic_mime, magic = _detect_by_bytes(head)
    return SniffedType(
        _choose_mime(head, magic_mime, normalize_mime(declared_mime)), magic, magic_mime
    )


def _choose_mime(head: bytes, magic_mime: str, declared_mime: str | None) -> str:
    if declared_mime is None or declared_mime in (OCTETS, magic_mime):
        return magic_mime
    if declared_mime == "application/pdf":
        return (
            declared_mime
            if magic_mime in (OCTETS, PLAIN) and looks_like_damaged_pdf(head)
            else magic_mime
        )
    textual = declared_mime.startswith("text/") or declared_mime.endswith(
        ("+xml", "json", "script")
    )
    if magic_mime == PLAIN:
        return declared_mime if textual else PLAIN
    if magic_mime == OCTETS:
        return OCTETS if textual else declared_mime
    if magic_mime == XML or (magic_mime == "text/html" and declared_mime in HTML_MIMES):
        return declared_mime if declared_mime.endswith("+xml") else magic_mime
    if magic_mime in ("application/zip", "application/gzip", "application/x-ole-storage"):
        return declared_mime if declared_mime.startswith("application/") else magic_mime
    return (
        declared_mime
        if magic_mime == "application/json" and declared_mime.endswith("json")
        else magic_mime
    )


def looks_like_damaged_pdf(head: bytes) -> bool:
    """Return whether the first bytes of a file look like a PDF that has lost its header `%PDF`,
    because they contain PDF objects.
    """
    return (
        bool(_PDF_OBJECT.search(head) and _PDF_TRACES.search(head))
        or len(_PDF_TRACES.findall(head[:HEAD_BYTES])) > 1
    )


def _detect_by_bytes(head: bytes) -> tuple[str, str]:
    """Detect the type of a file by its first bytes, without a declared type. Return media type and
    description.
    """
    if not head:
        return OCTETS, "empty"
    text = _decode_text(head)
    detected_type = _detect_pdf(head, text) or _detect_binary(head, is_text=text is not None)
    if detected_type is None and text is not None:
        detected_type = _detect_markup(text) or _detect_plain_text(text)
    return detected_type or (OCTETS, "binary data")


def _detect_pdf(head: bytes, text: bytes | None) -> tuple[str, str] | None:
    """Return media type and description of a PDF or PostScript file; None for other files.

    Other bytes may precede the header of a PDF if PDF objects follow the header. `text` is `head`
    as text, or None if it is binary.
    """
    bare = head.removeprefix(b"\xef\xbb\xbf")
    if at_start := _PDF_AT_START.match(bare):
        return "application/pdf", _describe_pdf(at_start[1], 0)
    if bare.startswith(_TYPE1):
        return None
    if postscript := _POSTSCRIPT.match(bare):
        if postscript[1]:
            return "application/pdf", _describe_pdf(postscript[1], 0)
        return "application/postscript", "PostScript document"
    later = _PDF_LATER.search(head, 0, PDF_JUNK_BYTES + len(b"%PDF-1.7"))
    if later is None or later.start() > PDF_JUNK_BYTES:
        # Readers open files that begin with a PDF object, since only the header is lost.
        if _PDF_WITHOUT_HEADER.match(bare) and len(_PDF_TRACES.findall(bare)) > 1:
            return "application/pdf", "PDF document without a header"
        return None
    if not _PDF_TRACES.search(head, later.end()):
        return None
    # In a page that quotes a PDF the header is within a line; junk ends with a line end before it.
    is_page = text is not None and _detect_markup(text) is not None
    if is_page and head[later.start() - 1 : later.start()] not in (b"\n", b"\r", b">"):
        return None
    return "application/pdf", _describe_pdf(later[1], later.start())


def _describe_pdf(version: bytes | None, junk_bytes: int) -> str:
    words = f"PDF document, version {version.decode('ascii')}" if version else "PDF document"
    return f"{words}, after {junk_bytes} bytes of something else" if junk_bytes else words


def _detect_binary(head: bytes, *, is_text: bool) -> tuple[str, str] | None:
    """Return media type and description of a file by its signature (magic number); None if none
    matches.

    A signature of letters and digits is ignored if the file is text (`is_text`).
    """
    if head.startswith(b"PK\x03\x04"):
        fits = ((mime, words) for name, mime, words in ZIP_KINDS if name in head[:4096])
        return next(fits, ("application/zip", "ZIP archive"))
    for offset, signature, mime, words in SIGNATURES:
        if head.startswith(signature, offset) and not (is_text and signature.strip().isalnum()):
            return mime, words
    if head.startswith(b"WARC/"):
        return "application/warc", "WARC archive"
    return None


def _decode_text(head: bytes) -> bytes | None:
    """Return the first bytes of a text file as UTF-8 or another superset of ASCII, without byte
    order mark; None if the file is binary.
    """
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return head.decode("utf-16", "replace").lstrip("\ufeff").encode("utf-8", "replace")
    for codec, bytes_of_tag in (("utf-16-le", b"<\x00"), ("utf-16-be", b"\x00<")):
        if head.startswith(bytes_of_tag) and head[:64].count(0) > len(head[:64]) // 3:
            return head.decode(codec, "replace").encode("utf-8", "replace")
    bare = head.removeprefix(b"\xef\xbb\xbf")
    # Pages with a stray control character are common; their markup distinguishes them from binary
    # data.
    is_clean = len(bare.translate(None, _BINARY)) == len(bare)
    return bare if is_clean or _detect_markup(bare) is not None else None


def _skip_prologue(text: bytes) -> bytes:
    """Return markup from its first element on. White space, comments, processing instructions and
    document types other than HTML's are skipped.
    """
    position = 0
    while prologue_match := _PROLOGUE.match(text, position):
        position = prologue_match.end()
    return text[position:]


def _detect_markup(text: bytes) -> tuple[str, str] | None:
    """Return media type and description of HTML, a feed or other XML; None if the text does not
    begin with a tag.
    """
    start = _skip_prologue(text)
    has_xml_declaration = text.lstrip().startswith(b"<?xml")
    root = _ROOT.match(start)
    if root is not None and (
        kind := _detect_xml(root[1].lower(), root[2], start, has_xml_declaration)
    ):
        return kind
    if _HTML_TAG.match(start) or start.startswith(b"<!--"):
        is_xhtml = has_xml_declaration and b"http://www.w3.org/1999/xhtml" in start[:4096]
        return (
            ("application/xhtml+xml", "XHTML document")
            if is_xhtml
            else ("text/html", "HTML document")
        )
    if has_xml_declaration:
        return XML, "XML document"
    return None


def _detect_xml(
    root: bytes, attributes: bytes, start: bytes, has_xml_declaration: bool
) -> tuple[str, str] | None:
    if root in _ROOT_KINDS and (
        has_xml_declaration or attributes or root in (b"rss", b"urlset", b"sitemapindex")
    ):
        return _ROOT_KINDS[root]
    if root == b"rdf":
        if _RSS_NAMESPACES.search(start[:4096]):
            return "application/rss+xml", "RSS feed, version 1.0"
        return "application/rdf+xml", "RDF document"
    if root == b"article" and (_JATS.search(attributes) or _JATS_FRONT.search(start[:4096])):
        return "application/jats+xml", "JATS article"
    return None


def _detect_plain_text(text: bytes) -> tuple[str, str]:
    """Return media type and description of text without markup at its beginning: JSON, HTML after
    other text, or plain text.
    """
    start = text.lstrip()
    if _JSON.match(start):
        if _JSON_FEED.search(start[:4096]):
            return "application/feed+json", "JSON feed"
        return "application/json", "JSON data"
    if _HTML_LATER.search(text[:_HTML_LATER_BYTES]):
        return "text/html", "HTML document, after something else"
    return PLAIN, "text"


def describe(body: bytes, declared_mime: str | None) -> FileMeta:
    """Return size, hashes and media type of a complete file or response body.

    `declared_mime` is the media type stated by the server or by an archive's index; None if there
    is none.
    """
    sniffed_type = sniff(body, declared_mime)
    return FileMeta(
        size=len(body),
        mime=sniffed_type.mime,
        magic=sniffed_type.magic,
        magic_mime=sniffed_type.magic_mime,
        sha1=hashlib.sha1(body, usedforsecurity=False).hexdigest(),
        md5=hashlib.md5(body, usedforsecurity=False).hexdigest(),
        sha256=hashlib.sha256(body).hexdigest(),
    )
