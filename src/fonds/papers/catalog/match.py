"""Choose the matching work among candidates, with status and reason.

The result fills the table cells `match0:mstatus`, `match0:doi` and `match0:minfo`. Source: seed
document 000, column family `match0`. docs/matching.md explains each status and reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from fonds.model.paper import MatchStatus
from fonds.papers.catalog.comparison import Agreement, compare
from fonds.papers.catalog.match_query import MatchQuery
from fonds.papers.catalog.slugs import build_slug, split_slug_words
from fonds.papers.catalog.work import Work


class MatchReason(StrEnum):
    """Reason for the status of a match; a closed set."""

    DOI = "doi"
    IDENTIFIER = "identifier"
    DOI_AND_AUTHOR = "doi-and-author"
    TITLE_AND_AUTHOR = "title-and-author"
    TITLE_AND_NUMBERS = "title-and-numbers"
    NUMBERS = "author-and-numbers"
    LONG_TITLE = "long-title"
    OTHER_TITLE = "doi-of-another-title"
    OTHER_DOI = "another-doi"
    SIMILAR = "similar"
    SEVERAL = "several-alike"
    TOO_COMMON = "too-common"
    DISAGREE = "candidates-disagree"
    NO_CANDIDATE = "no-candidate"
    NOTHING_SOUGHT = "nothing-sought"
    NO_BIBLIOGRAPHY = "no-bibliography"


SAME_TITLE_MIN, SIMILAR_TITLE_MIN, OTHER_TITLE_MAX = 0.9, 0.75, 0.5
AGREEMENT_MIN, MARGIN_MIN = 0.5, 0.5
LONG_TITLE_LETTERS, LONG_TITLE_WORDS, SHORT_LETTERS = 40, 5, 8
CANDIDATES_MAX = 5
PREPRINT = "posted-content"


class Candidate(msgspec.Struct, frozen=True):
    """Work that was compared with a query.

    - `id`: id of the work.
    - `status`, `reason`: how sure the match would be, and why, if the work were the only candidate.
    - `agreement`: agreement of query and work per field.
    """

    id: str
    status: MatchStatus
    reason: MatchReason
    agreement: Agreement


class Match(msgspec.Struct, frozen=True, kw_only=True):
    """Result of looking up a paper or reference in the catalogue of works."""

    status: Annotated[
        MatchStatus,
        Meta(description="strength of the match: exact, strong, weak, ambiguous or none"),
    ]
    reason: Annotated[MatchReason, Meta(description="reason for the status")]
    work: Annotated[
        str | None, Meta(description="id of the work, if the status is exact or strong")
    ] = None
    doi: Annotated[str | None, Meta(description="DOI of the work")] = None
    score: Annotated[
        float | None,
        Meta(description="score of the first candidate: agreements minus contradictions"),
    ] = None
    considered: Annotated[int, Meta(description="number of works compared")] = 0
    common: Annotated[
        bool, Meta(description="whether a title or name has more works than are compared")
    ] = False
    candidates: Annotated[
        tuple[Candidate, ...],
        Meta(description="the best five of the works compared, with their agreement"),
    ] = ()


def format_evidence(match: Match) -> str | None:
    """Return the best candidate of a match as text for people; None without candidates.

    The text has the id of the candidate, then the agreement per field.
    """
    if not match.candidates:
        return None
    best = match.candidates[0]
    fields = msgspec.to_builtins(best.agreement)
    return f"{best.id}: " + ", ".join(f"{name} {value:.2f}" for name, value in fields.items())


_RANK = {status: place for place, status in enumerate((MatchStatus.EXACT, MatchStatus.STRONG))}


def choose_match(query: MatchQuery, works: Sequence[Work], *, common: bool = False) -> Match:
    """Choose the work that matches a query among candidates.

    The result does not depend on the order of `works`. `common` states that more works than can be
    compared have the title or author, so `works` is incomplete.
    """
    ranked_pairs = sorted(
        ((_build_candidate(query, candidate), candidate) for candidate in works),
        key=lambda pair: (
            _RANK.get(pair[0].status, len(_RANK)),
            -_weigh_candidate(query, *pair),
            pair[0].id,
        ),
    )
    top_candidates = tuple(candidate for candidate, _ in ranked_pairs[:CANDIDATES_MAX])
    sure_pairs = [pair for pair in ranked_pairs if pair[0].status in _RANK]
    if not sure_pairs:
        status, reason = _judge_uncertain(query, top_candidates, common)
        best = None
    else:
        best, work = sure_pairs[0]
        rival_weight = _weigh_candidate(query, best, work) - MARGIN_MIN
        rivals = (pair for pair in sure_pairs[1:] if pair[0].status == best.status)
        status, reason = best.status, best.reason
        if any(_weigh_candidate(query, *pair) > rival_weight for pair in rivals):
            status, reason, best = MatchStatus.AMBIGUOUS, MatchReason.SEVERAL, None
    return Match(
        status=status,
        reason=reason,
        work=sure_pairs[0][1].id if best else None,
        doi=sure_pairs[0][1].doi if best else None,
        score=top_candidates[0].agreement.score if top_candidates else None,
        considered=len(works),
        common=common,
        candidates=top_candidates,
    )


def _weigh_candidate(query: MatchQuery, candidate: Candidate, work: Work) -> float:
    """Return the score by which a candidate is ranked.

    If the query names a journal, a preprint scores lower than other works.
    """
    is_preprint = work.type == PREPRINT and query.container is not None
    return (
        candidate.agreement.score
        + (candidate.status is not MatchStatus.NONE) * 10
        - MARGIN_MIN * is_preprint
    )


def _judge_uncertain(
    query: MatchQuery, candidates: Sequence[Candidate], common: bool
) -> tuple[MatchStatus, MatchReason]:
    if candidates and candidates[0].status is MatchStatus.WEAK:
        return MatchStatus.WEAK, candidates[0].reason
    if not query.ids and not query.title and not query.printed and not query.authors:
        return MatchStatus.NONE, MatchReason.NOTHING_SOUGHT
    if common:
        return MatchStatus.NONE, MatchReason.TOO_COMMON
    reason = MatchReason.DISAGREE if candidates else MatchReason.NO_CANDIDATE
    return MatchStatus.NONE, reason


def _build_candidate(query: MatchQuery, work: Work) -> Candidate:
    agreement = compare(query, work)
    status, reason = _judge_work(query, work, agreement)
    return Candidate(work.id, status, reason, agreement)


def _judge_work(
    query: MatchQuery, work: Work, agreement: Agreement
) -> tuple[MatchStatus, MatchReason]:
    """Judge how sure a match would be if this work were the only candidate.

    Return the status of the match and the reason for it.
    """
    title = agreement.title
    if agreement.doi == 1 or agreement.identifier == 1:
        id_reason = MatchReason.DOI if agreement.doi == 1 else MatchReason.IDENTIFIER
        if title is None or title >= OTHER_TITLE_MAX:
            return MatchStatus.EXACT, id_reason
        if (agreement.author or 0) >= AGREEMENT_MIN:
            return MatchStatus.STRONG, MatchReason.DOI_AND_AUTHOR
        return MatchStatus.WEAK, MatchReason.OTHER_TITLE
    strong = _match_fields(query, work, agreement)
    if strong is not None:
        if agreement.doi == 0 and not _is_sure_without_doi(agreement):
            return MatchStatus.WEAK, MatchReason.OTHER_DOI
        return MatchStatus.STRONG, strong
    if (title or 0) >= SAME_TITLE_MIN and agreement.author != 0:
        return MatchStatus.WEAK, MatchReason.SIMILAR
    if (title or 0) >= SIMILAR_TITLE_MIN and (agreement.author or 0) >= AGREEMENT_MIN:
        return MatchStatus.WEAK, MatchReason.SIMILAR
    return MatchStatus.NONE, MatchReason.DISAGREE


def _match_fields(query: MatchQuery, work: Work, agreement: Agreement) -> MatchReason | None:
    """Return the reason why fields such as title, author and year identify a work, or None.

    None means that they do not identify it. Identifiers such as the DOI are not considered.
    """
    title, author = agreement.title or 0, agreement.author or 0
    letters = len(build_slug(work.title))
    if agreement.year != 0 and letters >= SHORT_LETTERS:
        if title >= SAME_TITLE_MIN and author >= AGREEMENT_MIN:
            return MatchReason.TITLE_AND_AUTHOR
        if (
            title >= SIMILAR_TITLE_MIN
            and author >= AGREEMENT_MIN
            and agreement.agreeing_numbers >= 2
        ):
            return MatchReason.TITLE_AND_AUTHOR
        if title >= SAME_TITLE_MIN and agreement.author is None and agreement.agreeing_numbers >= 2:
            return MatchReason.TITLE_AND_NUMBERS
    if author >= AGREEMENT_MIN and agreement.year is not None and agreement.year > 0:
        same_position = agreement.volume == 1 and agreement.page == 1
        if same_position and (
            title >= OTHER_TITLE_MAX
            or agreement.title is None
            or (agreement.container or 0) >= AGREEMENT_MIN
        ):
            return MatchReason.NUMBERS
    is_long_title = (
        letters >= LONG_TITLE_LETTERS
        and len(split_slug_words(work.title or "")) >= LONG_TITLE_WORDS
    )
    if title == 1 and is_long_title and agreement.year != 0 and agreement.container != 0:
        # All names may be misread, because headings can be taken for names. Another field must then
        # agree.
        if agreement.author is None or author > 0:
            return MatchReason.LONG_TITLE
        return MatchReason.TITLE_AND_NUMBERS if agreement.agreeing_numbers else None
    return None


def _is_sure_without_doi(agreement: Agreement) -> bool:
    """Return whether a work is surely the one in the query although their DOIs differ.

    Title, author, and one of year, volume, page and journal must agree. The DOI may be misread, or
    belong to another version of the work.
    """
    return (
        (agreement.title or 0) >= SAME_TITLE_MIN
        and (agreement.author or 0) >= AGREEMENT_MIN
        and agreement.agreeing_numbers >= 1
    )
