"""The steps from which PostgreSQL's tables grew: an older store is brought up by those that it lacks.

A step that stands here is never changed. Columns and indexes that rows came to have since are made by `postgres_layout`.
"""

from collections.abc import Iterator

DAY = 86_400_000_000  # microseconds

FIRST = """
CREATE TABLE facts (name text COLLATE "C" PRIMARY KEY, value bytea NOT NULL);
CREATE TABLE observations (seq bigint PRIMARY KEY, id text COLLATE "C" NOT NULL UNIQUE, kind text NOT NULL, project
    text NOT NULL, at bigint NOT NULL, head bytea NOT NULL, body_kind smallint NOT NULL, body bytea NOT NULL);
ALTER TABLE observations ALTER body SET STORAGE EXTERNAL, ALTER head SET STORAGE EXTERNAL;
CREATE TABLE blobs (id bigint PRIMARY KEY, digest bytea NOT NULL UNIQUE, kind smallint NOT NULL, size bigint NOT
    NULL, payload bytea NOT NULL);
ALTER TABLE blobs ALTER payload SET STORAGE EXTERNAL;
CREATE TABLE calls (id text COLLATE "C" PRIMARY KEY, "project" text NOT NULL, "conversation" text NOT NULL, "task"
    text NOT NULL, "line" text NOT NULL, "attempt_of" text NOT NULL, "started" bigint NOT NULL, "status" text NOT
    NULL, "kind" text NOT NULL, "source" text NOT NULL, "model" text NOT NULL, "agent" text NOT NULL, "utility" text
    NOT NULL, "parent" text NOT NULL, "message" text NOT NULL, "ended" bigint, "first_byte" bigint, "stop_reason"
    text NOT NULL, "http_status" bigint, "message_count" bigint NOT NULL, "new_messages" bigint NOT NULL, "counted"
    bigint NOT NULL, "input" bigint NOT NULL, "output" bigint NOT NULL, "cache_read" bigint NOT NULL, "cache_write"
    bigint NOT NULL, "cost" bigint, "link_kind" text NOT NULL, "rule" text NOT NULL, "certainty" float8, "via" text
    NOT NULL, doc bytea NOT NULL);
CREATE TABLE tools (id text COLLATE "C" PRIMARY KEY, "project" text NOT NULL, "call" text NOT NULL, "block" bigint
    NOT NULL, "name" text NOT NULL, "task" text NOT NULL, "observation" text NOT NULL, "native" text NOT NULL,
    "opened" bigint NOT NULL, "closed" bigint, "status" text NOT NULL, "child" text NOT NULL, "path" text NOT NULL,
    doc bytea NOT NULL);
CREATE TABLE tasks (id text COLLATE "C" PRIMARY KEY, "project" text NOT NULL, "conversation" text NOT NULL, "parent"
    text NOT NULL, "opened" bigint NOT NULL, "kind" text NOT NULL, "status" text NOT NULL, "agent" text NOT NULL,
    "agent_id" text NOT NULL, "title" text NOT NULL, "prompt" text NOT NULL, "prompt_author" text NOT NULL, "closed"
    bigint, "calls" bigint NOT NULL, "tool_calls" bigint NOT NULL, "input" bigint NOT NULL, "output" bigint NOT
    NULL, "cache_read" bigint NOT NULL, "cache_write" bigint NOT NULL, "cost" bigint, "link_kind" text NOT NULL,
    "rule" text NOT NULL, "certainty" float8, "via" text NOT NULL, "extra_input" bigint NOT NULL, "extra_output"
    bigint NOT NULL, "extra_cache_read" bigint NOT NULL, "extra_cache_write" bigint NOT NULL, "extra_cost" bigint,
    doc bytea NOT NULL);
CREATE TABLE lines (id text COLLATE "C" PRIMARY KEY, "conversation" text NOT NULL, "kind" text NOT NULL, "started"
    bigint NOT NULL, "position" bigint NOT NULL, doc bytea NOT NULL);
CREATE TABLE conversations (id text COLLATE "C" PRIMARY KEY, "project" text NOT NULL, "session" text NOT NULL,
    "active" bigint NOT NULL, "opened" bigint NOT NULL, "client" text NOT NULL, "calls" bigint NOT NULL, "input"
    bigint NOT NULL, "output" bigint NOT NULL, "cache_read" bigint NOT NULL, "cache_write" bigint NOT NULL, "cost"
    bigint, doc bytea NOT NULL);
CREATE TABLE corrections (id text COLLATE "C" PRIMARY KEY, doc bytea NOT NULL);
CREATE TABLE messages (id text COLLATE "C" PRIMARY KEY, "line" text NOT NULL, "at" bigint NOT NULL, "observation"
    text NOT NULL, doc bytea NOT NULL);
CREATE TABLE reports (id text COLLATE "C" PRIMARY KEY, "conversation" text NOT NULL, "at" bigint NOT NULL, doc bytea
    NOT NULL);
CREATE TABLE notes (id text COLLATE "C" PRIMARY KEY, "task" text NOT NULL, "at" bigint NOT NULL, "kind" text NOT
    NULL, "observation" text NOT NULL, doc bytea NOT NULL);
CREATE TABLE artifacts (id text COLLATE "C" PRIMARY KEY, "task" text NOT NULL, "at" bigint NOT NULL, doc bytea NOT
    NULL);
CREATE TABLE artifact_parts (id text COLLATE "C" PRIMARY KEY, doc bytea NOT NULL);
CREATE TABLE operations (id text COLLATE "C" PRIMARY KEY, "project" text NOT NULL, "session" text NOT NULL,
    "updated" bigint NOT NULL, doc bytea NOT NULL);
CREATE TABLE agents (id text COLLATE "C" PRIMARY KEY, "project" text NOT NULL, doc bytea NOT NULL);
CREATE TABLE sheets (id text COLLATE "C" PRIMARY KEY, doc bytea NOT NULL);
CREATE TABLE events (id text COLLATE "C" PRIMARY KEY, "session" text NOT NULL, "seq" bigint NOT NULL, "sort" text
    NOT NULL, "type" text NOT NULL, "operation" text NOT NULL, "agent" text NOT NULL, "agent_task_id" text NOT NULL,
    "task_type" text NOT NULL, "status" text NOT NULL, "source" text NOT NULL, "recorded" bigint NOT NULL, "subject"
    text NOT NULL, doc bytea NOT NULL);
CREATE TABLE sessions (id text COLLATE "C" PRIMARY KEY, "project" text NOT NULL, "active" bigint NOT NULL, doc bytea
    NOT NULL);
CREATE INDEX calls_started ON calls (started, id);
CREATE INDEX calls_conversation ON calls (conversation, started, id);
CREATE INDEX calls_task ON calls (task, started, id);
CREATE INDEX calls_attempt ON calls (attempt_of) WHERE attempt_of <> '';
CREATE INDEX calls_running ON calls (status) WHERE status = 'running';
CREATE INDEX tools_call ON tools (call, block);
CREATE INDEX tools_task ON tools (task, opened, id) WHERE task <> '';
CREATE INDEX tasks_opened ON tasks (opened, id);
CREATE INDEX tasks_conversation ON tasks (conversation, opened, id);
CREATE INDEX tasks_parent ON tasks (parent) WHERE parent <> '';
CREATE INDEX tasks_inside ON tasks (parent, conversation) WHERE kind = 'root' AND parent <> '';
CREATE INDEX tasks_roots ON tasks (opened, id) WHERE kind = 'root';
CREATE INDEX tasks_unusual ON tasks (status) WHERE status <> 'completed';
CREATE INDEX tasks_agent ON tasks (lower(agent) COLLATE "C");
CREATE INDEX tasks_project ON tasks (lower(project) COLLATE "C");
CREATE INDEX calls_unusual ON calls (status) WHERE status <> 'ok' AND status <> 'running';
CREATE INDEX calls_model ON calls (lower(model) COLLATE "C");
CREATE INDEX tools_name ON tools (lower(name) COLLATE "C");
CREATE INDEX conversations_project ON conversations (lower(project) COLLATE "C");
CREATE INDEX lines_conversation ON lines (conversation, kind, started, position);
CREATE INDEX conversations_active ON conversations (active, id);
CREATE INDEX messages_line ON messages (line, at, id);
CREATE INDEX reports_conversation ON reports (conversation, at, id);
CREATE INDEX notes_task ON notes (task, at, id);
CREATE INDEX artifacts_task ON artifacts (task, at, id);
CREATE INDEX operations_updated ON operations (updated, id);
CREATE INDEX operations_session ON operations (session, updated, id);
CREATE UNIQUE INDEX events_session ON events (session, seq);
CREATE INDEX events_operation ON events (session, operation, seq);
CREATE INDEX events_agent ON events (session, agent, seq);
CREATE INDEX events_task ON events (agent, agent_task_id) WHERE agent_task_id <> '';
CREATE INDEX events_recorded ON events (session, recorded);
CREATE INDEX events_subject ON events (subject, seq) WHERE subject <> '';
CREATE INDEX messages_observation ON messages (observation) WHERE observation <> '';
CREATE INDEX notes_observation ON notes (observation) WHERE observation <> '';
CREATE INDEX tools_observation ON tools (observation) WHERE observation <> '';
CREATE INDEX sessions_active ON sessions (active, id);
CREATE TABLE keys (key bigint, at bigint, ref text COLLATE "C", PRIMARY KEY (key, at, ref));
CREATE TABLE refs (value text COLLATE "C", kind text, entity text, id text, PRIMARY KEY (value, kind, entity, id));
CREATE TABLE unreadable (observation text PRIMARY KEY, at bigint NOT NULL, reason text NOT NULL);
CREATE TABLE texts (row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, call text NOT NULL, side text NOT NULL,
    message bigint NOT NULL, block bigint NOT NULL, kind text NOT NULL, words tsvector NOT NULL);
CREATE INDEX texts_words ON texts USING gin (words);
"""

