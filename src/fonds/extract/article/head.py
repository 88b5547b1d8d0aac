"""What a page says of itself: title, canonical address, language; read from its tree."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from lxml.etree import _Element as Element

from fonds.urls.parts import split_address

_VALUE_MAX_CHARS = 2000
_HEADINGS_MAX = 10
_SEPARATOR = re.compile(r"\s+[|·•»«:/–—-]+\s+|\s*[|»]\s*|(?<=\w)\s*::\s*|(?<=[^\W\d_]):\s+")


@dataclass(frozen=True, slots=True)
class PageHead:
    """`meta` holds the first value of each name in lower case; `headings` the texts of the first `<h1>`."""

    meta: Mapping[str, str]
    title: str
    headings: tuple[str, ...]
    canonical: str
    language: str | None
    amp: str = ""


def read_head(tree: Element) -> PageHead:
    """Read a page's own statements; empty strings and None for what it does not say."""
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
    """The address the page gives for itself, made absolute with `url` when that is of the web."""
    stated = (resolve_url(one, url) for one in (head.canonical, head.meta.get("og:url", "")))
    return next((address for address in stated if address), None)


def resolve_url(stated_url: str, url: str) -> str | None:
    """An address of a page's head made absolute with the page's; None if it is none of the web."""
    base = url if url.lower().startswith(("http://", "https://")) else ""
    try:
        address = urljoin(base, stated_url.strip())
        parts = urlsplit(address)
    except ValueError:
        return None
    return address if stated_url and parts.scheme in ("http", "https") and parts.hostname else None


def choose_title(head: PageHead, headline: str = "", url: str = "") -> str | None:
    """The headline: without the site's name, as the page's `<h1>` writes it where both agree.

    `headline` is JSON-LD's. A statement that is only the name of the site or its domain is passed over, as
    is one that neither `<title>` nor a heading bears out where JSON-LD's is borne out.
    """
    meta = head.meta
    stated = [meta.get(name, "") for name in ("og:title", "twitter:title", "dc.title")]
    ranked = [*stated, headline, head.title, meta.get("title", ""), *head.headings[:1]]
    candidates = [title for title in ranked if title]
    names = _collect_site_names(head, url)
    base = next((one for one in candidates if _squash(one) not in names), "")
    base = base or next(iter(candidates), "")
    if not base:
        return None
    if (
        headline
        and headline != base
        and not _is_borne_out(base, head)
        and _is_borne_out(headline, head)
    ):
        base = headline
    plain = _normalize(base)
    for heading in head.headings:
        if _is_headline(_normalize(heading), plain):
            return heading
    return _strip_site(base, head, names) or base


def normalize_title(title: str | None) -> str | None:
    """Letters and digits in lower case with single spaces, to compare titles; None for no title."""
    return (_normalize(title) or None) if title else None


def _is_headline(heading: str, title: str) -> bool:
    """Whether a heading is what a title is about: most of it, or a good beginning."""
    if not heading or heading not in title:
        return False
    return 2 * len(heading) >= len(title) or (len(heading) >= 15 and title.startswith(heading))


def _collect_site_names(head: PageHead, url: str) -> frozenset[str]:
    """What the site calls itself, and its domain with and without the ending, letters and digits only."""
    said = [
        head.meta.get(name, "") for name in ("og:site_name", "application-name", "al:ios:app_name")
    ]
    host = (
        (split_address(url).host or split_address(head.canonical).host).lower().removeprefix("www.")
    )
    said += [host, *([host.rpartition(".")[0]] if host else [])]
    return frozenset(_squash(name) for name in said if name)


def _is_borne_out(title: str, head: PageHead) -> bool:
    plain = _normalize(title)
    return plain in _normalize(head.title) or any(
        plain == _normalize(heading) for heading in head.headings
    )


def _squash(text: str) -> str:
    return _normalize(text).replace(" ", "")


def _strip_site(title: str, head: PageHead, sites: frozenset[str]) -> str:
    """Cut the site's name off either end, and a short tail behind the last separator."""
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
    found: list[str] = []
    for element in tree.iter("h1"):
        if len(found) == _HEADINGS_MAX:
            break
        if text := _get_text(element):
            found.append(text)
    return tuple(found)


def _is_inside_svg(element: Element) -> bool:
    return next(element.iterancestors("svg"), None) is not None


def _get_text(element: Element) -> str:
    return _normalize_line(str(element.xpath("string()"))[: 2 * _VALUE_MAX_CHARS])


def _normalize_line(text: str) -> str:
    """One line; entities that were written twice are undone once more."""
    text = text[:_VALUE_MAX_CHARS]
    return " ".join((html.unescape(text) if "&" in text else text).split())


def _normalize(text: str) -> str:
    """Letters, digits and their marks in lower case; anything else is a space."""
    kept = (c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in text.casefold())
    return " ".join("".join(kept).split())
