"""Preferences about use in headers, robots meta elements and lines of robots.txt, brought into one form.

Source: draft-ietf-aipref-vocab and draft-ietf-aipref-attach (Content-Usage, a dictionary of RFC 9651);
contentsignals.org (Content-Signal); the TDM Reservation Protocol; RFC 8288 (Link); X-Robots-Tag and robots
meta elements as search engines document them.
Bound: linear in the text; at most `RAW_CHARS_MAX` characters of a value and `STATEMENTS_MAX` statements.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from fonds.model.http_head import HttpHead
from fonds.model.rights import (
    RAW_CHARS_MAX,
    STATEMENTS_MAX,
    StatedIn,
    Statement,
    Subject,
)
from fonds.rights.licenses import license_stated, raw_text

ROBOTS_TAG, LINK = "X-Robots-Tag", "Link"
CONTENT_USAGE, CONTENT_SIGNAL = "Content-Usage", "Content-Signal"
TDM_RESERVATION, TDM_POLICY = "tdm-reservation", "tdm-policy"

_YES_NO = MappingProxyType({"yes": "y", "no": "n", "y": "y", "n": "n"})
_LABEL = re.compile(r"[a-z][a-z0-9_-]{0,49}")
_DIRECTIVE = re.compile(r"([a-z][a-z0-9_-]{0,49})(?:\s{0,4}:\s{0,4}(.{1,60}))?", re.DOTALL)
_WITH_VALUE = frozenset(
    {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}
)
_MEMBER = re.compile(
    r"[ \t]*([a-z*][a-z0-9_.*-]*)"
    r"(?:=([A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*|\?[01]|-?\d{1,15}(?:\.\d{1,3})?|\"(?:[^\"\\]|\\.)*\"))?"
    r"(?:;[ ]*[a-z*][a-z0-9_.*-]*(?:=(?:[A-Za-z0-9!#$%&'*+.^_`|~:/?-]+|\"(?:[^\"\\]|\\.)*\"))?)*[ \t]*"
)
_LINK_TARGET = re.compile(r"[\s,]*<([^<>]{0,2000})>")
_LINK_PARAMETER = re.compile(
    r"\s*;\s*([A-Za-z*-]{1,30})\s*(?:=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^\s;,\"]*)))?"
)


def header_statements(http: HttpHead, url: str) -> tuple[Statement, ...]:
    """Return what the head of a response states about its body, in the order of its headers.

    `url` is the address that answered; relative URLs are resolved with it. Values that do not follow their
    syntax state nothing.
    """
    found: list[Statement] = []
    usages = []
    for name, value in http.headers:
        reader = _READERS.get(name.lower())
        if reader is not None and len(found) < STATEMENTS_MAX:
            found += reader(value[:RAW_CHARS_MAX], url)
        elif name.lower() == CONTENT_USAGE.lower():
            usages.append(value)
    # Several lines are one dictionary: of one label the last value counts.
    found += usage_statements(", ".join(usages), StatedIn.HEADER)
    return tuple(dict.fromkeys(found))[:STATEMENTS_MAX]


def usage_statements(stated: str, where: StatedIn, name: str = CONTENT_USAGE) -> list[Statement]:
    """Return the preferences of a Content-Usage value: `train-ai=n, search=y`."""
    known = dictionary(stated[:RAW_CHARS_MAX])
    said = {label: value for label, value in known.items() if value in ("y", "n")}
    return [preference(f"{label}={value}", stated, where, name) for label, value in said.items()]


def signal_statements(stated: str, where: StatedIn, name: str = CONTENT_SIGNAL) -> list[Statement]:
    """Return the preferences of a Content-Signal value: `ai-train=no, search=yes`."""
    said: dict[str, str] = {}
    for member in re.split("[,;]", stated[:RAW_CHARS_MAX]):
        label, mark, value = (part.strip().lower() for part in member.partition("="))
        if mark and _LABEL.fullmatch(label) and value in _YES_NO:
            said[label] = _YES_NO[value]
    return [preference(f"{label}={value}", stated, where, name) for label, value in said.items()]


def robots_statements(stated: str, where: StatedIn, name: str, agent: str = "") -> list[Statement]:
    """Return the directives of an X-Robots-Tag header or a robots meta element.

    `agent` is whom they are for, "" for everybody; a header may name another one: `googlebot: noindex`. The
    statement's name says whom: `X-Robots-Tag googlebot`.
    """
    found = []
    for directive in _directives(stated[:RAW_CHARS_MAX]):
        whole = _DIRECTIVE.fullmatch(directive.strip().lower())
        if whole is None:
            continue
        word, value = whole[1], whole[2] or ""
        named = ""
        if value and word not in _WITH_VALUE:
            named, word, value = word, *_split(value)
        if _LABEL.fullmatch(word):
            agent = named or agent
            told = f"{name} {agent}" if agent else name
            said = f"{word}:{value.strip()}" if value else word
            found.append(preference(said, stated, where, told))
    return found


def reservation_statements(stated: str, where: StatedIn) -> list[Statement]:
    """Return the statement of a tdm-reservation, which is 1 or 0; none for anything else."""
    value = stated.strip()
    if value not in ("0", "1"):
        return []
    return [preference(f"{TDM_RESERVATION}={value}", stated, where, TDM_RESERVATION)]


def policy_statements(stated: str, where: StatedIn) -> list[Statement]:
    """Return the statement of a tdm-policy, whose URL is its raw text; none for an empty one."""
    return [preference(TDM_POLICY, stated, where, TDM_POLICY)] if stated.strip() else []


def preference(value: str, stated: str, where: StatedIn, name: str) -> Statement:
    """Return a statement about what may be done."""
    return Statement(Subject.PREFERENCE, value, raw_text(stated), where, name)


def dictionary(text: str) -> Mapping[str, str]:
    """Return the members of a dictionary of RFC 9651 with their bare values, `?1` for none.

    Parameters are passed over, inner lists are not known. A text that is no dictionary has no members.
    """
    found: dict[str, str] = {}
    place, length = 0, len(text.rstrip(" \t"))
    while place < length:
        member = _MEMBER.match(text, place)
        if member is None:
            return {}
        found.pop(member[1], None)
        found[member[1]] = member[2] or "?1"
        place = member.end()
        if place >= length:
            return found
        if text[place] != "," or place + 1 >= length:
            return {}
        place += 1
    return found


def link_targets(value: str, relation: str) -> Iterator[str]:
    """Yield the targets of a Link header that have a relation, as they are written."""
    place = 0
    while (target := _LINK_TARGET.match(value, place)) is not None:
        place = target.end()
        relations: Sequence[str] = ()
        while (parameter := _LINK_PARAMETER.match(value, place)) is not None:
            place = parameter.end()
            if parameter[1].lower() == "rel" and not relations:
                relations = (parameter[2] or parameter[3] or "").lower().split()
        if relation in relations:
            yield target[1].strip()
        following = value.find(",", place)
        place = following if following >= 0 else len(value)


def _directives(stated: str) -> Iterator[str]:
    """Split at commas, but for those in a date."""
    waiting = ""
    for piece in stated.split(","):
        if waiting and piece.strip()[:1].isdigit():
            waiting += f",{piece}"
            continue
        if waiting:
            yield waiting
        waiting = ""
        if "unavailable_after" in piece.lower():
            waiting = piece
        else:
            yield piece
    if waiting:
        yield waiting


def _split(text: str) -> tuple[str, str]:
    word, _, value = text.strip().partition(":")
    return word.strip(), value


def _of_tag(value: str, url: str) -> Iterable[Statement]:
    return robots_statements(value, StatedIn.HEADER, ROBOTS_TAG)


def _of_signal(value: str, url: str) -> Iterable[Statement]:
    return signal_statements(value, StatedIn.HEADER)


def _of_reservation(value: str, url: str) -> Iterable[Statement]:
    return reservation_statements(value, StatedIn.HEADER)


def _of_policy(value: str, url: str) -> Iterable[Statement]:
    return policy_statements(value, StatedIn.HEADER)


def _of_link(value: str, url: str) -> Iterable[Statement]:
    for target in link_targets(value, "license"):
        yield from license_stated(target, StatedIn.HEADER, LINK, url)


_READERS = MappingProxyType(
    {
        ROBOTS_TAG.lower(): _of_tag,
        CONTENT_SIGNAL.lower(): _of_signal,
        TDM_RESERVATION: _of_reservation,
        TDM_POLICY: _of_policy,
        LINK.lower(): _of_link,
    }
)