# Sums of each day: they follow from the rows, so those are derived again before anything is added.
SECOND = """
CREATE TABLE IF NOT EXISTS tallies (id text COLLATE "C" PRIMARY KEY, project text NOT NULL, at bigint NOT NULL,
    kind text NOT NULL, doc bytea NOT NULL);
CREATE INDEX IF NOT EXISTS tallies_kind ON tallies (kind, at, id);
INSERT INTO facts SELECT 'outdated', '\\x01' FROM observations LIMIT 1 ON CONFLICT (name) DO NOTHING;
"""

# What was seen is parted by the day on which it happened, and pieces by the day on which they came, so that old ones go by the
# table. Names and numbers of the log stay in one narrow table: an id must be there once in all, and says where the rest is.
# What an older store holds becomes the first part of each, as it stands: nothing that is large is copied.
THIRD = f"""
CREATE TABLE digests (digest bytea PRIMARY KEY, id bigint NOT NULL);
INSERT INTO digests SELECT digest, id FROM blobs ORDER BY digest;
ALTER TABLE blobs DROP COLUMN digest;
ALTER TABLE blobs RENAME TO blobs_before;
ALTER INDEX blobs_pkey RENAME TO blobs_before_pkey;
CREATE TABLE blobs (id bigint PRIMARY KEY, kind smallint NOT NULL, size bigint NOT NULL, payload bytea NOT NULL)
    PARTITION BY RANGE (id);
ALTER TABLE blobs ALTER payload SET STORAGE EXTERNAL;
ALTER TABLE blobs ATTACH PARTITION blobs_before FOR VALUES FROM (MINVALUE) TO ({1 << 32});
ALTER TABLE observations RENAME TO contents_before;
ALTER TABLE contents_before DROP CONSTRAINT observations_pkey, DROP CONSTRAINT observations_id_key;
CREATE TABLE observations (seq bigint NOT NULL, id text COLLATE "C" NOT NULL, kind text NOT NULL, project text NOT NULL,
    at bigint NOT NULL);
INSERT INTO observations SELECT seq, id, kind, project, at FROM contents_before ORDER BY seq;
ALTER TABLE observations ADD PRIMARY KEY (seq), ADD UNIQUE (id);
ALTER TABLE contents_before DROP COLUMN id, DROP COLUMN kind, DROP COLUMN project, ADD PRIMARY KEY (at, seq);
CREATE TABLE contents (at bigint NOT NULL, seq bigint NOT NULL, head bytea NOT NULL, body_kind smallint NOT NULL, body bytea NOT NULL,
    PRIMARY KEY (at, seq)) PARTITION BY RANGE (at);
ALTER TABLE contents ALTER head SET STORAGE EXTERNAL, ALTER body SET STORAGE EXTERNAL;
DO $$ BEGIN
    EXECUTE format('ALTER TABLE contents ATTACH PARTITION contents_before FOR VALUES FROM (MINVALUE) TO (%s)',
        (SELECT coalesce(greatest(max(at), 0) / {DAY} * {DAY} + {DAY}, 0) FROM observations));
END $$;
DROP TABLE IF EXISTS writes;
CREATE TABLE writes (number bigint NOT NULL, seq bigint NOT NULL);
INSERT INTO writes SELECT 0, coalesce(max(seq), 0) FROM observations;
"""

