"""The full-text index in a folder of this machine, by the tantivy library."""

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
from fonds.text.words import split_words

# Translates what the tantivy library raises into the errors of Fonds, naming the folder.


_REBUILD = (
    "Run `fonds reindex` to build the index again from the stored texts; "
    "nothing but the index is lost."
)
WRITER_DIED = "index writer was killed"
_ERRNO = re.compile(r"(?:os error |code: |Errno )(\d+)")
# EFBIG, ENOSPC, EDQUOT; EPERM, EACCES, EROFS; EEXIST, ENOTDIR; ENOMEM, ENFILE, EMFILE:
# as Linux and macOS number them.
_FULL = {27, 28, 69, 122}
_FORBIDDEN = {1, 13, 30}
_NO_FOLDER = {17, 20}
_EXHAUSTED = {12, 23, 24}


@contextmanager
def translate_errors(folder: Path) -> Iterator[None]:
    """Whatever the library raises or panics with inside leaves as a FondsError."""
    try:
        yield
    except (FondsError, KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError):
        raise
    except BaseException as error:
        # A panic of the library is no Exception, and its class cannot be imported.
        raise build_error(folder, str(error)) from error


def build_error(folder: Path, message: str) -> FondsError:
    """The error of Fonds for a message of the library."""
    numbers = {int(number) for number in _ERRNO.findall(message)}
    message = message if len(message) <= 300 else f"{message[:300]}…"
    if "LockBusy" in message:
        return StoreUnavailableError(
            f"Another process is writing to the index in {folder}. Only one can; this one tries again."
        )
    if WRITER_DIED in message:
        return StoreUnavailableError(f"Writing to the index in {folder} failed ({message}).")
    if numbers & _FULL:
        return StorageFullError(
            f"There is no room left for the index in {folder} ({message}). Free some space and go on."
        )
    if numbers & _FORBIDDEN:
        return ConfigurationError(
            f"The index in {folder} may not be read or written ({message}). Change the folder's permissions."
        )
    if numbers & _EXHAUSTED:
        return StoreUnavailableError(
            f"The machine had no files or memory left for the index in {folder} ({message})."
        )
    if numbers & _NO_FOLDER:
        return ConfigurationError(
            f"The index cannot lie in {folder}: there is a file in the way ({message}). "
            "Choose another folder."
        )
    if "Schema error" in message:
        return ConfigurationError(
            f"The index in {folder} was made by another version of Fonds. {_REBUILD}"
        )
    return ConfigurationError(f"The index in {folder} is damaged ({message}). {_REBUILD}")


READERS_LOCK = ".tantivy-meta.lock"
"""What the library holds while it opens the files of a commit."""
WRITER_MEMORY_BYTES = 48_000_000
SIMILAR_DOCUMENTS_MAX, ALIKE_MAX_CHARS = 100, 200_000


def list_distinct_words(document: IndexDocument, text: str) -> set[str]:
    """The words of a title and of the beginning of a text, each once."""
    return {*split_words(document.article_title or ""), *split_words(text[:ALIKE_MAX_CHARS])}


def read_generation(folder: Path) -> str | None:
    """Of what was committed last to the index in `folder`; None where its heart says nothing of it."""
    try:
        told = json.loads((folder / "meta.json").read_bytes())
        parts = [
            f"{one['segment_id']} {(one['deletes'] or {}).get('opstamp')}"
            for one in told["segments"]
        ]
        return compute_generation(int(told["opstamp"]), parts)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def drop_leavings(folder: Path) -> None:
    """Remove files of deletions that no commit names: those of a writer that died before its commit did. They
    are named by a count the next writer begins anew, which would meet them and could not write its own. Only
    for who may write, and while nobody opens the index.
    """
    told = json.loads((folder / "meta.json").read_bytes())
    named = {
        f"{one['segment_id'].replace('-', '')}.{one['deletes']['opstamp']}.del"
        for one in told["segments"]
        if one["deletes"]
    }
    with (folder / READERS_LOCK).open("ab") as lock:
        flock(lock, LOCK_EX)
        for path in folder.glob("*.del"):
            if path.name not in named:
                path.unlink()


