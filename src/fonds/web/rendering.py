"""Between the application and its pages: stores and settings in, HTML out, and links that hold all state."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Annotated, Any
from urllib.parse import quote, quote_plus, unquote, urlencode, urlsplit

from fastapi import Depends, Request
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse

from fonds.address import file_name
from fonds.config import Settings
from fonds.kinds.embargoes import embargoed
from fonds.model.access import Role
from fonds.model.capture import from_datetime14
from fonds.model.disposition import Reason, Weight
from fonds.model.embargo import EXPLAINED, EmbargoReason
from fonds.model.keys import sha1_from_text
from fonds.model.numbers import how_many
from fonds.model.record_offset import offset_phrase, offset_text
from fonds.model.rows import EmbargoRow
from fonds.ports import Stores
from fonds.web.access.viewers import TheViewer, asker_of
from fonds.web.charts import meter
from fonds.web.parameters import shorten
from fonds.web.serving.tables import PREFIX, TABLED

FILE_URL = "file://"
_LANGUAGE = re.compile(r"[a-z]{2}")


NAMING = ("key",)
"""Parameters that name a thing, beside whatever stands in the path."""
ASKED_MAX, ASKED_MAX_CHARS = 20, 100


def files_asked(request: Request) -> list[str]:
    """The SHA-1s a request names, in hex and in whatever spelling; at most twenty values are looked at."""
    values = [str(value) for value in request.path_params.values()]
    values += [value for name in NAMING for value in request.query_params.getlist(name)]
    found = (sha1_from_text(value[:ASKED_MAX_CHARS]) for value in values[:ASKED_MAX])
    return sorted({raw.hex() for raw in found if raw is not None})


async def _stores(request: Request, viewer: TheViewer) -> Stores:
    """As readers are shown them; who may curate sees a file under embargo where it is asked for itself."""
    stores: Stores = request.app.state.stores
    if viewer.may(Role.CURATOR) and (asked := files_asked(request)):
        whole: Stores = request.app.state.whole_stores
        return whole if await run_in_threadpool(embargoed, whole.records, asked) else stores
    return stores


OpenStores = Annotated[Stores, Depends(_stores)]


async def _settings(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings


InForce = Annotated[Settings, Depends(_settings)]


@dataclass(frozen=True, slots=True)
class Pager:
    """Which page of how many; `first` and `last` number its rows from 1, `total` counts all of them.

    A page behind the last has no rows: `first` and `last` are 0 then.
    """

    page: int
    pages: int
    first: int
    last: int
    total: int
    previous_href: str | None
    next_href: str | None


@dataclass(frozen=True, slots=True)
class ListWindow:
    """Which rows of a list without page numbers are shown, from 1; `total` counts all of them."""

    first: int
    last: int
    total: int
    first_page_href: str | None
    next_href: str | None


def shown(
    path: str, params: dict[str, Any], total: int, count: int, position: int, following: str | None
) -> ListWindow:
    """`count` rows behind the first `position`; `following` is where the next page begins."""
    begin = link(path, **params) if position else None
    after = link(path, **params, after=following) if following else None
    return ListWindow(position + 1, position + count, total, begin, after)


def pager(
    path: str, params: dict[str, Any], total: int, page: int, size: int, pages_max: int
) -> Pager:
    """The pager of a listing whose other parameters are `params`; it ends at `pages_max`."""
    pages = max(1, min(pages_max, -(-total // size)))
    before = link(path, **params, page=page - 1 if page > 2 else None) if page > 1 else None
    after = link(path, **params, page=page + 1) if page < pages else None
    if page > pages:
        return Pager(page, pages, 0, 0, total, link(path, **params, page=pages), None)
    first = min((page - 1) * size + 1, total)
    return Pager(page, pages, first, min(page * size, total), total, before, after)


def link(path: str, **params: Any) -> str:
    """`path` with the parameters that say something; lists repeat their name."""
    pairs = []
    for name, value in params.items():
        if value in (None, "", [], (), False):
            continue
        values = value if isinstance(value, list | tuple) else (value,)
        pairs += [f"{_quoted(name)}={_quoted(str(one))}" for one in values]
    return f"{path}?{'&'.join(pairs)}" if pairs else path


@lru_cache(maxsize=1_024)
def _quoted(text: str) -> str:
    """As a part of a URL's query: one page has hundreds of links of the same few words and days."""
    return quote_plus(text)


def number(count: int) -> str:
    """1,234,567."""
    return f"{count:,}"


def sentence(text: str) -> str:
    """`text` beginning with a capital; the rest as it stands, for it may hold names."""
    return text[:1].upper() + text[1:]


def size(size_bytes: int | None) -> str:
    """A length for people, in powers of 1,000 with the exact bytes where they are few."""
    if size_bytes is None:
        return "unknown size"
    if size_bytes < 1000:
        return how_many(size_bytes, "byte")
    value, unit = float(size_bytes), "B"
    for bigger in ("kB", "MB", "GB", "TB"):
        if value < 999.95:
            break
        value, unit = value / 1000, bigger
    return f"{value:.1f} {unit}"


