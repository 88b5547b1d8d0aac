"""The article in a page: its text, its date, its title.

trafilatura does the choosing, htmldate the dating; what they cannot take is read by our own means, so
that a page of any size and shape keeps its text. Neither ever fetches anything here.
"""

from __future__ import annotations

import logging
import re
import unicodedata
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

import htmldate
import trafilatura
from lxml import etree
from lxml.html import HtmlElement, HTMLParser, document_fromstring
from trafilatura.settings import Document

from fonds.extract.article.head import PageHead, choose_title, read_head
from fonds.extract.article.paragraphs import ENOUGH_CHARS, paragraphs

ELEMENTS_MAX = 20_000
LINKS_MAX = 5_000
DEPTH_MAX = 250
"""Larger trees go past trafilatura, whose time grows with the square of some shapes: 300,000 links held
it for a minute. The largest of 526 news pages has 7,417 elements and 2,492 links."""

SCRIPT_CHARS_MAX = 1_000_000
"""Longer scripts are not searched for embedded articles: one of 9 MB took 18 seconds and 1.7 GB."""

_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")
_SENTENCE_ENDS = (".", "!", "?", "…", "。", "！", "？", "।", "؟", "”", '"', "»")
_LINE_OF_PROSE_CHARS = 40

for _name in ("trafilatura", "htmldate"):
    # Their complaints about single pages would otherwise go to standard error.
    logging.getLogger(_name).addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class Article:
    """What a page holds. `text` has a paragraph a line, in NFC; "" when there is none.

    `method` names what found the text: `trafilatura-recall`, `trafilatura`, `paragraphs`; None without
    text. `head` is what the page says of itself.
    """

    text: str
    method: str | None
    title: str | None
    published_on: date | None
    head: PageHead


_NO_HEAD = PageHead(meta={}, title="", headings=(), canonical="", language=None)


def extract_article(markup: str, url: str | None, newest: date) -> Article:
    """Read a page. `url` is its address on the web, None when unknown; no date after `newest` is taken."""
    markup = _CONTROLS.sub(" ", markup)
    tree = _parse(markup)
    if tree is None:
        text = tidy_text(paragraphs(markup))
        return Article(text, "paragraphs" if text else None, None, None, _NO_HEAD)
    head = read_head(tree)
    is_heavy = _is_heavy(tree)
    published_on = _date(_head_alone(tree) if is_heavy else tree, url, newest)
    text, method = _text(None if is_heavy else tree, markup)
    return Article(text, method, choose_title(head), published_on, head)


def _parse(markup: str) -> HtmlElement | None:
    """The tree of a page; None when there is none.

    The parser stops 2,048 elements deep; such a tree is heavy, and its page is read without it.
    """
    parser = HTMLParser(
        encoding="utf-8",
        remove_comments=True,
        remove_pis=True,
        collect_ids=False,
        default_doctype=False,
        huge_tree=True,
    )
    try:
        tree = document_fromstring(markup.encode(), parser=parser)
    except (etree.LxmlError, ValueError):
        return None
    return tree if isinstance(tree, HtmlElement) else None


def _is_heavy(tree: HtmlElement) -> bool:
    if tree.xpath("count(//*)") > ELEMENTS_MAX or tree.xpath("count(//a)") > LINKS_MAX:
        return True
    deeper = "/*" * DEPTH_MAX
    return bool(tree.getroottree().xpath(f"boolean({deeper})"))


def _head_alone(tree: HtmlElement) -> HtmlElement | None:
    head = tree.find("head")
    return None if head is None or len(head) > ELEMENTS_MAX else head


def _text(tree: HtmlElement | None, markup: str) -> tuple[str, str | None]:
    """The best text and what found it; further candidates are only made where the first is poor.

    trafilatura's recall mode comes first: on 526 pages it took three quarters of the balanced mode's
    time, and its word F1 on 181 with gold was .964 against .961.
    """
    candidates: list[tuple[str, Callable[[], str]]] = [("paragraphs", lambda: paragraphs(markup))]
    if tree is not None:
        _defuse(tree)
        candidates.insert(0, ("trafilatura-recall", lambda: _by_trafilatura(tree, recall=True)))
        candidates.insert(1, ("trafilatura", lambda: _by_trafilatura(tree, recall=False)))
    best, best_method = "", None
    for method, extract in candidates:
        text = tidy_text(extract())
        if text and (best_method is None or prose_chars(text) > prose_chars(best)):
            best, best_method = text, method
        if len(best) >= ENOUGH_CHARS:
            break
    return best, best_method


def _defuse(tree: HtmlElement) -> None:
    """Take out of a tree what multiplies: spans of cells (40,000 of 99 by 99 held trafilatura for over
    eight minutes), and scripts of a size no article has.
    """
    etree.strip_attributes(tree, "colspan", "rowspan")
    for script in tree.iter("script"):
        if script.text and len(script.text) > SCRIPT_CHARS_MAX:
            script.text = None


def _by_trafilatura(tree: HtmlElement, *, recall: bool) -> str:
    try:
        document = trafilatura.bare_extraction(
            tree, fast=True, include_comments=False, favor_recall=recall
        )
    except Exception:  # noqa: BLE001 A fault in the library costs this page one candidate, not its text.
        return ""
    return (document.text or "") if isinstance(document, Document) else ""


def _date(tree: HtmlElement | None, url: str | None, newest: date) -> date | None:
    if tree is None:
        return None
    try:
        with warnings.catch_warnings():
            # dateutil warns of every time zone it does not know; only the day matters here.
            warnings.simplefilter("ignore")
            found = htmldate.find_date(
                tree,
                extensive_search=False,
                original_date=True,
                url=url,
                max_date=newest.isoformat(),
            )
        return date.fromisoformat(found) if found else None
    except Exception:  # noqa: BLE001 A page without a date keeps everything else.
        return None


def prose_chars(text: str) -> int:
    """How much of a text is in lines that read like sentences, in characters."""
    lines = text.split("\n")
    return sum(
        len(line)
        for line in lines
        if len(line) >= _LINE_OF_PROSE_CHARS or line.endswith(_SENTENCE_ENDS)
    )


def tidy_text(text: str) -> str:
    """NFC, a paragraph a line, no blank lines, single spaces, no control characters."""
    text = unicodedata.normalize("NFC", _CONTROLS.sub("", text))
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(line for line in lines if line)
