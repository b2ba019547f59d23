"""The questions that people ask of a mesh in SQL, over every recorded run at once."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ramify.ingest import Ingest
from ramify.mesh_sql import bring_up
from ramify.model.mistake import UserMistake
from ramify.query.direct import sql
from ramify.query.mesh_direct import asks_mesh, mesh_connection, mesh_file, mesh_views
from ramify.storage.base import Bounds
from ramify.storage.mesh_tables import MeshTables
from ramify.storage.sqlite import Sqlite, open_sqlite
from tests import story
from tests.test_mesh_cases import CASES, later, lines, noise, observed, told

Row = dict[str, Any]


def everything() -> list[bytes]:
    return [line for case in CASES for line in lines(case)]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> MeshTables:
    store, _ = told(observed([*everything(), *noise(20)]), 50)
    found = MeshTables(str(tmp_path_factory.mktemp("sql") / "x.mesh"), 1)
    bring_up(store, found)
    return found


def ask(tables: MeshTables, sql: str, *values: Any) -> list[Row]:
    found = tables.connection.execute(sql, values)
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found]


def truth(case: str) -> Row:
    return story.expected("sam", case)


@pytest.mark.parametrize("case", CASES)
def test_all_tool_calls_of_a_task(tables: MeshTables, case: str) -> None:
    sql = """SELECT message_id, timestamp, agent_name, json_each.value AS tool_call FROM sam_messages, json_each(tool_calls)
             WHERE interaction_id = ? AND tool_calls IS NOT NULL ORDER BY timestamp"""
    found = [json.loads(row["tool_call"]) for row in ask(tables, sql, truth(case)["root_task_id"])]
    wanted = sorted((call["call_id"], phase) for call in truth(case)["tool_calls"] for phase in call["phases"])
    assert sorted((call["id"], call["type"]) for call in found) == wanted
    assert all(call["timestamp"].endswith("Z") for call in found)


@pytest.mark.parametrize("case", CASES)
def test_tool_calls_with_inputs_and_outputs(tables: MeshTables, case: str) -> None:
    phases = """WITH tool_invocations AS (
          SELECT timestamp, agent_name, json_each.value AS tool_call FROM sam_messages, json_each(tool_calls)
          WHERE interaction_id = ? AND tool_calls IS NOT NULL)
        SELECT tool_call ->> 'id' AS call_id, tool_call ->> 'name' AS tool_name, tool_call ->> 'type' AS call_type,
          tool_call -> 'args' AS inputs, tool_call -> 'result' AS outputs, timestamp FROM tool_invocations ORDER BY timestamp"""
    root = truth(case)["root_task_id"]
    assert len([row for row in ask(tables, phases, root) if row["call_type"] == "tool_result"]) == sum(call["has_result"] for call in truth(case)["tool_calls"])
    rows = ask(tables, "SELECT * FROM sam_tool_calls WHERE interaction_id = ?", root)
    for call in truth(case)["tool_calls"]:
        (row,) = [row for row in rows if (row["task_id"], row["call_id"], row["occurrence"]) == (call["task_id"], call["call_id"], call["occurrence"])]
        assert json.loads(row["input_args"]) == call["args"]
        assert (row["output_result"] is not None) == call["has_result"]
        assert (row["tool_name"], row["status"], row["call_type"], row["duration_ms"], row["child_task_id"]) == (call["name"], call["status"], call["type"], call["duration_ms"], call["child_task_id"])
    assert len(rows) == truth(case)["totals"]["tool_calls"]


@pytest.mark.parametrize("case", CASES)
def test_reasoning(tables: MeshTables, case: str) -> None:
    sql = """SELECT message_id, timestamp, agent_name, json_each.value AS part_data FROM sam_messages, json_each(message_content)
             WHERE interaction_id = ? AND json_extract(json_each.value, '$.data.type') = 'llm_invocation' ORDER BY timestamp"""
    found = ask(tables, sql, truth(case)["root_task_id"])
    assert len(found) == truth(case)["totals"]["model_calls"]
    assert all(json.loads(row["part_data"])["data"]["request"]["contents"] for row in found)


@pytest.mark.parametrize("case", CASES)
def test_sub_tasks(tables: MeshTables, case: str) -> None:
    sql = """SELECT task_id, agent_name, count(*) AS num_messages, min(timestamp) AS started_at, max(timestamp) AS ended_at
             FROM sam_messages WHERE interaction_id = ? AND parent_task_id IS NOT NULL GROUP BY task_id, agent_name ORDER BY started_at"""
    found = [(row["task_id"], row["agent_name"], row["num_messages"]) for row in ask(tables, sql, truth(case)["root_task_id"])]
    wanted = [(task["task_id"], task["agent_name"], task["own_messages"]) for task in truth(case)["tasks"] if task["depth"]]
    assert sorted(found) == sorted(wanted)


@pytest.mark.parametrize("case", CASES)
def test_the_flow(tables: MeshTables, case: str) -> None:
    sql = """SELECT m.timestamp, m.task_id, m.agent_name, CASE WHEN m.tool_calls IS NOT NULL THEN 'tool_call'
               WHEN m.message_content IS NOT NULL THEN 'message' ELSE 'other' END AS message_type, m.tool_calls,
               m.message_content -> 0 ->> 'text' AS first_text_content
             FROM sam_messages m WHERE m.interaction_id = ? ORDER BY m.timestamp"""
    found = ask(tables, sql, truth(case)["root_task_id"])
    assert len(found) == sum(task["own_messages"] for task in truth(case)["tasks"])
    assert [row["timestamp"] for row in found] == sorted(row["timestamp"] for row in found)


@pytest.mark.parametrize("case", CASES)
def test_interactions_and_conversations(tables: MeshTables, case: str) -> None:
    told = truth(case)
    (row,) = ask(tables, "SELECT * FROM sam_interactions WHERE interaction_id = ?", told["root_task_id"])
    assert (row["context_id"], row["response_state"], row["agent_response"]) == (told["context_id"], told["final_status"], told["final_text"])
    totals = told["totals"]
    assert (row["num_subtasks"], row["num_tool_calls"], row["input_tokens"], row["output_tokens"]) == (totals["subtasks"], totals["tool_calls"], totals["input_tokens"], totals["output_tokens"])
    assert json.loads(row["delegated_agents"]) == sorted({task["agent_name"] for task in told["tasks"] if task["depth"]})
    (conversation,) = ask(tables, "SELECT * FROM sam_conversations WHERE context_id = ?", told["context_id"])
    assert (conversation["num_interactions"], conversation["user_id"]) == (1, "sam_dev_user")
    assert conversation["num_messages"] == sum(task["own_messages"] for task in told["tasks"])


def test_copies_cancel_requests_cards_and_feedback_are_in_none_of_them(tables: MeshTables) -> None:
    kinds = {row["message_kind"] for row in ask(tables, "SELECT DISTINCT message_kind FROM sam_messages")}
    assert kinds == {"request", "status-update", "task"}
    assert ask(tables, "SELECT count(*) AS n FROM sam_messages WHERE raw_payload LIKE '%forwarded_from_peer%'")[0]["n"] == 0
    assert ask(tables, "SELECT DISTINCT feedback_id FROM sam_messages WHERE message_kind = 'request' ORDER BY 1")[-1]["feedback_id"] == "WeatherAgent"
    profile = json.loads(ask(tables, "SELECT user_context_raw FROM sam_messages WHERE message_kind = 'request' LIMIT 1")[0]["user_context_raw"])
    assert profile["id"] == "sam_dev_user"


def test_what_came_since_is_added_and_another_stores_file_is_begun_anew(tmp_path: Path) -> None:
    def content(tables: MeshTables) -> list[Row]:
        return ask(tables, "SELECT * FROM sam_messages ORDER BY message_id, task_id") + ask(tables, "SELECT * FROM sam_interactions")

    seen = observed([*lines("simple"), *[later(line) for line in lines("simple")]])
    store: Sqlite
    store, _ = told(seen[:20])
    tables = MeshTables(str(tmp_path / "a"), 1)
    bring_up(store, tables)
    Ingest(store).step(seen[20:])
    bring_up(store, tables)
    bring_up(store, tables)
    fresh = MeshTables("", 1)
    bring_up(told(observed(lines("simple")))[0], fresh)
    assert content(tables) == content(fresh)
    tables.close()
    assert ask(MeshTables(str(tmp_path / "a"), 2), "SELECT count(*) AS n FROM sam_messages") == [{"n": 0}]


def test_a_file_beside_the_store_is_brought_up_by_asking_and_can_only_be_read(tmp_path: Path) -> None:
    assert asks_mesh("SELECT * FROM SAM_messages")
    assert not asks_mesh("SELECT * FROM ramify_tasks WHERE title = 'sam'")
    store = open_sqlite(f"sqlite:{tmp_path}/x.db")
    Ingest(store).step(observed(lines("simple")))
    connection = mesh_connection(store)
    assert connection.execute("SELECT count(*) FROM sam_tool_calls").fetchone() == (2,)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("DELETE FROM messages")
    connection.close()
    Ingest(store).step(observed(lines("plain")))
    assert mesh_file(store) == f"{tmp_path}/x.db.mesh"
    with closing(sqlite3.connect(mesh_file(store))) as other:
        assert other.execute("SELECT count(*) FROM sam_interactions").fetchone() == (2,)
    store.close()


def test_the_sql_of_people_reaches_the_views_of_a_mesh_and_nothing_else_there() -> None:
    store, _ = told(observed(lines("simple")))
    found = sql(store, "SELECT tool_name, json_extract(input_args, '$.city') FROM sam_tool_calls ORDER BY timestamp", Bounds())
    assert found["rows"] == [["peer_WeatherAgent", None], ["get_temperature", "Utrecht"]]
    with pytest.raises(UserMistake, match="may not use the table"):
        sql(store, "SELECT * FROM messages, sam_messages", Bounds())
    assert mesh_views()["sam_conversations"][0] == "context_id"
