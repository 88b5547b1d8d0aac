"""Groups of words in element names and short lines that hint at the role of a block.

The class and id of an element often tell what it contains: `class="related-posts"`,
`id="newsletter"`. The words are those of news sites in Europe and the Americas. The block
classifier uses the groups as features, together with others.
"""

from __future__ import annotations

import re
from functools import lru_cache

_NAME_GROUPS = {
    "body": """
        articlebody bodytext bodycopy richtext rte prose cuerpo texto corpo artikeltext contenu
        paragraph wysiwyg markdown entrytext posttext storytext articletext textbody
    """,
    "article": """
        article articles story post posts entry artikel beitrag noticia noticias nota single
        hentry blog news
    """,
    "content": """
        content main text body inhalt contenido primary copy inner
    """,
    "comment": """
        comment comments disqus discuss discussion reply replies respond kommentar kommentare
        comentario comentarios commentlist livefyre opinions commentaires
    """,
    "share": """
        share shares sharing social facebook twitter whatsapp addthis addtoany sharedaddy flair
        follow like likes tweet rrss teilen compartir partage bookmark print email instagram
        pinterest
    """,
    "related": """
        related relacionadas recommend recommended recommendations similar also popular trending
        most latest teaser teasers promo outbrain taboola next prev previous more weiter
        verwandt mehr recent yarpp crp card cards list feed grid item items carousel slider
        suggest siehe archive toc series relatedposts
    """,
    "nav": """
        nav menu breadcrumb breadcrumbs toolbar pagination pager tab tabs skip jump index
        sitemap link links navigation navbar submenu
    """,
    "foot": """
        foot footer copyright legal imprint impressum colophon bottom disclaimer license credit
        credits
    """,
    "head": """
        header masthead banner top topbar logo hero head
    """,
    "side": """
        side sidebar aside widget widgets rail secondary module box panel rechts right left
        column marginal infobox
    """,
    "ad": """
        ad ads advert adverts advertisement advertising sponsor sponsored dfp anzeige werbung
        publicidad adsense adslot commercial affiliate shop
    """,
    "meta": """
        meta byline author authors autor date datum time timestamp tag tags category categories
        posted publish published info detail details bio profile writer source taxonomy label
        keyword keywords topic topics kicker rubrik
    """,
    "caption": """
        caption figure image images img gallery photo photos picture media foto fotos bild video
        videos player legend thumbnail
    """,
    "wall": """
        newsletter subscribe subscription subscriptions paywall signup login register premium
        cookie cookies consent gdpr donate donation support member membership abo piano modal
        popup overlay notice alert form cta message error warning survey poll quiz app
    """,
    "title": """
        title titles headline heading ueberschrift titulo titre subtitle dek standfirst
    """,
    "lead": """
        lead intro summary abstract excerpt description desc deck vorspann chapo sapo bajada
        copete synopsis
    """,
    "quote": """
        quote blockquote zitat pull pullquote highlight callout
    """,
    "hidden": """
        hidden hide visually sr invisible offscreen collapse collapsed none
    """,
}
NAME_GROUPS = tuple(_NAME_GROUPS)
HIDDEN = 1 << NAME_GROUPS.index("hidden")
_BODY = 1 << NAME_GROUPS.index("body")
_GROUPS_BY_WORD = {
    word: sum(1 << bit for bit, words in enumerate(_NAME_GROUPS.values()) if word in words.split())
    for words in _NAME_GROUPS.values()
    for word in words.split()
}
_BODY_NAMES = frozenset(
    f"{left} {right}"
    for left in [
        "article",
        "entry",
        "post",
        "story",
        "single",
        "node",
        "news",
        "page",
        "blog",
        "main",
        "content",
        "artikel",
    ]
    for right in ["body", "content", "text", "copy", "inner", "entry", "inhalt"]
)
_NAME = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")

_CUES = {
    "wall": """
        newsletter newsletters subscribe subscriber subscription abonnieren abonnement abonnez
        abo sign suscríbete suscribirse register login anmelden anmeldung registrieren inscrivez
        inscription iscriviti assine email e-mail mail paywall premium
    """,
    "related": """
        more also next related mehr weitere weiterlesen lesen auch siehe aussi suite lire más
        también lea leer interesar relacionadas anche leggi leia mais ook lees читайте tags tag
        recommended beiträge artikel
    """,
    "share": """
        share facebook twitter whatsapp instagram teilen compartir partager condividi follow
        pinterest linkedin tweet telegram youtube gefällt like
    """,
    "rights": """
        © copyright rights rechte derechos reserved reservados vorbehalten impressum datenschutz
        privacy terms cookie cookies agb
    """,
    "credit": """
        foto photo image bild getty reuters afp credit quelle source fotograf imago dpa
        shutterstock fuente fotos istock symbolbild titelbild archiv
    """,
    "comment": """
        comment comments kommentar kommentare comentario comentarios commentaire commentaires
        reply antworten antwort
    """,
    "byline": """
        by von por par di door author autor autorin redaktion posted published updated
        veröffentlicht aktualisiert publicado publié stand min minuten uhr
    """,
    "action": """
        click klick klicken hier here download pdf order bestellen kaufen buy shop preis price
        advertisement anzeige sponsored affiliate donate spenden spende app
    """,
}
CUE_GROUPS = tuple(_CUES)
_CUES_BY_WORD = {
    word: sum(1 << bit for bit, words in enumerate(_CUES.values()) if word in words.split())
    for words in _CUES.values()
    for word in words.split()
}
_WORD = re.compile(r"[^\W\d_][\w-]*|©")


@lru_cache(maxsize=20_000)
def find_name_groups(names: str) -> int:
    """Return the word groups, such as `comment` or `nav`, to which the words in an element's class,
    id and role belong, as a bit mask.
    """
    groups = 0
    previous = ""
    for name in _NAME.findall(names[:400]):
        word = name.lower()
        groups |= _GROUPS_BY_WORD.get(word, 0)
        if f"{previous} {word}" in _BODY_NAMES:
            groups |= _BODY
        previous = word
    return groups


def find_cue_groups(line: str) -> int:
    """Return the word groups, such as `share` or `byline`, to which the words in a short line of
    text belong, as a bit mask.
    """
    groups = 0
    for word in _WORD.findall(line.lower()):
        groups |= _CUES_BY_WORD.get(word, 0)
    return groups
