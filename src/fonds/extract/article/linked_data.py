"""JSON-LD of a page: the article's text, dates, authors, headline, image and rights.

Source: schema.org, Article and its subtypes; JSON-LD 1.1, section 6 (embedding in HTML).
Limits: scripts of up to a million characters, and 20,000 values in all of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from lxml.etree import _Element as Element

from fonds.text.entities import decode_entities

SCRIPT_MAX_CHARS = 1_000_000
VALUES_MAX = 20_000
"""Limits of JSON-LD: characters of one script, and number of values in all scripts of a page."""

AUTHORS_MAX = 50
RIGHTS_MAX = 50

_ARTICLE_TYPES = re.compile(
    r"article|blogposting|posting|report|review|recipe|story|webpage|video|newsarticle",
    re.IGNORECASE,
)
_WORK_TYPES = re.compile(
    r"article|work|page|site|posting|report|dataset|book|chapter", re.IGNORECASE
)
_TAG = re.compile(r"<[^<>]{0,2000}>")


@dataclass(frozen=True, slots=True)
class LinkedData:
    """What the JSON-LD of a page states about the article: the first statement of each kind, empty
    if there is none.

    - `types`: schema.org types of all objects in the JSON-LD.
    - `body`: text of the article without tags; the longest if several are stated.
    - `published`, `modified`: dates as written.
    - `image`: URL of the image.
    - `is_free`: value of `isAccessibleForFree`; None if not stated.
    - `licenses`, `holders`, `notices`: all licences, copyright holders and copyright notices of
      works other than images.
    """

    types: frozenset[str] = frozenset()
    headline: str = ""
    body: str = ""
    published: str = ""
    modified: str = ""
    authors: tuple[str, ...] = ()
    image: str = ""
    is_free: bool | None = None
    licenses: tuple[str, ...] = ()
    holders: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


def read_linked_data(tree: Element) -> LinkedData:
    """Read all JSON-LD of a page; invalid JSON is ignored. Never raises."""
    things = list(_iter_objects(tree))
    types = frozenset(name for thing in things for name in _list_types(thing))
    articles = [thing for thing in things if any(map(_ARTICLE_TYPES.search, _list_types(thing)))]
    articles.sort(key=lambda thing: all(name.lower() == "webpage" for name in _list_types(thing)))

    def first(*names: str) -> str:
        return next(
            (text for thing in articles for name in names if (text := _get_text(thing.get(name)))),
            "",
        )

    ids_with_names = (
        (_get_text(thing.get("@id")), _get_text(thing.get("name"))) for thing in things
    )
    by_id = {identifier: name for identifier, name in ids_with_names if identifier and name}
    works = [thing for thing in things if any(map(_WORK_TYPES.search, _list_types(thing)))]

    def all_of(name: str, *properties: str) -> tuple[str, ...]:
        texts = (
            text for thing in works for text in _iter_names(thing.get(name), by_id, properties)
        )
        return tuple(islice(dict.fromkeys(texts), RIGHTS_MAX))

    body = max((_get_text(thing.get("articleBody")) for thing in articles), key=len, default="")
    return LinkedData(
        types=types,
        headline=decode_entities(first("headline")),
        body=_TAG.sub(" ", decode_entities(body)) if "<" in body or "&" in body else body,
        published=first("datePublished", "dateCreated"),
        modified=first("dateModified"),
        authors=next(
            (names for thing in articles if (names := _find_authors(thing.get("author"), things))),
            (),
        ),
        image=next((url for thing in articles if (url := _find_image(thing.get("image")))), ""),
        is_free=next(
            (is_free for thing in articles if (is_free := _is_free(thing)) is not None), None
        ),
        licenses=all_of("license", "url", "name"),
        holders=all_of("copyrightHolder", "name", "url"),
        notices=all_of("copyrightNotice"),
    )


def _iter_objects(tree: Element) -> Iterator[Mapping[str, Any]]:
    values_left = VALUES_MAX
    for script in tree.iter("script"):
        kind = (script.get("type") or "").strip().lower()
        text = script.text
        if not kind.startswith("application/ld+json") or not text or len(text) > SCRIPT_MAX_CHARS:
            continue
        try:
            pending: list[Any] = [json.loads(text.strip().strip(";"), strict=False)]
        except (ValueError, RecursionError):
            continue
        while pending and values_left:
            values_left -= 1
            value = pending.pop()
            if isinstance(value, list):
                pending.extend(reversed(value))
            elif isinstance(value, dict):
                yield value
                inner = [child for child in value.values() if isinstance(child, dict | list)]
                pending.extend(reversed(inner))


def _list_types(obj: Mapping[str, Any]) -> list[str]:
    stated_type = obj.get("@type")
    names = stated_type if isinstance(stated_type, list) else [stated_type]
    return [name for name in names if isinstance(name, str)]


def _get_text(value: object) -> str:
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, dict):
        value = value.get("@value")
    return value.strip() if isinstance(value, str) else ""


def _find_authors(value: object, objects: list[Mapping[str, Any]]) -> tuple[str, ...]:
    names: list[str] = []
    for author in value[:AUTHORS_MAX] if isinstance(value, list) else [value]:
        if isinstance(author, dict) and "name" not in author and "@id" in author:
            named_authors = (
                thing for thing in objects if thing.get("@id") == author["@id"] and "name" in thing
            )
            author = next(named_authors, author)
        name = _get_text(author.get("name")) if isinstance(author, dict) else _get_text(author)
        is_person = not isinstance(author, dict) or "Organization" not in _list_types(author)
        if name and is_person:
            names.append(decode_entities(name))
    return tuple(dict.fromkeys(names))


def _iter_names(
    value: object, by_id: Mapping[str, str], properties: Sequence[str]
) -> Iterator[str]:
    """Yield the texts that a JSON-LD value states: strings as they are, and objects by name.

    The name of an object is the first non-empty of its `properties`. An object without them is
    named by the object with the same `@id` (`by_id` has the names), or else by its `@id`.
    """
    for item in value[:RIGHTS_MAX] if isinstance(value, list) else [value]:
        if not isinstance(item, dict):
            text = _get_text(item)
        elif any(name in item for name in properties):
            text = next(filter(None, (_get_text(item.get(name)) for name in properties)), "")
        else:
            identifier = _get_text(item.get("@id"))
            text = by_id.get(identifier) or identifier or _get_text(item)
        if text:
            yield decode_entities(text)


def _find_image(value: object) -> str:
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, dict):
        value = value.get("url") or value.get("contentUrl")
    return _get_text(value)


def _is_free(obj: Mapping[str, Any]) -> bool | None:
    stated_value = obj.get("isAccessibleForFree")
    if isinstance(stated_value, bool):
        return stated_value
    return (
        {"true": True, "false": False}.get(stated_value.strip().lower())
        if isinstance(stated_value, str)
        else None
    )
