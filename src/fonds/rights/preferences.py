"""Normalize usage preferences that headers, robots meta elements and robots.txt state, such as
`noindex`.

Source: draft-ietf-aipref-vocab and draft-ietf-aipref-attach (Content-Usage, a dictionary of RFC
9651); contentsignals.org (Content-Signal); the TDM Reservation Protocol; RFC 8288 (Link);
X-Robots-Tag and robots meta elements as search engines document them. Limits: linear in the text;
at most 2,000 characters of a value and 100 statements.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from fonds.model.exchange import HttpHead
from fonds.model.rights import (
    RAW_MAX_CHARS,
    STATEMENTS_MAX,
    Statement,
    StatementSource,
    Subject,
)
from fonds.rights.licenses import build_license_statements, clean_raw_text

ROBOTS_TAG, LINK = "X-Robots-Tag", "Link"
CONTENT_USAGE, CONTENT_SIGNAL = "Content-Usage", "Content-Signal"
TDM_RESERVATION, TDM_POLICY = "tdm-reservation", "tdm-policy"

_YES_NO = MappingProxyType({"yes": "y", "no": "n", "y": "y", "n": "n"})
_LABEL = re.compile(r"[a-z][a-z0-9_-]{0,49}")
_DIRECTIVE = re.compile(r"([a-z][a-z0-9_-]{0,49})(?:\s{0,4}:\s{0,4}(.{1,60}))?", re.DOTALL)
_VALUE_DIRECTIVES = frozenset(
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


def read_header_statements(http: HttpHead, url: str) -> tuple[Statement, ...]:
    """Return the rights statements in the headers of a response, in the order of the headers.

    `url` is the URL of the response, to which relative URLs refer. Malformed values are ignored.
    """
    statements: list[Statement] = []
    usage_values = []
    for name, value in http.headers:
        reader = _READERS.get(name.lower())
        if reader is not None and len(statements) < STATEMENTS_MAX:
            statements += reader(value[:RAW_MAX_CHARS], url)
        elif name.lower() == CONTENT_USAGE.lower():
            usage_values.append(value)
    # Several lines form one dictionary, in which the last value of a label counts.
    statements += parse_content_usage(", ".join(usage_values), StatementSource.HEADER)
    return tuple(dict.fromkeys(statements))[:STATEMENTS_MAX]


def parse_content_usage(
    stated_text: str, source: StatementSource, name: str = CONTENT_USAGE
) -> list[Statement]:
    """Return the usage preferences in a Content-Usage value, such as `train-ai=n, search=y`, as
    statements.
    """
    members = parse_dictionary(stated_text[:RAW_MAX_CHARS])
    preferences = {label: value for label, value in members.items() if value in ("y", "n")}
    return [
        build_preference(f"{label}={value}", stated_text, source, name)
        for label, value in preferences.items()
    ]


def parse_content_signal(
    stated_text: str, source: StatementSource, name: str = CONTENT_SIGNAL
) -> list[Statement]:
    """Return the usage preferences in a Content-Signal value, such as `ai-train=no, search=yes`, as
    statements.
    """
    preferences: dict[str, str] = {}
    for member in re.split("[,;]", stated_text[:RAW_MAX_CHARS]):
        label, mark, value = (part.strip().lower() for part in member.partition("="))
        if mark and _LABEL.fullmatch(label) and value in _YES_NO:
            preferences[label] = _YES_NO[value]
    return [
        build_preference(f"{label}={value}", stated_text, source, name)
        for label, value in preferences.items()
    ]


def parse_robots_directives(
    stated_text: str, source: StatementSource, name: str, agent: str = ""
) -> list[Statement]:
    """Return the directives of an X-Robots-Tag header or a robots meta element as statements.

    `agent` is the crawler to which the directives apply; '' for all crawlers. A header may name
    another crawler: `googlebot: noindex`. The name of the statement then includes the crawler:
    `X-Robots-Tag googlebot`.
    """
    preferences = []
    for directive in _iter_directives(stated_text[:RAW_MAX_CHARS]):
        directive_match = _DIRECTIVE.fullmatch(directive.strip().lower())
        if directive_match is None:
            continue
        word, value = directive_match[1], directive_match[2] or ""
        named_agent = ""
        if value and word not in _VALUE_DIRECTIVES:
            named_agent, word, value = word, *_split(value)
        if _LABEL.fullmatch(word):
            agent = named_agent or agent
            full_name = f"{name} {agent}" if agent else name
            preference = f"{word}:{value.strip()}" if value else word
            preferences.append(build_preference(preference, stated_text, source, full_name))
    return preferences


def parse_reservation(stated_text: str, source: StatementSource) -> list[Statement]:
    """Return a list with the statement of a `tdm-reservation` value, 1 or 0; empty for any other
    value.
    """
    value = stated_text.strip()
    if value not in ("0", "1"):
        return []
    return [build_preference(f"{TDM_RESERVATION}={value}", stated_text, source, TDM_RESERVATION)]


def parse_policy(stated_text: str, source: StatementSource) -> list[Statement]:
    """Return a list with the statement of a `tdm-policy`, with its URL as raw text; empty for an
    empty value.
    """
    return (
        [build_preference(TDM_POLICY, stated_text, source, TDM_POLICY)]
        if stated_text.strip()
        else []
    )


def build_preference(value: str, stated_text: str, source: StatementSource, name: str) -> Statement:
    """Build the statement of a usage preference.

    - `value`: normalized value, such as `noindex` or `train-ai=n`.
    - `stated_text`: value as the website states it.
    - `source`, `name`: kind of source in which the preference was stated, and name of the header or
      element.
    """
    return Statement(Subject.PREFERENCE, value, clean_raw_text(stated_text), source, name)


def parse_dictionary(text: str) -> Mapping[str, str]:
    """Return the members of an RFC 9651 dictionary by name, without parameters. A member without a
    value has `?1`.

    Inner lists are not supported. The result is empty for a text that is not a dictionary.
    """
    members: dict[str, str] = {}
    position, length = 0, len(text.rstrip(" \t"))
    while position < length:
        member = _MEMBER.match(text, position)
        if member is None:
            return {}
        members.pop(member[1], None)
        members[member[1]] = member[2] or "?1"
        position = member.end()
        if position >= length:
            return members
        if text[position] != "," or position + 1 >= length:
            return {}
        position += 1
    return members


def iter_link_targets(value: str, relation: str) -> Iterator[str]:
    """Yield the URLs in a Link header (`value`) that have the relation `relation`, as written in
    the header.
    """
    position = 0
    while (target := _LINK_TARGET.match(value, position)) is not None:
        position = target.end()
        relations: Sequence[str] = ()
        while (parameter := _LINK_PARAMETER.match(value, position)) is not None:
            position = parameter.end()
            if parameter[1].lower() == "rel" and not relations:
                relations = (parameter[2] or parameter[3] or "").lower().split()
        if relation in relations:
            yield target[1].strip()
        comma = value.find(",", position)
        position = comma if comma >= 0 else len(value)


def _iter_directives(stated_text: str) -> Iterator[str]:
    """Yield the directives in an X-Robots-Tag header or robots meta element: the parts between
    commas. Commas in a date do not count.
    """
    pending = ""
    for piece in stated_text.split(","):
        if pending and piece.strip()[:1].isdigit():
            pending += f",{piece}"
            continue
        if pending:
            yield pending
        pending = ""
        if "unavailable_after" in piece.lower():
            pending = piece
        else:
            yield piece
    if pending:
        yield pending


def _split(text: str) -> tuple[str, str]:
    word, _, value = text.strip().partition(":")
    return word.strip(), value


def _read_robots_tag(value: str, url: str) -> Iterable[Statement]:
    return parse_robots_directives(value, StatementSource.HEADER, ROBOTS_TAG)


def _read_signal(value: str, url: str) -> Iterable[Statement]:
    return parse_content_signal(value, StatementSource.HEADER)


def _read_reservation(value: str, url: str) -> Iterable[Statement]:
    return parse_reservation(value, StatementSource.HEADER)


def _read_policy(value: str, url: str) -> Iterable[Statement]:
    return parse_policy(value, StatementSource.HEADER)


def _read_link(value: str, url: str) -> Iterable[Statement]:
    for target in iter_link_targets(value, "license"):
        yield from build_license_statements(target, StatementSource.HEADER, LINK, url)


_READERS = MappingProxyType(
    {
        ROBOTS_TAG.lower(): _read_robots_tag,
        CONTENT_SIGNAL.lower(): _read_signal,
        TDM_RESERVATION: _read_reservation,
        TDM_POLICY: _read_policy,
        LINK.lower(): _read_link,
    }
)
