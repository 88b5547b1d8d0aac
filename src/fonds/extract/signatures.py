"""The first bytes by which binary formats are known, as data.

Source: WHATWG MIME Sniffing, section 6, and the formats' own registrations with IANA.
"""

from __future__ import annotations

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
"""Offset, bytes, MIME type, words; the first that fits counts."""

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
"""What stands near the beginning of a ZIP (a member's name), MIME type, words."""
