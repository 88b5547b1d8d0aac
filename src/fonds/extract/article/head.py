"""Read what a page states about itself in its head and headings: title, canonical URL, language."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from lxml.etree import _Element as Element

from fonds.text.entities import decode_entities
from fonds.urls.parts import split_address

_VALUE_MAX_CHARS = 2000
_HEADINGS_MAX = 10
_SEPARATOR = re.compile(r"\s+[|·•»«:/–—-]+\s+|\s*[|»]\s*|(?<=\w)\s*::\s*|(?<=[^\W\d_]):\s+")


@dataclass(frozen=True, slots=True)
class PageHead:
    """What the head and the headings of a page state about the page.

    - `meta`: first value of each meta tag, by the tag's name in lower case.
    - `title`: text of `<title>`; '' if there is none.
    - `headings`: texts of the first ten `<h1>` elements.
    - `canonical`, `amp`: canonical URL and URL of the AMP version, as written; '' if not stated.
    - `language`: declared language; None if not stated.
    """

    meta: Mapping[str, str]
    title: str
    headings: tuple[str, ...]
    canonical: str
    language: str | None
    amp: str = ""


def read_head(tree: Element) -> PageHead:
    """Read the title, meta tags, headings, links and language in the tree of a page. A missing
    value is '' or None.
    """
    meta: dict[str, str] = {}
    for element in tree.iter("meta"):
        content = element.get("content")
        name = element.get("property") or element.get("name") or element.get("itemprop")
        name = name or element.get("http-equiv")
        if name and content and content.strip():
            meta.setdefault(name.strip().lower(), _normalize_line(content))
    titles = (element for element in tree.iter("title") if not _is_inside_svg(element))
    title = next((text for element in titles if (text := _get_text(element))), "")
    links = {
        rel: link.get("href", "").strip()
        for link in reversed(list(tree.iter("link")))
        for rel in (link.get("rel") or "").lower().split()
        if rel in ("canonical", "amphtml") and link.get("href")
    }
    language = tree.get("lang") or tree.get("xml:lang") or meta.get("content-language")
    return PageHead(
        meta=meta,
        title=title,
        headings=_find_headings(tree),
        canonical=links.get("canonical", ""),
        amp=links.get("amphtml", ""),
        language=language or meta.get("dc.language") or meta.get("og:locale"),
    )


def find_canonical_url(head: PageHead, url: str) -> str | None:
    """Return the canonical URL that a page states in `<link>` or `og:url`, made absolute with
    `url`, the page's own URL.

    Return None if the page states no valid URL.
    """
    addresses = (
        resolve_url(stated_url, url) for stated_url in (head.canonical, head.meta.get("og:url", ""))
    )
    return next((address for address in addresses if address), None)


def resolve_url(stated_url: str, url: str) -> str | None:
    """Make a stated URL absolute with the page's `url`; None if the result is no web URL."""
    base = url if url.lower().startswith(("http://", "https://")) else ""
    try:
        address = urljoin(base, stated_url.strip())
        parts = urlsplit(address)
    except ValueError:
        return None
    return address if stated_url and parts.scheme in ("http", "https") and parts.hostname else None


def choose_title(head: PageHead, headline: str = "", url: str = "") -> str | None:
    """Return the title of an article without the name of the site; None if there is none.

    - `headline`: title in JSON-LD.
    - `url`: URL of the page, whose domain helps to recognise the name of the site.

    If an `<h1>` agrees with the title, the spelling of the `<h1>` is used. A stated title is
    ignored if it is only the name or domain of the site. A stated title is also ignored if neither
    `<title>` nor an `<h1>` has it, but one of them has the headline.
    """
    meta = head.meta
    meta_titles = [meta.get(name, "") for name in ("og:title", "twitter:title", "dc.title")]
    ranked_titles = [*meta_titles, headline, head.title, meta.get("title", ""), *head.headings[:1]]
    candidates = [title for title in ranked_titles if title]
    names = _collect_site_names(head, url)
    base = next((candidate for candidate in candidates if _squash(candidate) not in names), "")
    base = base or next(iter(candidates), "")
    if not base:
        return None
    if (
        headline
        and headline != base
        and not _is_confirmed_by_heading(base, head)
        and _is_confirmed_by_heading(headline, head)
    ):
        base = headline
    normalized_title = _normalize(base)
    for heading in head.headings:
        if _is_headline(_normalize(heading), normalized_title):
            return heading
    return _strip_site(base, head, names) or base


def normalize_title(title: str | None) -> str | None:
    """Return the letters and digits of a title in lower case with single spaces, for comparison;
    None without a title.
    """
    return (_normalize(title) or None) if title else None


def _is_headline(heading: str, title: str) -> bool:
    """Return whether a heading is the headline of the page that has this title: at least half of
    the title, or a long beginning of it.

    Both texts must be normalized.
    """
    if not heading or heading not in title:
        return False
    return 2 * len(heading) >= len(title) or (len(heading) >= 15 and title.startswith(heading))


def _collect_site_names(head: PageHead, url: str) -> frozenset[str]:
    """Return the names of the site that a page states, and the host of its URL with and without the
    last label. All have letters and digits only.
    """
    names = [
        head.meta.get(name, "") for name in ("og:site_name", "application-name", "al:ios:app_name")
    ]
    host = (
        (split_address(url).host or split_address(head.canonical).host).lower().removeprefix("www.")
    )
    names += [host, *([host.rpartition(".")[0]] if host else [])]
    return frozenset(_squash(name) for name in names if name)


def _is_confirmed_by_heading(title: str, head: PageHead) -> bool:
    normalized_title = _normalize(title)
    return normalized_title in _normalize(head.title) or any(
        normalized_title == _normalize(heading) for heading in head.headings
    )


def _squash(text: str) -> str:
    return _normalize(text).replace(" ", "")


def _strip_site(title: str, head: PageHead, sites: frozenset[str]) -> str:
    """Return a title without the name of the site at its beginning or end.

    If no name matches, a short part after the last separator is removed, provided that the title
    comes from `<title>`. `sites` are the names of the site as letters and digits.
    """
    separators = list(_SEPARATOR.finditer(title))
    if not separators:
        return title
    first, last = separators[0], separators[-1]
    if _squash(title[last.end() :]) in sites:
        return title[: last.start()].strip()
    if _squash(title[: first.start()]) in sites:
        return title[first.end() :].strip()
    tail = title[last.end() :].split()
    is_tail = (
        title == head.title and len(tail) <= 4 and last.start() > 2 * (len(title) - last.end())
    )
    return title[: last.start()].strip() if is_tail and ":" not in last[0] else title


def _find_headings(tree: Element) -> tuple[str, ...]:
    headings: list[str] = []
    for element in tree.iter("h1"):
        if len(headings) == _HEADINGS_MAX:
            break
        if text := _get_text(element):
            headings.append(text)
    return tuple(headings)


def _is_inside_svg(element: Element) -> bool:
    return next(element.iterancestors("svg"), None) is not None


def _get_text(element: Element) -> str:
    return _normalize_line(str(element.xpath("string()"))[: 2 * _VALUE_MAX_CHARS])


def _normalize_line(text: str) -> str:
    """Return a text as a single line with single spaces. Entities that were escaped twice are
    unescaped once more.
    """
    text = text[:_VALUE_MAX_CHARS]
    return " ".join(decode_entities(text).split())


def _normalize(text: str) -> str:
    """Return a text in lower case with only its letters, digits and combining marks. Anything else
    becomes a space.
    """
    chars = (
        c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in text.casefold()
    )
    return " ".join("".join(chars).split())
