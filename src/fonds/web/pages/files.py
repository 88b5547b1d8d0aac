"""Page that lists stored files of one media type, with titles and thumbnails, newest or oldest
first.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.responses import HTMLResponse

from fonds.failures.accounting.tallies import count_files_by_type
from fonds.model.document import IndexDocument
from fonds.model.encoding import pluralize
from fonds.model.rows import EntryRow, FileMetaRow
from fonds.model.suggestions import format_unknown_name
from fonds.ports import Stores
from fonds.search.direct_hits import load_file_documents
from fonds.web.access.roles import READS
from fonds.web.html.paging import TEXT_MAX_CHARS, CursorList, get_first_number
from fonds.web.html.rendering import OpenStores, build_window, capitalize, render_page
from fonds.web.serving.csv_tables import add_csv_route

PAGE_SIZE, TYPES_OFFERED = 50, 12
FILES = CursorList("row_created", FileMetaRow.KEY)

router = APIRouter(tags=["files"], dependencies=[READS])

AfterFile = Annotated[str, AfterValidator(FILES.validate)]


class FilesForm(BaseModel):
    """Query parameters of the list of files: media type, order and cursor. An empty type means all
    files.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: str = Field("", max_length=200, description="Media type, e.g. application/pdf")
    sort: Literal["newest", "oldest"] = Field(
        "newest", description="Order, by the time the file was first stored"
    )
    after: AfterFile = Field(
        "",
        max_length=TEXT_MAX_CHARS,
        description="Cursor of the next page: `next` of the previous response",
    )

    def build_params(self) -> dict[str, Any]:
        """Return all query parameters of the list of files except the cursor, for links.

        The order of the list is left out if it is the default, newest first.
        """
        return {"type": self.type, "sort": self.sort if self.sort != "newest" else None}

    @property
    def order(self) -> tuple[str, ...]:
        """Return the columns of the SQL table of files by which to sort. A `-` marks a descending
        column.

        Both orders use one database index, read from either end.
        """
        if self.sort == "oldest":
            return ("row_created", "-sha1hex")
        return ("-row_created", "sha1hex")


@dataclass(frozen=True, slots=True)
class FileLine:
    """One file in the list of files.

    `title`: title of the file's document, None if unknown.
    `url`: URL of the primary capture, None if unknown.
    `has_thumbnail`: whether a picture of the first page of the file (a PDF) is stored.
    """

    sha1hex: str
    title: str | None
    mimetype: str
    size_bytes: int
    url: str | None
    row_created: dt.datetime
    has_thumbnail: bool


@dataclass(frozen=True, slots=True)
class FilesPage:
    """One page of the list of files.

    `first`: number of the first file on the page, counted from 1.
    `next`: value of the parameter `after` for the next page, None on the last page.
    `notes`: sentences that name existing media types to try instead, if the requested type is
        unknown.
    """

    answer: str
    notes: Sequence[str]
    total: int
    first: int
    next: str | None
    rows: Sequence[FileLine]


def build_files_page(
    stores: Stores, form: FilesForm, types: Sequence[tuple[str, int]]
) -> FilesPage:
    """Build one page of the list of files, each with its title and the URL of its primary capture.

    `types`: the result of `count_files_by_type`: media types with their numbers of files.
    """
    records = stores.records
    where: Mapping[str, object] | None = {"mimetype": form.type} if form.type else None
    total = sum(n for name, n in types if form.type in ("", name))
    cursor = FILES.decode(form.after)
    rows = list(
        records.find(
            FileMetaRow,
            where,
            order=form.order,
            after=FILES.build_filter(cursor),
            count_max=PAGE_SIZE,
        )
    )
    captures = records.find(EntryRow, {"entry_id": [row.capture_id for row in rows]})
    urls = {row.entry_id: row.url for row in captures}
    documents = load_file_documents(stores, [row.sha1hex for row in rows])
    lines = [
        _build_file_line(file_row, urls.get(file_row.capture_id), documents.get(file_row.sha1hex))
        for file_row in rows
    ]
    first = get_first_number(cursor)
    next_cursor = FILES.find_next(first, rows, PAGE_SIZE)
    of_type = f" of type {form.type}" if form.type else ""
    notes = (
        []
        if total or not form.type
        else [capitalize(format_unknown_name("type", form.type, dict(types)))]
    )
    answer = f"{pluralize(total, 'file')}{of_type}"
    return FilesPage(answer, notes, total, first, next_cursor, lines)


def _build_file_line(row: FileMetaRow, url: str | None, document: IndexDocument | None) -> FileLine:
    title = document.article_title if document else None
    has_thumbnail = document is not None and document.has_thumbnail
    return FileLine(
        row.sha1hex, title, row.mimetype, row.size_bytes, url, row.row_created, has_thumbnail
    )


@router.get("/files", include_in_schema=False)
def files_html(
    request: Request, stores: OpenStores, form: Annotated[FilesForm, Query()]
) -> HTMLResponse:
    """Show the files of a type."""
    types = count_files_by_type(stores.records)
    page = build_files_page(stores, form, types)
    position = page.first - 1
    window = build_window(
        "/files", form.build_params(), page.total, len(page.rows), position, page.next
    )
    return render_page(
        request,
        "files.html",
        heading=page.answer,
        page=page,
        form=form,
        types=types[:TYPES_OFFERED],
        types_total=len(types),
        shown=window,
    )


@add_csv_route(router, "/files", lambda page: page.rows)
@router.get("/files.json", include_in_schema=False)
@router.get("/api/files", summary="Files by type", operation_id="list_files")
def files_json(stores: OpenStores, form: Annotated[FilesForm, Query()]) -> FilesPage:
    """List the files of one media type, or all, 50 per page, newest first."""
    return build_files_page(stores, form, count_files_by_type(stores.records))