def moment(at: datetime | None) -> Markup:
    """An instant as a <time> element in UTC; `unknown` for None."""
    if at is None:
        return Markup('<span class="unknown">unknown</span>')
    utc = at.astimezone(UTC)
    return Markup('<time datetime="{}">{}</time>').format(
        utc.strftime("%Y-%m-%dT%H:%M:%SZ"), utc.strftime("%-d %b %Y, %H:%M:%S UTC")
    )


def instant(seconds: int | None) -> datetime | None:
    """A time in seconds since 1970 as `moment` takes it; None for None, and beyond the calendar."""
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def moment14(text: str) -> Markup:
    """The 14 digits of a CDX line as a <time>; anything else as it stands."""
    try:
        return moment(from_datetime14(text))
    except ValueError:
        return escape(text)


def marked(text: str, marks: Sequence[tuple[int, int]]) -> Markup:
    """`text` escaped, its marked passages in <mark>; marks that overlap or lie outside are cut to fit."""
    pieces: list[Markup] = []
    at = 0
    for start, end in sorted(marks):
        begin, stop = max(start, at), min(end, len(text))
        if begin >= stop:
            continue
        pieces += [escape(text[at:begin]), Markup("<mark>{}</mark>").format(text[begin:stop])]
        at = stop
    pieces.append(escape(text[at:]))
    return Markup("").join(pieces)


def web_url(url: str) -> str | None:
    """`url` when a browser may follow it: http or https; None for everything else."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return url if parts.scheme in ("http", "https") and parts.netloc else None


def address(url: str) -> str:
    """A URL for people: of a local file its path without percent-encodings, any other as it stands."""
    path = unquote(url.removeprefix(FILE_URL), errors="replace")
    return path if url.startswith(FILE_URL) and path.isprintable() else url


def file_named(url: str) -> str:
    """The name of the local file a URL is of; empty for other URLs."""
    name = file_name(url) if url.startswith(FILE_URL) else ""
    return name if name.isprintable() else quote(name)


def language_code(language: str | None) -> str | None:
    """A two-letter code fit for a lang attribute, else None."""
    return language if language and _LANGUAGE.fullmatch(language) else None


def day(at: date) -> str:
    """3 May 2021."""
    return f"{at.day} {at:%b} {at.year}"


def embargo_told(row: EmbargoRow) -> str:
    """Until when a file is hidden and why: all anybody is told of it."""
    why = EXPLAINED[EmbargoReason(row.reason_class)]
    return f"Under embargo until {day(row.until)} ({row.reason_class}): {why}"


def tone(outcome: str, reason: str | None) -> str:
    """The colour of a record's outcome, as the style sheet names it."""
    if outcome in ("done", "pending"):
        return "kept" if outcome == "done" else "flight"
    try:
        weight = Reason(reason or "").weight
    except ValueError:
        return "failed"
    return {
        Weight.KEPT: "kept",
        Weight.SET_ASIDE: "aside",
        Weight.REFUSED: "refused",
        Weight.FAILED: "failed",
    }[weight]


def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("fonds.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        address=address,
        file_named=file_named,
        cut=shorten,
        offset_phrase=offset_phrase,
        offset_text=offset_text,
        day=day,
        number=number,
        sentence=sentence,
        size=size,
        moment=moment,
        moment14=moment14,
        web_url=web_url,
        language_code=language_code,
    )
    made.globals.update(link=link, how_many=how_many, marked=marked, tone=tone)
    made.globals.update(meter=meter, instant=instant, quoted=shlex.quote)
    return made


ENVIRONMENT = _environment()


def page(request: Request, template: str, status: int = 200, **context: Any) -> HTMLResponse:
    """One page. `heading` in `context` is the sentence of its h1 and its title; `generation`, of a page that
    reads the index, that of the index, None where it is not known."""
    asker = asker_of(request.scope)
    body = ENVIRONMENT.get_template(template).render(
        asker=asker,
        may_curate=asker.may(Role.CURATOR),
        is_admin=asker.may(Role.ADMIN),
        site=request.app.state.title,
        here=request.url.path,
        json_href=_twin(request),
        csv_href=_table(request),
        now=datetime.now(UTC),
        **context,
    )
    return HTMLResponse(body, status)


def _twin(request: Request) -> str:
    """The same page as JSON: the same path and `.json`, the same parameters."""
    return f"{request.url.path}.json{_query(request)}"


def _table(request: Request) -> str:
    """Its rows as CSV; "" for a page that lists none."""
    path = getattr(request.scope.get("route"), "path", "")
    return f"{PREFIX}{request.url.path}{_query(request)}" if path in TABLED else ""


def _query(request: Request) -> str:
    """What a page and its twins are asked with; when it is made anew is the page's alone."""
    kept = [one for one in request.query_params.multi_items() if one[0] != "refresh"]
    return f"?{urlencode(kept)}" if kept else ""
