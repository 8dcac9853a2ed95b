"""Decides whether a text is one harmless SELECT, by its parsed form; never runs it and never looks at it as text.

DuckDB itself parses (`json_serialize_sql` accepts SELECT statements only); what the tree may contain is an allow-list:
relations that are public views or the query's own names, table functions that only compute, scalar functions that do
not read the process or the disk. The connection is a second wall: no external access.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import duckdb

from collector.store.sqlfiles import sql
from signals.errors import QueryRefusedError, nearest

#: Longest query text.
MAX_SQL = 100_000
#: Deepest tree: beyond it the parser's own recursion would be the limit.
MAX_DEPTH = 400
TABLE_FUNCTIONS = frozenset({"range", "generate_series", "unnest", "json_each", "json_tree", "histogram_values"})
#: Scalar functions that tell of the process, the disk or other sessions, change state, or run text as SQL.
REFUSED_FUNCTIONS = frozenset({
    "getenv", "current_setting", "getvariable", "setseed", "nextval", "currval", "txid_current", "read_text",
    "read_blob", "glob", "query", "query_table", "json_execute_serialized_sql", "json_serialize_sql",
    "json_serialize_plan", "write_log", "parse_duckdb_log_message", "current_query", "add_parquet_key",
    "pg_sleep", "sleep", "sleep_ms", "sql_auto_complete", "which_secret", "duckdb_secrets", "set_config",
})  # fmt: skip
#: Prefixes of functions of that kind.
REFUSED_PREFIXES = (
    "duckdb_",
    "pragma_",
    "pg_",
    "read_",
    "parquet_",
    "sniff_",
    "storage_",
    "write_",
    "copy_",
    "enable_",
    "disable_",
)
ALLOWED_SCHEMAS = frozenset({"", "main", "information_schema"})
#: Query nodes of questions. DuckDB 2 calls a SELECT what inserts, deletes or copies in a CTE: those have others.
QUERY_NODES = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
#: What a FROM clause may hold.
TABLE_REFERENCES = frozenset({
    "BASE_TABLE", "SUBQUERY", "JOIN", "TABLE_FUNCTION", "EXPRESSION_LIST", "EMPTY", "EMPTY_FROM", "PIVOT",
})  # fmt: skip
INFORMATION = frozenset({"tables", "columns", "schemata"})


@dataclass(frozen=True, slots=True)
class Guard:
    """The rules. A query may read what stands in schema `main`: the public views, and those the store adds to them."""

    table_functions: frozenset[str] = TABLE_FUNCTIONS

    def check(self, cursor: duckdb.DuckDBPyConnection, text: str) -> None:
        """Raise QueryRefusedError unless `text` is one SELECT within the rules; the message says what and why."""
        tree = _parsed(cursor, text)
        allowed = public_relations(cursor) | {str(name).lower() for name in _names_of_ctes(tree)}
        for node in _nodes(tree):
            self._check_node(node, allowed)

    def _check_node(self, node: Mapping[str, object], allowed: set[str]) -> None:
        kind = node.get("type")
        is_reference = isinstance(kind, str) and "class" not in node and "sample" in node
        if isinstance(kind, str) and kind.endswith("_NODE") and kind not in QUERY_NODES:
            raise QueryRefusedError(f"only questions are allowed, not {kind.removesuffix('_NODE').lower()}")
        if kind == "BASE_TABLE":
            self._check_table(node, allowed)
        elif kind == "TABLE_FUNCTION":
            function = node.get("function")
            name = str(function.get("function_name", "")).lower() if isinstance(function, Mapping) else ""
            if name not in self.table_functions:
                raise QueryRefusedError(f"table function {name!r} is not allowed{nearest(name, self.table_functions)}")
        elif kind == "SHOW_REF":
            raise QueryRefusedError("SHOW and DESCRIBE are not allowed; ask information_schema.columns")
        elif is_reference and kind not in QUERY_NODES | TABLE_REFERENCES:
            raise QueryRefusedError(f"{str(kind).lower()} is not allowed in FROM")
        elif node.get("class") == "FUNCTION":
            name = str(node.get("function_name", "")).lower()
            if name in REFUSED_FUNCTIONS or name.startswith(REFUSED_PREFIXES):
                raise QueryRefusedError(f"function {name!r} is not allowed")

    def _check_table(self, node: Mapping[str, object], allowed: set[str]) -> None:
        path = node.get("qualified_name")
        parts = [str(part) for part in path.get("path", [])] if isinstance(path, Mapping) else []
        name = str(node.get("table_name") or (parts[-1] if parts else "")).lower()
        schema = str(node.get("schema_name") or (parts[-2] if len(parts) > 1 else "")).lower()
        catalog = str(node.get("catalog_name") or (parts[-3] if len(parts) > 2 else ""))
        if catalog or schema not in ALLOWED_SCHEMAS:
            raise QueryRefusedError(
                f"only the public views can be read, not {'.'.join(filter(None, [catalog, schema, name]))}"
            )
        if schema == "information_schema":
            if name not in INFORMATION:
                raise QueryRefusedError(f"information_schema.{name} is not allowed{nearest(name, INFORMATION)}")
        elif name not in allowed:
            raise QueryRefusedError(f"no public view {name!r}{nearest(name, sorted(allowed))}")


def public_relations(cursor: duckdb.DuckDBPyConnection) -> set[str]:
    """Return the names in schema `main` of the database that is served."""
    return {str(name).lower() for (name,) in cursor.execute(sql("collector.sqlguard", "relations")).fetchall()}


def _parsed(cursor: duckdb.DuckDBPyConnection, text: str) -> Mapping[str, object]:
    if len(text) > MAX_SQL:
        raise QueryRefusedError(f"query of {len(text)} characters is over the limit of {MAX_SQL}")
    try:
        rows = cursor.execute("select json_serialize_sql($query::varchar)", {"query": text}).fetchall()
        row = rows[0] if rows else None
    except (duckdb.Error, ValueError) as error:
        raise QueryRefusedError(f"the query cannot be parsed: {_first_line(error)}") from error
    try:
        tree = json.loads(row[0]) if row else {}
    except (ValueError, RecursionError) as error:
        raise QueryRefusedError("the query is nested too deeply") from error
    if tree.get("error"):
        message = str(tree.get("error_message", "unknown fault"))
        told = "only one SELECT is allowed" if "Only SELECT" in message else f"the query cannot be parsed: {message}"
        raise QueryRefusedError(told)
    statements = tree.get("statements", [])
    if len(statements) != 1:
        raise QueryRefusedError(f"one SELECT is allowed, got {len(statements)} statements")
    return dict(statements[0])


def _nodes(tree: object) -> Iterable[Mapping[str, object]]:
    """Yield every object of the tree; bounded in depth."""
    stack: list[tuple[object, int]] = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise QueryRefusedError("the query is nested too deeply")
        if isinstance(node, Mapping):
            yield node
            stack.extend((child, depth + 1) for child in node.values())
        elif isinstance(node, list):
            stack.extend((child, depth + 1) for child in node)


def _names_of_ctes(tree: object) -> Iterable[object]:
    for node in _nodes(tree):
        ctes = node.get("cte_map")
        if isinstance(ctes, Mapping):
            entries = ctes.get("map", [])
            if isinstance(entries, list):
                yield from (entry.get("key") for entry in entries if isinstance(entry, Mapping))
        if str(node.get("type")) in {"CTE_NODE", "RECURSIVE_CTE_NODE"}:
            yield node.get("cte_name", node.get("ctename"))


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
