"""By which names and words pages tell their dates, as data: of meta tags, elements, scripts, addresses."""

from __future__ import annotations

import re

_PUBLISHED_NAMES = """
    article:published_time article:published og:article:published_time og:published_time bt:pubdate
    datepublished date_published published published_date published_time published-date publish-date
    publish_date publishdate publication_date publication-date publicationdate pubdate pub_date pub-date
    parsely-pub-date sailthru.date dc.date dc.date.issued dc.date.created dc.created dc.issued dcterms.date
    dcterms.created dcterms.issued dcterms.available dc:date dc:created article.published article.created
    article:publicationdate article_date_original date date.created cxenseparse:recs:publishtime
    citation_publication_date citation_date citation_online_date rnews:datepublished
    originalpublicationdate displaydate lw.publish_date analyticsattributes.articledate
    dcsext.articlefirstpublished shareaholic:article_published_time gentime news:published
    vr:published_time ptime article:post_date eprints.date created creation_date datecreated
    video:release_date ob:publish_date sort_date publishedat published_at mediator_published_time
    article:create_at dateline release_date content_create_date
"""
_MODIFIED_NAMES = """
    article:modified_time og:updated_time og:article:modified_time article:updated_time article:modified
    datemodified modified modified_time last-modified lastmodified last_modified dcterms.modified
    dc.date.modified dc.modified lastmod date.modified date_modified updated_time updated revised lastupdate
"""
PUBLISHED_META = frozenset(_PUBLISHED_NAMES.split())
MODIFIED_META = frozenset(_MODIFIED_NAMES.split())

PUBLISHED_IN_NAMES = re.compile(
    r"datepublished|\bpublished\b|entry-date|pubdate|post-?date|published_?(?:date|time)|publish[-_]?date|datecreated",
    re.I,
)
MODIFIED_IN_NAMES = re.compile(r"modified|update|aktualis|modific|changed|revision", re.I)
DATE_IN_NAMES = re.compile(
    r"date|datum|fecha|publi|posted|time|byline|meta|created|submitted|info|zeit|data\b|pub"
    r"|(?:post|entry|article)-footer",
    re.I,
)
MODIFIED_WORDS = re.compile(
    r"updat|modif|aktualisiert|ge[aä]ndert|actualiz|mis à jour|maj\b|aggiorn|edited|обновл|gewijzigd|stand\b",
    re.I,
)
PUBLISHED_WORDS = re.compile(
    r"publish|posted|ver[öo]ffentlicht|publi[cé]|pubblicat|erschienen|erstellt|written|created|geschrieben"
    r"|опубл|geplaatst|datum|date|am\b",
    re.I,
)
BESIDE = re.compile(
    r"comment|related|sidebar|widget|recent|latest|teaser|more|aside|popular|card|promo|recommend"
    r"|(?<!post-)(?<!entry-)(?<!article-)footer",
    re.I,
)
"""Not so the foot of an article: it says when that was written and by whom."""
_KEY = r"""["'](?:{})\\?["']\s*[:=,]\s*\\?["']([^"'\\]{{8,40}})"""
SCRIPTED = re.compile(
    _KEY.format(
        r"datePublished|publish(?:ed)?_?(?:date|time|at|on)|pub_?date|publication_?date|dateCreated"
        r"|created_?(?:at|on|time)|post_?date|first_?published(?:_?at)?"
    ),
    re.I,
)
SCRIPTED_CHANGE = re.compile(
    _KEY.format(r"dateModified|modif(?:ied)?_?(?:date|time|at|on)|updated_?(?:at|on|time|date)?"),
    re.I,
)
IN_URL = re.compile(
    r"[/_.-]((?:19[89]|20[0-4])\d)[/_.-]?(0[1-9]|1[0-2])[/_.-]?(0[1-9]|[12]\d|3[01])(?!\d)"
    r"|[/-]((?:19[89]|20[0-4])\d)/(1[0-2]|[1-9])/(3[01]|[12]\d|[1-9])(?=[/-])"
)
