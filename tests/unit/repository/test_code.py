"""What may stand in the package, and where."""

from __future__ import annotations

import ast
import re

from fonds.wiring.stores import BACKENDS
from unit.repository.tree import PACKAGE, Module, modules, public

# Bases that give a shape or are what a library asks for; none of them is behaviour of our own.
SHAPES = frozenset({"Protocol", "Generic", "Exception", "StrEnum", "IntEnum", "Enum", "NamedTuple"})
OF_LIBRARIES = {
    "BaseModel": "pydantic: a form of the pages",
    "Struct": "msgspec: the settings",
    "msgspec.Struct": "msgspec: a message between two processes",
    "ValueError": "the language: a sentence for people about what they typed, with where it stands",
    "click.Group": "click: commands imported when they are asked for, and told when they are not there",
    "click.Command": "click: words that begin with a minus, told how they are written",
    "click.DateTime": "click: days, told how they are written",
    "click.Choice": "click: names of which the nearest is told",
    "HTTPException": "FastAPI: a refusal that may be raised wherever it is found",
    "ProgressColumn": "rich: a column of the progress line",
    "io.RawIOBase": "the standard library's only way to be a readable stream",
    "Collector": "prometheus-client: numbers asked for when somebody wants to know",
    "WSGIRequestHandler": "the standard library's only way to silence its server",
    "ctypes.Structure": "a structure of the kernel's interface",
    "TypeDecorator": "SQLAlchemy: how a value is written in a column",
    "FunctionElement": "SQLAlchemy: an expression that each database has its own words for",
    "dict[int, str]": "a translation table asks `__missing__` of a dict",
    "dict[str, int]": "a word's number is worked out when it is first met, by `__missing__` of a dict",
}
# Dataclasses that others extend by further fields, such as links: answers of commands that a page
# or a route of the API writes too. None has a base of its own (docs/decisions/0090-value-types.md).
EXTENDED = {
    "ClusterMember": "grouping/views/clusters.py",
    "ClusterMembers": "grouping/views/clusters.py",
    "ClusterView": "grouping/views/clusters.py",
    "LevelView": "grouping/views/clusters.py",
    "CollectionView": "grouping/views/clusterings.py",
    "ClusteringView": "grouping/views/clusterings.py",
    "EntryRow": "model/rows/accounting.py",
    "FailureGroup": "failures/groups.py",
    "SourceSummary": "following/source_summary.py",
}
# Who may import what stands behind a port, by the place of the importing module.
TECHNOLOGIES = {
    "sqlalchemy": ("stores/records/", "stores/migrations/"),
    "alembic": ("stores/records/", "stores/migrations/"),
    "tantivy": ("search/index/",),
    "sqlite3": ("stores/sqlite_file.py", "queues/", "stores/table/", "stores/records/"),
    "pika": ("queues/",),
    "confluent_kafka": ("queues/",),
    "happybase": ("stores/table/",),
    "pyspark": ("bulk/",),
    "py4j": ("bulk/",),
    "psycopg": ("stores/records/",),
    "obstore": ("stores/s3/",),
    "elasticsearch": ("search/index/",),
    "opensearchpy": ("search/index/",),
}
# Who sends HTTP requests, by kind of traffic; the table of kinds is in ARCHITECTURE.md.
HTTP_CLIENTS = {
    "pycurl": {  # web servers being crawled
        "fetching/crawl_client.py",
        "fetching/crawl_request.py",
    },
    "urllib3": {"fetching/service_client.py"},  # services and remote archives
    "http.client": {"fetching/service_client.py"},  # one error that urllib3 does not translate
    "certifi": {"fetching/crawl_client.py", "fetching/service_client.py"},
    "urllib.request": set(),
    "requests": set(),
    "httpx": set(),
    "httpx2": set(),
    "aiohttp": set(),
}
# Calls of libraries that end the process or return wrong data.
FORBIDDEN_CALLS = {
    "list_consumer_group_offsets": "librdkafka issue 5040: a segmentation fault while a broker "
    "takes over the group",
}
# Value types, docs/decisions/0090-value-types.md.
PYDANTIC_OUTSIDE_WEB = {
    "search/request.py": "the parameters of a search, which pages, commands and manifests share",
}
STRUCTS = {
    # Values that msgspec decodes or encodes, by the place of the defining module.
    "audit/audit.py": "answers of `fonds audit`",
    "audit/conservation.py": "answers of `fonds audit`",
    "audit/repair/plan.py": "a stored list of repairs, and answers of `fonds repair`",
    "bulk/tallies.py": "answers of bulk commands",
    "cli/": "answers of commands",
    "config.py": "settings",
    "config_options.py": "settings",
    "failures/accounting/tallies.py": "answers of `fonds status`",
    "following/poll_notes.py": "a column of inputs",
    "following/source_check.py": "answers of `fonds sources check`",
    "grouping/rebuild/bulk_slices.py": "pages that a rebuild keeps in files",
    "isolation/": "messages between processes",
    "model/bibliography.py": "a column of papers",
    "model/pdf_metadata.py": "a column of PDFs",
    "model/restrictions.py": "a column of takedowns",
    "model/source.py": "columns of sources and paces",
    "papers/": "columns of papers, cells of works, and answers of `fonds match` and `catalog`",
    "queues/messages/": "messages of topics",
    "web/": "bodies of forms and JSON requests",
}
FIELD_MAPPINGS = {
    # `asdict` copies a value into a mapping; to encode a value, no mapping is needed.
    "audit/repair/files.py": "those fields that libmagic found replace stored ones",
    "config.py": "settings by name, for the page and the file of settings",
    "extract/pdf/extraction.py": "limits are hashed, and fields of XMP are left out if empty",
    "extract/pdf/structure.py": "traits of a file that is too damaged to be opened",
    "failures/recent.py": "the last row of a page, as the position of the next",
    "web/pages/source_actions.py": "the fields that a request names, and no others",
}
HAND_BUILT_JSON = {
    "web/app.py": "an error and its further members",
}
NAMED_TUPLES = {
    "archive/cdx.py: CdxLine": "one per line of an index",
    "extract/pdf/characters.py: Box": "one per character of a page",
    "model/pdf.py: PlacedWord": "one per word of a page",
}
SYSTEM_ERRORS = {"OSError", "FileNotFoundError", "PermissionError", "NotADirectoryError"}
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def _within(module: Module) -> str:
    return module.path.relative_to(PACKAGE).as_posix()


