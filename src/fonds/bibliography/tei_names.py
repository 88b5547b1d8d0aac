"""People and the places they work at, out of TEI.

Source: TEI P5, chapter 13 (names); GROBID, "TEI encoding of results".
"""

from __future__ import annotations

from collections.abc import Iterable

from lxml import etree

from fonds.bibliography.identifiers import orcid_in
from fonds.bibliography.paper import Address, Affiliation, Author

AUTHORS_MAX, AFFILIATIONS_MAX, PARTS_MAX = 5_000, 20, 20
_TEI = "{http://www.tei-c.org/ns/1.0}"
_ADDRESS_PARTS = {
    "line": "addrLine",
    "postcode": "postCode",
    "settlement": "settlement",
    "region": "region",
    "country": "country",
}


def plain(element: etree._Element) -> str:
    """All text within an element, in one line."""
    return " ".join("".join(map(str, element.itertext())).split())


def authors_of(elements: Iterable[etree._Element]) -> tuple[Author, ...]:
    """Those of the elements that name somebody. An author of whom only the affiliation was read is none."""
    found = (_author(one) for one, _ in zip(elements, range(AUTHORS_MAX), strict=False))
    return tuple(one for one in found if one is not None)


def _author(element: etree._Element) -> Author | None:
    person = element.find(f"{_TEI}persName")
    if person is None:
        named = [] if len(element) else [plain(element)]
        named += [plain(one) for one in element.findall(f"{_TEI}name")]
        named += [plain(one) for one in element.findall(f"{_TEI}orgName")]
        name = next(filter(None, named), "")
        return Author(name=name) if name else None
    given = [text for one in person.findall(f"{_TEI}forename") if (text := plain(one))]
    surname = " ".join(filter(None, map(plain, person.findall(f"{_TEI}surname")))) or None
    parts = (*given, surname) if given or surname else (plain(person),)
    name = " ".join(filter(None, parts))
    if not name:
        return None
    first, *others = _affiliations(element) or (None,)
    return Author(
        name=name,
        given_name=given[0] if given else None,
        middle_name=" ".join(given[1:]) or None,
        surname=surname,
        email=_said(element, "email"),
        orcid=_orcid(element),
        affiliation=first,
        affiliations=tuple(one for one in others if one is not None),
    )


def _orcid(element: etree._Element) -> str | None:
    said = [
        one for one in element.iter(f"{_TEI}idno") if (one.get("type") or "").lower() == "orcid"
    ]
    return next(filter(None, (orcid_in(plain(one)) for one in said[:PARTS_MAX])), None)


def _said(element: etree._Element, name: str) -> str | None:
    found = element.find(f".//{_TEI}{name}")
    return None if found is None else plain(found) or None


def _affiliations(element: etree._Element) -> tuple[Affiliation, ...]:
    found = element.findall(f"{_TEI}affiliation")[:AFFILIATIONS_MAX]
    read = (_affiliation(one) for one in found)
    return tuple(one for one in read if one != Affiliation())


def _affiliation(element: etree._Element) -> Affiliation:
    """Several names of one sort are told one after the other."""
    parts: dict[str, list[str]] = {}
    for one in element.findall(f"{_TEI}orgName")[:PARTS_MAX]:
        parts.setdefault(one.get("type") or "institution", []).append(plain(one))
    address = element.find(f".//{_TEI}address")
    where = Address() if address is None else _address(address)
    raw = [one for one in element.findall(f"{_TEI}note") if one.get("type") == "raw_affiliation"]

    def joined(name: str) -> str | None:
        return "; ".join(filter(None, parts.get(name, ()))) or None

    return Affiliation(
        institution=joined("institution"),
        department=joined("department"),
        laboratory=joined("laboratory"),
        address=where if where != Address() else None,
        unstructured=plain(raw[0]) or None if raw else None,
    )


def _address(element: etree._Element) -> Address:
    found = {name: element.find(f"{_TEI}{tag}") for name, tag in _ADDRESS_PARTS.items()}
    return Address(**{name: plain(one) or None for name, one in found.items() if one is not None})
