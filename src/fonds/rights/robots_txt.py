"""What a robots.txt says to one crawler: the rules of its group, and preferences about use.

Groups are chosen by RFC 9309 to the letter: a product token matches whole, whatever its case, groups of one
token count together, and only a rule ends a list of user agents. Crawl-delay, Content-Usage and
Content-Signal are for the user agents named above them.

Source: RFC 9309; draft-ietf-aipref-attach (Content-Usage with an optional path); contentsignals.org.
Bound: the caller limits the text; `STATEMENTS_MAX` preferences, patterns matched piece by piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from fonds.model.rights import STATEMENTS_MAX, Statement, StatementSource
from fonds.rights.preferences import parse_content_signal, parse_content_usage

_ANY_AGENT = "*"
_PRODUCT = re.compile(r"[A-Za-z_-]+")
_LINE_END = re.compile(r"\r\n|\r|\n")
_AGENT, _ALLOW, DISALLOW, _DELAY = "User-agent", "Allow", "Disallow", "Crawl-delay"
_USAGE, _SIGNAL = "Content-Usage", "Content-Signal"
_RESERVED_ESCAPE = re.compile(r"%(2F|25|2A|24)", re.IGNORECASE)
_FIELDS = {
    "user-agent": _AGENT,
    "useragent": _AGENT,
    "user agent": _AGENT,
    "allow": _ALLOW,
    "disallow": DISALLOW,
    "dissallow": DISALLOW,
    "dissalow": DISALLOW,
    "disalow": DISALLOW,
    "diasllow": DISALLOW,
    "disallaw": DISALLOW,
    "crawl-delay": _DELAY,
    "crawl delay": _DELAY,
    "content-usage": _USAGE,
    "content-signal": _SIGNAL,
}
"""Names of fields as files have them, misspellings included."""


@dataclass(frozen=True, slots=True)
class RobotsRules:
    """What is for one crawler: `rules` are (Allow or Disallow, pattern), `preferences` (name, value) in the
    order of the file, `delays` the values of Crawl-delay."""

    rules: tuple[tuple[str, str], ...] = ()
    preferences: tuple[tuple[str, str], ...] = ()
    delays: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The rules as a robots.txt of one group, for everybody."""
        lines = [("User-agent", "*"), *((_DELAY, one) for one in self.delays), *self.rules]
        return "\n".join(f"{name}: {value}" for name, value in lines)

    def find_rule(self, target: str) -> str:
        """The line that decides for a path with its query: of the longest patterns an Allow; "" for none."""
        path = _normalize_path(target)
        found = [
            (len(pattern), name == _ALLOW, f"{name}: {pattern}")
            for name, pattern in self.rules
            if pattern and matches_pattern(pattern, path)
        ]
        return max(found, key=lambda one: one[:2])[2] if found else ""

    def find_statements(self, target: str) -> tuple[Statement, ...]:
        """The preferences for a path with its query: those of the longest patterns that match it."""
        path, found = _normalize_path(target), []
        for name, value in self.preferences:
            pattern, stated = _split_pattern(value)
            if matches_pattern(pattern, path):
                found.append((len(pattern), name, stated))
        statements: list[Statement] = []
        for name in (_USAGE, _SIGNAL):
            longest = max((size for size, one, _ in found if one == name), default=0)
            for stated in (text for size, one, text in found if (size, one) == (longest, name)):
                read = parse_content_usage if name == _USAGE else parse_content_signal
                statements += read(stated, StatementSource.ROBOTS_TXT)
        return tuple(dict.fromkeys(statements))[:STATEMENTS_MAX]


NO_RULES = RobotsRules()


