"""Full-text index in a folder on this machine, with tantivy. Implements the Index port."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fcntl import LOCK_EX, flock
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

import tantivy
from tantivy import Query

from fonds.model.document import IndexDocument
from fonds.model.errors import (
    ConfigurationError,
    FondsError,
    StorageFullError,
    StoreUnavailableError,
)
from fonds.model.index_generation import EMPTY_GENERATION, compute_generation
from fonds.model.search import SearchQuery, SearchResults
from fonds.search.index import tantivy_query
from fonds.search.index.suggestions import add_notes, get_max_edits, rank_similar
from fonds.search.index.tantivy_results import build_empty_results, run_search
from fonds.search.index.tantivy_schema import (
    build_schema,
    decode_document,
    encode_document,
    register_analyzer,
    remove_surrogates,
)
from fonds.search.query.filters import normalize_query
from fonds.search.query.parser import parse_query
from fonds.text.words import split_words

# Errors of the tantivy library are translated to errors of Fonds that name the folder.


_REBUILD = "Run `fonds reindex` to rebuild it from the stored texts. Nothing else is lost."
WRITER_DIED = "index writer was killed"
_ERRNO = re.compile(r"(?:os error |code: |Errno )(\d+)")
# EFBIG, ENOSPC, EDQUOT; EPERM, EACCES, EROFS; EEXIST, ENOTDIR; ENOMEM, ENFILE, EMFILE: numbers of
# Linux and macOS.
_DISK_FULL_ERRNOS = {27, 28, 69, 122}
_PERMISSION_ERRNOS = {1, 13, 30}
_NOT_A_FOLDER_ERRNOS = {17, 20}
_EXHAUSTED_ERRNOS = {12, 23, 24}


@contextmanager
def translate_errors(folder: Path) -> Iterator[None]:
    """Raise every error or panic of the tantivy library inside the context as a FondsError."""
    try:
        yield
    except (FondsError, KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError):
        raise
    except BaseException as error:
        # A panic of the library is not an Exception, and its class cannot be imported.
        raise build_error(folder, str(error)) from error


def build_error(folder: Path, message: str) -> FondsError:
    """Return the FondsError for an error message of the tantivy library."""
    numbers = {int(number) for number in _ERRNO.findall(message)}
    message = message if len(message) <= 300 else f"{message[:300]}…"
    if "LockBusy" in message:
        return StoreUnavailableError(
            f"Another process is writing to the index in {folder}. This process tries again."
        )
    if WRITER_DIED in message:
        return StoreUnavailableError(f"Writing to the index in {folder} failed ({message}).")
    if numbers & _DISK_FULL_ERRNOS:
        return StorageFullError(
            f"No space left for the index in {folder} ({message}). Free some space."
        )
    if numbers & _PERMISSION_ERRNOS:
        return ConfigurationError(
            f"The index in {folder} cannot be read or written ({message}). Change the folder's permissions."
        )
    if numbers & _EXHAUSTED_ERRNOS:
        return StoreUnavailableError(
            f"The computer ran out of open files or memory for the index in {folder} ({message})."
        )
    if numbers & _NOT_A_FOLDER_ERRNOS:
        return ConfigurationError(
            f"Cannot create the index in {folder}: a file is in the way ({message}). "
            "Choose another folder."
        )
    if "Schema error" in message:
        return ConfigurationError(
            f"The index in {folder} was made by another version of Fonds. {_REBUILD}"
        )
    return ConfigurationError(f"The index in {folder} is damaged ({message}). {_REBUILD}")


READERS_LOCK = ".tantivy-meta.lock"
"""Name of the lock file that the tantivy library holds while it opens the files of a commit."""
WRITER_MEMORY_BYTES = 48_000_000
REWRITTEN_AT_ONCE = 500
"""Number of documents that `purge` reads at once."""
SIMILAR_DOCUMENTS_MAX, SIMILAR_TEXT_MAX_CHARS = 100, 200_000


def list_distinct_words(document: IndexDocument, text: str) -> set[str]:
    """Return the distinct folded words of a title and of the start of a text.

    Only the first `SIMILAR_TEXT_MAX_CHARS` characters of the text are used.
    """
    return {*split_words(document.article_title or ""), *split_words(text[:SIMILAR_TEXT_MAX_CHARS])}


def read_generation(folder: Path) -> str | None:
    """Return the generation (id of the state) of the index in `folder` after its last commit.

    Returns None if the commit cannot be read.
    """
    try:
        commit = json.loads((folder / "meta.json").read_bytes())
        parts = [
            f"{segment['segment_id']} {(segment['deletes'] or {}).get('opstamp')}"
            for segment in commit["segments"]
        ]
        return compute_generation(int(commit["opstamp"]), parts)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def delete_unused_files(folder: Path) -> None:
    """Delete deletion files of the index that no commit names.

    A writer that is killed before its commit leaves such files. The next writer would choose the
    same file names and fail. The caller must hold the writer lock. The function waits for readers
    that are opening the index.
    """
    commit = json.loads((folder / "meta.json").read_bytes())
    names_in_use = {
        f"{segment['segment_id'].replace('-', '')}.{segment['deletes']['opstamp']}.del"
        for segment in commit["segments"]
        if segment["deletes"]
    }
    with (folder / READERS_LOCK).open("ab") as lock:
        flock(lock, LOCK_EX)
        for path in folder.glob("*.del"):
            if path.name not in names_in_use:
                path.unlink()


def _has_size(searcher: tantivy.Searcher, number: int, size: int) -> bool:
    """Return whether a segment has `size` documents, including deleted ones.

    `number` is the number of the segment in the searcher.
    """
    try:
        searcher.doc(tantivy.DocAddress(number, size - 1))
    except ValueError:
        return False
    try:
        searcher.doc(tantivy.DocAddress(number, size))
    except ValueError:
        return True
    return False


class TantivyIndex:
    """Full-text index in `folder`.

    The first `put` creates the index; before that it has no documents.

    Any number of processes can read, even from a read-only folder. Only one process can write: its
    first `put` or `delete` takes a lock, which the system releases when the process ends. Other
    writers get StoreUnavailableError. Documents are searchable in every process as soon as they are
    put. Lone surrogates in texts are removed. A process may fork before its first `put`, not after
    it.

    Raises ConfigurationError if the folder is damaged or was written by another version.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._schema = build_schema()
        self._write_lock = Lock()
        self._writer: tantivy.IndexWriter | None = None
        self._read_lock = Lock()
        self._reader: tantivy.Index | None = None
        self._read_version: tuple[int, int, int] | None = None
        self._generation: str | None = None
        self._mirror: TemporaryDirectory[str] | None = None

    def put(self, documents: Sequence[IndexDocument]) -> None:
        """Write documents in one commit. If several have the same id, the last one is stored."""
        if documents:
            self._write(documents, [])

    def delete(self, ids: Sequence[str]) -> None:
        """Delete the documents with these ids in one commit."""
        with translate_errors(self._folder):
            exists = self._get_version() is not None
        if ids and exists:
            self._write([], ids)

    def get(self, ids: Sequence[str]) -> dict[str, IndexDocument]:
        """Return the documents with these ids, with texts, by id. Unknown ids are omitted."""
        distinct_ids = sorted({remove_surrogates(id_) for id_ in ids})
        with translate_errors(self._folder):
            searcher = self._get_searcher()
            if searcher is None or not distinct_ids:
                return {}
            query = Query.term_set_query(self._schema, "id", distinct_ids)
            matches = searcher.search(query, limit=len(distinct_ids), count=False)
            decoded_documents = [
                decode_document(searcher.doc(address)) for _, address in matches.hits
            ]
        return {
            document.id: replace(document, text_content=text)
            for document, text in decoded_documents
        }

    def search(self, query: SearchQuery) -> SearchResults:
        """Search the index. Raises ValueError with a message for users if the query is invalid."""
        query = normalize_query(query)
        tree = parse_query(query)
        tantivy_search = tantivy_query.build(query, tree, self._schema)
        with translate_errors(self._folder):
            searcher, generation = self._get_searcher_and_generation()
            if searcher is None:
                return build_empty_results(EMPTY_GENERATION)
            results = run_search(searcher, tantivy_search, query, tree)
        return add_notes(
            replace(results, generation=generation, match=query.match), self, query, tree
        )

    def find_similar_words(self, word: str) -> Sequence[str]:
        """Return words spelled like `word` from at most 100 documents that contain such words."""
        edits_max = get_max_edits(word)
        if not edits_max:
            return []
        query = tantivy_query.build_fuzzy_query(word, edits_max, self._schema)
        with translate_errors(self._folder):
            searcher = self._get_searcher()
            if searcher is None:
                return []
            matches = searcher.search(query, limit=SIMILAR_DOCUMENTS_MAX, count=False)
            texts = [decode_document(searcher.doc(address)) for _, address in matches.hits]
        return rank_similar(
            word,
            Counter(
                distinct_word
                for document, text in texts
                for distinct_word in list_distinct_words(document, text)
            ).items(),
        )

    def count(self) -> int:
        """Return the number of documents in the index."""
        with translate_errors(self._folder):
            searcher = self._get_searcher()
            return 0 if searcher is None else searcher.num_docs

    def purge(self) -> Sequence[str]:
        """Rewrite the parts (segments) of the index that contain deleted documents, so that none of
        its files has their words or texts any more.

        All other documents of these segments are written again in one commit, which takes about a
        millisecond each. A segment of a large library can have millions of documents.
        """
        with self._write_lock:
            while self._rewrite_beside_deleted():
                pass
        return ()

    def _rewrite_beside_deleted(self) -> bool:
        """Write the documents of segments that contain deleted ones again. Return whether there
        were any.

        One commit for all of them: with several, merges between them would put documents that are
        about to be rewritten into new segments.
        """
        with translate_errors(self._folder):
            if self._get_version() is None:
                return False
            if self._writer is not None:
                # Segments that merges are about to replace need not be rewritten.
                writer, self._writer = self._writer, None
                writer.wait_merging_threads()
        ids = self._list_beside_deleted()
        try:
            for start in range(0, len(ids), REWRITTEN_AT_ONCE):
                for document in self.get(ids[start : start + REWRITTEN_AT_ONCE]).values():
                    self._replace(document.id, encode_document(document, self._schema))
            with translate_errors(self._folder):
                self._get_writer().commit()
                self._get_writer().garbage_collect_files()
        except BaseException:
            # A later batch must not commit the documents of a purge that failed.
            self._writer = None
            raise
        return bool(ids)

    def _list_beside_deleted(self) -> list[str]:
        """Return the ids of the documents in segments that also contain deleted documents.

        A segment of deleted documents only is removed with the next commit.
        """
        with translate_errors(self._folder):
            searcher = self._get_searcher()
            if searcher is None:
                return []
            commit = json.loads((self._folder / "meta.json").read_bytes())
            # The searcher has the segments in another order. They are recognised by their size.
            sizes = {segment["max_doc"] for segment in commit["segments"] if segment["deletes"]}
            ids: list[str] = []
            for number in range(searcher.num_segments):
                for size in sizes:
                    if _has_size(searcher, number, size):
                        ids_of_segment = list(self._list_segment(searcher, number, size))
                        ids += ids_of_segment if len(ids_of_segment) < size else ()
            return ids

    def _list_segment(self, searcher: tantivy.Searcher, number: int, size: int) -> Iterator[str]:
        """Yield the ids of the documents in a segment that are not deleted.

        - `number`: number of the segment in the searcher.
        - `size`: number of its documents, including the deleted ones.
        """
        for place in range(size):
            document, _ = decode_document(searcher.doc(tantivy.DocAddress(number, place)))
            query = Query.term_query(self._schema, "id", document.id)
            hits = searcher.search(query, limit=1, count=False).hits
            if hits and (hits[0][1].segment_ord, hits[0][1].doc) == (number, place):
                yield document.id

    def close(self) -> None:
        """Finish merging index files and release the write lock. The next write takes it again."""
        with self._write_lock, translate_errors(self._folder):
            writer, self._writer = self._writer, None
            if writer is not None:
                writer.wait_merging_threads()

    def _write(self, documents: Sequence[IndexDocument], deleted_ids: Sequence[str]) -> None:
        with self._write_lock:
            try:
                self._change(documents, deleted_ids)
            except BaseException as error:
                reason = self._find_crash_reason() if WRITER_DIED in str(error) else None
                # A writer that failed stays unusable. A later batch must not commit its uncommitted
                # documents.
                self._writer = None
                if reason is not None:
                    raise reason from error
                raise

    def _find_crash_reason(self) -> FondsError | None:
        """Return the error that stopped the tantivy writer's thread; None if the thread runs.

        The library reports this error only from a commit, which waits for the thread.
        """
        try:
            with translate_errors(self._folder):
                self._get_writer().commit()
        except FondsError as reason:
            return reason
        return None

    def _change(self, documents: Sequence[IndexDocument], deleted_ids: Sequence[str]) -> None:
        for id_ in deleted_ids:
            self._replace(id_, None)
        for document in documents:
            self._replace(document.id, encode_document(document, self._schema))
        with translate_errors(self._folder):
            self._get_writer().commit()

    def _replace(self, id_: str, document: tantivy.Document | None) -> None:
        with translate_errors(self._folder):
            self._get_writer().delete_documents_by_term("id", remove_surrogates(id_))
            if document is not None:
                self._get_writer().add_document(document)

    def _get_writer(self) -> tantivy.IndexWriter:
        """Return the index writer, and create it if needed.

        Callers must not keep it in a variable: the traceback of an error would keep the writer
        alive, and with it the lock.
        """
        if self._writer is None:
            self._get_version()
            self._folder.mkdir(parents=True, exist_ok=True)
            self._writer = self._open().writer(WRITER_MEMORY_BYTES, num_threads=1)
            delete_unused_files(self._folder)
        return self._writer

    def _open(self, folder: Path | None = None) -> tantivy.Index:
        index = tantivy.Index(self._schema, path=str(folder or self._folder))
        register_analyzer(index)
        index.config_reader("manual")
        return index

    def _get_searcher(self) -> tantivy.Searcher | None:
        """Return a searcher for the last commit of any process; None without an index."""
        return self._get_searcher_and_generation()[0]

    def _get_searcher_and_generation(self) -> tuple[tantivy.Searcher | None, str | None]:
        """Return a searcher for the last commit, and the generation of that commit.

        The searcher is None if the index does not exist. The generation is None if it is unknown.
        """
        with self._read_lock:
            version = self._get_version()
            if version is None:
                self._reader = None
                return None, None
            if not os.access(self._folder, os.W_OK):
                return self._open_mirror(version), self._generation
            if self._reader is None:
                self._reader, self._read_version = self._open(), None
            if version != self._read_version:
                self._reload(self._reader, version)
            return self._reader.searcher(), self._generation

    def _reload(self, reader: tantivy.Index, version: tuple[int, int, int]) -> None:
        """Load the last commit into a reader.

        The generation is unknown if another commit happens meanwhile. The next reader loads that
        commit.
        """
        reader.reload()
        generation = read_generation(self._folder)
        self._generation = generation if self._get_version() == version else None
        self._read_version = version

    def _open_mirror(self, version: tuple[int, int, int]) -> tantivy.Searcher:
        """Open an index in a read-only folder, and return a searcher for its commit `version`.

        The tantivy library creates a lock file to read, which is impossible in a read-only folder.
        It therefore reads a temporary folder with symbolic links to the index files.
        """
        if self._reader is None or version != self._read_version:
            mirror = TemporaryDirectory(prefix="fonds-index-")
            for path in self._folder.iterdir():
                if path.suffix != ".lock":
                    Path(mirror.name, path.name).symlink_to(path.absolute())
            self._reader = self._open(Path(mirror.name))
            self._mirror = mirror
            self._reload(self._reader, version)
        return self._reader.searcher()

    def _get_version(self) -> tuple[int, int, int] | None:
        """Return the inode, modification time and size of the index's `meta.json`.

        These values change with every commit. Returns None if the index does not exist. Raises
        ValueError if an existing index has no `meta.json`.
        """
        try:
            status = (self._folder / "meta.json").stat()
        except FileNotFoundError:
            if any(self._folder.glob("*.store")):
                raise ValueError("meta.json is missing") from None
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size
