"""Web pages of the sample stories in three layouts, with the usual boilerplate."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from sample_texts import Site, Story


@dataclass(frozen=True, slots=True)
class _Boilerplate:
    """Boilerplate of every page of a site, in its language."""

    nav: tuple[str, ...]
    sidebar_title: str
    by: str
    cookies: str
    letter: str
    foot: str


_BOILERPLATE = {
    "en": _Boilerplate(
        nav=("Home", "News", "Sport", "Science", "Weather", "Subscribe"),
        sidebar_title="Most read this week",
        by="By",
        cookies="We use cookies to make this site work. You can change your settings at any time.",
        letter="Get the morning letter: five stories before breakfast, free of charge.",
        foot="All rights reserved. Contact · Imprint · Privacy · Advertise with us",
    ),
    "de": _Boilerplate(
        nav=("Startseite", "Lokales", "Sport", "Kultur", "Wetter", "Abonnement"),
        sidebar_title="Meistgelesen",
        by="Von",
        cookies="Wir verwenden Cookies. Sie können Ihre Einstellungen jederzeit ändern.",
        letter="Der Morgenbrief: fünf Meldungen zum Frühstück, kostenlos.",
        foot="Alle Rechte vorbehalten. Kontakt · Impressum · Datenschutz · Anzeigen",
    ),
    "fr": _Boilerplate(
        nav=("Accueil", "Région", "Sports", "Culture", "Météo", "Abonnement"),
        sidebar_title="Les plus lus",
        by="Par",
        cookies="Ce site utilise des cookies. Vous pouvez modifier vos choix à tout moment.",
        letter="La lettre du matin : cinq articles avant le café, gratuitement.",
        foot="Tous droits réservés. Contact · Mentions légales · Confidentialité · Publicité",
    ),
    "es": _Boilerplate(
        nav=("Portada", "Local", "Deportes", "Ciencia", "El tiempo", "Suscripción"),
        sidebar_title="Lo más leído",
        by="Por",
        cookies="Utilizamos cookies. Puede cambiar sus preferencias en cualquier momento.",
        letter="La carta de la mañana: cinco noticias antes del café, gratis.",
        foot="Todos los derechos reservados. Contacto · Aviso legal · Privacidad · Publicidad",
    ),
}


def build_page(story: Story, sidebar_stories: Sequence[Story]) -> bytes:
    """Return the page of a story in the charset of its site; its sidebar links to other stories."""
    layout = {"article": _build_article, "portal": _build_portal, "table": _build_table}[
        story.site.layout
    ]
    return layout(story, [other for other in sidebar_stories if other != story][:5]).encode(
        story.site.charset
    )


def build_content_type(site: Site) -> str:
    """Return the Content-Type header. Sites with the old layout state the charset only in the page."""
    return "text/html" if site.layout == "table" else f"text/html; charset={site.charset}"


def build_not_found_page(site: Site) -> bytes:
    """Return the page of a site for an unknown URL."""
    return (
        f"<!DOCTYPE html><html><head><title>Not found - {escape(site.name)}</title></head>"
        "<body><h1>404</h1><p>There is nothing at this address.</p></body></html>"
    ).encode()


def _build_head(story: Story, charset_tag: str, extra: str = "") -> str:
    site = story.site
    summary = escape(story.paragraphs[0][:150].rsplit(" ", 1)[0])
    return f"""<!DOCTYPE html>
<html lang="{site.language}">
<head>
{charset_tag}
<title>{escape(story.title)} | {escape(site.name)}</title>
<meta property="og:title" content="{escape(story.title)}">
<meta property="og:type" content="article">
<meta property="og:site_name" content="{escape(site.name)}">
<meta property="og:url" content="{escape(story.url)}">
<meta name="description" content="{summary}">
<link rel="canonical" href="{escape(story.url)}">
<link rel="stylesheet" href="/static/site.css">
{extra}</head>
"""


def _build_article(story: Story, sidebar_stories: Sequence[Story]) -> str:
    words = _BOILERPLATE[story.language]
    dated = ""
    if story.published:
        described = {
            "@context": "https://schema.org",
            "@type": "NewsArticle",
            "headline": story.title,
            "datePublished": f"{story.published}T06:30:00+00:00",
            "author": {"@type": "Person", "name": story.author},
        }
        dated = (
            f'<meta property="article:published_time" content="{story.published}T06:30:00+00:00">\n'
            f'<script type="application/ld+json">{json.dumps(described, ensure_ascii=False)}</script>\n'
        )
    return f"""{_build_head(story, '<meta charset="utf-8">', dated)}<body>
