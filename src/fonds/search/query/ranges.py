"""Parse values of date and number fields in a query: a single value, or a range.

    year:2024   date:2024-05   date:2024-05-17   words:500      that year, month, day or number
    year:2020..2024   date:2024-01..2024-06   words:500..       inclusive; one end may be omitted
    words:>500   pages:<=10   date:>=2024-05                    more than, at most, since
    date:none   pages:none                                      without a value

`captured:` and `added:` accept the same values as `date:`.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date

from fonds.model.encoding import EXACT_MAX
from fonds.search.exact_values import NONE
from fonds.search.fields import DAY_FIELDS
from fonds.search.query.tree import NumberRange

_COMPARED = re.compile(r"(>=|<=|>|<)?(.+)")
_DAY = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")


def parse_range(name: str, field: str, value: str) -> NumberRange:
    """Return the query tree node for a value of a date or number field, such as `2020..2024`.

    `name` is the field name in queries, `field` the attribute of documents. Raises ValueError with
    a message for users if the value is invalid.
    """
    value = value.strip().lower()
    if value == NONE:
        return NumberRange(field)
    begin, dots, end = value.partition("..")
    if dots:
        return _build_range(name, field, begin, end)
    match = _COMPARED.fullmatch(value)
    if match is None:
        raise ValueError(_format_hint(name))
    first, last = _parse_limits(name, match[2])
    match match[1]:
        case ">":
            if name in DAY_FIELDS and last >= date.max.toordinal():
                raise ValueError(f"No date is later than {match[2]}.")
            return NumberRange(field, last + 1, None)
        case ">=":
            return NumberRange(field, first, None)
        case "<":
            if first <= _get_minimum(name):
                raise ValueError(f"No value is less than {match[2]}.")
            return NumberRange(field, _get_minimum(name), first - 1)
        case "<=":
            return NumberRange(field, _get_minimum(name), last)
    return NumberRange(field, first, last)


def _build_range(name: str, field: str, begin: str, end: str) -> NumberRange:
    if not begin and not end:
        raise ValueError(_format_hint(name))
    first = _parse_limits(name, begin)[0] if begin else _get_minimum(name)
    last = _parse_limits(name, end)[1] if end else None
    if last is not None and first > last:
        raise ValueError(f"The range ends before it starts. Write {end}..{begin}.")
    return NumberRange(field, first, last)


def _get_minimum(name: str) -> int:
    """Return the lowest value of a date or number field, at which a range without a start begins.

    It is 1 for dates, because 0 means undated, and 0 for other numbers.
    """
    return 1 if name in DAY_FIELDS else 0


def _parse_limits(name: str, value: str) -> tuple[int, int]:
    """Return the first and last number that a date or number typed in a query covers.

    Dates are day numbers, as in `date.toordinal`. A day or number covers itself. A month or year
    covers all its days. `name` is the field name. Raises ValueError with a message for users if the
    value is invalid.
    """
    if name in DAY_FIELDS:
        return _parse_days(name, value)
    if not value.isascii() or not value.isdigit() or int(value[:20]) > EXACT_MAX:
        raise ValueError(_format_hint(name))
    return int(value), int(value)


def _parse_days(name: str, value: str) -> tuple[int, int]:
    match = _DAY.fullmatch(value)
    if match is None or not value.isascii() or (name == "year" and match[2]):
        raise ValueError(_format_hint(name))
    year, month, day = (int(part) if part else None for part in match.groups())
    try:
        if year is None or month is None:
            return date(year or 0, 1, 1).toordinal(), date(year or 0, 12, 31).toordinal()
        last = day or monthrange(year, month)[1]
        return date(year, month, day or 1).toordinal(), date(year, month, last).toordinal()
    except ValueError:
        raise ValueError(f"There is no date {value}.") from None


def _format_hint(name: str) -> str:
    if name == "year":
        return "Write a year, such as 2024, 2020..2024, >2020 or none."
    if name in DAY_FIELDS:
        return "Write a day, month or year, such as 2024-05-17, 2024-05, 2020..2024-06, >=2024 or none."
    return "Write a number, such as 500, 100..500, >500 or none."
