"""The questions that people ask of a mesh in SQL, over every recorded run at once."""

import json
from pathlib import Path
from typing import Any

import pytest

from ramify.ingest import Ingest
from ramify.model.mistake import UserMistake
from ramify.query.direct import sql, views
from ramify.query.read_columns import further
from ramify.storage.base import Bounds
from ramify.storage.sqlite import Sqlite, open_sqlite
from tests import story
from tests.mesh_story import Mesh, data, stored
from tests.test_mesh_cases import CASES, later, lines, noise, observed, told

Row = dict[str, Any]


def everything() -> list[bytes]:
    return [line for case in CASES for line in lines(case)]


@pytest.fixture(scope="module")
def store() -> Sqlite:
    return told(observed([*everything(), *noise(20)]), 50)[0]


def ask(store: Sqlite, query: str, *values: str) -> list[Row]:
    found = sql(store, query.replace("?", "'{}'").format(*values) if values else query, Bounds())
    return [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]]


def truth(case: str) -> Row:
    return story.expected("sam", case)


@pytest.mark.parametrize("case", CASES)
def test_all_tool_calls_of_a_task(store: Sqlite, case: str) -> None:
    query = """SELECT message_id, timestamp, agent_name, json_each.value AS tool_call FROM sam_messages, json_each(tool_calls)
             WHERE interaction_id = ? AND tool_calls IS NOT NULL ORDER BY timestamp"""
    found = [json.loads(row["tool_call"]) for row in ask(store, query, truth(case)["root_task_id"])]
    wanted = sorted((call["call_id"], phase) for call in truth(case)["tool_calls"] for phase in call["phases"])
    assert sorted((call["id"], call["type"]) for call in found) == wanted
    assert all(call["timestamp"].endswith("Z") for call in found)


@pytest.mark.parametrize("case", CASES)
def test_tool_calls_with_inputs_and_outputs(store: Sqlite, case: str) -> None:
    phases = """WITH tool_invocations AS (
          SELECT timestamp, agent_name, json_each.value AS tool_call FROM sam_messages, json_each(tool_calls)
          WHERE interaction_id = ? AND tool_calls IS NOT NULL)
        SELECT tool_call ->> 'id' AS call_id, tool_call ->> 'name' AS tool_name, tool_call ->> 'type' AS call_type,
          tool_call -> 'args' AS inputs, tool_call -> 'result' AS outputs, timestamp FROM tool_invocations ORDER BY timestamp"""
    root = truth(case)["root_task_id"]
    assert len([row for row in ask(store, phases, root) if row["call_type"] == "tool_result"]) == sum(call["has_result"] for call in truth(case)["tool_calls"])
    rows = ask(store, "SELECT * FROM sam_tool_calls WHERE interaction_id = ?", root)
    for call in truth(case)["tool_calls"]:
        (row,) = [row for row in rows if (row["task_id"], row["call_id"], row["occurrence"]) == (call["task_id"], call["call_id"], call["occurrence"])]
        assert json.loads(row["input_args"]) == call["args"]
        assert (row["output_result"] is not None) == call["has_result"]
        assert (row["tool_name"], row["status"], row["call_type"], row["duration_ms"], row["child_task_id"]) == (call["name"], call["status"], call["type"], call["duration_ms"], call["child_task_id"])
    assert len(rows) == truth(case)["totals"]["tool_calls"]


@pytest.mark.parametrize("case", CASES)
def test_reasoning(store: Sqlite, case: str) -> None:
    query = """SELECT message_id, timestamp, agent_name, json_each.value AS part_data FROM sam_messages, json_each(message_content)
             WHERE interaction_id = ? AND json_extract(json_each.value, '$.data.type') = 'llm_invocation' ORDER BY timestamp"""
    found = ask(store, query, truth(case)["root_task_id"])
    assert len(found) == truth(case)["totals"]["model_calls"]
    assert all(json.loads(row["part_data"])["data"]["request"]["contents"] for row in found)


@pytest.mark.parametrize("case", CASES)
def test_sub_tasks(store: Sqlite, case: str) -> None:
    query = """SELECT task_id, agent_name, count(*) AS num_messages, min(timestamp) AS started_at, max(timestamp) AS ended_at
             FROM sam_messages WHERE interaction_id = ? AND parent_task_id IS NOT NULL GROUP BY task_id, agent_name ORDER BY started_at"""
    found = [(row["task_id"], row["agent_name"], row["num_messages"]) for row in ask(store, query, truth(case)["root_task_id"])]
    wanted = [(task["task_id"], task["agent_name"], task["own_messages"]) for task in truth(case)["tasks"] if task["depth"]]
    assert sorted(found) == sorted(wanted)


@pytest.mark.parametrize("case", CASES)
def test_the_flow(store: Sqlite, case: str) -> None:
    query = """SELECT m.timestamp, m.task_id, m.agent_name, CASE WHEN m.tool_calls IS NOT NULL THEN 'tool_call'
               WHEN m.message_content IS NOT NULL THEN 'message' ELSE 'other' END AS message_type, m.tool_calls,
               m.message_content -> 0 ->> 'text' AS first_text_content
             FROM sam_messages m WHERE m.interaction_id = ? ORDER BY m.timestamp"""
    found = ask(store, query, truth(case)["root_task_id"])
    assert len(found) == sum(task["own_messages"] for task in truth(case)["tasks"])
    assert [row["timestamp"] for row in found] == sorted(row["timestamp"] for row in found)


