"""The documented views, only what belongs to a tree, as Parquet: one file for each view, in a ZIP archive."""

import io
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any

from ramify.capture.redact import redact_json
from ramify.model.mistake import UserMistake
from ramify.query.direct import sql
from ramify.query.scope import Scope
from ramify.storage.base import Bounds, Store
from ramify.storage.views import VIEWS

AT_ONCE = 500  # ids in one query
EVERYTHING = Bounds(1 << 40, 3600.0, 1 << 40)
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same rows make the same bytes
WHOLE = ("calls", "tool_calls", "counted", "http_status", "message_count", "new_messages")
FRACTIONS = ("cost_usd", "certainty", "link_certainty")
BY = {
    "ramify_conversations": "id", "ramify_tasks": "id", "ramify_model_calls": "task", "ramify_tool_calls": "task",
    "ramify_messages": "task", "ramify_links": "child", "ramify_usage": "task",
}  # fmt: skip
Rows = tuple[list[str], list[list[Any]]]


def archive(store: Store, scope: Scope) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as files:  # Parquet is compressed already
        for name, content in tables(store, scope):
            files.writestr(zipfile.ZipInfo(f"{name}.parquet", EPOCH), content)
    return packed.getvalue()


def tables(store: Store, scope: Scope) -> Iterator[tuple[str, bytes]]:
    for view, rows in views(store, scope):
        yield view, parquet(rows)


def views(store: Store, scope: Scope) -> Iterator[tuple[str, Rows]]:
    tasks = scope.ids
    calls = _among(store, "ramify_model_calls", "task", tasks)
    ids = [row[calls[0].index("id")] for row in calls[1]]
    for view in VIEWS:
        wanted = {"ramify_conversations": sorted(scope.conversations), "ramify_links": [*tasks, *ids]}.get(view, tasks)
        columns, rows = calls if view == "ramify_model_calls" else _among(store, view, BY[view], wanted)
        yield view, (columns, [[_clean(value) for value in row] for row in rows])


def _among(store: Store, view: str, column: str, ids: Sequence[str]) -> Rows:
    columns: list[str] = sql(store, f"SELECT * FROM {view} LIMIT 0", EVERYTHING)["columns"]
    rows: list[list[Any]] = []
    for start in range(0, len(ids), AT_ONCE):
        listed = ", ".join("'" + id.replace("'", "''") + "'" for id in ids[start : start + AT_ONCE])
        rows += sql(store, f"SELECT * FROM {view} WHERE {column} IN ({listed})", EVERYTHING)["rows"]
    return columns, sorted(rows, key=repr)


def _clean(value: Any) -> Any:
    return redact_json(value.encode()).decode() if isinstance(value, str) else value


def parquet(rows: Rows) -> bytes:
    try:
        import pyarrow
        from pyarrow import parquet as files
    except ImportError:
        raise UserMistake("Parquet needs the package pyarrow, which is not installed", "pip install 'ramify[parquet]', or use --to jsonl") from None
    columns, found = rows
    schema = pyarrow.schema([(name, _type(pyarrow, name)) for name in columns])
    values = {name: [_fitting(row[at], name) for row in found] for at, name in enumerate(columns)}
    written = io.BytesIO()
    files.write_table(pyarrow.table(values, schema=schema), written, compression="zstd")
    return written.getvalue()


def _type(pyarrow: Any, column: str) -> Any:
    if _is_fraction(column):
        return pyarrow.float64()
    return pyarrow.int64() if _is_whole(column) else pyarrow.string()


def _fitting(value: Any, column: str) -> Any:
    """Sums come as decimals from some engines, and as text from others."""
    if value is None:
        return None
    return float(value) if _is_fraction(column) else int(value) if _is_whole(column) else str(value)


def _is_fraction(column: str) -> bool:
    return column in FRACTIONS or column.endswith("_ms")


def _is_whole(column: str) -> bool:
    return column in WHOLE or column.endswith(("_us", "_tokens"))