class TantivyIndex:
    """Full text in `folder`, which the first `put` makes; until then everything is empty.

    Any number of processes read, also where nothing may be written. One writes: the first `put` or `delete`
    takes a lock that the system frees when the process ends, however it ends; others get
    StoreUnavailableError. What was put is found at once, by every process. Lone surrogates in texts are left
    out. Raises ConfigurationError when the folder is damaged or of another version. A process forks before
    its first `put`, not after.
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
        """One commit for the batch; of several documents with one id the last wins."""
        if documents:
            self._write(documents, [])

    def delete(self, ids: Sequence[str]) -> None:
        """Remove documents, in one commit."""
        with translate_errors(self._folder):
            exists = self._get_version() is not None
        if ids and exists:
            self._write([], ids)

    def get(self, ids: Sequence[str]) -> dict[str, IndexDocument]:
        """Whole documents by id, those that exist."""
        wanted = sorted({remove_surrogates(id_) for id_ in ids})
        with translate_errors(self._folder):
            searcher = self._get_searcher()
            if searcher is None or not wanted:
                return {}
            query = Query.term_set_query(self._schema, "id", wanted)
            found = searcher.search(query, limit=len(wanted), count=False)
            stored = [decode_document(searcher.doc(address)) for _, address in found.hits]
        return {document.id: replace(document, text_content=text) for document, text in stored}

    def search(self, query: SearchQuery) -> SearchResults:
        """Raises ValueError with a sentence for people."""
        query = normalize_query(query)
        tree = tantivy_query.parse_search_query(query)
        wanted = tantivy_query.build(query, tree, self._schema)
        with translate_errors(self._folder):
            searcher, seen = self._get_searcher_and_generation()
            if searcher is None:
                return build_empty_results(EMPTY_GENERATION)
            search = run_search(searcher, wanted, query, tree)
        return add_notes(replace(search, generation=seen, match=query.match), self, query, tree)

    def find_similar_words(self, word: str) -> Sequence[str]:
        """Out of the documents that have such words, a hundred at most."""
        allowed = get_max_edits(word)
        if not allowed:
            return []
        query = tantivy_query.build_fuzzy_query(word, allowed, self._schema)
        with translate_errors(self._folder):
            searcher = self._get_searcher()
            if searcher is None:
                return []
            found = searcher.search(query, limit=SIMILAR_DOCUMENTS_MAX, count=False)
            texts = [decode_document(searcher.doc(address)) for _, address in found.hits]
        return rank_similar(
            word,
            Counter(
                distinct_word
                for rest, text in texts
                for distinct_word in list_distinct_words(rest, text)
            ).items(),
        )

    def count(self) -> int:
        """How many documents there are."""
        with translate_errors(self._folder):
            searcher = self._get_searcher()
            return 0 if searcher is None else searcher.num_docs

    def close(self) -> None:
        """Finish merging and let another process write; the next `put` takes the lock again."""
        with self._write_lock, translate_errors(self._folder):
            writer, self._writer = self._writer, None
            if writer is not None:
                writer.wait_merging_threads()

    def _write(self, documents: Sequence[IndexDocument], deleted: Sequence[str]) -> None:
        with self._write_lock:
            try:
                self._change(documents, deleted)
            except BaseException as error:
                reason = self._find_crash_reason() if WRITER_DIED in str(error) else None
                # A writer that failed stays unusable, and what it had not committed is not to come
                # with a later batch.
                self._writer = None
                if reason is not None:
                    raise reason from error
                raise

    def _find_crash_reason(self) -> FondsError | None:
        """The library says what its thread died of only to a commit, which waits for the thread."""
        try:
            with translate_errors(self._folder):
                self._get_writer().commit()
        except FondsError as reason:
            return reason
        return None

    def _change(self, documents: Sequence[IndexDocument], deleted: Sequence[str]) -> None:
        for id_ in deleted:
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
        """Not to be kept in a variable: the traceback of an error would hold it, and with it the lock."""
        if self._writer is None:
            self._get_version()
            self._folder.mkdir(parents=True, exist_ok=True)
            self._writer = self._open().writer(WRITER_MEMORY_BYTES, num_threads=1)
            drop_leavings(self._folder)
        return self._writer

    def _open(self, folder: Path | None = None) -> tantivy.Index:
        index = tantivy.Index(self._schema, path=str(folder or self._folder))
        register_analyzer(index)
        index.config_reader("manual")
        return index

    def _get_searcher(self) -> tantivy.Searcher | None:
        """One that sees the last commit of any process; None while there is no index."""
        return self._get_searcher_and_generation()[0]

    def _get_searcher_and_generation(self) -> tuple[tantivy.Searcher | None, str | None]:
        """The same, and the generation of all it sees; None where that is not known."""
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
        """See the last commit. Its generation is known unless another came meanwhile; the next who reads sees
        that one."""
        reader.reload()
        read = read_generation(self._folder)
        self._generation = read if self._get_version() == version else None
        self._read_version = version

    def _open_mirror(self, version: tuple[int, int, int]) -> tantivy.Searcher:
        """Reading takes a lock, for which the library makes a file: where none can be made, in a folder of
        links to the index."""
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
        """Changes with every commit; None while there is no index. Raises when its heart was lost."""
        try:
            status = (self._folder / "meta.json").stat()
        except FileNotFoundError:
            if any(self._folder.glob("*.store")):
                raise ValueError("meta.json is missing") from None
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size