@pytest.mark.parametrize("case", CASES)
def test_interactions_and_conversations(store: Sqlite, case: str) -> None:
    told = truth(case)
    (row,) = ask(store, "SELECT * FROM sam_interactions WHERE interaction_id = ?", told["root_task_id"])
    assert (row["context_id"], row["response_state"], row["agent_response"]) == (told["context_id"], told["final_status"], told["final_text"])
    totals = told["totals"]
    assert (row["num_subtasks"], row["num_tool_calls"], row["input_tokens"], row["output_tokens"]) == (totals["subtasks"], totals["tool_calls"], totals["input_tokens"], totals["output_tokens"])
    assert json.loads(row["delegated_agents"]) == sorted({task["agent_name"] for task in told["tasks"] if task["depth"]})
    (conversation,) = ask(store, "SELECT * FROM sam_conversations WHERE context_id = ?", told["context_id"])
    assert (conversation["num_interactions"], conversation["user_id"]) == (1, "sam_dev_user")
    assert conversation["num_messages"] == sum(task["own_messages"] for task in told["tasks"])


def test_copies_cancel_requests_cards_and_feedback_are_in_none_of_them(store: Sqlite) -> None:
    kinds = {row["message_kind"] for row in ask(store, "SELECT DISTINCT message_kind FROM sam_messages")}
    assert kinds == {"request", "status-update", "task"}
    assert ask(store, "SELECT count(*) AS n FROM sam_messages WHERE raw_payload LIKE '%forwarded_from_peer%'")[0]["n"] == 0
    assert ask(store, "SELECT DISTINCT feedback_id FROM sam_messages WHERE message_kind = 'request' ORDER BY 1")[-1]["feedback_id"] == "WeatherAgent"
    profile = json.loads(ask(store, "SELECT user_context_raw FROM sam_messages WHERE message_kind = 'request' LIMIT 1")[0]["user_context_raw"])
    assert profile["id"] == "sam_dev_user"


def test_tokens_that_an_answer_tells_in_the_models_own_words_are_there_too() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    answer = {"content": {"parts": [{"text": "hi"}]}, "usage_metadata": {"prompt_token_count": 7, "candidates_token_count": 2}}
    mesh.say("t", data(type="llm_response", data=answer, usage=None))
    store = stored(mesh.observations(), 10)
    rows = ask(store, "SELECT input_tokens, output_tokens, total_tokens FROM sam_messages WHERE message_kind = 'status-update'")
    assert [tuple(row.values()) for row in rows] == [(7, 2, 9)]


def test_what_came_since_is_there_at_once() -> None:
    def content(store: Sqlite) -> list[Row]:
        return ask(store, "SELECT * FROM sam_messages ORDER BY message_id, task_id") + ask(store, "SELECT * FROM sam_interactions")

    seen = observed([*lines("simple"), *[later(line) for line in lines("simple")]])
    store, _ = told(seen[:20])
    assert len(content(store)) < len(content(told(seen)[0]))
    Ingest(store).step(seen[20:])
    assert content(store) == content(told(observed(lines("simple")))[0])


def test_nothing_is_written_beside_the_store(tmp_path: Path) -> None:
    store = open_sqlite(f"sqlite:{tmp_path}/x.db")
    Ingest(store).step(observed(lines("simple")))
    assert ask(store, "SELECT count(*) AS n FROM sam_tool_calls") == [{"n": 2}]
    store.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.db", "x.db.search"]


def test_who_asks_about_one_interaction_reads_no_other(store: Sqlite) -> None:
    read: list[str] = []
    root = truth("simple")["root_task_id"]
    observation = store.observation
    store.observation = lambda id: (read.append(id), observation(id))[1]  # type: ignore[method-assign]
    found = ask(store, "SELECT raw_payload, topic FROM sam_messages WHERE interaction_id = ?", root)
    del store.observation  # type: ignore[method-assign]
    assert len(read) == len(found) == sum(task["own_messages"] for task in truth("simple")["tasks"])


@pytest.mark.parametrize("column", ["interaction_id", "task_id", "context_id"])
@pytest.mark.parametrize("view", ["sam_messages", "sam_tool_calls"])
def test_indexes_lead_from_an_id_to_its_rows(store: Sqlite, view: str, column: str) -> None:
    plan = store.sql(f"EXPLAIN QUERY PLAN SELECT * FROM {view} WHERE {column} = 'x'", Bounds(), further(store)).rows
    assert [row[3] for row in plan if str(row[3]).startswith("SCAN")] == []


def test_the_sql_of_people_reaches_the_views_of_a_mesh_and_nothing_else_there() -> None:
    store, _ = told(observed(lines("simple")))
    found = sql(store, "SELECT tool_name, json_extract(input_args, '$.city') FROM sam_tool_calls ORDER BY timestamp", Bounds())
    assert found["rows"] == [["peer_WeatherAgent", None], ["get_temperature", "Utrecht"]]
    with pytest.raises(UserMistake, match="may not use the table"):
        sql(store, "SELECT * FROM messages, sam_messages", Bounds())
    with pytest.raises(UserMistake, match="may not do anything but read"):
        sql(store, "DROP VIEW sam_messages", Bounds())
    assert views(store)["sam_conversations"][0] == "context_id"
