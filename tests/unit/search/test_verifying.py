"""What became of a result: each document of its manifest is accounted for once, and what came since too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from filled_home import FilledHome, fill_home, open_home
from fonds.extract.page import EXTRACTOR
from fonds.model.document import IndexDocument
from fonds.model.rows import EmbargoRow, FileMetaRow, StoryMetaRow, TextSketchRow
from fonds.ports import Stores
from fonds.restrictions.embargo import EmbargoService
from fonds.search.manifest import (
    MEMBERS_MAX,
    Manifest,
    ManifestMembers,
    build_exported_search,
    encode_manifest,
    iter_members,
    parse_manifest,
)
from fonds.search.request import SearchRequest
from fonds.search.run_search import count_request
from fonds.search.scan import ResultContents, iter_documents
from fonds.search.verification import (
    FOUND_SORTS,
    ManifestVerifier,
    ResultComparison,
    VerificationResult,
    build_accounts,
)
from home_rows import NOW
from takedowns import build_takedown, create_takedown_service

SEARCH = SearchRequest(q="flood")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[tuple[Stores, FilledHome]]:
    filled = fill_home(tmp_path)
    with open_home(tmp_path) as stores:
        yield stores, filled


def manifest(stores: Stores, limit: int | None = None, search: SearchRequest = SEARCH) -> Manifest:
    """As an export of the search writes it, and as it is read again."""
    found, contents, named = (
        count_request(search, stores),
        ResultContents(),
        ManifestMembers(stores.records),
    )
    documents = iter_documents(stores.index, found.query, limit or 100_000)
    for _ in named.collect(contents.collect(documents)):
        pass
    made = Manifest(
        "floods.csv", "csv", contents.count, "", (), NOW, "0", build_exported_search(search, found, limit),
        contents.sha256hex, list(named.extractors), named.lines,
    )  # fmt: skip
    read = parse_manifest(encode_manifest(made))
    assert read.documents == named.lines
    return read


def compared(found: VerificationResult) -> ResultComparison:
    """With the two sums that have to be right whatever happened."""
    told = found.compared
    assert told is not None
    counts = {account.name: account.count for account in build_accounts(told)}
    assert found.now == sum(counts[name] for name in FOUND_SORTS)
    assert found.then == sum(counts.values()) - counts["added"]
    return told


def documents(stores: Stores) -> list[IndexDocument]:
    return list(iter_documents(stores.index, SEARCH.build_query(), 1_000))


def test_a_result_nothing_happened_to_is_unchanged(home: tuple[Stores, FilledHome]) -> None:
    stores, _ = home
    found = ManifestVerifier(stores)(manifest(stores))
    told = compared(found)
    assert (found.result_is_same, told.unchanged, told.listed) == (True, found.then, [])
    assert found.then > 10


def test_each_thing_that_can_happen_to_a_document_is_told_apart(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, _ = home
    then = manifest(stores)
    stories = [one for one in documents(stores) if one.story_id]
    down, hidden, again, by_other, lost, unfound, newer = (story.sha1hex for story in stories[:7])
    create_takedown_service(stores)(build_takedown(down))
    hiding = EmbargoService(stores, None, lambda: NOW)
    hiding.hide(EmbargoRow(hidden, "review", "", NOW + timedelta(days=9), "ann", NOW))
    (sketch,) = stores.records.get(TextSketchRow, [again])
    (row,) = stores.records.get(StoryMetaRow, [by_other])
    stores.records.put(
        [replace(sketch, text_sha256hex="0" * 64), replace(row, extractor="trafilatura 9")]
    )
    stores.index.delete([stories[4].id, stories[5].id])
    stores.records.delete(FileMetaRow, [lost])
    stores.index.put([replace(stories[6], sha1hex="f" * 40, text_content="flood")])
    stores.index.put([replace(stories[7], id="new", text_content="A later flood.")])
    told = compared(ManifestVerifier(stores, stores.records)(then))
    became = {one.change: one for one in told.listed}
    assert {name: one.sha1hex for name, one in became.items() if name != "read_again"} == {
        "taken_down": down, "under_embargo": hidden, "gone": lost, "no_longer_found": unfound,
        "other_version": "f" * 40, "added": stories[7].sha1hex,
    }  # fmt: skip
    read = {one.sha1hex: one.why for one in told.listed if one.change == "read_again"}
    assert read == {
        again: "another text, by the same extractor",
        by_other: f"the same text; extractors: {EXTRACTOR} then, trafilatura 9 now",
    }
    assert became["taken_down"].why == "privacy, 2026-03-14"
    assert became["under_embargo"].why.startswith("review, until 2026-03-23")
    assert became["other_version"].why == f"then file {newer}"
    assert told.unchanged == then.rows - 8 + 1


def test_readers_are_not_told_embargoed_from_gone(home: tuple[Stores, FilledHome]) -> None:
    stores, _ = home
    then = manifest(stores)
    hidden, lost = documents(stores)[:2]
    hiding = EmbargoService(stores, None, lambda: NOW)
    hiding.hide(EmbargoRow(hidden.sha1hex, "review", "", NOW + timedelta(days=9), "ann", NOW))
    stores.index.delete([lost.id])
    stores.records.delete(FileMetaRow, [lost.sha1hex])
    told = compared(ManifestVerifier(stores.for_readers())(then))
    assert (told.under_embargo, told.gone) == (None, 2)
    assert {(one.change, one.title, one.why) for one in told.listed} == {("gone", "", "")}


def test_the_first_of_a_result_are_held_against_no_others(home: tuple[Stores, FilledHome]) -> None:
    stores, _ = home
    then = manifest(stores, limit=5)
    found = ManifestVerifier(stores)(then)
    assert (then.rows, found.now, found.result_is_same) == (5, 5, True)
    first = documents(stores)[0]
    stores.index.delete([first.id])
    again = ManifestVerifier(stores)(then)
    assert (again.now, compared(again).no_longer_found, compared(again).added) == (4, 1, 0)


def test_what_lies_behind_the_bound_is_not_compared(home: tuple[Stores, FilledHome]) -> None:
    stores, _ = home
    then = manifest(stores)
    found = ManifestVerifier(stores, walked_max=5)(then)
    told = compared(found)
    assert (found.now, found.now_is_more, found.result_is_same) == (5, True, None)
    assert (told.unchanged, told.not_compared) == (5, then.rows - 5)


def test_a_manifest_that_names_no_documents_is_told_in_counts(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, _ = home
    then = replace(manifest(stores), documents=None)
    stores.index.delete([documents(stores)[0].id])
    found = ManifestVerifier(stores)(then)
    assert (found.compared, found.result_is_same, found.now) == (None, False, then.rows - 1)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "x",
        f"a {'0' * 39}g - -",
        f"a {'0' * 40} - 7",
        f"a {'0' * 40} - -1",
        f"{'a' * 201} {'0' * 40} - -",
        f"a {'0' * 40} - - -",
        "\N{ARABIC-INDIC DIGIT ONE}" * 40,
    ],
)
def test_a_line_that_names_no_document_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="line 2 of `documents`"):
        list(iter_members([f"a {'0' * 40} - 0", line], ["x"]))


def test_more_documents_than_a_manifest_names_are_none(home: tuple[Stores, FilledHome]) -> None:
    stores, _ = home
    (one, *_) = documents(stores)
    named = ManifestMembers(stores.records, lines=["x"] * MEMBERS_MAX)
    assert list(named.collect(iter([one]))) == [one]
    assert named.lines is None


def test_a_search_nobody_could_ask_is_refused(home: tuple[Stores, FilledHome]) -> None:
    stores, _ = home
    then = manifest(stores)
    assert then.search is not None
    for wrong in (
        replace(then.search, parameters={"domain": ["x"] * 1_000}),
        replace(then.search, parameters={"domain": "x" * 1_000}),
        replace(then.search, parameters={"domian": "x"}),
        replace(then.search, limit=-1),
    ):
        with pytest.raises(ValueError, match=r"parameter|limit"):
            parse_manifest(encode_manifest(replace(then, search=wrong)))
    with pytest.raises(ValueError, match="field"):
        ManifestVerifier(stores)(
            replace(then, search=replace(then.search, parameters={"q": "autor:x"}))
        )
