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
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, RedirectResponse, Response

from fonds.config import Settings
from fonds.derivatives.visibility import find_active_embargoes
from fonds.model.access import Role
from fonds.model.capture import parse_datetime14
from fonds.model.disposition import Reason, Weight
from fonds.model.encoding import pluralize
from fonds.model.keys import parse_sha1
from fonds.model.record_offset import offset_phrase, offset_text
from fonds.model.restrictions import EXPLAINED, EmbargoReason
from fonds.model.rows import EmbargoRow
from fonds.ports import Stores
from fonds.urls.parts import file_name
from fonds.web.access.viewers import TheViewer, get_requester
from fonds.web.html.charts import draw_meter
from fonds.web.serving.csv_tables import PREFIX, TABLED
from fonds.web.serving.parameters import shorten

FILE_URL = "file://"
_LANGUAGE = re.compile(r"[a-z]{2}")


NAMING = ("key",)
"""Parameters that name a thing, beside whatever stands in the path."""
REQUESTED_FILES_MAX, REQUESTED_MAX_CHARS = 20, 100


def list_requested_files(request: Request) -> list[str]:
    """The SHA-1s a request names, in hex and in whatever spelling; at most twenty values are looked at."""
    values = [str(value) for value in request.path_params.values()]
    values += [value for name in NAMING for value in request.query_params.getlist(name)]
    found = (parse_sha1(value[:REQUESTED_MAX_CHARS]) for value in values[:REQUESTED_FILES_MAX])
    return sorted({raw.hex() for raw in found if raw is not None})


async def _get_stores(request: Request, viewer: TheViewer) -> Stores:
    """As readers are shown them; who may curate sees a file under embargo where it is asked for itself."""
    stores: Stores = request.app.state.stores
    if viewer.has_role(Role.CURATOR) and (asked := list_requested_files(request)):
        whole: Stores = request.app.state.whole_stores
        return (
            whole
            if await run_in_threadpool(find_active_embargoes, whole.records, asked)
            else stores
        )
    return stores


OpenStores = Annotated[Stores, Depends(_get_stores)]


