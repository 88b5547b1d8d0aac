"""References to works as people print them: styles, and the faults they make."""

from __future__ import annotations

import random

from fonds.papers.catalog.work import Work

STYLES = 6
FAULTS = 6


def initials(given: str) -> str:
    return " ".join(f"{part[0]}." for part in given.replace("-", " ").split())


def faulty(work: Work, chance: random.Random) -> tuple[list[tuple[str, str]], str, str, str]:
    """Names, title, year and container with one fault: an author alone, another year, a letter lost, the
    subtitle left out, capitals, the container shortened."""
    names = [(author.surname, author.given) for author in work.authors]
    title, container, year = work.title or "", work.container or "", work.year
    fault = chance.randrange(FAULTS)
    if fault == 0:
        names = names[:1]
    elif fault == 1 and year:
        year += chance.choice([-1, 1])
    elif fault == 2:
        place = chance.randrange(len(title))
        title = title[:place] + title[place + 1 :]
    elif fault == 3:
        title = title.split(":")[0]
    elif fault == 4:
        title = title.upper()
    else:
        container = "".join(f"{word[:4]}. " for word in container.split()).strip()
    return names, title, str(year or "n.d."), container


def printed(work: Work, style: int, chance: random.Random) -> str:
    """A reference in one of six styles, with a fault; volume, issue and pages are made up, which the works of
    the sample have none of."""
    names, title, year, container = faulty(work, chance)
    volume, issue, page = chance.randint(1, 300), chance.randint(1, 12), chance.randint(1, 2000)
    more = " et al." if len(names) > 3 and chance.random() < 0.5 else ""
    names = names[:3] if more else names
    pages = f"{page}–{page + 9}"
    before = ", ".join(f"{initials(given)} {surname}" for surname, given in names) + more
    behind = ", ".join(f"{surname}, {initials(given)}" for surname, given in names) + more
    if style == 0:
        return f'[7] {before}, "{title}," {container}, vol. {volume}, no. {issue}, pp. {pages}, {year}.'
    if style == 1:
        return f"{behind} ({year}). {title}. {container}, {volume}({issue}), {pages}."
    if style == 2:
        bare = ", ".join(
            f"{surname} {initials(given).replace('.', '').replace(' ', '')}"
            for surname, given in names
        )
        return f"12. {bare}{more}. {title}. {container}. {year};{volume}({issue}):{pages}."
    if style == 3:
        first, *others = names
        told = ", ".join(
            [f"{first[0]}, {first[1]}", *(f"{given} {name}" for name, given in others)]
        )
        return f"{told}{more}. {year}. “{title}.” {container} {volume} ({issue}): {pages}."
    if style == 4:
        return f"{before}: {title}. {container} {volume}, {page} ({year})"
    turned = ", ".join(f"{surname} {initials(given)}" for surname, given in names) + more
    return f"{turned}, {year}, {title}, {container} {volume}, {page}"
