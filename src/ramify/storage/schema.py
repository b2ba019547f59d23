"""SQLite's tables, as numbered steps: an older file is brought up by the steps it lacks."""

APPLICATION_ID = 0x52414D49  # "RAMI"

STEPS: tuple[str, ...] = (
    """
    CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;
    CREATE TABLE observations (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, project TEXT NOT NULL,
        at INTEGER NOT NULL, head BLOB NOT NULL, body_kind INTEGER NOT NULL, body BLOB NOT NULL);
    CREATE TABLE blobs (
        id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, kind INTEGER NOT NULL, size INTEGER NOT NULL,
        payload BLOB NOT NULL);
    CREATE TABLE calls (
        row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, project TEXT NOT NULL, conversation TEXT NOT NULL,
        task TEXT NOT NULL, line TEXT NOT NULL, attempt_of TEXT NOT NULL, started INTEGER NOT NULL,
        status TEXT NOT NULL, kind TEXT NOT NULL, source TEXT NOT NULL, doc BLOB NOT NULL);
    CREATE INDEX calls_started ON calls (started, id);
    CREATE INDEX calls_conversation ON calls (conversation, started, id);
    CREATE INDEX calls_task ON calls (task, started, id);
    CREATE INDEX calls_attempt ON calls (attempt_of) WHERE attempt_of <> '';
    CREATE INDEX calls_running ON calls (status) WHERE status = 'running';
    CREATE TABLE tools (
        row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, project TEXT NOT NULL, call TEXT NOT NULL,
        block INTEGER NOT NULL, name TEXT NOT NULL, doc BLOB NOT NULL);
    CREATE INDEX tools_call ON tools (call, block);
    CREATE TABLE tasks (
        row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, project TEXT NOT NULL, conversation TEXT NOT NULL,
        parent TEXT NOT NULL, opened INTEGER NOT NULL, kind TEXT NOT NULL, doc BLOB NOT NULL);
    CREATE INDEX tasks_opened ON tasks (opened, id);
    CREATE INDEX tasks_conversation ON tasks (conversation, opened, id);
    CREATE INDEX tasks_parent ON tasks (parent) WHERE parent <> '';
    CREATE TABLE lines (
        id TEXT PRIMARY KEY, conversation TEXT NOT NULL, kind TEXT NOT NULL, started INTEGER NOT NULL,
        position INTEGER NOT NULL, doc BLOB NOT NULL) WITHOUT ROWID;
    CREATE INDEX lines_conversation ON lines (conversation, kind, started, position);
    CREATE TABLE conversations (
        row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, project TEXT NOT NULL, session TEXT NOT NULL,
        active INTEGER NOT NULL, doc BLOB NOT NULL);
    CREATE INDEX conversations_active ON conversations (active, id);
    CREATE TABLE corrections (id TEXT PRIMARY KEY, doc BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE keys (key INTEGER, at INTEGER, ref TEXT, PRIMARY KEY (key, at, ref)) WITHOUT ROWID;
    CREATE TABLE refs (
        value TEXT, kind TEXT, entity TEXT, id TEXT, PRIMARY KEY (value, kind, entity, id)) WITHOUT ROWID;
    CREATE TABLE unreadable (observation TEXT PRIMARY KEY, at INTEGER, reason TEXT) WITHOUT ROWID;
    """,
    # What lies beside the file (the search index) can tell whether it belongs to it.
    "INSERT INTO facts VALUES ('identity', random() & 0x7fffffffffffffff)",
    # Sources that report messages and sums of their own.
    """
    CREATE TABLE messages (
        row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, line TEXT NOT NULL, at INTEGER NOT NULL, doc BLOB NOT NULL);
    CREATE INDEX messages_line ON messages (line, at, id);
    CREATE TABLE reports (
        row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, conversation TEXT NOT NULL, at INTEGER NOT NULL,
        doc BLOB NOT NULL);
    CREATE INDEX reports_conversation ON reports (conversation, at, id);
    """,
    # Keys have another form: what was derived before is derived again before anything is added to it.
    "INSERT OR REPLACE INTO facts SELECT 'outdated', 1 FROM observations LIMIT 1",
    # Tasks know what they repeat: likewise.
    "INSERT OR REPLACE INTO facts SELECT 'outdated', 1 FROM observations LIMIT 1",
    # Protocols in which tasks have ids, tool calls, artifacts and operations of their own.
    """
    ALTER TABLE tools ADD COLUMN task TEXT NOT NULL DEFAULT '';
    ALTER TABLE tools ADD COLUMN opened INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX tools_task ON tools (task, opened, id) WHERE task <> '';
    CREATE TABLE notes (
        row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, task TEXT NOT NULL, at INTEGER NOT NULL, kind TEXT NOT NULL,
        doc BLOB NOT NULL);
    CREATE INDEX notes_task ON notes (task, at, id);
    CREATE TABLE artifacts (
        row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, task TEXT NOT NULL, at INTEGER NOT NULL, doc BLOB NOT NULL);
    CREATE INDEX artifacts_task ON artifacts (task, at, id);
    CREATE TABLE artifact_parts (id TEXT PRIMARY KEY, doc BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE operations (
        row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, project TEXT NOT NULL, session TEXT NOT NULL,
        updated INTEGER NOT NULL, doc BLOB NOT NULL);
    CREATE INDEX operations_updated ON operations (updated, id);
    CREATE INDEX operations_session ON operations (session, updated, id);
    CREATE TABLE agents (row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, project TEXT NOT NULL, doc BLOB NOT NULL);
    CREATE TABLE sheets (row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, doc BLOB NOT NULL);
    """,
    # Few roots stand under a task of another conversation: who looks for them looks at no others.
    "CREATE INDEX tasks_inside ON tasks (parent, conversation) WHERE kind = 'root' AND parent <> ''",
    # The event log.
    """
    CREATE TABLE events (
        row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, session TEXT NOT NULL, seq INTEGER NOT NULL, sort TEXT NOT NULL,
        type TEXT NOT NULL, operation TEXT NOT NULL, agent TEXT NOT NULL, agent_task_id TEXT NOT NULL,
        task_type TEXT NOT NULL, status TEXT NOT NULL, source TEXT NOT NULL, recorded INTEGER NOT NULL,
        subject TEXT NOT NULL, doc BLOB NOT NULL);
    CREATE UNIQUE INDEX events_session ON events (session, seq);
    CREATE INDEX events_operation ON events (session, operation, seq);
    CREATE INDEX events_agent ON events (session, agent, seq);
    CREATE INDEX events_task ON events (agent, agent_task_id) WHERE agent_task_id <> '';
    CREATE INDEX events_recorded ON events (session, recorded);
    CREATE INDEX events_subject ON events (subject, seq) WHERE subject <> '';
    CREATE TABLE sessions (
        row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, project TEXT NOT NULL, active INTEGER NOT NULL, doc BLOB NOT NULL);
    CREATE INDEX sessions_active ON sessions (active, id);
    """,
    # Words of protocols that are kept in rows are indexed by what was seen.
    """
    ALTER TABLE messages ADD COLUMN observation TEXT NOT NULL DEFAULT '';
    ALTER TABLE notes ADD COLUMN observation TEXT NOT NULL DEFAULT '';
    ALTER TABLE tools ADD COLUMN observation TEXT NOT NULL DEFAULT '';
    CREATE INDEX messages_observation ON messages (observation) WHERE observation <> '';
    CREATE INDEX notes_observation ON notes (observation) WHERE observation <> '';
    CREATE INDEX tools_observation ON tools (observation) WHERE observation <> '';
    """,
    # Sums of each day: they follow from the rows, so those are derived again before anything is added.
    """
    CREATE TABLE tallies (
        row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, project TEXT NOT NULL, at INTEGER NOT NULL, kind TEXT NOT NULL,
        doc BLOB NOT NULL);
    CREATE INDEX tallies_kind ON tallies (kind, at, id);
    INSERT OR REPLACE INTO facts SELECT 'outdated', 1 FROM observations LIMIT 1;
    """,
    # Observations leave keys by which what belongs to a conversation is found: likewise.
    "INSERT OR REPLACE INTO facts SELECT 'outdated', 1 FROM observations LIMIT 1",
    # More of a session's keys stand together: likewise.
    "INSERT OR REPLACE INTO facts SELECT 'outdated', 1 FROM observations LIMIT 1",
    # Much is judged by other rules, and what agents, meshes and event logs leave to go on from has another form: likewise.
    "INSERT OR REPLACE INTO facts SELECT 'outdated', 1 FROM observations LIMIT 1",
    # Spans, meshes and event logs are judged by other rules once more: likewise.
    "INSERT OR REPLACE INTO facts SELECT 'outdated', 1 FROM observations LIMIT 1",
)

PROJECTIONS = (
    "calls", "tools", "tasks", "lines", "conversations", "corrections", "messages", "reports", "notes", "artifacts",
    "artifact_parts", "operations", "agents", "sheets", "events", "sessions", "tallies", "keys", "refs", "unreadable",
)  # fmt: skip
