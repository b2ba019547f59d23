"""An agent mesh in SQL, on SQLite: views over the rows of its tasks, whose JSON is read from the log when somebody asks for it.

Whoever asks about one interaction, task or context is led there by indexes. Nothing is written out for it.
"""

from ramify.storage.views import SQLITE

LAST_LEVEL = "replace({0}, rtrim({0}, replace({0}, '/', '')), '')"
moment = SQLITE.moment

ROOT = "sam_root(t.id, t.parent)"
# A task stands in the conversation of its root: from an interaction few tasks are looked at, and few from a task.
TASKS = f"""refs r JOIN tasks i ON i.id = r.id AND r.kind = 'sam:task' JOIN tasks t ON t.conversation = i.conversation AND i.id = {ROOT}
    JOIN refs f ON f.id = t.id AND f.kind = 'sam:task'
    LEFT JOIN refs x ON x.id = t.conversation AND x.kind = 'sam:context'"""


def told(column: str) -> str:
    return f"sam_message(k.ref, '{column}')"


def listed(*columns: str) -> str:
    return ", ".join(f"{told(column)} AS {column}" for column in columns)


MESSAGES = f"""
SELECT {told("message_id")} AS message_id, x.value AS context_id, r.value AS interaction_id, f.value AS task_id, p.value AS parent_task_id,
    {moment("k.at")} AS timestamp, {moment("sam_message(k.ref, 'received')")} AS received_at, {told("role")} AS role,
    coalesce(nullif(t.agent, ''), {told("agent")}) AS agent_name, {told("topic")} AS topic, {LAST_LEVEL.format(told("topic"))} AS feedback_id,
    {listed("correlation_id", "sender_id", "message_kind", "is_final", "input_tokens", "output_tokens")},
    {told("input_tokens")} + {told("output_tokens")} AS total_tokens,
    {listed("model_used", "message_content", "tool_calls", "raw_payload", "user_context_raw", "token_usage_raw", "metadata")}
FROM {TASKS} LEFT JOIN refs p ON p.id = t.parent AND p.kind = 'sam:task' CROSS JOIN keys k ON k.key = sam_entries(t.id)
WHERE {told("message_kind")} IS NOT NULL"""

TOOL_CALLS = f"""
SELECT c.native AS call_id, sam_tool(c.doc, 'occurrence') AS occurrence, r.value AS interaction_id, x.value AS context_id, f.value AS task_id,
    c.name AS tool_name, sam_tool(c.doc, 'call_type') AS call_type, c.status AS status, sam_tool(c.doc, 'input_args') AS input_args,
    sam_tool(c.doc, 'output_result') AS output_result, sam_tool(c.doc, 'agent_name') AS agent_name, {moment("c.opened")} AS timestamp,
    {moment("sam_tool(c.doc, 'begun')")} AS started_at, {moment("c.closed")} AS ended_at, sam_tool(c.doc, 'duration_ms') AS duration_ms,
    s.value AS child_task_id
FROM {TASKS} CROSS JOIN tools c ON c.task = t.id AND c.task <> '' LEFT JOIN refs s ON s.id = c.child AND s.kind = 'sam:task'"""

INTERACTIONS = f"""
SELECT r.value AS interaction_id, max(CASE WHEN t.id = i.id THEN x.value END) AS context_id, nullif(i.prompt, '') AS user_query,
    sam_task(i.doc, 'final_text') AS agent_response, i.status AS response_state, nullif(i.agent, '') AS primary_agent,
    sam_sorted(json_group_array(DISTINCT CASE WHEN t.id <> i.id THEN nullif(t.agent, '') END)) AS delegated_agents,
    {moment("i.opened")} AS started_at, {moment("i.closed")} AS ended_at, count(*) - 1 AS num_subtasks,
    sum((SELECT count(*) FROM tools c WHERE c.task = t.id AND c.task <> '')) AS num_tool_calls,
    sum(t.input) AS input_tokens, sum(t.output) AS output_tokens, sum(t.input + t.output) AS total_tokens
FROM {TASKS} GROUP BY r.value, i.id"""

CONVERSATIONS = f"""
SELECT x.value AS context_id, max(sam_task(t.doc, 'user_id')) AS user_id, {moment("min(t.opened)")} AS started_at,
    {moment("max(sam_task(t.doc, 'active'))")} AS last_message_at, sum({ROOT} = t.id) AS num_interactions, sum(sam_task(t.doc, 'messages')) AS num_messages
FROM refs x JOIN tasks t ON t.conversation = x.id AND x.kind = 'sam:context' JOIN refs f ON f.id = t.id AND f.kind = 'sam:task' GROUP BY x.value"""

VIEWS = {"sam_conversations": CONVERSATIONS, "sam_interactions": INTERACTIONS, "sam_messages": MESSAGES, "sam_tool_calls": TOOL_CALLS}
