"""Every address of the server, on one screen."""

import os

from aiohttp import web

from ramify.query.filter_help import LISTS
from ramify.web import (
    agent_acts,
    audit,
    calls,
    conversations,
    demo,
    event_questions,
    event_stream,
    events,
    exports,
    insights,
    links,
    login,
    metrics,
    observations,
    oidc,
    operator,
    otlp,
    overview,
    reports,
    sql,
    tasks,
    tokens,
    webhooks,
)
from ramify.web.answering import serving, threads
from ramify.web.attempts import LOGINS, PUSHES, REFUSALS, Attempts
from ramify.web.errors import errors
from ramify.web.guard import guard
from ramify.web.live import SINCE, live, readers
from ramify.web.noting import noting
from ramify.web.openapi import described
from ramify.web.pages import ELSEWHERE, paged
from ramify.web.pushers import PUSHERS, Pushers
from ramify.web.route import CONVERSATION, CURSOR, FILTER, LIMIT, PAGE, PROJECT, SHAPE, STATUS, TREE, Parameter, Route
from ramify.web.served import AGENTS, CAPTURED, NEEDED, RAMIFY, Served

UNDER = (TREE, *PAGE)
BRIEF = Parameter("brief", "boolean", "without results and histories, which are long", False)
ROOTS = Parameter("roots", "boolean", "only tasks that no agent gave", False)
WORDS = Parameter("words", "string", "only root tasks with these words in title, prompt or agent; needs `roots`")
IDS = Parameter("ids", "string", "only these, separated by commas")
TITLES = Parameter("ids", "string", "of which tasks, separated by commas", required=True)
TASK = Parameter("task", "string", "only calls of this task")
KIND = Parameter("kind", "string", "only this kind", choices=("main", "subagent", "utility"))
CHILD = Parameter("child", "string", "the tasks that would move, separated by commas", required=True)
PARENT = Parameter("parent", "string", "the task or tool call that they would stand under; without it, nothing")
WITHDRAW = Parameter("withdraw", "boolean", "take back what was said instead: the rules decide again", False)
BY = Parameter("by", "string", "who asks for it; kept in the note that stays")
SESSION = Parameter("session", "string", "only this session of the event log")
RUN = Parameter("id", "string", "only this task with everything under it, or this conversation")
CHECK = Parameter("check", "string", "only what this check finds")
RUNS = Parameter("limit", "integer", "how many runs to look at, at most", 50, least=1, most=1000)
LEFT = Parameter("a", "string", "one run, by any id of it", required=True)
RIGHT = Parameter("b", "string", "the other", required=True)
SUMMED = Parameter("by", "string", "sums by `day`, `project`, `agent`, `model` or `tool`, several with commas between them")
SINCE_DAY = Parameter("since", "string", "with `by`: from this day on, `7d`, `2026-11-01` or `all`; 30d by default")
UNTIL_DAY = Parameter("until", "string", "with `by`: up to this day")
ROWS = Parameter("limit", "integer", "with `by`: how many rows at most", 1000, least=1, most=100_000)
TEXT = Parameter("q", "string", "the words to look for; filters may stand among them", required=True)
LIST = Parameter("list", "string", "what it narrows", required=True, choices=LISTS)
WRITTEN = Parameter("q", "string", "the filter, as far as it is written")
AT = Parameter("at", "integer", "the place of the cursor; without it, the end")