async def _get_settings(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings


InForce = Annotated[Settings, Depends(_get_settings)]


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


def build_window(
    path: str, params: dict[str, Any], total: int, count: int, position: int, following: str | None
) -> ListWindow:
    """`count` rows behind the first `position`; `following` is where the next page begins."""
    begin = build_url(path, **params) if position else None
    after = build_url(path, **params, after=following) if following else None
    return ListWindow(position + 1, position + count, total, begin, after)


def build_pager(
    path: str, params: dict[str, Any], total: int, page: int, size: int, pages_max: int
) -> Pager:
    """The pager of a listing whose other parameters are `params`; it ends at `pages_max`."""
    pages = max(1, min(pages_max, -(-total // size)))
    before = build_url(path, **params, page=page - 1 if page > 2 else None) if page > 1 else None
    after = build_url(path, **params, page=page + 1) if page < pages else None
    if page > pages:
        return Pager(page, pages, 0, 0, total, build_url(path, **params, page=pages), None)
    first = min((page - 1) * size + 1, total)
    return Pager(page, pages, first, min(page * size, total), total, before, after)


def build_url(path: str, **params: Any) -> str:
    """`path` with the parameters that say something; lists repeat their name."""
    pairs = []
    for name, value in params.items():
        if value in (None, "", [], (), False):
            continue
        values = value if isinstance(value, list | tuple) else (value,)
        pairs += [f"{_quote(name)}={_quote(str(one))}" for one in values]
    return f"{path}?{'&'.join(pairs)}" if pairs else path


@lru_cache(maxsize=1_024)
def _quote(text: str) -> str:
    """As a part of a URL's query: one page has hundreds of links of the same few words and days."""
    return quote_plus(text)


def format_number(count: int) -> str:
    """1,234,567."""
    return f"{count:,}"


def capitalize(text: str) -> str:
    """`text` beginning with a capital; the rest as it stands, for it may hold names."""
    return text[:1].upper() + text[1:]


def format_size(size_bytes: int | None) -> str:
    """A length for people, in powers of 1,000 with the exact bytes where they are few."""
    if size_bytes is None:
        return "unknown size"
    if size_bytes < 1000:
        return pluralize(size_bytes, "byte")
    value, unit = float(size_bytes), "B"
    for bigger in ("kB", "MB", "GB", "TB"):
        if value < 999.95:
            break
        value, unit = value / 1000, bigger
    return f"{value:.1f} {unit}"


def format_time(moment: datetime | None) -> Markup:
    """An instant as a <time> element in UTC; `unknown` for None."""
    if moment is None:
        return Markup('<span class="unknown">unknown</span>')
    utc = moment.astimezone(UTC)
    return Markup('<time datetime="{}">{}</time>').format(
        utc.strftime("%Y-%m-%dT%H:%M:%SZ"), utc.strftime("%-d %b %Y, %H:%M:%S UTC")
    )


def to_datetime(seconds: int | None) -> datetime | None:
    """A time in seconds since 1970 as `format_time` takes it; None for None, and beyond the calendar."""
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def format_time14(text: str) -> Markup:
    """The 14 digits of a CDX line as a <time>; anything else as it stands."""
    try:
        return format_time(parse_datetime14(text))
    except ValueError:
        return escape(text)


def mark_text(text: str, marks: Sequence[tuple[int, int]]) -> Markup:
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


def filter_web_url(url: str) -> str | None:
    """`url` when a browser may follow it: http or https; None for everything else."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return url if parts.scheme in ("http", "https") and parts.netloc else None


def format_url(url: str) -> str:
    """A URL for people: of a local file its path without percent-encodings, any other as it stands."""
    path = unquote(url.removeprefix(FILE_URL), errors="replace")
    return path if url.startswith(FILE_URL) and path.isprintable() else url


def get_local_file_name(url: str) -> str:
    """The name of the local file a URL is of; empty for other URLs."""
    name = file_name(url) if url.startswith(FILE_URL) else ""
    return name if name.isprintable() else quote(name)


def get_language_code(language: str | None) -> str | None:
    """A two-letter code fit for a lang attribute, else None."""
    return language if language and _LANGUAGE.fullmatch(language) else None


def format_day(day: date) -> str:
    """3 May 2021."""
    return f"{day.day} {day:%b} {day.year}"


def describe_embargo(row: EmbargoRow) -> str:
    """Until when a file is hidden and why: all anybody is told of it."""
    why = EXPLAINED[EmbargoReason(row.reason_class)]
    return f"Under embargo until {format_day(row.until)} ({row.reason_class}): {why}"


def choose_tone(outcome: str, reason: str | None) -> str:
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


def _create_environment() -> Environment:
    made = Environment(
        loader=PackageLoader("fonds.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        address=format_url,
        file_named=get_local_file_name,
        cut=shorten,
        offset_phrase=offset_phrase,
        offset_text=offset_text,
        day=format_day,
        number=format_number,
        sentence=capitalize,
        size=format_size,
        moment=format_time,
        moment14=format_time14,
        web_url=filter_web_url,
        language_code=get_language_code,
    )
    made.globals.update(link=build_url, how_many=pluralize, marked=mark_text, tone=choose_tone)
    made.globals.update(meter=draw_meter, instant=to_datetime, quoted=shlex.quote)
    return made


ENVIRONMENT = _create_environment()


def render_page(request: Request, template: str, status: int = 200, **context: Any) -> HTMLResponse:
    """One page. `heading` in `context` is the sentence of its h1 and its title; `generation`, of a page that
    reads the index, that of the index, None where it is not known."""
    asker = get_requester(request.scope)
    body = ENVIRONMENT.get_template(template).render(
        asker=asker,
        may_curate=asker.has_role(Role.CURATOR),
        is_admin=asker.has_role(Role.ADMIN),
        site=request.app.state.title,
        here=request.url.path,
        json_href=_json_url(request),
        csv_href=_csv_url(request),
        now=datetime.now(UTC),
        **context,
    )
    return HTMLResponse(body, status)


def _json_url(request: Request) -> str:
    """The same page as JSON: the same path and `.json`, the same parameters."""
    return f"{request.url.path}.json{_get_query(request)}"


def _csv_url(request: Request) -> str:
    """Its rows as CSV; "" for a page that lists none."""
    path = getattr(request.scope.get("route"), "path", "")
    return f"{PREFIX}{request.url.path}{_get_query(request)}" if path in TABLED else ""


def _get_query(request: Request) -> str:
    """What a page and its twins are asked with; when it is made anew is the page's alone."""
    kept = [one for one in request.query_params.multi_items() if one[0] != "refresh"]
    return f"?{urlencode(kept)}" if kept else ""


# Where captures are replayed, as the pages know it: never on their own origin.


@dataclass(frozen=True, slots=True)
class ReplayOrigin:
    """`url` where it was set, else the host that was asked for at `port`; neither: nothing is replayed."""

    url: str = ""
    port: int | None = None

    def resolve(self, request: Request) -> str | None:
        """The origin for whoever asks; None where nothing is replayed."""
        if self.url:
            return self.url.rstrip("/")
        if self.port is None:
            return None
        host = request.url.hostname or "localhost"
        shown = f"[{host}]" if ":" in host else host
        return f"http://{shown}:{self.port}"


NO_REPLAY = ReplayOrigin()
PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))


async def redirect_to_replay(request: Request) -> Response:
    """An address below `/web/` of the pages: on to the origin that replays."""
    origin: str | None = request.app.state.replay.resolve(request)
    if origin is None:
        raise HTTPException(404, "Captures are replayed by `fonds serve`, on a port of their own.")
    raw = request.scope.get("raw_path") or request.url.path.encode()
    path = raw.decode("utf-8", "replace").partition("?")[0]
    query = f"?{request.url.query}" if request.url.query else ""
    target = quote(f"{path}{query}", safe=PRINTABLE, errors="replace")
    # Escapes are the captured address's; what a response makes of its argument would double them.
    answer = RedirectResponse(origin, 307)
    answer.headers["location"] = f"{origin}{target}"
    return answer
