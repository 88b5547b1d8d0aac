"""Sites that feeds lead to and that are no news, as data: archives, shops, networks, encyclopedias.

Whoever wants them names them in `sources.news`; further ones stand in `sources.non_news`.
"""

from __future__ import annotations

_NAMES = """
    archive.org archive.ph booking.com etsy.com facebook.com flickr.com goodreads.com iheart.com imdb.com
    instagram.com linkedin.com pinterest.com slideshare.net tiktok.com twitter.com whatsapp.com wikidata.org
    wikimedia.org wikipedia.org x.com youtube.com youtu.be
"""
NON_NEWS = frozenset(_NAMES.split())
"""Domains; whatever is below one of them is meant too."""
