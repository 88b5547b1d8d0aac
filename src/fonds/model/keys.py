"""Keys: the SHA-1 of a file in its three spellings, the id of a WARC record, and the folder of a blob."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re

_HEX = re.compile(r"[0-9a-f]{40}")
_BASE32 = re.compile(r"[A-Z2-7]{32}")
_RECORD_ID = re.compile(r"<?(urn:uuid:[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})>?")


def parse_sha1(text: str) -> bytes | None:
    """The 20 raw bytes of a SHA-1 written as 40 hex characters or 32 of base32, either case.

    A leading `sha1:` is allowed. None when the text is neither.
    """
    bare = text.strip().removeprefix("sha1:").removeprefix("SHA1:")
    if _HEX.fullmatch(bare.lower()):
        return binascii.unhexlify(bare)
    if _BASE32.fullmatch(bare.upper()):
        return base64.b32decode(bare.upper())
    return None


def encode_sha1_base32(raw: bytes) -> str:
    """The 32 base32 characters of 20 raw bytes, as CDX files and WARC digests write them."""
    return base64.b32encode(raw).decode("ascii")


def parse_record_id(text: str) -> str | None:
    """The id of a WARC record, `urn:uuid:` and a UUID, as it stands in `f:c`: without the angle brackets that
    the header `WARC-Record-ID` puts round it, and `text` may have. None for anything else."""
    found = _RECORD_ID.fullmatch(text)
    return found.group(1) if found else None


def build_blob_key(folder: str, sha1hex: str, extension: str) -> str:
    """`<folder>/<sha1[0:2]>/<sha1[2:4]>/<sha1><ext>`; the hash is that of the source file.

    Source: seed 003 and DESIGN, blob layout.
    """
    return f"{folder}/{sha1hex[0:2]}/{sha1hex[2:4]}/{sha1hex}{extension}"


ASIDE_FOLDER, ASIDE_EXTENSION = "embargoed", ".json"
TEXT_FOLDER, TEXT_EXTENSION = "text", ".txt"
TEI_FOLDER, TEI_EXTENSION = "grobid", ".tei.xml"
THUMBNAIL_FOLDER = "thumbnail/pdf"


def build_text_blob_key(sha1hex: str) -> str:
    """Where the text of a file lies: `text/….txt`."""
    return build_blob_key(TEXT_FOLDER, sha1hex, TEXT_EXTENSION)


def build_embargoed_blob_key(sha1hex: str) -> str:
    """Where documents of collections lie while their file is under embargo: `embargoed/….json`."""
    return build_blob_key(ASIDE_FOLDER, sha1hex, ASIDE_EXTENSION)


def build_tei_blob_key(sha1hex: str) -> str:
    """Where the TEI GROBID made of a file lies: `grobid/….tei.xml`."""
    return build_blob_key(TEI_FOLDER, sha1hex, TEI_EXTENSION)


def build_thumbnail_blob_key(sha1hex: str, form: str = "180px-jpg") -> str:
    """Where the page-0 thumbnail of a PDF in a form lies: `thumbnail/pdf/….180px.jpg`."""
    return build_blob_key(THUMBNAIL_FOLDER, sha1hex, f".{form.replace('-', '.')}")


ORDER_BITS = 60


def compute_order_key(id_: str) -> int:
    """Where a document stands in the order that does not depend on anything but its id."""
    digest = hashlib.sha1(id_.encode("utf-8", "replace"), usedforsecurity=False).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - ORDER_BITS)
