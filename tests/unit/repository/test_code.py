"""Rules for the code of the package, and their exceptions."""

from __future__ import annotations

import ast
import re

from fonds.wiring.backends import BACKENDS
from unit.repository.tree import PACKAGE, Module, iter_public, list_modules

# Base classes that only give a shape or that a library requires; none is our own behaviour.
SHAPES = frozenset({"Protocol", "Generic", "Exception", "StrEnum", "IntEnum", "Enum", "NamedTuple"})
LIBRARY_BASES = {
    "BaseModel": "pydantic: a form of the pages",
    "RootModel": "pydantic: a response schema with a name",
    "Struct": "msgspec: the settings",
    "msgspec.Struct": "msgspec: a message between two processes",
    "ValueError": "Python: an error message about input, with its position",
    "click.Group": "click: commands imported on first use, and an error for unknown ones",
    "click.Command": "click: words that start with a minus, with an error that says how to write them",
    "click.DateTime": "click: dates, with an error that shows the format",
    "click.Choice": "click: names, with an error that shows the nearest",
    "HTTPException": "FastAPI: an error response that can be raised anywhere",
    "ProgressColumn": "rich: a column of the progress line",
    "io.RawIOBase": "the standard library's only way to be a readable stream",
    "Collector": "prometheus-client: numbers computed on request",
    "WSGIRequestHandler": "the standard library's only way to silence its server",
    "ctypes.Structure": "a structure of the kernel's interface",
    "TypeDecorator": "SQLAlchemy: how a value is written in a column",
    "FunctionElement": "SQLAlchemy: an expression with a different syntax in each database",
    "dict[int, str]": "a translation table needs `__missing__` of a dict",
    "dict[str | tuple[str, str], str]": "`__missing__` of a dict computes the stems of a word on first use",
    "dict[str, int]": "`__missing__` of a dict computes the number of a word on first use",
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
# Packages that may import a backend technology, by path of the importing module.
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
# Modules that send HTTP requests, by kind of traffic; the table of kinds is in ARCHITECTURE.md.
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
    "model/pdf_extra.py": "a field of messages",
    "model/pdf_metadata.py": "a column of PDFs",
    "model/restrictions.py": "a column of takedowns",
    "model/source.py": "columns of sources and paces",
    "papers/": "columns of papers, cells of works, and answers of `fonds match` and `catalog`",
    "queues/messages/": "messages of topics",
    "search/request.py": "parameters of a search, decoded from texts",
    "web/": "bodies of forms and JSON requests",
}
FIELD_MAPPINGS = {
    # `asdict` copies a value into a mapping; to encode a value, no mapping is needed.
    "audit/repair/files.py": "those fields that libmagic found replace stored ones",
    "config.py": "settings by name, for the page and the file of settings",
    "extract/pdf/extraction.py": "found fields become part of a longer value",
    "extract/pdf/limits.py": "limits are hashed",
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


def get_path(module: Module) -> str:
    return module.path.relative_to(PACKAGE).as_posix()


def _is_protocol(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base).partition("[")[0] == "Protocol" for base in node.bases)


def test_no_class_inherits_behaviour() -> None:
    """A protocol that combines ports is allowed: it has no behaviour."""
    classes = [
        node for module in list_modules() for node in module.nodes if isinstance(node, ast.ClassDef)
    ]
    ports = {node.name for node in classes if _is_protocol(node)}
    errors = {node.name for node in classes if node.name.endswith("Error")}
    allowed = SHAPES | LIBRARY_BASES.keys() | errors | EXTENDED.keys()
    strays = []
    for module in list_modules():
        for node in module.nodes:
            for base in node.bases if isinstance(node, ast.ClassDef) else ():
                name = ast.unparse(base)
                if name in ports and isinstance(node, ast.ClassDef) and _is_protocol(node):
                    continue
                if name not in allowed and name.partition("[")[0] not in allowed:
                    strays.append(f"{module.place}: {node.name}({name})")
    assert strays == []