def _is_protocol(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base).partition("[")[0] == "Protocol" for base in node.bases)


def test_no_class_inherits_behaviour() -> None:
    """Two ports may be asked for in one: that is no behaviour."""
    classes = [
        node for module in modules() for node in module.nodes if isinstance(node, ast.ClassDef)
    ]
    ports = {node.name for node in classes if _is_protocol(node)}
    errors = {node.name for node in classes if node.name.endswith("Error")}
    allowed = SHAPES | OF_LIBRARIES.keys() | errors | EXTENDED.keys()
    found = []
    for module in modules():
        for node in module.nodes:
            for base in node.bases if isinstance(node, ast.ClassDef) else ():
                name = ast.unparse(base)
                if name in ports and isinstance(node, ast.ClassDef) and _is_protocol(node):
                    continue
                if name not in allowed and name.partition("[")[0] not in allowed:
                    found.append(f"{module.place}: {node.name}({name})")
    assert found == []


def test_the_bases_a_library_asks_for_are_still_used() -> None:
    used = {
        name
        for module in modules()
        for node in module.nodes
        if isinstance(node, ast.ClassDef)
        for base in node.bases
        for name in (ast.unparse(base), ast.unparse(base).partition("[")[0])
    }
    assert OF_LIBRARIES.keys() - used == set()


def test_extended_dataclasses_are_extended_and_have_no_base() -> None:
    classes = [
        (_within(module), node)
        for module in modules()
        for node in module.nodes
        if isinstance(node, ast.ClassDef)
    ]
    found = {
        node.name: within
        for within, node in classes
        if node.name in EXTENDED
        and not node.bases
        and any("dataclass" in ast.unparse(one) for one in node.decorator_list)
    }
    assert found == EXTENDED
    bases = {ast.unparse(base) for _, node in classes for base in node.bases}
    assert EXTENDED.keys() - bases == set()