# Observations leave keys by which what belongs to a conversation is found: what was derived before is derived again.
FOURTH = """
INSERT INTO facts SELECT 'outdated', '\\x01' FROM observations LIMIT 1 ON CONFLICT (name) DO NOTHING;
CREATE INDEX texts_call ON texts (call);
"""

# More of a session's keys stand together: likewise.
FIFTH = """
INSERT INTO facts SELECT 'outdated', '\\x01' FROM observations LIMIT 1 ON CONFLICT (name) DO NOTHING;
"""

# What each of the last turns wrote, for other writers; see `postgres_turns`. Ids are hashes, which nothing makes smaller.
SIXTH = """
CREATE TABLE turns (number bigint PRIMARY KEY, before bigint NOT NULL, wrote bytea NOT NULL);
ALTER TABLE turns ALTER wrote SET STORAGE EXTERNAL;
"""

# Much is judged by other rules, and what agents, meshes and event logs leave to go on from has another form: derived again.
SEVENTH = """
INSERT INTO facts SELECT 'outdated', '\\x01' FROM observations LIMIT 1 ON CONFLICT (name) DO NOTHING;
"""

# Spans, meshes and event logs are judged by other rules once more: likewise.
EIGHTH = SEVENTH

# Texts stand beside their words, which are cut in another way: they are read again. Names are looked for as other engines do it, and
# not as the database's language has it; the indexes for that are made anew.
NINTH = """
DROP INDEX IF EXISTS tasks_agent, tasks_project, calls_model, tools_name, conversations_project;
TRUNCATE texts;
ALTER TABLE texts ADD COLUMN IF NOT EXISTS said text NOT NULL;
DELETE FROM facts WHERE name = 'indexed';
"""

STEPS: tuple[str, ...] = (FIRST, SECOND, THIRD, FOURTH, FIFTH, SIXTH, SEVENTH, EIGHTH, NINTH)


def statements(step: str) -> Iterator[str]:
    """One by one; between two dollars stands one."""
    waiting = ""
    for line in step.splitlines():
        waiting += line + "\n"
        if line.endswith(";") and waiting.count("$$") % 2 == 0:
            yield waiting
            waiting = ""
