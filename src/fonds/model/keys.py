"""Parsing of SHA-1 hashes and WARC record ids, keys of the blob store, and the order of document
ids.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re

_HEX = re.compile(r"[0-9a-f]{40}")
_BASE32 = re.compile(r"[A-Z2-7]{32}")
_RECORD_ID = re.compile(r"<?(urn:uuid:[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})>?")


def parse_sha1(text: str) -> bytes | None:
    """Parse a SHA-1 to its 20 bytes; return None if `text` is not a SHA-1.

    Accepts 40 hex digits or 32 base32 characters, in either case, with or without `sha1:` in front.
    """
    bare = text.strip().removeprefix("sha1:").removeprefix("SHA1:")
    if _HEX.fullmatch(bare.lower()):
        return binascii.unhexlify(bare)
    if _BASE32.fullmatch(bare.upper()):
        return base64.b32decode(bare.upper())
    return None


def normalize_sha1(text: str) -> str | None:
    """Return a SHA-1 that `parse_sha1` accepts as 32 base32 characters; None for any other text."""
    bare = text.removeprefix("sha1:")
    if _BASE32.fullmatch(bare):
        return bare
    raw = parse_sha1(text)
    return encode_sha1_base32(raw) if raw else None


def encode_sha1_base32(raw: bytes) -> str:
    """Encode the 20 bytes of a SHA-1 as 32 base32 characters, as in CDX files and WARC digests."""
    return base64.b32encode(raw).decode("ascii")


def parse_record_id(text: str) -> str | None:
    """Return the WARC record id `urn:uuid:…` without angle brackets; None for any other text.

    `text` may have the angle brackets of the header `WARC-Record-ID`.
    """
    match = _RECORD_ID.fullmatch(text)
    return match.group(1) if match else None


def build_blob_key(folder: str, sha1hex: str, extension: str) -> str:
    """Return the key in the blob store `<folder>/<sha1[0:2]>/<sha1[2:4]>/<sha1><ext>`.

    `sha1hex` is the SHA-1 of the file from which the blob was made.

    Source: seed document 003 and DESIGN, blob layout.
    """
    return f"{folder}/{sha1hex[0:2]}/{sha1hex[2:4]}/{sha1hex}{extension}"


EMBARGO_FOLDER, EMBARGO_EXTENSION = "embargoed", ".json"
TEXT_FOLDER, TEXT_EXTENSION = "text", ".txt"
TEI_FOLDER, TEI_EXTENSION = "grobid", ".tei.xml"
THUMBNAIL_FOLDER = "thumbnail/pdf"


def build_text_blob_key(sha1hex: str) -> str:
    """Return the blob key of a file's text: `text/….txt`."""
    return build_blob_key(TEXT_FOLDER, sha1hex, TEXT_EXTENSION)


def build_embargoed_blob_key(sha1hex: str) -> str:
    """Return the blob key `embargoed/….json` for the documents of a file under embargo.

    The blob holds the documents while the embargo withholds them from the index.
    """
    return build_blob_key(EMBARGO_FOLDER, sha1hex, EMBARGO_EXTENSION)


def build_tei_blob_key(sha1hex: str) -> str:
    """Return the blob key `grobid/….tei.xml` for the TEI XML that GROBID made from a PDF."""
    return build_blob_key(TEI_FOLDER, sha1hex, TEI_EXTENSION)


def build_thumbnail_blob_key(sha1hex: str, form: str = "180px-jpg") -> str:
    """Return the blob key of a thumbnail of the first page of a PDF: `thumbnail/pdf/….180px.jpg`.

    `form` is the thumbnail format, such as `180px-jpg`.
    """
    return build_blob_key(THUMBNAIL_FOLDER, sha1hex, f".{form.replace('-', '.')}")


ORDER_BITS = 60


def compute_order_key(id_: str) -> int:
    """Return a number for sorting documents by a hash of their ids.

    The order depends only on the ids. The number has 60 bits.
    """
    digest = hashlib.sha1(id_.encode("utf-8", "replace"), usedforsecurity=False).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - ORDER_BITS)
