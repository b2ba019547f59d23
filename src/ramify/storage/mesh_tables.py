"""Where an engine in another process keeps the messages of a mesh written out as JSON: its tables, and the views over them.

An engine in this process reads them from the log instead.
"""

from ramify.storage.views import Dialect

MESSAGE_COLUMNS = (
    "identity", "message_id", "context_id", "task_id", "at", "received", "role", "agent", "topic", "correlation_id", "sender_id",
    "message_kind", "is_final", "input_tokens", "output_tokens", "model_used", "message_content", "tool_calls", "raw_payload",
    "user_context_raw", "token_usage_raw", "metadata",
)  # fmt: skip
TASK_COLUMNS = (
    "task_id", "parent_task_id", "root_task_id", "context_id", "user_id", "agent_name", "prompt", "final_text", "status",
    "opened", "closed", "calls", "input_tokens", "output_tokens",
)  # fmt: skip
TOOL_COLUMNS = (
    "id", "call_id", "occurrence", "task_id", "tool_name", "call_type", "status", "input_args", "output_result", "agent_name",
    "opened", "begun", "closed", "child_task_id",
)  # fmt: skip
NUMBERS = ("at", "received", "is_final", "input_tokens", "output_tokens", "opened", "closed", "begun", "calls", "occurrence")


def views(dialect: Dialect, last_level: str, gathered: str) -> dict[str, str]:
    """`last_level` of a topic, and what gathers texts into a JSON list, are said differently by engines."""
    moment = dialect.moment
    messages = f"""
SELECT m.message_id AS message_id, m.context_id AS context_id, coalesce(t.root_task_id, m.task_id) AS interaction_id, m.task_id AS task_id,
    t.parent_task_id AS parent_task_id, {moment("m.at")} AS timestamp, {moment("m.received")} AS received_at, m.role AS role,
    coalesce(t.agent_name, m.agent) AS agent_name, m.topic AS topic,
    {last_level} AS feedback_id,
    m.correlation_id AS correlation_id, m.sender_id AS sender_id, m.message_kind AS message_kind, m.is_final AS is_final,
    m.input_tokens AS input_tokens, m.output_tokens AS output_tokens, m.input_tokens + m.output_tokens AS total_tokens,
    m.model_used AS model_used, m.message_content AS message_content, m.tool_calls AS tool_calls, m.raw_payload AS raw_payload,
    m.user_context_raw AS user_context_raw, m.token_usage_raw AS token_usage_raw, m.metadata AS metadata
FROM messages m LEFT JOIN tasks t ON t.task_id = m.task_id"""

    tool_calls = f"""
SELECT c.call_id AS call_id, c.occurrence AS occurrence, t.root_task_id AS interaction_id, t.context_id AS context_id,
    c.task_id AS task_id, c.tool_name AS tool_name, c.call_type AS call_type, c.status AS status, c.input_args AS input_args,
    c.output_result AS output_result, c.agent_name AS agent_name, {moment("c.opened")} AS timestamp, {moment("c.begun")} AS started_at,
    {moment("c.closed")} AS ended_at, CASE WHEN c.begun > 0 AND c.closed >= c.begun THEN (c.closed - c.begun) / 1000.0 END AS duration_ms,
    c.child_task_id AS child_task_id
FROM tools c JOIN tasks t ON t.task_id = c.task_id"""

    interactions = f"""
SELECT r.task_id AS interaction_id, r.context_id AS context_id, r.prompt AS user_query, r.final_text AS agent_response,
    r.status AS response_state, r.agent_name AS primary_agent,
    coalesce((SELECT {gathered}(agent_name) FROM
        (SELECT DISTINCT agent_name FROM tasks d WHERE d.root_task_id = r.task_id AND d.task_id <> r.task_id AND agent_name IS NOT NULL
         ORDER BY agent_name) AS others), '[]') AS delegated_agents,
    {moment("r.opened")} AS started_at, {moment("r.closed")} AS ended_at, count(*) - 1 AS num_subtasks,
    (SELECT count(*) FROM tools c JOIN tasks t ON t.task_id = c.task_id WHERE t.root_task_id = r.task_id) AS num_tool_calls,
    sum(d.input_tokens) AS input_tokens, sum(d.output_tokens) AS output_tokens,
    sum(d.input_tokens + d.output_tokens) AS total_tokens
FROM tasks r JOIN tasks d ON d.root_task_id = r.task_id WHERE r.task_id = r.root_task_id GROUP BY r.task_id, r.context_id, r.prompt, r.final_text, r.status, r.agent_name, r.opened, r.closed"""

    conversations = f"""
SELECT t.context_id AS context_id, max(t.user_id) AS user_id, {moment("min(t.opened)")} AS started_at,
    (SELECT {moment("max(m.at)")} FROM messages m WHERE m.context_id = t.context_id) AS last_message_at,
    {dialect.times("t.task_id = t.root_task_id")} AS num_interactions,
    (SELECT count(*) FROM messages m WHERE m.context_id = t.context_id) AS num_messages
FROM tasks t WHERE t.context_id IS NOT NULL GROUP BY t.context_id"""

    return {"conversations": conversations, "interactions": interactions, "messages": messages, "tool_calls": tool_calls}