ROUTES = (
    Route("GET", "/api/tasks", "read", tasks.listed, "Tasks, newest first", "[Task]",
          (ROOTS, IDS, CONVERSATION, STATUS, WORDS, PROJECT, FILTER, *PAGE)),
    Route("GET", "/api/titles", "read", tasks.titles, "Titles of tasks, uncut", "[Named]", (TITLES,)),
    Route("GET", "/api/tasks/{id}", "read", tasks.shown, "One task", "Task"),
    Route("GET", "/api/tasks/{id}/tree", "read", tasks.tree, "A task with everything under it", "TaskTree|Tree|Skeleton", (SHAPE,)),
    Route("GET", "/api/tasks/{id}/subtasks", "read", tasks.subtasks, "The tasks that a task gave", "[Task]", UNDER),
    Route("GET", "/api/tasks/{id}/tools", "read", tasks.tools, "The tool calls of a task", "[ToolCall]", (*UNDER, FILTER, BRIEF)),
    Route("GET", "/api/tasks/{id}/reasoning", "read", tasks.reasoning, "What a task thought", "[Reasoning]", (*UNDER, BRIEF)),
    Route("GET", "/api/tasks/{id}/messages", "read", tasks.messages, "What was said in a task", "[Message]", UNDER),
    Route("GET", "/api/tasks/{id}/artifacts", "read", tasks.artifacts, "What a task produced, oldest first", "[Artifact]", UNDER),
    Route("GET", "/api/tasks/{id}/events", "read", tasks.events, "What the event log has about a task, oldest first", "[LoggedEvent]"),
    Route("GET", "/api/tasks/{id}/flow", "read", tasks.flow, "Everything that happened in a task and under it, by time", "Flow"),
    Route("GET", "/api/tasks/{id}/why", "read", tasks.why, "Why a task is linked as it is", "Why"),
    Route("GET", "/api/tasks/{id}/usage", "read", tasks.usage, "The tokens of a tree by model and by type of agent", "Breakdown"),
    Route("GET", "/api/tasks/{id}/completeness", "read", tasks.completeness, "What is not known of a tree", "Completeness"),
    Route("GET", "/api/tasks/{id}/cache", "read", tasks.cache, "Where prompts first differ from the ones before", "[CacheEntry]", (LIMIT,)),
    Route("GET", "/api/tasks/{id}/export", "read", exports.saved, "A run as a file to pass on", "", exports.WISH, act="export"),
    Route("GET", "/api/tasks/{id}/export/preview", "read", exports.previewed, "What would be in that file", "ExportPreview", exports.WISH),
    Route("GET", "/api/conversations/{id}/export", "read", exports.saved, "A conversation as a file to pass on", "", exports.WISH, act="export"),
    Route("GET", "/api/conversations/{id}/export/preview", "read", exports.previewed, "What would be in that file", "ExportPreview", exports.WISH),
    Route("GET", "/api/all/operations/{id}/export", "read", exports.saved, "An operation as a file to pass on", "", exports.WISH, act="export"),
    Route("GET", "/api/all/operations/{id}/export/preview", "read", exports.previewed, "What would be in that file", "ExportPreview", exports.WISH),
    Route("GET", "/api/tools/{call_id}", "read", tasks.tool, "One tool call with input and result", "ToolCall"),
    Route("GET", "/api/calls", "read", calls.listed, "Model calls, newest first", "[Call]",
          (TASK, CONVERSATION, KIND, STATUS, PROJECT, FILTER, *PAGE)),
    Route("GET", "/api/calls/{id}", "read", calls.shown, "One model call", "Call"),
    Route("GET", "/api/calls/{id}/request", "read", calls.request, "The bytes that were sent", "", act="read-body"),
    Route("GET", "/api/calls/{id}/response", "read", calls.response, "The bytes that were answered", "", act="read-body"),
    Route("GET", "/api/observations/{id}", "read", observations.shown, "What was seen, as it was", "Observed", act="read-observation"),
    Route("GET", "/api/conversations", "read", conversations.listed, "Conversations, newest first", "[Conversation]",
          (PROJECT, FILTER, *PAGE)),
    Route("GET", "/api/conversations/{id}", "read", conversations.shown, "One conversation", "Conversation"),
    Route("DELETE", "/api/conversations/{id}", "admin", conversations.forgotten, "Forget a conversation, for good", "Forgotten", (BY,), act="forget"),
    Route("GET", "/api/conversations/{id}/leaving", "read", conversations.leaving, "What would go if it were forgotten", "Leaving"),
    Route("GET", "/api/forgotten", "read", conversations.notes, "What was forgotten, newest first", "[ForgottenNote]"),
    Route("GET", "/api/conversations/{id}/tree", "read", tasks.tree, "Its tasks, as trees", "Tree|TaskTree|Skeleton", (SHAPE,)),
    Route("GET", "/api/search", "read", overview.search, "Full text", "[Hit]", (TEXT, FILTER, LIMIT, CURSOR)),
    Route("GET", "/api/filter", "read", overview.filter, "What a filter means, where it is wrong, and what may stand at the cursor", "FilterHelp",
          (LIST, WRITTEN, AT)),
    Route("GET", "/api/lint", "read", insights.lint, "What people should look at, in one run or in those that were active last", "Findings",
          (RUN, CHECK, RUNS, CURSOR, PROJECT)),
    Route("GET", "/api/compare", "read", insights.compare, "Two runs side by side: where they part, and what that cost", "Comparison", (LEFT, RIGHT)),
    Route("GET", "/api/stats", "read", insights.stats, "Totals; sums by day, project, agent, model or tool", "Stats|Statistics",
          (SUMMED, SINCE_DAY, UNTIL_DAY, PROJECT, ROWS)),
    Route("GET", "/api/health", "read", metrics.health, "How the server is", "Health"),
    Route("GET", "/api/alive", "open", metrics.alive, "Whether the process lives", "Alive"),
    Route("GET", "/api/ready", "open", metrics.ready, "Whether traffic may come", "Ready"),
    Route("GET", "/metrics", "read", metrics.metrics, "Figures for a monitoring system, as Prometheus reads them", ""),
    Route("GET", "/api/live", "read", live, "What changes, as server-sent events", "", (SINCE,)),
    Route("GET", "/api/links/preview", "read", links.previewed, "What a correction would move", "Preview", (CHILD, PARENT)),
    Route("POST", "/api/sql", "read", sql.asked, "One SQL query, read-only", "SqlAnswer", takes="SqlQuery", act="sql", tried=True),
    Route("POST", "/api/links", "write", links.linked, "Say where a task belongs", "Object", takes="NewLink", act="link"),
    Route("POST", "/api/records", "capture", reports.records, "Take what a recorded program reports", "Taken",
          takes="Batch"),
    Route("POST", "/api/hooks/claude", "capture", reports.hook, "Take what a hook of the Claude client is told", "Nothing",
          takes="Object"),
    Route("POST", "/api/demo", "write", demo.played, "Let a scripted run play, into this store", "Playing", takes="Object"),
    Route("DELETE", "/api/links/{child}", "write", links.unlinked, "Say that a task belongs to nothing", "Object", (WITHDRAW,), act="unlink"),
    Route("GET", "/api/events", "read", events.listed, "Events of the caller's session, newest first", "EventPage", event_questions.EVENTS),
    Route("POST", "/api/events", "capture", events.posted, "Take events into the caller's session", "Posted", takes="Object"),
    Route("DELETE", "/api/events", "write", events.cleared, "Empty the caller's session", "Emptied", act="empty-session"),
    Route("GET", "/api/events/stream", "read", event_stream.streamed, "Events as they are stored, as server-sent events", "",
          event_questions.STREAMED),
    Route("GET", "/api/operations", "read", events.operations, "Operations of the caller's session, last updated first", "OperationList",
          (event_questions.OPERATIONS,)),
    Route("GET", "/api/operations/{id}", "read", events.operation, "One operation, its events and its tasks", "OperationAnswer"),
    Route("POST", "/api/reconcile", "write", events.reconciled, "Ask the agents about the session's open tasks", "Reconciled"),
    Route("GET", "/api/all/operations", "read", operator.operations, "Operations of every session, last updated first", "[Operation]",
          (SESSION, PROJECT, FILTER, *PAGE)),
    Route("GET", "/api/all/operations/{id}", "read", operator.operation, "One operation of any session, with its tasks as trees", "Tree|TaskTree"),
    Route("GET", "/api/all/events", "read", operator.events, "Events of every session, newest first", "[LoggedEvent]",
          (*event_questions.EQUAL, SESSION, PROJECT, *PAGE)),
    Route("POST", "/api/all/reconcile", "write", events.reconciled_all, "Ask the agents about every open task, and look for those nobody has shown",
          "Reconciled"),
    Route("GET", "/api/sessions", "read", operator.sessions, "Sessions of the event log, last active first", "[SessionInfo]", (LIMIT,)),
    Route("GET", "/api/sessions/{session}/events", "read", events.listed, "Events of a session, newest first", "EventPage",
          event_questions.EVENTS),
    Route("GET", "/api/sessions/{session}/operations/{id}", "read", events.operation, "One operation of a session, its events and its tasks",
          "OperationAnswer"),
    Route("DELETE", "/api/sessions/{session}/events", "write", events.cleared, "Empty a session", "Emptied", act="empty-session"),
    Route("GET", "/api/sessions/{session}/events/stream", "read", event_stream.streamed, "A session's events as they are stored", "",
          event_questions.STREAMED),
    Route("POST", "/api/sessions/{session}/reconcile", "write", events.reconciled, "Ask the agents about a session's open tasks", "Reconciled"),
    Route("GET", "/api/session/info", "read", events.info, "How much the caller's session holds", "SessionAnswer"),
    Route("GET", "/api/me", "any", login.me, "Who you are here, and what you may do", "Who"),
    Route("GET", "/api/login", "open", login.ways, "How one may log in", "LoginWays"),
    Route("POST", "/api/login", "open", login.logged_in, "Log in with a token; a cookie stands for it then", "Who", takes="Credentials"),
    Route("POST", "/api/logout", "open", login.logged_out, "End that login", "LoggedOut"),
    Route("GET", "/api/oidc/login", "open", oidc.sent_there, "Log in at the provider that vouches for people, if there is one", ""),
    Route("GET", "/api/oidc/callback", "open", oidc.come_back, "Where that provider sends people back to", ""),
    Route("GET", "/api/audit", "admin", audit.listed, "Who did what, newest first", "[AuditEntry]", audit.QUESTION),
    Route("GET", "/api/tokens", "admin", tokens.listed, "Tokens, newest first; no secrets", "[TokenEntry]"),
    Route("POST", "/api/tokens", "admin", tokens.created, "Make a token; its secret is told once", "NewToken", takes="WantedToken",
          act="token-create"),
    Route("DELETE", "/api/tokens/{name}", "admin", tokens.revoked, "Revoke a token, by its name or id", "TokenEntry", act="token-revoke"),
    Route("POST", "/api/tokens/{name}/rotate", "admin", tokens.rotated, "Give a token a new secret; the one so far works on for a while",
          "NewToken", takes="Rotation", act="token-rotate"),
    Route("POST", "/api/tasks/{id}/answer", "write", agent_acts.answered, "Answer a task that waits for input", "Answered",
          takes="NewAnswer", act="answer"),
    Route("POST", "/api/tasks/{id}/cancel", "write", agent_acts.canceled, "Ask to cancel a task and what it started",
          "[Cancellation]", takes="Object", act="cancel"),
)  # fmt: skip