def test_only_config_reads_the_environment() -> None:
    def reads(node: ast.AST) -> bool:
        if isinstance(node, ast.ImportFrom):
            taken = {alias.name for alias in node.names}
            return node.module == "os" and bool(taken & {"environ", "environb", "getenv"})
        return (
            isinstance(node, ast.Attribute)
            and node.attr in ("environ", "environb", "getenv")
            and ast.unparse(node.value) == "os"
        )

    def forgets(node: ast.AST) -> bool:
        return isinstance(node, ast.Attribute) and node.attr == "clear" and reads(node.value)

    readers = set()
    for module in modules():
        forgotten = {id(node.value) for node in module.nodes if forgets(node)}
        if any(reads(node) and id(node) not in forgotten for node in module.nodes):
            readers.add(_within(module))
    assert readers == {"config.py"}


def test_only_wiring_names_the_modules_of_backends() -> None:
    """Other packages reach a backend through the table of backends."""
    backends = {
        spec.opener.partition(":")[0] for specs in BACKENDS.values() for spec in specs.values()
    }
    assert len(backends) > 10
    any_backend = re.compile(rf"({'|'.join(map(re.escape, backends))})\b")
    named = {
        f"{_within(module)} names {match[1]}"
        for module in modules()
        for name in (*module.imports(), *module.strings())
        if (match := any_backend.match(name))
        and _within(module) != "wiring/stores.py"
        and module.room != match[1].split(".")[1]
    }
    assert named == set()


def test_a_technology_is_imported_by_its_backend_alone() -> None:
    strays = [
        f"{module.place} imports {name}"
        for module in modules()
        for name in module.imports()
        for technology, places in TECHNOLOGIES.items()
        if name.split(".")[0] == technology and not _within(module).startswith(places)
    ]
    assert strays == []


def test_each_kind_of_traffic_has_one_http_client() -> None:
    importers: dict[str, set[str]] = {library: set() for library in HTTP_CLIENTS}
    for module in modules():
        for name in module.imports():
            for library in HTTP_CLIENTS:
                if name == library or name.startswith(f"{library}."):
                    importers[library].add(_within(module))
    assert importers == HTTP_CLIENTS


def test_pydantic_is_at_the_edge_of_http() -> None:
    users = {
        _within(module)
        for module in modules()
        for name in module.imports()
        if name.split(".")[0] == "pydantic" and not _within(module).startswith("web/")
    }
    assert users == PYDANTIC_OUTSIDE_WEB.keys()


def test_values_in_memory_are_dataclasses_with_slots() -> None:
    """No TypedDict, and a NamedTuple only where it is listed."""
    named_tuples, found = set(), []
    for module in modules():
        for name in module.imports():
            if name.rpartition(".")[2] in ("TypedDict", "namedtuple"):
                found.append(f"{module.place} imports {name}")
        for node in module.nodes:
            if not isinstance(node, ast.ClassDef):
                continue
            if "NamedTuple" in map(ast.unparse, node.bases):
                named_tuples.add(f"{_within(module)}: {node.name}")
            for decorator in map(ast.unparse, node.decorator_list):
                if decorator.partition("(")[0] == "dataclass" and "slots=True" not in decorator:
                    found.append(f"{module.place}: {node.name} has no slots")
    assert found == []
    assert named_tuples == NAMED_TUPLES.keys()


def test_structs_are_where_values_are_decoded_or_encoded() -> None:
    users = {
        _within(module)
        for module in modules()
        for node in module.nodes
        if isinstance(node, ast.ClassDef)
        and {"Struct", "msgspec.Struct"} & {ast.unparse(base) for base in node.bases}
    }
    assert {user for user in users if not user.startswith(tuple(STRUCTS))} == set()
    assert {
        place for place in STRUCTS if not any(user.startswith(place) for user in users)
    } == set()


