"""Rendering of pages: dependencies for stores and settings, links, text formats and templates."""

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
from fonds.model.record_offset import describe_offset, format_offset
from fonds.model.restrictions import EMBARGO_EXPLANATIONS, EmbargoReason
from fonds.model.rows import EmbargoRow
from fonds.ports import Stores
from fonds.urls.parts import file_name
from fonds.web.access.viewers import TheViewer, get_requester
from fonds.web.html.charts import draw_meter
from fonds.web.serving.csv_tables import CSV_PATHS, PREFIX
from fonds.web.serving.parameters import shorten

FILE_URL = "file://"
_LANGUAGE = re.compile(r"[a-z]{2}")


FILE_PARAMETERS = ("key",)
"""Query parameters that name a file or record, in addition to the parts of the path."""
REQUESTED_FILES_MAX, REQUESTED_MAX_CHARS = 20, 100


def list_requested_files(request: Request) -> list[str]:
    """Return the SHA-1s of the files that a request names in its path or query, sorted, in hex.

    The request may spell them in hex or base32. At most twenty of its values are examined.
    """
    values = [str(value) for value in request.path_params.values()]
    values += [value for name in FILE_PARAMETERS for value in request.query_params.getlist(name)]
    hashes = (parse_sha1(value[:REQUESTED_MAX_CHARS]) for value in values[:REQUESTED_FILES_MAX])
    return sorted({raw.hex() for raw in hashes if raw is not None})


async def _get_stores(request: Request, viewer: TheViewer) -> Stores:
    """Return the stores as readers see them.

    A curator whose request names a file under embargo gets the stores without the filter that hides
    such files.
    """
    stores: Stores = request.app.state.stores
    if viewer.has_role(Role.CURATOR) and (hashes := list_requested_files(request)):
        all_stores: Stores = request.app.state.whole_stores
        return (
            all_stores
            if await run_in_threadpool(find_active_embargoes, all_stores.records, hashes)
            else stores
        )
    return stores


OpenStores = Annotated[Stores, Depends(_get_stores)]


