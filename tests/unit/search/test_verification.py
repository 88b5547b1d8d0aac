"""Verifying a result: each document of the manifest, and each document added since, is counted once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from filled_home import FilledHome, fill_home, open_home
from fonds.extract.page_extraction import EXTRACTOR
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
from takedowns import build_takedown, create_takedown_service, take_down

SEARCH = SearchRequest(q="flood")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[tuple[Stores, FilledHome]]:
    filled_home = fill_home(tmp_path)
    with open_home(tmp_path) as stores:
        yield stores, filled_home


def build_manifest(
    stores: Stores, limit: int | None = None, search: SearchRequest = SEARCH
) -> Manifest:
    """Build the manifest of an exported search, and parse it."""
    search_count, contents, members = (
        count_request(search, stores),
        ResultContents(),
        ManifestMembers(stores.records),
    )
    documents = iter_documents(stores.index, search_count.query, limit or 100_000)
    for _ in members.collect(contents.collect(documents)):
        pass
    exported = Manifest(
        "floods.csv", "csv", contents.count, "", (), NOW, "0",
        build_exported_search(search, search_count, limit), contents.sha256hex,
        list(members.extractors), members.lines,
    )  # fmt: skip
    parsed = parse_manifest(encode_manifest(exported))
    assert parsed.documents == members.lines
    return parsed


def check_comparison(verification: VerificationResult) -> ResultComparison:
    """Return the comparison, after checking that its counts add up."""
    comparison = verification.compared
    assert comparison is not None
    counts = {account.name: account.count for account in build_accounts(comparison)}
    assert verification.now == sum(counts[name] for name in FOUND_SORTS)
    assert verification.then == sum(counts.values()) - counts["added"]
    return comparison


def list_documents(stores: Stores) -> list[IndexDocument]:
    return list(iter_documents(stores.index, SEARCH.build_query(), 1_000))


def test_an_unchanged_result_has_no_listed_changes(home: tuple[Stores, FilledHome]) -> None:
    stores, _ = home
    verification = ManifestVerifier(stores)(build_manifest(stores))
    comparison = check_comparison(verification)
    assert (verification.result_is_same, comparison.unchanged, comparison.listed) == (
        True,
        verification.then,
        [],
    )
    assert verification.then > 10


def test_each_kind_of_change_is_reported(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, _ = home
    manifest = build_manifest(stores)
    stories = [story for story in list_documents(stores) if story.story_id]
    (
        removed_file,
        hidden_file,
        reread_file,
        other_extractor_file,
        lost_file,
        unmatched_file,
        replaced_file,
    ) = (story.sha1hex for story in stories[:7])
    take_down(create_takedown_service(stores), build_takedown(removed_file))
    embargoes = EmbargoService(stores, None, lambda: NOW)
    embargoes.hide(EmbargoRow(hidden_file, "review", "", NOW + timedelta(days=9), "ann", NOW))
    (sketch,) = stores.records.get(TextSketchRow, [reread_file])
    (row,) = stores.records.get(StoryMetaRow, [other_extractor_file])
    stores.records.put(
        [replace(sketch, text_sha256hex="0" * 64), replace(row, extractor="trafilatura 9")]
    )
    stores.index.delete([stories[4].id, stories[5].id])
    stores.records.delete(FileMetaRow, [lost_file])
    stores.index.put([replace(stories[6], sha1hex="f" * 40, text_content="flood")])
    stores.index.put([replace(stories[7], id="new", text_content="A later flood.")])
    comparison = check_comparison(ManifestVerifier(stores, stores.records)(manifest))
    rows_by_change = {row.change: row for row in comparison.listed}
    assert {name: row.sha1hex for name, row in rows_by_change.items() if name != "read_again"} == {
        "taken_down": removed_file, "under_embargo": hidden_file, "gone": lost_file,
        "no_longer_found": unmatched_file, "other_version": "f" * 40, "added": stories[7].sha1hex,
    }  # fmt: skip
    reasons = {row.sha1hex: row.why for row in comparison.listed if row.change == "read_again"}
    assert reasons == {
        reread_file: "another text, by the same extractor",
        other_extractor_file: f"the same text; extractors: {EXTRACTOR} then, trafilatura 9 now",
    }
    assert rows_by_change["taken_down"].why == "privacy, 2026-03-14"
    assert rows_by_change["under_embargo"].why.startswith("review, until 2026-03-23")
    assert rows_by_change["other_version"].why == f"then file {replaced_file}"
    assert comparison.unchanged == manifest.rows - 8 + 1


def test_readers_see_embargoed_documents_as_gone(home: tuple[Stores, FilledHome]) -> None:
    stores, _ = home
    manifest = build_manifest(stores)
    hidden_document, lost_document = list_documents(stores)[:2]
    embargoes = EmbargoService(stores, None, lambda: NOW)
    embargoes.hide(
        EmbargoRow(hidden_document.sha1hex, "review", "", NOW + timedelta(days=9), "ann", NOW)
    )
    stores.index.delete([lost_document.id])
    stores.records.delete(FileMetaRow, [lost_document.sha1hex])
    comparison = check_comparison(ManifestVerifier(stores.for_readers())(manifest))
    assert (comparison.under_embargo, comparison.gone) == (None, 2)
    assert {(row.change, row.title, row.why) for row in comparison.listed} == {("gone", "", "")}


def test_a_limited_result_is_compared_with_its_documents_only(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, _ = home
    manifest = build_manifest(stores, limit=5)
    verification = ManifestVerifier(stores)(manifest)
    assert (manifest.rows, verification.now, verification.result_is_same) == (5, 5, True)
    first = list_documents(stores)[0]
    stores.index.delete([first.id])
    second = ManifestVerifier(stores)(manifest)
    assert (
        second.now,
        check_comparison(second).no_longer_found,
        check_comparison(second).added,
    ) == (4, 1, 0)


def test_documents_beyond_the_limit_are_not_compared(home: tuple[Stores, FilledHome]) -> None:
    stores, _ = home
    manifest = build_manifest(stores)
    verification = ManifestVerifier(stores, walked_max=5)(manifest)
    comparison = check_comparison(verification)
    assert (verification.now, verification.now_is_more, verification.result_is_same) == (
        5,
        True,
        None,
    )
    assert (comparison.unchanged, comparison.not_compared) == (5, manifest.rows - 5)


def test_a_manifest_without_documents_is_compared_by_count(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, _ = home
    manifest = replace(build_manifest(stores), documents=None)
    stores.index.delete([list_documents(stores)[0].id])
    verification = ManifestVerifier(stores)(manifest)
    assert (verification.compared, verification.result_is_same, verification.now) == (
        None,
        False,
        manifest.rows - 1,
    )


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
def test_invalid_document_lines_are_refused(line: str) -> None:
    with pytest.raises(ValueError, match="line 2 of `documents`"):
        list(iter_members([f"a {'0' * 40} - 0", line], ["x"]))


def test_a_manifest_over_the_limit_lists_no_documents(home: tuple[Stores, FilledHome]) -> None:
    stores, _ = home
    (document, *_) = list_documents(stores)
    members = ManifestMembers(stores.records, lines=["x"] * MEMBERS_MAX)
    assert list(members.collect(iter([document]))) == [document]
    assert members.lines is None


def test_invalid_searches_in_a_manifest_are_refused(home: tuple[Stores, FilledHome]) -> None:
    stores, _ = home
    manifest = build_manifest(stores)
    assert manifest.search is not None
    for invalid_search in (
        replace(manifest.search, parameters={"domain": ["x"] * 1_000}),
        replace(manifest.search, parameters={"domain": "x" * 1_000}),
        replace(manifest.search, parameters={"domian": "x"}),
        replace(manifest.search, limit=-1),
    ):
        with pytest.raises(ValueError, match=r"parameter|limit"):
            parse_manifest(encode_manifest(replace(manifest, search=invalid_search)))
    with pytest.raises(ValueError, match="field"):
        ManifestVerifier(stores)(
            replace(manifest, search=replace(manifest.search, parameters={"q": "autor:x"}))
        )
