"""Format references to works in several styles and with typical mistakes."""

from __future__ import annotations

import random

from fonds.papers.catalog.work import Work

STYLES = 6
FAULTS = 6


def initials(given_names: str) -> str:
    return " ".join(f"{part[0]}." for part in given_names.replace("-", " ").split())


def add_mistake(work: Work, chance: random.Random) -> tuple[list[tuple[str, str]], str, str, str]:
    """Return names, title, year and container with one mistake.

    The mistake is a missing author, another year, a lost letter, a missing subtitle, capitals or a
    shortened container.
    """
    names = [(author.surname, author.given) for author in work.authors]
    title, container, year = work.title or "", work.container or "", work.year
    fault = chance.randrange(FAULTS)
    if fault == 0:
        names = names[:1]
    elif fault == 1 and year:
        year += chance.choice([-1, 1])
    elif fault == 2:
        position = chance.randrange(len(title))
        title = title[:position] + title[position + 1 :]
    elif fault == 3:
        title = title.split(":")[0]
    elif fault == 4:
        title = title.upper()
    else:
        container = "".join(f"{word[:4]}. " for word in container.split()).strip()
    return names, title, str(year or "n.d."), container


def format_reference(work: Work, style: int, chance: random.Random) -> str:
    """Format a reference in one of six styles, with a mistake.

    Volume, issue and pages are random, as the works of the sample have none.
    """
    names, title, year, container = add_mistake(work, chance)
    volume, issue, page = chance.randint(1, 300), chance.randint(1, 12), chance.randint(1, 2000)
    et_al = " et al." if len(names) > 3 and chance.random() < 0.5 else ""
    names = names[:3] if et_al else names
    pages = f"{page}–{page + 9}"
    by_given_name = (
        ", ".join(f"{initials(given_names)} {surname}" for surname, given_names in names) + et_al
    )
    by_surname = (
        ", ".join(f"{surname}, {initials(given_names)}" for surname, given_names in names) + et_al
    )
    if style == 0:
        return (
            f'[7] {by_given_name}, "{title}," {container}, vol. {volume}, no. {issue},'
            f" pp. {pages}, {year}."
        )
    if style == 1:
        return f"{by_surname} ({year}). {title}. {container}, {volume}({issue}), {pages}."
    if style == 2:
        short_names = ", ".join(
            f"{surname} {initials(given_names).replace('.', '').replace(' ', '')}"
            for surname, given_names in names
        )
        return f"12. {short_names}{et_al}. {title}. {container}. {year};{volume}({issue}):{pages}."
    if style == 3:
        first_name, *other_names = names
        names_mixed = ", ".join(
            [
                f"{first_name[0]}, {first_name[1]}",
                *(f"{given_names} {name}" for name, given_names in other_names),
            ]
        )
        return f"{names_mixed}{et_al}. {year}. “{title}.” {container} {volume} ({issue}): {pages}."
    if style == 4:
        return f"{by_given_name}: {title}. {container} {volume}, {page} ({year})"
    names_with_initials = (
        ", ".join(f"{surname} {initials(given_names)}" for surname, given_names in names) + et_al
    )
    return f"{names_with_initials}, {year}, {title}, {container} {volume}, {page}"