async def _get_settings(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings


CurrentSettings = Annotated[Settings, Depends(_get_settings)]


@dataclass(frozen=True, slots=True)
class Pager:
    """Position of a page in a list with page numbers.

    `page`, `pages`: number of the page, from 1, and number of all pages that can be opened.
    `first`, `last`: numbers of the first and last row on the page, from 1; 0 if the page has no
        rows.
    `total`: number of rows in the whole list.
    `previous_href`, `next_href`: addresses of the pages before and after; None if there is none.
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
    """Position of a page in a list that is paged by cursors, without page numbers.

    `first`, `last`: numbers of the first and last row on the page, from 1.
    `total`: number of rows in the whole list.
    `first_page_href`: address of the first page, None on the first page.
    `next_href`: address of the next page, None on the last page.
    """

    first: int
    last: int
    total: int
    first_page_href: str | None
    next_href: str | None


def build_window(
    path: str,
    params: dict[str, Any],
    total: int,
    count: int,
    position: int,
    next_cursor: str | None,
) -> ListWindow:
    """Build the position of a page with `count` rows, after the first `position` rows of the list.

    `params`: the query parameters of the list except the cursor.
    `total`: number of rows in the whole list.
    `next_cursor`: cursor of the next page, None on the last page.
    """
    begin = build_url(path, **params) if position else None
    next_url = build_url(path, **params, after=next_cursor) if next_cursor else None
    return ListWindow(position + 1, position + count, total, begin, next_url)


def build_pager(
    path: str, params: dict[str, Any], total: int, page: int, size: int, pages_max: int
) -> Pager:
    """Build the position of page number `page` in a list of `total` rows, `size` rows per page.

    `params`: the query parameters of the list except the page number.
    `pages_max`: maximum number of pages; further rows are on no page.
    """
    pages = max(1, min(pages_max, -(-total // size)))
    previous_url = (
        build_url(path, **params, page=page - 1 if page > 2 else None) if page > 1 else None
    )
    next_url = build_url(path, **params, page=page + 1) if page < pages else None
    if page > pages:
        return Pager(page, pages, 0, 0, total, build_url(path, **params, page=pages), None)
    first = min((page - 1) * size + 1, total)
    return Pager(page, pages, first, min(page * size, total), total, previous_url, next_url)


def build_url(path: str, **params: Any) -> str:
    """Build a URL from `path` and the query parameters that are not empty.

    A list becomes one parameter per value, all with the same name.
    """
    pairs = []
    for name, value in params.items():
        if value in (None, "", [], (), False):
            continue
        values = value if isinstance(value, list | tuple) else (value,)
        pairs += [f"{_quote(name)}={_quote(str(item))}" for item in values]
    return f"{path}?{'&'.join(pairs)}" if pairs else path


@lru_cache(maxsize=1_024)
def _quote(text: str) -> str:
    """Percent-encode a name or value for the query of a URL.

    Cached: one page has hundreds of links with the same few words and days.
    """
    return quote_plus(text)


def format_number(count: int) -> str:
    """Format a number with commas between thousands: 1,234,567."""
    return f"{count:,}"


def capitalize(text: str) -> str:
    """Capitalize the first letter of a text. The rest is unchanged, since it may contain names."""
    return text[:1].upper() + text[1:]


def format_size(size_bytes: int | None) -> str:
    """Format a size in bytes for people, in kB to TB (powers of 1,000); exact below 1,000 bytes."""
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
    """Format an instant in UTC as an HTML <time> element; return `unknown` for None."""
    if moment is None:
        return Markup('<span class="unknown">unknown</span>')
    utc = moment.astimezone(UTC)
    return Markup('<time datetime="{}">{}</time>').format(
        utc.strftime("%Y-%m-%dT%H:%M:%SZ"), utc.strftime("%-d %b %Y, %H:%M:%S UTC")
    )


def to_datetime(seconds: int | None) -> datetime | None:
    """Convert seconds since 1970 to a datetime; None for None and for times outside the
    calendar."""
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def format_time14(text: str) -> Markup:
    """Format a time of 14 digits, as in a CDX line, as an HTML <time> element; return any other
    text escaped.
    """
    try:
        return format_time(parse_datetime14(text))
    except ValueError:
        return escape(text)


def mark_text(text: str, marks: Sequence[tuple[int, int]]) -> Markup:
    """Escape `text` for HTML and wrap the marked ranges in <mark> elements.

    The parts of a range that overlap an earlier range or exceed the text are left out.
    """
    pieces: list[Markup] = []
    position = 0
    for start, end in sorted(marks):
        begin, stop = max(start, position), min(end, len(text))
        if begin >= stop:
            continue
        pieces += [escape(text[position:begin]), Markup("<mark>{}</mark>").format(text[begin:stop])]
        position = stop
    pieces.append(escape(text[position:]))
    return Markup("").join(pieces)


def filter_web_url(url: str) -> str | None:
    """Return `url` if a browser may follow it (http or https), otherwise None."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return url if parts.scheme in ("http", "https") and parts.netloc else None


def format_url(url: str) -> str:
    """Format a URL for people: the path of a local file without percent-encoding, any other URL
    unchanged.
    """
    path = unquote(url.removeprefix(FILE_URL), errors="replace")
    return path if url.startswith(FILE_URL) and path.isprintable() else url


def get_local_file_name(url: str) -> str:
    """Return the file name of a local file's URL, '' for other URLs."""
    name = file_name(url) if url.startswith(FILE_URL) else ""
    return name if name.isprintable() else quote(name)


def get_language_code(language: str | None) -> str | None:
    """Return `language` if it is a two-letter code for the lang attribute of HTML, otherwise
    None.
    """
    return language if language and _LANGUAGE.fullmatch(language) else None


def format_day(day: date) -> str:
    """Format a day for people: 3 May 2021."""
    return f"{day.day} {day:%b} {day.year}"


def describe_embargo(row: EmbargoRow) -> str:
    """Describe until when a file is under embargo and why. Readers are shown nothing else about the
    file.
    """
    explanation = EMBARGO_EXPLANATIONS[EmbargoReason(row.reason_class)]
    return f"Under embargo until {format_day(row.until)} ({row.reason_class}): {explanation}"


def choose_tone(outcome: str, reason: str | None) -> str:
    """Return the CSS class for the outcome of a record. `reason`: why the record was dropped or
    quarantined, None if it was not.
    """
    if outcome in ("done", "pending"):
        return "kept" if outcome == "done" else "flight"
    try:
        weight = Reason(reason or "").weight
    except ValueError:
        return "failed"
    return {
        Weight.WITHOUT_TEXT: "kept",
        Weight.SKIPPED: "aside",
        Weight.REJECTED: "refused",
        Weight.FAILED: "failed",
    }[weight]


def _create_environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("fonds.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        address=format_url,
        file_named=get_local_file_name,
        cut=shorten,
        offset_phrase=describe_offset,
        offset_text=format_offset,
        day=format_day,
        number=format_number,
        sentence=capitalize,
        size=format_size,
        moment=format_time,
        moment14=format_time14,
        web_url=filter_web_url,
        language_code=get_language_code,
    )
    environment.globals.update(
        link=build_url, how_many=pluralize, marked=mark_text, tone=choose_tone
    )
    environment.globals.update(meter=draw_meter, instant=to_datetime, quoted=shlex.quote)
    return environment


ENVIRONMENT = _create_environment()


def render_page(request: Request, template: str, status: int = 200, **context: Any) -> HTMLResponse:
    """Render an HTML page from a template.

    `context`: values for the template. `heading` is the text of the page's h1 and title;
        `generation` is the id of the index contents, None if unknown, for pages that read the
        index.
    """
    requester = get_requester(request.scope)
    body = ENVIRONMENT.get_template(template).render(
        requester=requester,
        may_curate=requester.has_role(Role.CURATOR),
        is_admin=requester.has_role(Role.ADMIN),
        site=request.app.state.title,
        here=request.url.path,
        json_href=_json_url(request),
        csv_href=_csv_url(request),
        now=datetime.now(UTC),
        **context,
    )
    return HTMLResponse(body, status)


def _json_url(request: Request) -> str:
    """Return the URL of the requested page as JSON: the path with `.json` and the same
    parameters.
    """
    return f"{request.url.path}.json{_get_query(request)}"


def _csv_url(request: Request) -> str:
    """Return the URL of the rows of the requested page as CSV, "" if the page has no CSV
    version.
    """
    path = getattr(request.scope.get("route"), "path", "")
    return f"{PREFIX}{request.url.path}{_get_query(request)}" if path in CSV_PATHS else ""


def _get_query(request: Request) -> str:
    """Return the query of the requested page for its JSON and CSV versions.

    The parameter `refresh` is left out, since it applies to the HTML page only.
    """
    parameters = [
        parameter for parameter in request.query_params.multi_items() if parameter[0] != "refresh"
    ]
    return f"?{urlencode(parameters)}" if parameters else ""


# Replay origin: captures are never replayed on the origin of the pages.


@dataclass(frozen=True, slots=True)
class ReplayOrigin:
    """Origin (scheme, host and port) from which captures are replayed.

    `url`: the origin, '' to build it from the requested host and `port`.
    If `url` is '' and `port` is None, captures are not replayed.
    """

    url: str = ""
    port: int | None = None

    def resolve(self, request: Request) -> str | None:
        """Return the replay origin for a request, None if captures are not replayed."""
        if self.url:
            return self.url.rstrip("/")
        if self.port is None:
            return None
        host = request.url.hostname or "localhost"
        url_host = f"[{host}]" if ":" in host else host
        return f"http://{url_host}:{self.port}"


NO_REPLAY = ReplayOrigin()
PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))


async def redirect_to_replay(request: Request) -> Response:
    """Redirect an address below `/web/` to the replay origin."""
    origin: str | None = request.app.state.replay.resolve(request)
    if origin is None:
        raise HTTPException(404, "To replay captures, run `fonds serve`.")
    raw = request.scope.get("raw_path") or request.url.path.encode()
    path = raw.decode("utf-8", "replace").partition("?")[0]
    query = f"?{request.url.query}" if request.url.query else ""
    target = quote(f"{path}{query}", safe=PRINTABLE, errors="replace")
    # Escapes belong to the captured address; RedirectResponse would encode them a second time.
    answer = RedirectResponse(origin, 307)
    answer.headers["location"] = f"{origin}{target}"
    return answer
