"""Tables of a tree: the documented views, nothing of others in them, and types that do not depend on the rows."""

import io
import zipfile
from typing import Any

import pyarrow.parquet
import pytest

from ramify.app import Ramify
from ramify.exporting.tables import views
from ramify.exporting.wish import Wish
from ramify.query.direct import sql
from ramify.query.scope import scope
from ramify.storage.base import Bounds
from ramify.storage.views import VIEWS
from tests.exporting.world import conversations, quiet, told


def unpacked(ramify: Ramify, id: str) -> dict[str, Any]:
    content = b"".join(ramify.exports.offer(id, Wish("parquet"), quiet).pieces)
    assert content == b"".join(ramify.exports.offer(id, Wish("parquet"), quiet).pieces), "the same rows make the same bytes"
    with zipfile.ZipFile(io.BytesIO(content)) as files:
        return {name.removesuffix(".parquet"): pyarrow.parquet.read_table(io.BytesIO(files.read(name))) for name in files.namelist()}


@pytest.mark.parametrize("case", ["claude/nested", "sam/parallel", "a2a/v1-refine", "events/async_fanout"])
def test_a_store_with_one_conversation_is_exported_whole(case: str) -> None:
    ramify = told(case)
    ids = conversations(ramify)
    tables = unpacked(ramify, ids[0])
    assert list(tables) == list(VIEWS)
    for name, table in tables.items():
        whole = sql(ramify.store, f"SELECT * FROM {name}", Bounds())
        assert table.column_names == whole["columns"]
        if len(ids) == 1 and name != "ramify_usage":
            shown = sorted(map(repr, whole["rows"]))
            assert len(shown) == table.num_rows


def test_others_stay_at_home_and_types_are_the_same() -> None:
    ramify = told("claude/nested", "claude/simple", "sam/simple", "a2a/v1-refine")
    schemas = set()
    for id in conversations(ramify):
        tables = unpacked(ramify, id)
        assert tables["ramify_conversations"]["id"].to_pylist() == [id]
        assert set(tables["ramify_tasks"]["conversation"].to_pylist()) == {id}
        assert set(tables["ramify_model_calls"]["conversation"].to_pylist()) <= {id}
        schemas.add(repr([table.schema for table in tables.values()]))
    assert len(schemas) == 1


def test_secrets_do_not_leave() -> None:
    from ramify.ingest import Ingest
    from ramify.model.observation import Record

    secret = "sk-ant-api03-" + "Ab1" * 31 + "AA"
    body = f'{{"type":"user","uuid":"u1","sessionId":"0aa11b22-0000-4000-8000-000000000001","timestamp":"2026-01-01T00:00:00Z","message":{{"role":"user","content":"{secret}"}}}}'
    ramify = Ramify.open("memory:")
    Ingest(ramify.store).step([Record("obs_1", "default", 1_700_000_000_000_000, "transcript", "claude", "x:1", body.encode())])
    (id,) = conversations(ramify)
    rows = dict(views(ramify.store, scope(ramify.questions, id)))
    assert secret not in repr(rows)
    assert "[redacted:anthropic-key]" in repr(rows["ramify_tasks"])