def test_every_allowed_library_base_is_used() -> None:
    used = {
        name
        for module in list_modules()
        for node in module.nodes
        if isinstance(node, ast.ClassDef)
        for base in node.bases
        for name in (ast.unparse(base), ast.unparse(base).partition("[")[0])
    }
    assert LIBRARY_BASES.keys() - used == set()


def test_extended_dataclasses_are_extended_and_have_no_base() -> None:
    classes = [
        (get_path(module), node)
        for module in list_modules()
        for node in module.nodes
        if isinstance(node, ast.ClassDef)
    ]
    found = {
        node.name: within
        for within, node in classes
        if node.name in EXTENDED
        and not node.bases
        and any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)
    }
    assert found == EXTENDED
    bases = {ast.unparse(base) for _, node in classes for base in node.bases}
    assert EXTENDED.keys() - bases == set()


def test_only_config_reads_the_environment() -> None:
    def is_read(node: ast.AST) -> bool:
        if isinstance(node, ast.ImportFrom):
            names = {alias.name for alias in node.names}
            return node.module == "os" and bool(names & {"environ", "environb", "getenv"})
        return (
            isinstance(node, ast.Attribute)
            and node.attr in ("environ", "environb", "getenv")
            and ast.unparse(node.value) == "os"
        )

    def is_clear(node: ast.AST) -> bool:
        return isinstance(node, ast.Attribute) and node.attr == "clear" and is_read(node.value)

    readers = set()
    for module in list_modules():
        cleared = {id(node.value) for node in module.nodes if is_clear(node)}
        if any(is_read(node) and id(node) not in cleared for node in module.nodes):
            readers.add(get_path(module))
    assert readers == {"config.py"}


def test_only_wiring_names_the_modules_of_backends() -> None:
    """Other packages reach a backend through the table of backends."""
    backends = {
        spec.opener.partition(":")[0] for specs in BACKENDS.values() for spec in specs.values()
    }
    assert len(backends) > 10
    any_backend = re.compile(rf"({'|'.join(map(re.escape, backends))})\b")
    strays = {
        f"{get_path(module)} names {match[1]}"
        for module in list_modules()
        for name in (*module.imports(), *module.strings())
        if (match := any_backend.match(name))
        and get_path(module) != "wiring/backends.py"
        and module.subpackage != match[1].split(".")[1]
    }
    assert strays == set()


def test_a_technology_is_imported_only_by_its_backend() -> None:
    strays = [
        f"{module.place} imports {name}"
        for module in list_modules()
        for name in module.imports()
        for technology, places in TECHNOLOGIES.items()
        if name.split(".")[0] == technology and not get_path(module).startswith(places)
    ]
    assert strays == []


def test_each_kind_of_traffic_has_one_http_client() -> None:
    importers: dict[str, set[str]] = {library: set() for library in HTTP_CLIENTS}
    for module in list_modules():
        for name in module.imports():
            for library in HTTP_CLIENTS:
                if name == library or name.startswith(f"{library}."):
                    importers[library].add(get_path(module))
    assert importers == HTTP_CLIENTS


def test_pydantic_is_used_only_at_the_edge_of_http() -> None:
    users = {
        get_path(module)
        for module in list_modules()
        for name in module.imports()
        if name.split(".")[0] == "pydantic" and not get_path(module).startswith("web/")
    }
    assert users == set()


def test_values_in_memory_are_dataclasses_with_slots() -> None:
    """No TypedDict, and a NamedTuple only where it is listed."""
    named_tuples, faults = set(), []
    for module in list_modules():
        for name in module.imports():
            if name.rpartition(".")[2] in ("TypedDict", "namedtuple"):
                faults.append(f"{module.place} imports {name}")
        for node in module.nodes:
            if not isinstance(node, ast.ClassDef):
                continue
            if "NamedTuple" in map(ast.unparse, node.bases):
                named_tuples.add(f"{get_path(module)}: {node.name}")
            for decorator in map(ast.unparse, node.decorator_list):
                if decorator.partition("(")[0] == "dataclass" and "slots=True" not in decorator:
                    faults.append(f"{module.place}: {node.name} has no slots")
    assert faults == []
    assert named_tuples == NAMED_TUPLES.keys()


