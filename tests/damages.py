"""Ways to damage a balanced home. The audit must report each one, and most can be repaired."""

from __future__ import annotations

from dataclasses import replace

from damaged_world import (
    Damage,
    add_entry,
    add_stray_document,
    change_capture_ids,
    change_cdxj_status,
    change_cell,
    change_dispositions,
    change_document,
    change_paper_cell,
    damage_index_store,
    fill_with_zeros,
    flip_record_bit,
    get_cdxj_path,
    halve,
    move_source_and_change_its_path,
    overwrite_records,
    remove_cdx_cell,
    remove_cdxj_line,
    remove_database,
    remove_from_quarantine,
    remove_index_input,
    remove_path,
    remove_table_row,
    select_page_entry,
    set_verdict,
    sql,
    write_junk_f_c,
)
from fonds.model.keys import build_text_blob_key, build_thumbnail_blob_key
from fonds.stores.journal_table.cells import F_C
from home_texts import change_text, flip_packed_bit, flip_text_bit

_SUCCESS = "(select sha1hex from pdf_meta where status = 'success' and word_count > 0 limit 1)"
_ARCHIVED_RECORD = "warc_path not like '%/%' and mimetype != 'warc/revisit'"

DAMAGES = (
    # The archive.
    Damage(
        "archive-gone", lambda w: remove_path(w.home / "archive"), "of its records are referred to"
    ),
    Damage("warc-truncated", lambda w: halve(w.warc), "ends at byte"),
    Damage("warc-flipped", flip_record_bit, "cannot read file", deep=True),
    Damage("warc-zeroed", lambda w: fill_with_zeros(w.warc), "cannot read file", deep=True),
    Damage("cdxj-gone", lambda w: remove_path(get_cdxj_path(w)), "has no CDXJ"),
    Damage("cdxj-line-gone", remove_cdxj_line, "no line for 1 of its records"),
    Damage("cdxj-emptied", lambda w: get_cdxj_path(w).write_bytes(b"") and None, "of its records"),
    Damage(
        "source-gone",
        lambda w: remove_path(w.source),
        "of its records are referred to",
        lost="of its records are referred to",
    ),
    Damage(
        "source-zeroed",
        lambda w: fill_with_zeros(w.source),
        "cannot read file",
        deep=True,
        lost="cannot read file",
    ),
    Damage("source-truncated", lambda w: halve(w.source), "ends at byte", lost="ends at byte"),
    # Rows of the records.
    Damage(
        "pdf-row-gone",
        sql("delete from pdf_meta where sha1hex = ?", lambda w: w.pdf),
        "pdf_meta does not show it",
    ),
    Damage(
        "story-row-gone",
        sql("delete from story_meta where sha1hex = ?", lambda w: w.story),
        "story_meta does not show it",
    ),
    Damage(
        "sketch-row-gone",
        sql("delete from text_sketch where sha1hex = ?", lambda w: w.story),
        "text_sketch does not show it",
    ),
    Damage(
        "sketch-altered",
        sql("update text_sketch set url = 'http://x/' where sha1hex = ?", lambda w: w.story),
        "has changed since it was written",
    ),
    Damage(
        "band-gone",
        sql("delete from text_band where lower(hex(sha1hex)) = ?", lambda w: w.signed_page),
        "a row of text_band is missing",
    ),
    Damage(
        "file-row-gone",
        sql("delete from file_meta where sha1hex = ?", lambda w: w.story),
        "but none in file_meta",
    ),
    Damage(
        "cdx-row-of-ours-gone",
        sql(f"delete from cdx where rowid = (select min(rowid) from cdx where {_ARCHIVED_RECORD})"),
        "has no row in cdx",
    ),
    Damage(
        "cdx-row-gone",
        sql("delete from cdx where sha1hex = ?", lambda w: w.story),
        "cdx has no such row",
    ),
    Damage(
        "entry-gone",
        sql(f"delete from entries where entry_id = {select_page_entry()}"),
        "is not in the ledger",
    ),
    Damage(
        "input-gone",
        sql("delete from inputs where path = ?", lambda w: str(w.source)),
        "is missing from the ledger but has",
    ),
    Damage(
        "input-of-index-gone",
        sql("delete from inputs where path like '%/captures.cdx'"),
        "is missing from the ledger but has",
    ),
    Damage(
        "input-of-index-gone-with-its-file",
        remove_index_input,
        "is missing from the ledger but has",
        lost="is missing from the ledger but has",
        adds_nothing=True,
    ),
    Damage("all-inputs-gone", sql("delete from inputs"), "is missing from the ledger but has"),
    Damage(
        "input-path",
        sql("update inputs set path = path || 'X' where path = ?", lambda w: str(w.source)),
        "but came from",
    ),
    Damage(
        "input-fingerprint",
        sql("update inputs set fingerprint = '1:1' where path = ?", lambda w: str(w.source)),
        "has another path, size or time in its row",
    ),
    Damage(
        "input-tally-count",
        sql("update inputs set tally_count = 7 where path = ?", lambda w: str(w.source)),
        "7 items were counted",
    ),
    Damage("all-input-paths", sql("update inputs set path = path || 'X'"), "but came from"),
    Damage(
        "input-path-and-file-gone",
        move_source_and_change_its_path,
        "but came from",
        lost="of its records are referred to",
    ),
    Damage(
        "warc-path",
        sql("update warc_files set path = path || 'X' where path = ?", lambda w: str(w.source)),
        "of its records are referred to",
        lost="another program changed warc_files",
        adds_nothing=True,
    ),
    Damage(
        "input-kind",
        sql("update inputs set kind = 'file' where path = ?", lambda w: str(w.source)),
        "but came from",
    ),
    Damage(
        "input-position",
        sql("update inputs set position = 7 where path = ?", lambda w: str(w.source)),
        "another program changed the row of the input",
    ),
    Damage(
        "input-finished",
        sql("update inputs set finished = 0 where path = ?", lambda w: str(w.source)),
        "another program changed the row of the input",
    ),
    Damage(
        "entry-input",
        sql(f"update entries set input_id = 'another' where entry_id = {select_page_entry()}"),
        "is missing from the ledger but has",
    ),
    Damage(
        "entry-added",
        add_entry,
        "30 entries were read, but 31 are in the ledger",
        lost="30 entries were read, but 31 are in the ledger",
        adds_nothing=True,
    ),
    Damage(
        "disposition-in-another-pipeline",
        sql(
            "update dispositions set pipeline = 'other' where step = 'import_story'"
            f" and entry_id = {select_page_entry()}"
        ),
        "(other) is not in the ledger",
        lost="(other) is not in the ledger",
        adds_nothing=True,
    ),
    Damage(
        "cdx-capture-id",
        sql("update cdx set capture_id = capture_id || 'X' where sha1hex = ?", lambda w: w.story),
        "is missing from the ledger, but",
    ),
    Damage(
        "cdx-capture-id-of-ours",
        sql(
            "update cdx set capture_id = capture_id || 'X'"
            f" where rowid = (select min(rowid) from cdx where {_ARCHIVED_RECORD})"
        ),
        "is missing from the ledger, but",
    ),
    Damage(
        "cdx-capture-id-of-a-repeat",
        sql(
            "update cdx set capture_id = capture_id || 'X' where rowid = (select min(rowid) from cdx"
            " where capture_id not in (select capture_id from file_meta)"
            " and warc_path like '%/%' and mimetype != 'warc/revisit')"
        ),
        "is missing from the ledger, but",
    ),
    Damage(
        "primary-capture",
        sql(
            "update file_meta set capture_id = capture_id || 'X' where sha1hex = ?",
            lambda w: w.story,
        ),
        "is missing from the ledger, but",
    ),
    Damage(
        "file-sha1",
        sql(
            "update file_meta set sha1hex = ? where sha1hex = ?",
            lambda w: "0" * 40,
            lambda w: w.story,
        ),
        "has a row in the table but none in file_meta",
    ),
    Damage("capture-ids", change_capture_ids, "is missing from the ledger, but"),
    Damage(
        "cdx-url",
        sql("update cdx set url = 'http://x/' where sha1hex = ?", lambda w: w.story),
        "the table has",
    ),
    Damage(
        "cdx-time",
        sql("update cdx set datetime = '20010101000000' where sha1hex = ?", lambda w: w.story),
        "the table has",
    ),
    Damage(
        "cdx-size-of-ours",
        sql(
            "update cdx set warc_csize = warc_csize + 9"
            f" where rowid = (select min(rowid) from cdx where {_ARCHIVED_RECORD})"
        ),
        "the table has",
    ),
    Damage(
        "cdx-status",
        sql("update cdx set status = 404 where sha1hex = ?", lambda w: w.story),
        "status 404 instead of 200",
        deep=True,
    ),
    Damage(
        "cdx-status-of-ours",
        sql(
            "update cdx set status = 404"
            f" where rowid = (select min(rowid) from cdx where {_ARCHIVED_RECORD})"
        ),
        "has in cdx status 404",
    ),
    Damage("cdxj-status", change_cdxj_status, "says the CDXJ"),
    Damage(
        "cdx-type",
        sql("update cdx set mimetype = 'text/x' where sha1hex = ?", lambda w: w.story),
        "has in cdx the type text/x",
    ),
    Damage(
        "cdx-revisit-of-ours",
        sql(
            "update cdx set mimetype = 'warc/revisit'"
            f" where rowid = (select min(rowid) from cdx where {_ARCHIVED_RECORD})"
        ),
        "for a record that is no revisit",
    ),
    Damage(
        "cdx-type-of-a-repeat",
        sql(
            "update cdx set mimetype = 'text/x' where rowid = (select min(rowid) from cdx"
            " where mimetype != 'warc/revisit' and capture_id not like 'cdx-%'"
            " and capture_id not in (select capture_id from file_meta))"
        ),
        "mimetype 'text/x' instead of",
        deep=True,
    ),
    Damage(
        "cdx-surt",
        sql("update cdx set surt = surt || 'x' where sha1hex = ?", lambda w: w.story),
        "the table has",
    ),
    Damage(
        "cdx-surt-key",
        sql("update cdx set surt_key = surt_key || 'x' where sha1hex = ?", lambda w: w.story),
        "surt_key",
        deep=True,
    ),
    Damage(
        "cell-surt",
        change_cell(lambda place: {**place, "surt": "com,x)/"}, "file:cdx"),
        "the table has",
    ),
    Damage(
        "disposition-gone",
        change_dispositions(
            f"delete from dispositions where step = 'identify' and entry_id = {select_page_entry()}"
        ),
        "which is missing from the ledger",
    ),
    Damage(
        "sink-disposition-gone",
        change_dispositions(
            f"delete from dispositions where step = 'import_story' and entry_id = {select_page_entry()}"
        ),
        "import_story is not done with it",
    ),
    Damage(
        "cdx-offset-of-ours",
        sql(
            "update cdx set warc_offset = warc_offset + 7"
            f" where rowid = (select min(rowid) from cdx where {_ARCHIVED_RECORD})"
        ),
        "the table has",
    ),
    Damage(
        "cdx-offset",
        sql("update cdx set warc_offset = warc_offset + 7 where sha1hex = ?", lambda w: w.story),
        "the table has",
    ),
    Damage(
        "place",
        sql(
            f"update entries set place = '/elsewhere.warc.gz:0' where entry_id = {select_page_entry()}"
        ),
        "has the location",
    ),
    Damage(
        "sha256",
        sql(
            "update file_meta set sha256hex = ? where sha1hex = ?",
            lambda w: "0" * 64,
            lambda w: w.story,
        ),
        "differ in sha256",
    ),
    Damage(
        "size",
        sql("update file_meta set size_bytes = 1 + size_bytes where sha1hex = ?", lambda w: w.pdf),
        "differ in size",
    ),
    Damage(
        "story-title",
        sql("update story_meta set article_title = 'Another' where sha1hex = ?", lambda w: w.story),
        "has changed since it was written",
    ),
    Damage(
        "pdf-title",
        sql(
            """update pdf_meta set metadata = '{"title": "Another"}' where sha1hex = ?""",
            lambda w: w.pdf,
        ),
        "has changed since it was written",
    ),
    Damage(
        "status",
        sql(f"update pdf_meta set status = 'partial' where sha1hex = {_SUCCESS}"),
        "has changed since it was written",
    ),
    Damage(
        "status-failed",
        sql(f"update pdf_meta set status = 'parse-error' where sha1hex = {_SUCCESS}"),
        "its status is parse-error",
    ),
    Damage(
        "word-count",
        sql("update pdf_meta set word_count = word_count + 1 where sha1hex = ?", lambda w: w.pdf),
        "another word_count",
    ),
    Damage(
        "picture-denied",
        sql("update pdf_meta set has_page0_thumbnail = 0 where sha1hex = ?", lambda w: w.pdf),
        "pdf_meta does not show it",
    ),
    Damage(
        "fixity-altered",
        sql(
            "update fixity set sha256hex = zeroblob(32)"
            " where lower(hex(sha1hex)) = ? and part = 'pdf_meta'",
            lambda w: w.pdf,
        ),
        "has changed since it was written",
    ),
    Damage(
        "fixity-gone",
        sql("delete from fixity where lower(hex(sha1hex)) = ? and part = 'text'", lambda w: w.pdf),
        "has no fixity",
    ),
    # The ledger.
    Damage(
        "done-to-dropped",
        sql(
            "update dispositions set verdict = 'dropped', reason = 'no-text'"
            f" where step = 'identify' and entry_id = {select_page_entry()}"
        ),
        "but went on",
    ),
    Damage(
        "identify-dropped-rest-gone",
        set_verdict(
            "dropped",
            "unsupported-type",
            "identify",
            f"delete from dispositions where step != 'identify' and entry_id = {select_page_entry()}",
        ),
        "is not done at any step",
    ),
    Damage(
        "owner-a-duplicate", set_verdict("dropped", "duplicate", "persist_file"), "owns the file"
    ),
    Damage(
        "kept-to-dropped",
        set_verdict("dropped", "not-wanted", "import_story"),
        "import_story is not done with it",
    ),
    Damage(
        "read-to-dropped",
        set_verdict("dropped", "no-text", "parse_story"),
        "parse_story ended as dropped",
    ),
    Damage(
        "archived-to-dropped",
        change_dispositions(
            "update dispositions set verdict = 'dropped', reason = 'not-wanted'"
            " where step = 'archive_body' and message_id ="
            " (select message_id from dispositions where step = 'archive_body' limit 1)"
        ),
        "archive_body is not done with it",
    ),
    Damage(
        "quarantined-to-done",
        change_dispositions(
            "update dispositions set verdict = 'done', reason = null"
            " where verdict = 'quarantined' and step = 'extract_pdf'"
        ),
        "extract_pdf is done with",
    ),
    Damage(
        "quarantined-to-done-at-first",
        change_dispositions(
            "update dispositions set verdict = 'done', reason = null"
            " where verdict = 'quarantined' and step = 'identify'"
        ),
        "has no result",
    ),
    Damage(
        "reason-gone",
        change_dispositions("update dispositions set reason = null where verdict = 'quarantined'"),
        "not a valid combination",
    ),
    Damage(
        "tally",
        sql("update tallies set count = count + 1 where counted = 'entries' and first = 'done'"),
        "were counted",
    ),
    Damage(
        "outcome",
        sql(f"update entries set outcome = 'dropped' where entry_id = {select_page_entry()}"),
        "its dispositions say done",
    ),
    Damage(
        "records-gone",
        remove_database("records"),
        "the records contain no files",
        lost="the records contain no files",
    ),
    Damage("records-overwritten", overwrite_records, "records.sqlite", lost="records.sqlite"),
    # The table.
    Damage("table-row-gone", remove_table_row, "has no row in the table"),
    Damage("table-gone", remove_database("table"), "has no row in the table"),
    Damage("cdx-cell-gone", remove_cdx_cell, "no location for it"),
    Damage("f-c-junk", write_junk_f_c, "f:c"),
    Damage("f-c-of-ours-gone", change_cell(lambda content: {}, F_C, is_archived=True), "f:c"),
    Damage(
        "record-id",
        change_cell(
            lambda content: {**content, "i": f"urn:uuid:{'0' * 8}-0000-4000-8000-{'0' * 12}"},
            F_C,
            is_archived=True,
        ),
        "names the wrong record",
        deep=True,
    ),
    Damage(
        "meta-cell", change_cell(lambda meta: {**meta, "size": 1}, "file:meta"), "differ in size"
    ),
    Damage("paper-cell", change_paper_cell, "cells of bib0", deep=True),
    # Blobs.
    Damage(
        "text-gone", lambda w: change_text(w.home, build_text_blob_key(w.pdf), None), "is missing"
    ),
    Damage(
        "text-flipped",
        lambda w: flip_text_bit(w.home, build_text_blob_key(w.story)),
        "has changed since it was written",
        deep=True,
    ),
    Damage(
        "packed-text-flipped",
        lambda w: flip_packed_bit(w.home, build_text_blob_key(w.story)),
        "has changed since it was written",
        deep=True,
    ),
    Damage(
        "text-emptied",
        lambda w: change_text(w.home, build_text_blob_key(w.pdf), b""),
        "has 0 bytes",
    ),
    Damage(
        "picture-gone", lambda w: remove_path(w.blob(build_thumbnail_blob_key(w.pdf))), "is missing"
    ),
    Damage(
        "picture-junk",
        lambda w: w.blob(build_thumbnail_blob_key(w.pdf)).write_bytes(b"junk") and None,
        "has 4 bytes",
    ),
    Damage("blobs-gone", lambda w: remove_path(w.home / "blobs"), "is missing"),
    # The index.
    Damage("pdf-document-gone", change_document(None, of_pdf=True), "is missing from the index"),
    Damage("story-document-gone", change_document(None), "is missing from the index"),
    Damage(
        "document-title",
        change_document(lambda stored: replace(stored, article_title="Another")),
        "another article_title",
    ),
    Damage(
        "document-text",
        change_document(lambda stored: replace(stored, text_content="other words")),
        "another text in the index",
        deep=True,
    ),
    Damage("stray-document", add_stray_document, "the records list only"),
    Damage("index-gone", lambda w: remove_path(w.home / "index"), "is missing from the index"),
    Damage("index-store-flipped", damage_index_store, "index"),
    # The queue.
    Damage(
        "quarantined-gone",
        remove_from_quarantine,
        "missing from the quarantine",
    ),
    Damage("queue-gone", remove_database("queue"), "missing from the quarantine"),
)
