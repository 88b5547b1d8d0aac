"""What kind of page it is that was read: an article, or one of those that only look like one."""

from __future__ import annotations

import re
from enum import StrEnum

NOTICE_CHARS_MAX = 1500
"""A longer text is no error page and no request for consent, whatever its title."""

_ERROR = re.compile(
    r"^\W*(?:(?:error|fehler|erreur)?\W*(?:40[0134]|410|429|50[0234])\b|page (?:not found|introuvable)"
    r"|not found\b|seite (?:wurde )?nicht gefunden|p[aá]gina no encontrada|p[aá]gina n[aã]o encontrada"
    r"|pagina non trovata|pagina niet gevonden|access denied|forbidden\b|zugriff verweigert|acceso denegado"
    r"|attention required|just a moment|are you a (?:human|robot)|service unavailable|bad gateway"
    r"|internal server error|site (?:is )?(?:temporarily )?unavailable|страница не найдена)"
    r"|(?:^|\W)404(?:\W|$)",
    re.IGNORECASE,
)
_CONSENT = re.compile(
    r"cookies?|consent|einwilligung|zustimm|privacy|datenschutz|consentement|consentimiento|gdpr|dsgvo|privacidad",
    re.IGNORECASE,
)
_CONSENT_TITLE = re.compile(
    r"^\W*(?:before you continue|we value your privacy|your privacy|cookie|consent|privacy (?:gate|settings)"
    r"|zustimmung|wir ben[oö]tigen ihre zustimmung|bevor sie)",
    re.IGNORECASE,
)
_LISTINGS = frozenset({"CollectionPage", "SearchResultsPage", "ProfilePage"})
_LIST = "ItemList"
_ARTICLES = re.compile(r"Article|Posting|Report|Review|Recipe|Story")
_CONSENT_WORDS_MIN = 4
PLACEHOLDER_CHARS_MAX = 200
_PLACEHOLDER = re.compile(
    r"\bjava ?script\b|\bredirect(?:ed|ing)\b|\bweiterleitung\b"
    r"|\bbuy this domain\b|\bdomain (?:name )?(?:is|may be) for sale\b|\bparked (?:free|domain)\b"
    r"|\b(?:enable|accept) cookies\b|\bcookies? (?:aktivieren|activer|habilitar)\b"
    r"|\bbrowser (?:does not|doesn.t) support\b",
    re.IGNORECASE,
)


class PageKind(StrEnum):
    """The kinds; closed."""

    ARTICLE = "article"
    FRONT = "front"
    LISTING = "listing"
    ERROR = "error"
    CONSENT = "consent"


def is_placeholder(text: str) -> bool:
    """Whether a text is what a server sends in a page's place, to browsers without scripts or to nobody."""
    return len(text) <= PLACEHOLDER_CHARS_MAX and _PLACEHOLDER.search(text) is not None


def page_kind(
    title: str | None, text: str, types: frozenset[str], *, is_front: bool, is_dated: bool
) -> PageKind:
    """Judge by the title, a short text, and the types JSON-LD names; `is_front` is the address's verdict.

    `is_dated` says that the page states when it was published: articles have lists in them, too.
    """
    is_short = len(text) <= NOTICE_CHARS_MAX
    if is_short and title and _ERROR.search(title):
        return PageKind.ERROR
    is_notice = title is not None and _CONSENT_TITLE.search(title) is not None
    if is_short and (is_notice or len(_CONSENT.findall(text)) >= _CONSENT_WORDS_MIN):
        return PageKind.CONSENT
    if is_front:
        return PageKind.FRONT
    says_list = bool(types & _LISTINGS) or (_LIST in types and not is_dated)
    is_listing = says_list and not any(map(_ARTICLES.search, types))
    return PageKind.LISTING if is_listing else PageKind.ARTICLE