def parse_robots_rules(text: str, token: str = "", *, crawler: str = "") -> RobotsRules:
    """Return what is for a product token, or else for everybody; "" is everybody.

    Of a `crawler` only its User-Agent is known: the longest name in it that a group has is its token.
    """
    groups = list(_iter_groups(text))
    tokens = {one for group in groups for one in group.tokens}
    words = set(_PRODUCT.findall(crawler.lower())) if crawler else {token.lower()}
    ours = max(sorted(tokens & words - {""}), key=len, default=_ANY_AGENT)
    rules: list[tuple[str, str]] = []
    preferences: list[tuple[str, str]] = []
    delays: list[str] = []
    for group in groups:
        delays += [value for tokens, value in group.delays if ours in tokens]
        preferences += [(name, one) for tokens, name, one in group.preferences if ours in tokens]
        rules += group.rules if ours in group.tokens else ()
    return RobotsRules(tuple(rules), tuple(preferences), tuple(delays))


def matches_pattern(pattern: str, path: str) -> bool:
    """Return whether a pattern of RFC 9309 (`*`, and `$` at its end) matches a normalised path."""
    is_whole = pattern.endswith("$")
    first, *pieces = (_normalize_path(piece) for piece in pattern.removesuffix("$").split("*"))
    if not path.startswith(first):
        return False
    place = len(first)
    if not pieces:
        return not is_whole or place == len(path)
    last = pieces.pop() if is_whole else ""
    for piece in pieces:
        at = path.find(piece, place)
        if at < 0:
            return False
        place = at + len(piece)
    return not is_whole or (path.endswith(last) and len(path) - len(last) >= place)


def _normalize_path(path: str) -> str:
    """Without escapes, but for those that mean something else than their characters."""
    if "%" not in path:
        return path
    kept = _RESERVED_ESCAPE.sub(lambda one: f"%25{one[1].upper()}", path)
    return unquote(kept, errors="surrogateescape")


def _split_pattern(value: str) -> tuple[str, str]:
    """A preference's pattern, "/" for none, and what it states."""
    if value.startswith(("/", "*")):
        pattern, _, stated = value.partition(" ")
        return pattern, stated.strip()
    return "/", value


@dataclass(slots=True)
class _Group:
    """Rules for a list of user agents; `has_rule` closes the list."""

    tokens: set[str] = field(default_factory=set)
    delays: list[tuple[frozenset[str], str]] = field(default_factory=list)
    rules: list[tuple[str, str]] = field(default_factory=list)
    preferences: list[tuple[frozenset[str], str, str]] = field(default_factory=list)


def _iter_groups(text: str) -> Iterator[_Group]:
    """The groups of a robots.txt. Rules before the first user agent are nobody's."""
    group = _Group()
    for line in _LINE_END.split(text):
        name, value = _split_directive(line.partition("#")[0].strip())
        if name == _AGENT:
            if group.rules:
                yield group
                group = _Group()
            group.tokens.add(_parse_token(value))
        elif name == _DELAY:
            group.delays.append((frozenset(group.tokens), value))
        elif name in (_USAGE, _SIGNAL):
            group.preferences.append((frozenset(group.tokens), name, value))
        elif name and group.tokens:
            group.rules.append((name, value))
    yield group


def _split_directive(line: str) -> tuple[str, str]:
    """A field's name and value; "" for a line of no field that counts. A colon may be missing."""
    name, colon, value = line.partition(":")
    known = _FIELDS.get(name.strip().lower(), "") if colon else ""
    if not known:
        words = line.split(maxsplit=2)
        for count in (1, 2):
            known = _FIELDS.get(" ".join(words[:count]).lower(), "")
            if known:
                value = " ".join(words[count:])
                break
    # Whoever reads these lines next ends one at more characters than the RFC does.
    return known, "".join(map(_replace_control, value.strip()))


def _replace_control(char: str) -> str:
    return quote(char) if len(f"{char}.".splitlines()) > 1 else char


def _parse_token(value: str) -> str:
    """The product token of a User-agent line in small letters: `Fonds/0.1` is `fonds`; "" for none."""
    if value.split(maxsplit=1)[:1] == [_ANY_AGENT]:
        return _ANY_AGENT
    found = _PRODUCT.match(value)
    return found[0].lower() if found else ""