def test_structs_are_where_values_are_decoded_or_encoded() -> None:
    users = {
        get_path(module)
        for module in list_modules()
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
        get_path(module)
        for module in list_modules()
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
            and any(keyword.arg for keyword in node.keywords)
        )

    found = {
        get_path(module)
        for module in list_modules()
        for node in module.nodes
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("echo_json", "json_response", "JSONResponse")
        and any(has_fixed_names(argument) for argument in node.args[:1])
    }
    assert found == HAND_BUILT_JSON.keys()


def test_everything_public_has_a_docstring() -> None:
    undocumented = [module.place for module in list_modules() if not ast.get_docstring(module.tree)]
    undocumented += [
        f"{module.place}: {name}"
        for module in list_modules()
        for name, node in iter_public(module)
        if not ast.get_docstring(node)
    ]
    assert undocumented == []


def test_the_package_contains_no_asserts() -> None:
    """`python -O` removes asserts, so conditions are checked with readable errors."""
    asserts = [
        f"{module.place}:{node.lineno}"
        for module in list_modules()
        for node in module.nodes
        if isinstance(node, ast.Assert)
    ]
    assert asserts == []


def is_empty_statement(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return statement.value.value is ...
    return isinstance(statement, ast.Pass)


def test_the_package_contains_no_unfinished_code() -> None:
    marked = [m.place for m in list_modules() if UNFINISHED.search(m.text)]
    raised = [
        f"{module.place}:{node.lineno}"
        for module in list_modules()
        for node in module.nodes
        if isinstance(node, ast.Raise) and "NotImplementedError" in ast.unparse(node)
    ]
    empty = [
        f"{module.place}: {node.name}"
        for module in list_modules()
        if get_path(module) != "ports.py"
        for node in module.functions()
        if all(is_empty_statement(statement) for statement in node.body)
    ]
    assert marked + raised + empty == []


def test_the_package_imports_nothing_from_tests_or_scripts() -> None:
    strays = [
        f"{module.place} imports {name}"
        for module in list_modules()
        for name in module.imports()
        if name.split(".")[0] in ("tests", "scripts", "fixtures", "pytest", "hypothesis")
    ]
    assert strays == []


def list_raw_uses(handler: ast.ExceptHandler) -> list[int]:
    """Return the lines of a handler that put its error into a text as Python formats it."""
    name, lines = handler.name, []
    # `str(error).startswith(…)` tests the text and does not show it.
    tested = {id(node.value) for node in ast.walk(handler) if isinstance(node, ast.Attribute)}
    for node in ast.walk(handler):
        is_raw = isinstance(node, ast.FormattedValue) and ast.unparse(node.value) == name
        if isinstance(node, ast.Call) and id(node) not in tested:
            is_raw = ast.unparse(node) == f"str({name})"
        if is_raw:
            lines.append(node.lineno)
    return lines


def test_no_message_contains_the_number_of_a_system_error() -> None:
    """`cause_of(error)` describes an OSError in words; Python writes "[Errno 2] … 'path'"."""
    raw = [
        f"{module.place}:{line}"
        for module in list_modules()
        for node in module.nodes
        if isinstance(node, ast.ExceptHandler) and node.type is not None
        if SYSTEM_ERRORS & set(re.findall(r"\w+", ast.unparse(node.type)))
        for line in list_raw_uses(node)
    ]
    assert raw == []


def test_no_forbidden_library_call_is_used() -> None:
    calls = [
        f"{module.place}: {node.attr}: {FORBIDDEN_CALLS[node.attr]}"
        for module in list_modules()
        for node in module.nodes
        if isinstance(node, ast.Attribute) and node.attr in FORBIDDEN_CALLS
    ]
    assert calls == []
