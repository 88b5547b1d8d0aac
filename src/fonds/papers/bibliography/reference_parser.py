"""Parse one printed reference into fields, in any common style.

Source: the styles of APA, Chicago, IEEE, Vancouver (ICMJE), ACM, Nature, Springer LNCS, Elsevier,
AIP/IOP.
Limits: linear in the string, which is cut at 4,000 characters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from fonds.model.bibliography import Author, Citation
from fonds.papers.bibliography.identifiers import (
    ARXIV_ID,
    find_doi_in_text,
    find_doi_span,
    find_isbn,
    find_issn,
    find_pmcid,
    find_pmid,
    parse_arxiv_id,
)
from fonds.papers.bibliography.reference_containers import (
    YEAR,
    ContainerFields,
    parse_container,
    parse_date_at,
)
from fonds.papers.bibliography.reference_names import (
    find_names_end,
    parse_leading_names,
    parse_names,
)

STRING_MAX_CHARS = 4_000
AUTHORS_SHARE_MAX = 0.75
_LABEL = re.compile(
    r"^\s*(?:\[[^\]]{1,20}\]|\(\d{1,4}\)|\d{1,4}[.)](?=\s|[A-Z])|\d{1,4}\s(?=[A-Z\u2018\u201c]))\s*"
)
_URL = re.compile(r"(?:https?://|ftp://|www\.)[^\s<>\"\u201c\u201d]+", re.IGNORECASE)
_ARXIV_SPAN = re.compile(
    r"(?:\bCoRR,?\s?)?(?:\barXiv(?:\.org)?(?: (?:e-?prints?"
    r"|preprint))?(?:\s?[:,]?\s?arXiv)?\s?[:,/]?\s?(?:abs/)?|\babs/)"
    + ARXIV_ID
    + r"(?:\s?\[[\w.-]{2,20}\])?",
    re.IGNORECASE,
)
_OLD_ARXIV_ID = re.compile(
    r"\b((?:astro-ph|cond-mat|gr-qc|hep-(?:ex|lat|ph|th)|math-ph|math|nucl-(?:ex|th)|physics|quant-ph|cs)/\d{7})(?:v\d+)?\b"
)
_PUBMED_SPAN = re.compile(
    r"\b(?:PMID|PubMed(?: PMID)?|PMCID)\s?:?\s?(?:PMC)?\d{1,8}\b[.;]?|\[PubMed\]|\[SPIRES\]",
    re.IGNORECASE,
)
_ISBN_OR_ISSN_SPAN = re.compile(
    r"\bISBN(?:-1[03])?:?\s?[\dXx\u2010-\u2013 -]{9,20}[\dXx]"
    r"|\b[ep]?-?ISSN:?\s?\d{4}[-\u2010-\u2013]\d{3}[\dXx]"
)
_ACCESS_NOTE = re.compile(
    r"\b(?:retrieved|accessed|available|last accessed|cited|viewed"
    r"|downloaded)\b[^.]{0,40}?(?:from|at|online|on)?\s?:?"
    r"(?=\s*(?:[.,;)\]]|$))|\b(?:URL|DOI|Online)\b:?\s*(?=[.,;)\]]|$)|\[Online\]\.?",
    re.IGNORECASE,
)
_QUOTED_TITLE = re.compile(
    r"[\u201c\u201f\"\u201e\u00ab]\s?(?P<double_quoted>.{4,500}?)[,.]?\s?[\u201d\"\u201c\u00bb](?:[,.;:]|\s|$)"
    r"|\u2018(?P<single_quoted>.{8,400}?)[,.]?\u2019[,.;: ]|(?:``)(?P<tex_quoted>.{4,500}?)[,.]?''"
)
_NAMES_SEPARATOR = re.compile(r"\s*(?:\([Ee]ds?\.\)|,?\s?[Ee]ds?\.)?\s*[.:,]?\s*")
_SPACES = re.compile(r"\s+")
_AUTHOR_YEAR = re.compile(
    r",?\s*\(\s*(?:c\. ?)?(?P<bracketed_year>(?:1[5-9]|20)\d\d)[a-z]?(?P<date_rest>[^)]{0,30})\)\s*[.,:]?\s*"
    r"|(?<=[.,])\s(?P<year_after_stop>(?:1[5-9]|20)\d\d)[a-z]?\s?[.:,]\s+"
    r"|\s*\((?P<no_year>n\. ?d\.|in press|forthcoming|to appear|accepted|submitted)\)\s*[.,:]?\s*"
    r"|\s(?P<year_before_capital>(?:1[5-9]|20)\d\d)[a-z]?\s+(?=[A-Z])",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(
    r"\.(?:(?<![\s.(\-][A-Z]\.)(?<!^[A-Z]\.)(?<!\bvs\.)(?<!\bSt\.)(?<!\bDr\.)(?<!\bNo\.)(?<!\bal\.)(?<!\bpp\.)(?<!\bcf\.)"
    r"(?<!\bed\.)(?<!\beds\.)(?<!\bvol\.)(?<!\bVol\.)(?<![(\s]p\.)(?<!\bJr\.)(?=\s+[\w(\u201c\[\"\u2018*/])|(?=\s*(?:,|$)))"
    r"|[?!](?=\s+[A-Z(])"
)
_LEADING_JOURNAL = re.compile(
    r"(?:[A-Z][\w&-]*\.?(?:,?\s|(?<=\.))|(?:of|the|and|in|de|f\u00fcr)\s){1,7}(?:\[?[A-Z]\]?,?\s)?(?:vol\.?\s)?[A-Z]?\d{1,4}\b\s?[,(\s:]"
)
_IN_MARK = re.compile(r"[.,]?\s+(?:[Ii]n:\s|In\s(?=[A-Z\d\u201c]))|,\s+in:?\s(?=[A-Z\d])")


@dataclass(slots=True)
class ReferenceFields:
    """Fields of a reference, filled in while its text is parsed; None or empty if not found."""

    authors: tuple[Author, ...] = ()
    title: str | None = None
    date: str | None = None
    url: str | None = None
    doi: str | None = None
    pmid: str | None = None
    pmcid: str | None = None
    arxiv_id: str | None = None
    issn: str | None = None
    isbn: str | None = None
    container: ContainerFields = field(default_factory=ContainerFields)


def parse_reference(text: str, index: int = 0, citation_id: str | None = None) -> Citation:
    """Parse one printed reference. Its text, cut at 4,000 characters, is kept in `unstructured`.

    - `index`: position of the reference in the reference list, from 0.
    - `citation_id`: id of the citation; None to build the id from the index.
    """
    printed_text = _SPACES.sub(" ", text[:STRING_MAX_CHARS]).strip()
    reference_text = _LABEL.sub("", printed_text, count=1)
    fields = ReferenceFields()
    reference_text = _extract_identifiers(reference_text, fields)
    _parse_fields(reference_text, fields)
    container = fields.container
    return Citation(
        id=citation_id or f"b{index}",
        index=index,
        authors=fields.authors,
        title=fields.title or None,
        journal=container.journal or None,
        book_title=container.book_title or None,
        series_title=container.series_title or None,
        editors=container.editors,
        publisher=container.publisher or None,
        institution=container.institution or None,
        date=fields.date or None,
        volume=container.volume or None,
        issue=container.issue or None,
        pages=container.pages or None,
        url=fields.url or None,
        doi=fields.doi or None,
        pmid=fields.pmid or None,
        pmcid=fields.pmcid or None,
        arxiv_id=fields.arxiv_id or None,
        issn=fields.issn or None,
        isbn=fields.isbn or None,
        unstructured=printed_text or None,
    )


def _extract_identifiers(text: str, fields: ReferenceFields) -> str:
    """Find DOI, arXiv id, other identifiers and URL in a reference and add them to `fields`.

    Returns the text of the reference without these, and without notes of access such as "accessed
    at" if the reference has a URL or DOI, or contains "online".
    """
    doi = find_doi_span(text)
    if doi:
        fields.doi = find_doi_in_text(doi[0])
        text = text[: doi.start()] + " " + _keep_full_stop(doi[0]) + text[doi.end() :]
    lower_text = text.lower()
    if "arxiv" in lower_text or "abs/" in lower_text:
        arxiv = _ARXIV_SPAN.search(text)
        if arxiv:
            fields.arxiv_id = arxiv[1]
            text = text[: arxiv.start()] + " " + text[arxiv.end() :]
    if fields.arxiv_id is None and "/" in text:
        old_id = _OLD_ARXIV_ID.search(text)
        if old_id:
            fields.arxiv_id = parse_arxiv_id(old_id[1])
            text = text[: old_id.start()] + " " + text[old_id.end() :]
    if "pm" in lower_text or "spires" in lower_text:
        fields.pmid, fields.pmcid = find_pmid(text), find_pmcid(text)
        text = _PUBMED_SPAN.sub(" ", text)
    if "ISBN" in text or "ISSN" in text:
        fields.isbn = find_isbn(text) if "ISBN" in text else None
        fields.issn = find_issn(text)
        text = _ISBN_OR_ISSN_SPAN.sub(" ", text)
    url = _URL.search(text) if "://" in text or "www." in lower_text else None
    if url:
        fields.url = url[0].rstrip(".,;)]>")
        text = _URL.sub(lambda match: " " + _keep_full_stop(match[0]), text)
        text = _ACCESS_NOTE.sub(" ", text)
    elif "online" in lower_text or doi:
        text = _ACCESS_NOTE.sub(" ", text)
    return _SPACES.sub(" ", text).strip(" ,;:<>[")


def _keep_full_stop(span: str) -> str:
    """Return "." if `span` ends with a full stop, otherwise "".

    `span` is text that is removed from a reference. Its full stop still ends a sentence there.
    """
    return "." if span.endswith(".") else ""


def _parse_fields(text: str, fields: ReferenceFields) -> None:
    quote_match = _QUOTED_TITLE.search(text)
    if quote_match and quote_match.start() < max(200, len(text) * AUTHORS_SHARE_MAX):
        _parse_by_quotes(text, quote_match, fields)
        return
    year_match = match_names_before_year(text)
    if year_match is not None:
        _parse_by_year(text, year_match, fields)
        return
    _parse_by_order(text, fields)


def _parse_by_quotes(text: str, quote_match: re.Match[str], fields: ReferenceFields) -> None:
    text_before = text[: quote_match.start()].strip(" ,.:;")
    year_match = YEAR.search(text_before)
    if year_match:
        fields.date = year_match["year"]
        text_before = text_before[: year_match.start()].strip(" ,.:;(")
    fields.authors = parse_names(text_before) if _is_alphabetic(text_before) else ()
    fields.title = _clean_title(
        quote_match["double_quoted"] or quote_match["single_quoted"] or quote_match["tex_quoted"]
    )
    _parse_container(text[quote_match.end() :], fields)


def match_names_before_year(text: str) -> re.Match[str] | None:
    """Return the match of a year that follows the author names at the beginning of a reference.

    Returns None if the reference does not begin with names and a year.
    """
    match = _AUTHOR_YEAR.search(text)
    if match is None or match.start() < 2 or match.start() > len(text) * AUTHORS_SHARE_MAX:
        return None
    text_before = text[: match.start()]
    end = find_names_end(text_before)
    text_after_names = text_before[end:].strip(" ,.;:&")
    if end and (not text_after_names or _EDITOR_MARK.match(text_after_names)):
        return match
    is_unmarked_year = match["year_before_capital"] is not None or (
        match["year_after_stop"] is not None and not end and len(text_before) > 60
    )
    return match if not is_unmarked_year and _may_be_names(text_before) else None


_LOWERCASE_WORDS = frozenset(
    {
        "and",
        "of",
        "for",
        "the",
        "de",
        "la",
        "le",
        "van",
        "von",
        "der",
        "den",
        "di",
        "da",
        "dos",
        "du",
        "y",
    }
    | {"et", "al", "und", "on", "in", "a", "eds", "ed", "editors", "others"}
)
_WORD = re.compile(r"[^\W\d_]+")


def _may_be_names(block: str) -> bool:
    """Return whether a text may consist of author names in no known form.

    It must consist mostly of capitalised words, and contain no two digits in a row and no end of a
    sentence.
    """
    words = [word for word in _WORD.findall(block) if word not in _LOWERCASE_WORDS]
    capitalized_count = sum(word[0].isupper() for word in words)
    is_short = len(words) <= 8 or "," in block
    return (
        is_short
        and capitalized_count >= 0.9 * max(1, len(words))
        and _TWO_DIGITS.search(block) is None
        and len(block) < 1_500
        and _SENTENCE_END.search(block.rstrip(" .")) is None
    )


_TWO_DIGITS = re.compile(r"\d{2}")
_EDITOR_MARK = re.compile(r"[(\[]?\b(?:eds?|editors?|et al)\b", re.IGNORECASE)


def _parse_by_year(text: str, year_match: re.Match[str], fields: ReferenceFields) -> None:
    fields.authors = parse_names(text[: year_match.start()])
    year = (
        year_match["bracketed_year"]
        or year_match["year_after_stop"]
        or year_match["year_before_capital"]
    )
    if year:
        fields.date = parse_date_at(year_match["date_rest"] or "", 0, year)
    _parse_title_and_container(text[year_match.end() :], fields)


def _parse_by_order(text: str, fields: ReferenceFields) -> None:
    """Parse a reference that begins with the authors, then has the title, and later the year.

    The values are added to `fields`.
    """
    names, end = parse_leading_names(text)
    if names:
        fields.authors = names
        separator = _NAMES_SEPARATOR.match(text, end)
        end = separator.end() if separator else end
    _parse_title_and_container(
        text[end:], fields, is_after_comma="," in text[end - 2 : end] if end else False
    )


def _parse_title_and_container(
    text: str, fields: ReferenceFields, *, is_after_comma: bool = False
) -> None:
    """Parse the part of a reference that begins with the title, then names the journal or book.

    The values are added to `fields`.
    """
    text = text.strip(" ,;:")
    if _LEADING_JOURNAL.match(text):
        _parse_container(text, fields)
        return
    in_match = _IN_MARK.search(text)
    sentence_end = _SENTENCE_END.search(text)
    stop = None
    if sentence_end:
        # A question or exclamation mark belongs to the title.
        stop = sentence_end.start() + (sentence_end[0] in "?!")
    if in_match and (stop is None or in_match.start() <= stop):
        fields.title = _clean_title(text[: in_match.start()])
        _parse_container("In " + text[in_match.end() :], fields)
        return
    comma = None
    if is_after_comma or stop is None or stop >= len(text) - 2:
        comma = _find_title_comma(text[:stop])
    if comma is not None:
        fields.title = _clean_title(text[:comma])
        _parse_container(text[comma + 1 :], fields)
        return
    if stop is None:
        _parse_unseparated_part(text, fields)
        return
    title, text_after_title = text[:stop], text[stop:]
    if not text_after_title.strip(" .") and _JOURNAL_WITH_VOLUME.search(title):
        _parse_unseparated_part(text, fields)
        return
    fields.title = _clean_title(title)
    _parse_container(text_after_title, fields)


_JOURNAL_WITH_VOLUME = re.compile(
    r"[a-z.]\s(?:[A-Z]\s?)?\d{1,4}(?:\s?\(\d{4}\)|,?\s\d{2,7}|[,:]\s?\d)"
)
_COMMA_BEFORE_JOURNAL = re.compile(
    r",\s(?=[A-Z][\w.&:'\u2019 -]{2,90}?,?\s(?:vol\.?\s?)?\d{1,4}\b\s?[(,:]|(?:Proc|Proceedings"
    r"|Technical [Rr]eport|Ph\. ?D|Master|Tech\. [Rr]ep"
    r"|[A-Z][\w-]* (?:University|Press|Verlag)|Springer|Wiley|Elsevier|MIT Press|arXiv|Cambridge|Oxford)\b)"
)


def _find_title_comma(text: str) -> int | None:
    """Return the position of the comma between a title and the journal; None if there is none.

    The title must have at least two words.
    """
    for match in _COMMA_BEFORE_JOURNAL.finditer(text):
        if len(text[: match.start()].split()) >= 2:
            return match.start()
    return None


def _parse_unseparated_part(text: str, fields: ReferenceFields) -> None:
    """Parse a part of a reference in which no title is separate from the journal.

    If the part looks like a journal with volume and pages, as in physics, it is parsed as these.
    Otherwise it is taken as the title, for example of a book. The values are added to `fields`.
    """
    if _JOURNAL_WITH_VOLUME.search(text):
        _parse_container(text, fields)
        return
    year = YEAR.search(text)
    title_text = text[: year.start()] if year else text
    fields.title = _clean_title(title_text.strip(" ,.;("))
    if year:
        fields.date = fields.date or year["year"]


def _clean_title(text: str | None) -> str | None:
    bare_title = (text or "").strip(" ,.;:\u201c\u201d\"'\u2018*_")
    return bare_title if sum(map(str.isalpha, bare_title)) >= 2 else None


def _parse_container(text: str, fields: ReferenceFields) -> None:
    fields.container = parse_container(text)
    if not fields.date:
        years = list(YEAR.finditer(text))
        if years:
            best_year = next(
                (year for year in reversed(years) if text[year.start() - 1 : year.start()] == "("),
                years[-1],
            )
            fields.date = parse_date_at(text, best_year.start(), best_year["year"])


def _is_alphabetic(text: str) -> bool:
    return sum(map(str.isalpha, text)) >= 2
