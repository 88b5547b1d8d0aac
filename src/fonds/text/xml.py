"""Parse untrusted XML as a tree or a stream of elements.

Entities, DTDs and network access are disabled. Malformed XML is repaired only on request. Documents
that declare entities are refused before parsing.
Source: XML 1.0, section 4 (entities).
Limits: linear in the bytes, which the caller limits; libxml2 limits the depth to 256.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

from lxml import etree

from fonds.model.disposition import Reason
from fonds.model.errors import DamagedInputError

HEAD_BYTES = 64 * 1024
XLINK_BASE = "{http://www.w3.org/XML/1998/namespace}base"

_ENCODED = re.compile(rb"<\?xml[^>]{0,200}\sencoding\s{0,20}=")
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


def has_entities(body: bytes) -> bool:
    """Return whether an XML document declares entities, in any one-byte or two-byte encoding."""
    return b"<!entity" in body.replace(b"\x00", b"").lower()


def parse_strictly(body: bytes, charset: str | None = None) -> etree._Element:
    """Return the root element of a well-formed XML document. Raises DamagedInputError for any other
    document.

    `charset` is the encoding that the server declared; it is used if the document declares none.
    """
    refuse_entities(body)
    try:
        parser = _create_parser(None if _declares_encoding(body) else charset)
        root = etree.fromstring(body, parser)
    except (etree.XMLSyntaxError, LookupError, ValueError) as error:
        raise DamagedInputError(Reason.BAD_LISTING, f"not well-formed: {error}") from error
    if root is None:
        raise DamagedInputError(Reason.BAD_LISTING, "an empty document")
    return root


def refuse_entities(body: bytes) -> None:
    """Raise DamagedInputError if an XML document declares entities."""
    if has_entities(body):
        raise DamagedInputError(Reason.BAD_LISTING, "it declares its own entities")


def iter_elements(body: bytes, *, repair: bool = False) -> Iterator[etree._Element]:
    """Yield each element of an XML document when the element ends. With `repair`, malformed parts
    are skipped.

    Raises DamagedInputError if the document declares entities, or is malformed and `repair` is
    False. Callers release each element with `free_element`.
    """
    refuse_entities(body)
    parser = etree.iterparse(
        io.BytesIO(body),
        events=("end",),
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
        recover=repair,
    )
    try:
        for _, element in parser:
            yield element
    except etree.XMLSyntaxError as error:
        raise DamagedInputError(Reason.BAD_LISTING, f"not well-formed: {error}") from error


def free_element(element: etree._Element) -> None:
    """Free the memory of a processed XML element and of its preceding siblings."""
    element.clear(keep_tail=False)
    parent = element.getparent()
    if parent is not None:
        while element.getprevious() is not None:
            del parent[0]


def get_local_name(element: etree._Element) -> str:
    """Return the name of an XML element without its namespace, in lower case."""
    return element.tag.rpartition("}")[2].lower() if isinstance(element.tag, str) else ""


def get_namespace(element: etree._Element) -> str:
    """Return the namespace of an XML element; '' if it has none."""
    return element.tag[1:].rpartition("}")[0] if isinstance(element.tag, str) else ""


def get_text(element: etree._Element | None) -> str:
    """Return all text within an XML element and its descendants; '' for None."""
    return "" if element is None else "".join(element.itertext())


def find_root_name(body: bytes) -> str:
    """Return the name of the first element of an XML document in lower case without prefix; '' if
    there is no element.
    """
    head = body[:HEAD_BYTES].replace(b"\x00", b"")
    root = _ROOT.match(head.lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n"))
    return root[1].decode("ascii").lower() if root else ""


_ROOT = re.compile(
    rb"(?:<\?[^>]{0,2000}\?>\s*|<!--(?:(?!-->).){0,20000}-->\s*|<!doctype[^\[>]{0,2000}(?:\[[^\]]{0,20000}\]\s*)?>\s*)"
    rb"{0,20}<(?:[A-Za-z_][\w.-]{0,100}:)?([A-Za-z_][\w.-]{0,100})",
    re.IGNORECASE | re.DOTALL,
)


def _declares_encoding(body: bytes) -> bool:
    return body.startswith(_BOMS) or _ENCODED.search(body[:300]) is not None


def _create_parser(charset: str | None) -> etree.XMLParser:
    return etree.XMLParser(
        encoding=charset,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
