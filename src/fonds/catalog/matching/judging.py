"""Which of the candidates it is, how surely, and why: `match0:mstatus`, `match0:doi` and `match0:minfo`.

Source: seed 000, `match0`. What each status and reason means stands in docs/matching.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from fonds.catalog.matching.comparing import Agreement, compare
from fonds.catalog.matching.sought import Sought
from fonds.catalog.matching.statuses import MatchReason
from fonds.catalog.works.slugs import slug, slug_words
from fonds.catalog.works.work import Work
from fonds.model.paper import MatchStatus

SAME_TITLE, LIKE_TITLE, OTHER_TITLE = 0.9, 0.75, 0.5
AGREES, APART = 0.5, 0.5
LONG_LETTERS, LONG_WORDS, SHORT_LETTERS = 40, 5, 8
CANDIDATES_TOLD = 5
PREPRINT = "posted-content"


class Candidate(msgspec.Struct, frozen=True):
    """A work that was compared, how far it agrees, and how surely it alone would be the one."""

    id: str
    status: MatchStatus
    reason: MatchReason
    agreement: Agreement


class Match(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. `work` and `doi` are set where the status is exact or strong.

    `score` is the sum of what agrees less what contradicts, of the first of `candidates`, which are the best
    five of `considered`. `common` says that a title or name has more works than are looked at.
    """

    status: MatchStatus
    reason: MatchReason
    work: str | None = None
    doi: str | None = None
    score: float | None = None
    considered: int = 0
    common: bool = False
    candidates: tuple[Candidate, ...] = ()


def evidence(match: Match) -> str | None:
    """The best candidate and how far its fields agree, for people; None without one."""
    if not match.candidates:
        return None
    best = match.candidates[0]
    fields = msgspec.to_builtins(best.agreement)
    return f"{best.id}: " + ", ".join(f"{name} {value:.2f}" for name, value in fields.items())


_RANK = {one: place for place, one in enumerate((MatchStatus.EXACT, MatchStatus.STRONG))}


def judge(sought: Sought, works: Sequence[Work], *, common: bool = False) -> Match:
    """Whatever the order of the works, the same."""
    found = sorted(
        ((_candidate(sought, one), one) for one in works),
        key=lambda pair: (
            _RANK.get(pair[0].status, len(_RANK)),
            -_weight(sought, *pair),
            pair[0].id,
        ),
    )
    told = tuple(one for one, _ in found[:CANDIDATES_TOLD])
    sure = [pair for pair in found if pair[0].status in _RANK]
    if not sure:
        status, reason = _unsure(sought, told, common)
        best = None
    else:
        best, work = sure[0]
        near = _weight(sought, best, work) - APART
        rivals = (pair for pair in sure[1:] if pair[0].status == best.status)
        status, reason = best.status, best.reason
        if any(_weight(sought, *pair) > near for pair in rivals):
            status, reason, best = MatchStatus.AMBIGUOUS, MatchReason.SEVERAL, None
    return Match(
        status=status,
        reason=reason,
        work=sure[0][1].id if best else None,
        doi=sure[0][1].doi if best else None,
        score=told[0].agreement.total if told else None,
        considered=len(works),
        common=common,
        candidates=told,
    )


def _weight(sought: Sought, one: Candidate, work: Work) -> float:
    """What tells candidates apart: how far they agree; whoever names a journal does not mean the preprint."""
    is_preprint = work.type == PREPRINT and sought.container is not None
    return one.agreement.total + (one.status is not MatchStatus.NONE) * 10 - APART * is_preprint


def _unsure(
    sought: Sought, told: Sequence[Candidate], common: bool
) -> tuple[MatchStatus, MatchReason]:
    if told and told[0].status is MatchStatus.WEAK:
        return MatchStatus.WEAK, told[0].reason
    if not sought.ids and not sought.title and not sought.printed and not sought.authors:
        return MatchStatus.NONE, MatchReason.NOTHING_SOUGHT
    if common:
        return MatchStatus.NONE, MatchReason.TOO_COMMON
    reason = MatchReason.DISAGREE if told else MatchReason.NO_CANDIDATE
    return MatchStatus.NONE, reason


def _candidate(sought: Sought, work: Work) -> Candidate:
    agreement = compare(sought, work)
    status, reason = _judged(sought, work, agreement)
    return Candidate(work.id, status, reason, agreement)


def _judged(sought: Sought, work: Work, one: Agreement) -> tuple[MatchStatus, MatchReason]:
    """How surely this work alone would be the one."""
    title = one.title
    if one.doi == 1 or one.identifier == 1:
        by = MatchReason.DOI if one.doi == 1 else MatchReason.IDENTIFIER
        if title is None or title >= OTHER_TITLE:
            return MatchStatus.EXACT, by
        if (one.author or 0) >= AGREES:
            return MatchStatus.STRONG, MatchReason.DOI_AND_AUTHOR
        return MatchStatus.WEAK, MatchReason.OTHER_TITLE
    strong = _by_fields(sought, work, one)
    if strong is not None:
        if one.doi == 0 and not _sure_without_doi(one):
            return MatchStatus.WEAK, MatchReason.OTHER_DOI
        return MatchStatus.STRONG, strong
    if (title or 0) >= SAME_TITLE and one.author != 0:
        return MatchStatus.WEAK, MatchReason.SIMILAR
    if (title or 0) >= LIKE_TITLE and (one.author or 0) >= AGREES:
        return MatchStatus.WEAK, MatchReason.SIMILAR
    return MatchStatus.NONE, MatchReason.DISAGREE


def _by_fields(sought: Sought, work: Work, one: Agreement) -> MatchReason | None:
    """What makes a work the one without an identifier; None where nothing does."""
    title, author = one.title or 0, one.author or 0
    letters = len(slug(work.title))
    if one.year != 0 and letters >= SHORT_LETTERS:
        if title >= SAME_TITLE and author >= AGREES:
            return MatchReason.TITLE_AND_AUTHOR
        if title >= LIKE_TITLE and author >= AGREES and one.numbers >= 2:
            return MatchReason.TITLE_AND_AUTHOR
        if title >= SAME_TITLE and one.author is None and one.numbers >= 2:
            return MatchReason.TITLE_AND_NUMBERS
    if author >= AGREES and one.year is not None and one.year > 0:
        placed = one.volume == 1 and one.page == 1
        if placed and (title >= OTHER_TITLE or one.title is None or (one.container or 0) >= AGREES):
            return MatchReason.NUMBERS
    long = letters >= LONG_LETTERS and len(slug_words(work.title or "")) >= LONG_WORDS
    if title == 1 and long and one.year != 0 and one.container != 0:
        # Names may be misread all of them, as headings are read for names; then something else has to agree.
        if one.author is None or author > 0:
            return MatchReason.LONG_TITLE
        return MatchReason.TITLE_AND_NUMBERS if one.numbers else None
    return None


def _sure_without_doi(one: Agreement) -> bool:
    """Whether all else agrees so well that the other DOI is one of another version, or misread."""
    return (one.title or 0) >= SAME_TITLE and (one.author or 0) >= AGREES and one.numbers >= 1