<div class="cookie-banner">{escape(words.cookies)}</div>
<header><a class="brand" href="/">{escape(story.site.name)}</a>{_build_nav(words.nav)}</header>
<main>
<article>
<h1>{escape(story.title)}</h1>
<p class="byline">{words.by} <span rel="author">{escape(story.author)}</span></p>
{_build_text(story)}
</article>
<aside><h2>{escape(words.sidebar_title)}</h2>{_build_links(sidebar_stories)}</aside>
</main>
<footer><p>{escape(words.letter)}</p><p>© {escape(story.site.name)}. {escape(words.foot)}</p></footer>
<script>window.dataLayer = window.dataLayer || [];</script>
</body>
</html>
"""


def _build_portal(story: Story, sidebar_stories: Sequence[Story]) -> str:
    words = _BOILERPLATE[story.language]
    time = f'<time datetime="{story.published}">{story.published}</time>' if story.published else ""
    return f"""{_build_head(story, '<meta charset="utf-8">')}<body class="portal">
<div id="top"><div class="logo">{escape(story.site.name)}</div>{_build_nav(words.nav)}</div>
<div id="sidebar" class="sidebar"><h3>{escape(words.sidebar_title)}</h3>{_build_links(sidebar_stories)}
<div class="promo">{escape(words.letter)}</div></div>
<div id="content" class="post">
<h1 class="headline">{escape(story.title)}</h1>
<div class="meta">{words.by} {escape(story.author)} {time}</div>
<div class="entry-content">
{_build_text(story)}
</div>
<div class="share"><a href="#">Mail</a> <a href="#">Print</a></div>
</div>
<div id="bottom" class="footer">{escape(words.foot)}</div>
</body>
</html>
"""


def _build_table(story: Story, sidebar_stories: Sequence[Story]) -> str:
    words = _BOILERPLATE[story.language]
    charset = f'<meta http-equiv="Content-Type" content="text/html; charset={story.site.charset}">'
    dated = f'<meta name="date" content="{story.published}">\n' if story.published else ""
    day = f"{story.published:%d.%m.%Y} &nbsp; " if story.published else ""
    return f"""{_build_head(story, charset, dated)}<body bgcolor="#ffffff">
<table width="900" align="center">
<tr><td colspan="2"><b>{escape(story.site.name)}</b> {_build_nav(words.nav)}</td></tr>
<tr><td width="180" valign="top"><b>{escape(words.sidebar_title)}</b>{_build_links(sidebar_stories)}</td>
<td valign="top"><h2>{escape(story.title)}</h2>
<small>{day}{words.by} {escape(story.author)}</small>
{_build_text(story)}
</td></tr>
<tr><td colspan="2"><small>{escape(words.foot)}</small></td></tr></table>
</body>
</html>
"""


def _build_nav(items: Sequence[str]) -> str:
    links = "".join(f'<li><a href="/{n}">{escape(item)}</a></li>' for n, item in enumerate(items))
    return f"<nav><ul>{links}</ul></nav>"


def _build_links(sidebar_stories: Sequence[Story]) -> str:
    links = "".join(
        f'<li><a href="{escape(s.url)}">{escape(s.title)}</a></li>' for s in sidebar_stories
    )
    return f"<ul>{links}</ul>"


def _build_text(story: Story) -> str:
    return "\n".join(f"<p>{escape(paragraph, quote=False)}</p>" for paragraph in story.paragraphs)