# Traffic that is watched on its way to its own server; the last two are a client's own, not questions to us.
CAPTURE = (
    ("*", "/v1/{tail:.*}"),
    ("*", "/anthropic/{tail:.*}"),
    ("HEAD", "/"),
    ("*", "/api/hello"),
    ("*", "/api/event_logging/{tail:.*}"),
)

OPENAI_CAPTURE = (("*", "/openai/{tail:.*}"),)

# What programs export of themselves; these paths go before the model's API, which knows none of them.
EXPORTED = ("traces", "logs", "metrics")

# The same for agents that were named; which of them is asked stands in the path.
AGENT_CAPTURE = (("*", "/a2a"), ("*", "/a2a/{tail:.*}"))

LARGEST_BODY = 256 * 1024 * 1024


def make_app(ramify: Served) -> web.Application:
    app = web.Application(middlewares=[errors, guard], client_max_size=LARGEST_BODY)
    app[RAMIFY] = ramify
    app[PUSHERS] = Pushers(os.environ)
    app[LOGINS], app[REFUSALS], app[PUSHES] = (Attempts(ramify.clock) for _ in range(3))
    app.cleanup_ctx.extend((threads, readers, events.writers, otlp.workers))
    app[NEEDED] = {app.router.add_route(route.method, route.path, noting(route, serving(route))): route.scope for route in ROUTES}
    app.router.add_route("GET", "/api/openapi.json", described(ROUTES))
    app.router.add_route("POST", "/webhook/{task_type}/{agent_id}/{operation_id}", webhooks.received)  # see there who may
    exported = frozenset(app.router.add_route("POST", f"/v1/{signal}", otlp.receiving(signal)) for signal in EXPORTED)
    agents = frozenset(app.router.add_route(method, path, ramify.agents) for method, path in AGENT_CAPTURE)
    models = frozenset(app.router.add_route(method, path, ramify.proxy) for method, path in CAPTURE)
    models |= frozenset(app.router.add_route(method, path, ramify.openai) for method, path in OPENAI_CAPTURE)
    app[AGENTS], app[CAPTURED] = agents, models | agents | exported
    app.router.add_route("GET", f"/{{tail:{ELSEWHERE}.*}}", paged())
    return app