def test_only_listed_modules_copy_a_value_into_a_mapping() -> None:
    users = {
        _within(module)
        for module in modules()
        for node in module.nodes
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "asdict"
    }
    assert users == FIELD_MAPPINGS.keys()


def test_no_answer_is_a_mapping_with_fixed_names() -> None:
    """An answer has a type, so that it is described once and has the same names everywhere."""

    def has_fixed_names(node: ast.expr) -> bool:
        if isinstance(node, ast.Dict):
            return any(isinstance(key, ast.Constant) for key in node.keys)
        return (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) == "dict"
            and any(one.arg for one in node.keywords)
        )

    found = {
        _within(module)
        for module in modules()
        for node in module.nodes
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("echo_json", "json_response", "JSONResponse")
        and any(has_fixed_names(argument) for argument in node.args[:1])
    }
    assert found == HAND_BUILT_JSON.keys()


def test_everything_public_says_what_it_is() -> None:
    silent = [module.place for module in modules() if not ast.get_docstring(module.tree)]
    silent += [
        f"{module.place}: {name}"
        for module in modules()
        for name, node in public(module)
        if not ast.get_docstring(node)
    ]
    assert silent == []


def test_nothing_in_the_package_asserts() -> None:
    """`python -O` removes asserts; what must hold is checked with an error people can read."""
    found = [
        f"{module.place}:{node.lineno}"
        for module in modules()
        for node in module.nodes
        if isinstance(node, ast.Assert)
    ]
    assert found == []


def _does_nothing(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return statement.value.value is ...
    return isinstance(statement, ast.Pass)


def test_nothing_is_left_unfinished() -> None:
    marked = [m.place for m in modules() if UNFINISHED.search(m.text)]
    raised = [
        f"{module.place}:{node.lineno}"
        for module in modules()
        for node in module.nodes
        if isinstance(node, ast.Raise) and "NotImplementedError" in ast.unparse(node)
    ]
    empty = [
        f"{module.place}: {node.name}"
        for module in modules()
        if _within(module) != "ports.py"
        for node in module.functions()
        if all(_does_nothing(one) for one in node.body)
    ]
    assert marked + raised + empty == []


def test_nothing_is_imported_from_the_tests_or_scripts() -> None:
    strays = [
        f"{module.place} imports {name}"
        for module in modules()
        for name in module.imports()
        if name.split(".")[0] in ("tests", "scripts", "fixtures", "pytest", "hypothesis")
    ]
    assert strays == []


def _shown_raw(handler: ast.ExceptHandler) -> list[int]:
    """The lines of a handler that put its error into a text as Python writes it."""
    name, lines = handler.name, []
    # `str(error).startswith(…)` looks for something, and shows nothing.
    looked_into = {id(one.value) for one in ast.walk(handler) if isinstance(one, ast.Attribute)}
    for node in ast.walk(handler):
        is_raw = isinstance(node, ast.FormattedValue) and ast.unparse(node.value) == name
        if isinstance(node, ast.Call) and id(node) not in looked_into:
            is_raw = ast.unparse(node) == f"str({name})"
        if is_raw:
            lines.append(node.lineno)
    return lines


def test_no_message_has_the_number_of_a_system_error() -> None:
    """`cause_of(error)` says an OSError in words; Python writes "[Errno 2] … 'path'"."""
    raw = [
        f"{module.place}:{line}"
        for module in modules()
        for node in module.nodes
        if isinstance(node, ast.ExceptHandler) and node.type is not None
        if SYSTEM_ERRORS & set(re.findall(r"\w+", ast.unparse(node.type)))
        for line in _shown_raw(node)
    ]
    assert raw == []


def test_no_call_of_a_library_that_ends_the_process() -> None:
    calls = [
        f"{module.place}: {node.attr}: {FORBIDDEN_CALLS[node.attr]}"
        for module in modules()
        for node in module.nodes
        if isinstance(node, ast.Attribute) and node.attr in FORBIDDEN_CALLS
    ]
    assert calls == []
