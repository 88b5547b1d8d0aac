"""Read the rules and usage preferences of a robots.txt for one crawler.

Groups of rules are chosen as RFC 9309 prescribes. The name of a crawler (product token) must match
as a whole; case is ignored. Groups for the same name are merged. Only a rule (Allow or Disallow)
ends a list of user agents. Crawl-delay, Content-Usage and Content-Signal apply to the user agents
named above them.

Source: RFC 9309; draft-ietf-aipref-attach (Content-Usage with an optional path);
contentsignals.org. Limits: the caller limits the length of the text; at most 100 preferences;
patterns are matched piece by piece.
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
"""Fields of a robots.txt by name, including common misspellings."""


@dataclass(frozen=True, slots=True)
class RobotsRules:
    """Rules and usage preferences of a robots.txt for one crawler.

    - `rules`: pairs of `Allow` or `Disallow` and a path pattern.
    - `preferences`: pairs of name (`Content-Usage` or `Content-Signal`) and value, in the order of
      the file.
    - `delays`: values of Crawl-delay, as written.
    """

    rules: tuple[tuple[str, str], ...] = ()
    preferences: tuple[tuple[str, str], ...] = ()
    delays: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """These rules and delays as the text of a robots.txt with one group for all crawlers."""
        lines = [("User-agent", "*"), *((_DELAY, delay) for delay in self.delays), *self.rules]
        return "\n".join(f"{name}: {value}" for name, value in lines)

    def find_rule(self, target: str) -> str:
        """Return the robots.txt rule that applies to a path with query, such as `Allow: /news`; ''
        if no rule matches.

        The longest matching pattern decides; if two are equally long, Allow decides.
        """
        path = _normalize_path(target)
        candidates = [
            (len(pattern), name == _ALLOW, f"{name}: {pattern}")
            for name, pattern in self.rules
            if pattern and matches_pattern(pattern, path)
        ]
        return max(candidates, key=lambda candidate: candidate[:2])[2] if candidates else ""

    def find_statements(self, target: str) -> tuple[Statement, ...]:
        """Return the usage preferences of a robots.txt for a path with query, as statements.

        For Content-Usage and Content-Signal each, the preferences with the longest matching path
        pattern apply.
        """
        path, candidates = _normalize_path(target), []
        for name, value in self.preferences:
            pattern, preference = _split_pattern(value)
            if matches_pattern(pattern, path):
                candidates.append((len(pattern), name, preference))
        statements: list[Statement] = []
        for name in (_USAGE, _SIGNAL):
            longest = max(
                (size for size, field_name, _ in candidates if field_name == name), default=0
            )
            for preference in (
                text
                for size, field_name, text in candidates
                if (size, field_name) == (longest, name)
            ):
                read = parse_content_usage if name == _USAGE else parse_content_signal
                statements += read(preference, StatementSource.ROBOTS_TXT)
        return tuple(dict.fromkeys(statements))[:STATEMENTS_MAX]


NO_RULES = RobotsRules()


def parse_robots_rules(text: str, token: str = "", *, crawler: str = "") -> RobotsRules:
    """Return the rules of a robots.txt for the crawler named `token`; without such rules, those for
    all crawlers.

    `token` '' means all crawlers. If only the User-Agent header of a crawler is known (`crawler`),
    its name is the longest name in the header that has a group of rules.
    """
    groups = list(_iter_groups(text))
    tokens = {group_token for group in groups for group_token in group.tokens}
    words = set(_PRODUCT.findall(crawler.lower())) if crawler else {token.lower()}
    own_token = max(sorted(tokens & words - {""}), key=len, default=_ANY_AGENT)
    rules: list[tuple[str, str]] = []
    preferences: list[tuple[str, str]] = []
    delays: list[str] = []
    for group in groups:
        delays += [value for tokens, value in group.delays if own_token in tokens]
        preferences += [
            (name, value) for tokens, name, value in group.preferences if own_token in tokens
        ]
        rules += group.rules if own_token in group.tokens else ()
    return RobotsRules(tuple(rules), tuple(preferences), tuple(delays))


def matches_pattern(pattern: str, path: str) -> bool:
    """Return whether a path pattern of a robots.txt (RFC 9309) matches a normalized path. `*`
    matches any characters, `$` the end.
    """
    is_whole = pattern.endswith("$")
    first, *pieces = (_normalize_path(piece) for piece in pattern.removesuffix("$").split("*"))
    if not path.startswith(first):
        return False
    position = len(first)
    if not pieces:
        return not is_whole or position == len(path)
    last = pieces.pop() if is_whole else ""
    for piece in pieces:
        piece_start = path.find(piece, position)
        if piece_start < 0:
            return False
        position = piece_start + len(piece)
    return not is_whole or (path.endswith(last) and len(path) - len(last) >= position)


def _normalize_path(path: str) -> str:
    """Decode percent escapes in a URL path, except those of `/`, `%`, `*` and `$`, which have a
    special meaning.
    """
    if "%" not in path:
        return path
    protected_path = _RESERVED_ESCAPE.sub(lambda match: f"%25{match[1].upper()}", path)
    return unquote(protected_path, errors="surrogateescape")


def _split_pattern(value: str) -> tuple[str, str]:
    """Split a usage preference of a robots.txt into its path pattern (default `/`) and its
    value.
    """
    if value.startswith(("/", "*")):
        pattern, _, stated_value = value.partition(" ")
        return pattern, stated_value.strip()
    return "/", value


@dataclass(slots=True)
class _Group:
    """Group of a robots.txt: rules for a list of user agents.

    - `tokens`: names of the user agents, in lower case.
    - `rules`: (Allow or Disallow, path pattern) of each rule.
    - `delays`, `preferences`: values of Crawl-delay, and names and values of usage preferences.
      They apply only to the user agents named above them, so each is stored with these names.
    """

    tokens: set[str] = field(default_factory=set)
    delays: list[tuple[frozenset[str], str]] = field(default_factory=list)
    rules: list[tuple[str, str]] = field(default_factory=list)
    preferences: list[tuple[frozenset[str], str, str]] = field(default_factory=list)


def _iter_groups(text: str) -> Iterator[_Group]:
    """Yield the groups of a robots.txt. Rules before the first `User-agent` line are ignored."""
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
    """Split a line of a robots.txt into field name and value, with or without a colon.

    The field name is normalized, such as `Disallow` for `disalow`; it is '' for unknown fields.
    """
    name, colon, value = line.partition(":")
    field_name = _FIELDS.get(name.strip().lower(), "") if colon else ""
    if not field_name:
        words = line.split(maxsplit=2)
        for count in (1, 2):
            field_name = _FIELDS.get(" ".join(words[:count]).lower(), "")
            if field_name:
                value = " ".join(words[count:])
                break
    # Later readers of these lines split at more characters than the RFC does.
    return field_name, "".join(map(_replace_control, value.strip()))


def _replace_control(char: str) -> str:
    return quote(char) if len(f"{char}.".splitlines()) > 1 else char


def _parse_token(value: str) -> str:
    """Return the crawler's name in the value of a User-agent line, in lower case: `Fonds/0.1` is
    `fonds`.

    Return '' if there is no name.
    """
    if value.split(maxsplit=1)[:1] == [_ANY_AGENT]:
        return _ANY_AGENT
    product = _PRODUCT.match(value)
    return product[0].lower() if product else ""
