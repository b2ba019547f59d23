"""Two projects, two users: every route and every feed is tried for the other's data, and gives none of it."""

import asyncio
import io
import json
import re
import zipfile
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from pyarrow import parquet

from ramify.model.entity import TABLES
from ramify.model.identity import LOCAL
from ramify.model.observation import Observation, Request
from ramify.query.mesh_views import VIEWS as MESH_VIEWS
from ramify.query.paging import write_cursor
from ramify.served import Served
from ramify.settings import Settings
from ramify.storage.base import Ask, Store
from ramify.storage.sqlite import open_sqlite
from ramify.storage.views import VIEWS
from ramify.tokens import Tokens, Wanted, read_tokens
from ramify.web import app as web_app
from ramify.web.app import ROUTES, make_app
from ramify.web.route import Route
from tests.two_projects import ALPHA, BRAVO, CANARY, interleaved, log_of, marked_log
from tests.web.served import Silent

EVERYTHING = ("capture", "read", "write", "admin")
IDS = re.compile(rb"\b(?:call|task|tool|conv|oper|obs|msg|sess|art|note|tally|agent|line)_[0-9a-f]{16,}")
Answer = tuple[int, bytes]


# -- the server --------------------------------------------------------------------------------------------------------


class Client(TestClient[web.Request, web.Application]):
    """Sends the token of whoever asks: of one project each, or none, which on this machine sees everything."""

    tokens: dict[str, str]


@asynccontextmanager
async def serving(*logs: Iterable[Observation]) -> AsyncIterator[tuple[Served, Client]]:
    served = Served(open_sqlite("memory:"), Settings(store="memory:", project=ALPHA))
    served.start()
    seen = interleaved(*map(list, logs))
    for start in range(0, len(seen), 50):
        await asyncio.to_thread(served.commit, seen[start : start + 50])
    served._indexer.catch_up()
    served.proxy = served.openai = served.agents = passed
    served.demonstration = Silent()
    tokens = Tokens(served.store, served.clock)
    try:
        async with Client(TestServer(make_app(served))) as client:
            client.tokens = {project: tokens.create(Wanted(project, EVERYTHING, (project,)), LOCAL)[1] for project in (ALPHA, BRAVO)}
            for project in (ALPHA, BRAVO):
                tokens.create(Wanted(f"spare of {project}", ("read",), (project,)), LOCAL)
            yield served, client
    finally:
        served.close()


async def passed(request: web.Request) -> web.StreamResponse:
    return web.Response(text="upstream")


class World:
    """What is in one project, by what an address or a parameter may name."""

    def __init__(self, store: Store, project: str) -> None:
        self.project = project
        self.store = store
        where = {"project": project}
        rows = {table: store.page(table, Ask(order, where, 10_000)) for table, order in ORDER.items()}
        self.rows: dict[str, list[Any]] = rows
        tasks: list[Any] = rows["tasks"]
        self.one = {
            "task": next(task.id for task in tasks if task.kind == "sub" and task.parent and not task.protocol),
            "root": next(task.id for task in tasks if task.kind == "root" and task.calls > 1),
            "agent task": next(task.id for task in tasks if task.protocol == "a2a"),
            "conversation": next(row.conversation for row in tasks if row.kind == "sub" and not row.protocol),
            "call": next(row.id for row in rows["calls"] if row.response and isinstance(store.observation(row.request), Request)),
            "tool": next(row.id for row in rows["tools"] if row.call),
            "operation": rows["operations"][0].id,
            "native operation": rows["operations"][0].native,
            "session": rows["sessions"][0].name,
            "session id": rows["sessions"][0].id,
            "observation": next(row.request for row in rows["calls"] if row.request),
            "token": next(token.id for token in read_tokens(store) if token.name == f"spare of {project}"),
        }

    def secrets(self) -> set[bytes]:
        found = {row.id.encode() for table in TABLES for row in self.store.docs(table) if owned(self.store, table, row, self.project)}
        return found | {seen.id.encode() for _, seen in self.store.observations() if seen.project == self.project}


ORDER = {"tasks": "opened", "calls": "started", "tools": "opened", "operations": "updated", "sessions": "active", "conversations": "active"}


def owned(store: Store, table: str, row: Any, project: str) -> bool:
    return getattr(row, "project", None) == project


# -- what is asked -----------------------------------------------------------------------------------------------------

OWN = {
    "id": "task", "call_id": "tool", "child": "task", "parent": "root", "session": "session", "conversation": "conversation", "task": "task",
    "a": "root", "b": "task", "name": "token",
}  # fmt: skip
FIXED = {
    "q": "the", "list": "tasks", "to": "markdown", "ids": "", "shape": "skeleton", "limit": "5", "roots": "true", "tree": "true", "by": "project,agent",
    "since": "all", "filter": "status:completed", "words": "the", "kind": "main", "status": "completed", "check": "looping", "withdraw": "true",
    "brief": "true", "results": "false", "bodies": "false", "content": "true", "at": "1", "until": "2030-01-01", "project": ALPHA,
    "who": BRAVO, "act": "sql",
}  # fmt: skip
PATHS = {  # what stands in the path, where it is no task
    "conversations": "conversation", "operations": "operation", "calls": "call", "observations": "observation", "tools": "tool",
}  # fmt: skip
FAIR_SQL = tuple(f"SELECT * FROM {view}" for view in (*VIEWS, *MESH_VIEWS))
FOUL_SQL = (
    "SELECT * FROM ramify_tasks WHERE project = 'bravo'", "WITH ramify_tasks AS (SELECT id FROM main.tasks) SELECT * FROM ramify_tasks",
    "SELECT * FROM main.ramify_tasks", "SELECT sql FROM temp.sqlite_master", "SELECT tool_result('{tool}'), tool_input('{tool}'), call_text('{call}')",
    "SELECT sam_message('x {observation}', 'raw_payload')", "SELECT * FROM ramify_tasks WHERE id = '{task}'", "SELECT head FROM observations",
    "WITH tasks AS (SELECT * FROM main.tasks) SELECT * FROM ramify_tasks", "SELECT sam_root('{task}', '{task}')",
)  # fmt: skip
BODIES: dict[str, tuple[dict[str, Any], ...]] = {
    "/api/sql": tuple({"sql": sql} for sql in (*FAIR_SQL, *FOUL_SQL)),
    "/api/links": ({"child": "{task}", "parent": "{root}"}, {"child": "{own}", "parent": "{root}"}, {"child": "{task}", "parent": "{own}"}),
    "/api/records": ({"records": [{"id": "r1", "at": 1, "source": "sdk", "format": "sdk", "body": "{}", "project": "bravo"}]},),
    "/api/hooks/claude": ({"hook_event_name": "Stop", "session_id": "planted"},),
    "/api/events": ({"eventType": "task_created", "operationId": "planted", "agentId": "a", "taskType": "t"},),
    "/api/tasks/{id}/answer": ({"text": "yes"},),
    "/api/login": ({"token": "rmf_none"},),
    "/api/tokens": ({"name": "planted", "scopes": ["read"]}, {"name": "planted", "scopes": ["read"], "projects": [BRAVO]}),
    "/api/tokens/{name}/rotate": ({"grace": 0},),
}  # fmt: skip
STREAMS = ("/api/live", "/api/events/stream", "/api/sessions/{session}/events/stream")
LATER = ("anthropic/linear",)
LITTLE = ("claude/nested", "a2a/v1-refine", "events/collision")
LAST = ("DELETE", "/api/conversations/{id}")  # it takes away what the others ask for


def name_of(route: Route) -> tuple[str, str]:
    return route.method, route.path


class Asking:
    """Every way to ask a route: as it should be, and with whatever of the other's fits somewhere."""

    def __init__(self, route: Route, own: World, other: World) -> None:
        self.route, self.own, self.other = route, own, other

    def fill(self, path: str, world: World, kind: str = "") -> str:
        def value(found: re.Match[str]) -> str:
            name = found[1]
            place = self.route.path.split("/")
            what = PATHS.get(place[place.index(found[0]) - 1], OWN[name])
            if name == "id" and self.route.path.endswith("operations/{id}") and "/all/" not in self.route.path:
                what = "native operation"
            return world.one[kind or what]

        return re.sub(r"\{(\w+)\}", value, path)

    def given(self, world: World) -> dict[str, str]:
        return {one.name: world.one[OWN[one.name]] if one.name in OWN else FIXED[one.name] for one in self.route.parameters if one.required}

    def fair(self) -> Iterator[tuple[str, dict[str, str]]]:
        """What the owner may ask: with what is needed, and with one parameter more."""
        path, needed = self.fill(self.route.path, self.own), self.given(self.own)
        yield path, needed
        for parameter in self.route.parameters:
            if parameter.name == "to":
                yield from ((path, {**needed, "to": form}) for form in parameter.choices if form != FIXED["to"])
            if not parameter.required and parameter.name not in ("cursor", *ALONE):
                value = self.own.one[OWN[parameter.name]] if parameter.name in OWN else FIXED.get(parameter.name, "")
                if parameter.name in ("limit", "tree", "roots", "brief", "shape", "project", "filter", "by", "withdraw", "session"):
                    yield path, {**needed, parameter.name: value}

    def foul(self) -> Iterator[tuple[str, dict[str, str]]]:
        path, needed, other = self.fill(self.route.path, self.own), self.given(self.own), self.other.one
        if "{" in self.route.path:
            for kind in other:
                yield self.fill(self.route.path, self.other, kind), needed
        for parameter in self.route.parameters:
            for value in self.foreign(parameter.name):
                yield path, {**needed, parameter.name: value}

    def foreign(self, name: str) -> Iterator[str]:
        other = self.other
        if name == "cursor":
            for row in (*other.rows["tasks"][:1], *other.rows["tasks"][-1:]):
                yield write_cursor(row.opened, row.id)
            yield from (write_cursor(1 << 60, "zzz"), "9999999", "0")
        elif name == "ids":
            yield ",".join(row.id for row in other.rows["tasks"])
        elif name == "project":
            yield from (BRAVO, BRAVO.upper(), "*", "")
        elif name in ("filter", "q", "words"):
            yield from (CANARY, f"{CANARY}*", f"project:{BRAVO}", "project:*", f"agent:* project:{BRAVO}", f"the{CANARY}", "the", "project:", f"id:{other.one['task']}")
        elif name in OWN or name == "id":
            yield from other.one.values()
        elif name == "who":
            yield from (BRAVO, "local", "nobody")
        elif name == "since":
            yield from ("0", "all")
        elif name == "by":
            yield from ("project", "day,project,agent", "project,tool", "project,model")


ALONE = ("at", "after_seq", "before_seq", "since", "until")


# -- what is answered --------------------------------------------------------------------------------------------------


async def ask(client: Client, user: str, method: str, path: str, given: dict[str, str], seconds: float = 0.15, **more: Any) -> Answer:
    query = f"?{urlencode(given)}" if given else ""
    headers = {"content-type": "application/json", **more.pop("headers", {})}
    if user in client.tokens:
        headers["authorization"] = f"Bearer {client.tokens[user]}"
    async with client.request(method, f"{path}{query}", headers=headers, **more) as response:
        if response.content_type == "text/event-stream":
            return response.status, await heard(response, seconds)
        return response.status, plain(await response.read(), response.content_type)


async def heard(response: Any, seconds: float) -> bytes:
    found = b""
    try:
        async with asyncio.timeout(seconds):
            async for piece in response.content.iter_any():
                found += piece
    except TimeoutError:
        pass
    return found


def plain(body: bytes, kind: str) -> bytes:
    """A table is packed."""
    if kind != "application/zip":
        return body
    with zipfile.ZipFile(io.BytesIO(body)) as packed:
        names = packed.namelist()
        return "".join(str(parquet.read_table(io.BytesIO(packed.read(name))).to_pylist()) for name in names).encode()


def leaked(answer: bytes, secrets: set[bytes], sent: str) -> list[bytes]:
    """What is said to whoever said it first tells them nothing."""
    said = sent.encode()
    found = {one for one in IDS.findall(answer) if one in secrets and one not in said}
    words = {word for word in (CANARY.encode(), BRAVO.encode()) if word in answer and word not in said}
    return sorted(found | words)


def bodies(route: Route, own: World, other: World) -> list[bytes]:
    if route.method != "POST":
        return [b""]
    values = {**other.one, "own": own.one["task"]}
    texts = [json.dumps(body) for body in BODIES.get(route.path, ({},))]
    return [re.sub(r"\{(\w+)\}", lambda found: values.get(found[1], found[0]), text).encode() for text in texts]


def everything(store: Store, project: str) -> dict[str, list[str]]:
    return {table: sorted(repr(row) for row in store.docs(table) if getattr(row, "project", "") == project) for table in TABLES}


def ordered() -> list[Route]:
    return sorted(ROUTES, key=lambda route: (name_of(route) == LAST, route.method != "GET"))


# -- the tests ---------------------------------------------------------------------------------------------------------


def test_whatever_a_route_takes_is_known_here() -> None:
    """A new parameter, or a new kind of body, needs a word about what of others could be put there."""
    names = {parameter.name for route in ROUTES for parameter in route.parameters}
    unknown = names - OWN.keys() - FIXED.keys() - {"cursor", *ALONE} - EQUAL
    assert unknown == set()
    acts = {route.path for route in ROUTES if route.method == "POST" and route.takes not in ("", "Object")}
    assert acts - BODIES.keys() == set()


EQUAL = {"operation_id", "agent_id", "agent_task_id", "event_type", "task_type", "source", "order"}


async def test_no_route_tells_one_user_of_the_others_project() -> None:
    async with serving(log_of(ALPHA), marked_log(BRAVO, CANARY)) as (served, client):
        own, other = World(served.store, ALPHA), World(served.store, BRAVO)
        await stirred(client, other)
        secrets, before = other.secrets(), everything(served.store, BRAVO)
        wrong: list[tuple[Any, ...]] = []
        asked = 0
        for route in ordered():
            asking = Asking(route, own, other)
            for path, given in [*asking.fair(), *asking.foul()]:
                for body in bodies(route, own, other):
                    status, answer = await ask(client, ALPHA, route.method, path, given, data=body or None)
                    found = leaked(answer, secrets, f"{path} {given} {body.decode()}")
                    asked += 1
                    if status >= 500 or found:
                        wrong.append((status, route.method, path, given, body, found[:3], answer[:300]))
        assert wrong == []
        assert asked > 700
        assert everything(served.store, BRAVO) == before


async def stirred(client: Client, other: World) -> None:
    """What the other user does leaves traces of its own."""
    one = other.one
    for path in (f"calls/{one['call']}/request", f"observations/{one['observation']}", f"tasks/{one['root']}/export?to=jsonl"):
        assert (await ask(client, BRAVO, "GET", f"/api/{path}", {}))[0] == 200
    for method, path, body in (("POST", "sql", {"sql": "SELECT * FROM ramify_tasks"}), ("DELETE", f"links/{one['task']}", None), ("POST", "links", {"child": one["task"], "parent": one["root"]})):
        await ask(client, BRAVO, method, f"/api/{path}", {}, json=body)
    gone = next(row.id for row in other.rows["conversations"] if row.id != one["conversation"] and not row.protocol)
    assert (await ask(client, BRAVO, "DELETE", f"/api/conversations/{gone}", {"by": f"{BRAVO} {CANARY}"}))[0] == 200


async def test_what_is_the_others_is_not_there() -> None:
    """As if the id had never been given: the same status, and but for the id the same words."""
    async with serving(log_of(ALPHA, LITTLE), marked_log(BRAVO, CANARY, LITTLE)) as (served, client):
        own, other = World(served.store, ALPHA), World(served.store, BRAVO)
        for route in ROUTES:
            if "{" not in route.path or "{session}" in route.path or route.path == "/api/operations/{id}":
                continue  # sessions and their operations may be asked for before they are there
            asking = Asking(route, own, other)
            path = asking.fill(route.path, other)
            [body] = bodies(route, own, other)
            unknown = re.sub(r"_[0-9a-f]{24}", "_" + "0" * 24, path)
            assert unknown != path
            status, answer = await ask(client, ALPHA, route.method, path, asking.given(own), data=body or None)
            never, nothing = await ask(client, ALPHA, route.method, unknown, asking.given(own), data=body or None)
            assert (status, never) == (404, 404), (route.method, path, answer)
            assert re.sub(rb"_[0-9a-f]{24}", b"", answer) == re.sub(rb"_[0-9a-f]{24}", b"", nothing)


async def test_whoever_sees_everything_is_told_of_both() -> None:
    """So that the tests above can fail: the same questions, asked by somebody else, do tell."""
    async with serving(log_of(ALPHA), marked_log(BRAVO, CANARY)) as (served, client):
        own, other = World(served.store, ALPHA), World(served.store, BRAVO)
        secrets, telling = other.secrets(), set()
        for route in (one for one in ordered() if one.method == "GET" or one.path == "/api/sql"):
            asking = Asking(route, own, other)
            for path, given in asking.foul():
                for body in bodies(route, own, other):
                    _, answer = await ask(client, "local", route.method, path, given, data=body or None)
                    if leaked(answer, secrets, f"{path} {given} {body.decode()}"):
                        telling.add(route.path)
                if route.path in telling:
                    break
        silent = {route.path for route in ROUTES if route.method == "GET"} - telling
        assert silent - set(STREAMS) <= TELL_NOTHING  # these have tests of their own


TELL_NOTHING = {"/api/me", "/api/login", "/api/audit", "/api/tokens", "/api/oidc/login", "/api/oidc/callback", "/api/alive", "/api/ready", "/metrics", "/api/health", "/api/forgotten"} | {
    route.path for route in ROUTES if route.path.startswith(("/api/events", "/api/operations", "/api/session"))
}  # those of the event log are about the server's own project, whoever asks


def settled(value: Any, apart: tuple[str, ...] = ()) -> Any:
    """Without what depends on how far the log goes, on the clock and on the server."""
    if isinstance(value, dict):
        unsettled = ("seq", "indexed", "ms", "uptime_s", "store", "silent_ms", *apart)
        return {name: sorted(one, key=repr) if name == "rows" and isinstance(one, list) else settled(one, apart) for name, one in value.items() if name not in unsettled}
    return [settled(one, apart) for one in value] if isinstance(value, list) else value


async def test_each_user_sees_what_a_store_of_theirs_alone_would_show() -> None:
    async with serving(log_of(ALPHA), marked_log(BRAVO, CANARY)) as (both, client), serving(log_of(ALPHA)) as (_, other_client):
        own = World(both.store, ALPHA)
        compared = 0
        for route in ROUTES:
            if route.path in STREAMS or (route.method != "GET" and route.path != "/api/sql"):
                continue
            for path, given in Asking(route, own, own).fair():
                for body in [json.dumps({"sql": sql}).encode() for sql in FAIR_SQL] if route.path == "/api/sql" else [b""]:
                    status, answer = await ask(client, ALPHA, route.method, path, given, data=body or None)
                    wanted, reference = await ask(other_client, "local", route.method, path, given, data=body or None)
                    if route.path in OF_THE_SERVER:
                        continue
                    apart = ("next",) if route.path == "/api/search" else ("timestamp",) if answer.startswith(b'{"success"') else ()  # the number of a hit; now
                    same = settled(json.loads(answer), apart) == settled(json.loads(reference), apart) if answer[:1] == b"{" and not path.endswith("/export") else answer == reference
                    assert (status, same) == (wanted, True), (path, given, body, answer[:600], reference[:600])
                    compared += 1
        assert compared > 80


OF_THE_SERVER = {"/api/me", "/api/audit", "/api/tokens", "/api/health", "/metrics", "/api/ready", "/api/session/info", "/api/stats"}


# -- feeds -------------------------------------------------------------------------------------------------------------


def hook_of(number: int, word: str) -> bytes:
    return json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": f"live-{word}", "prompt": f"{word} {number}", "prompt_id": f"p{number}"}).encode()


async def test_the_live_feed_tells_each_user_of_their_own() -> None:
    async with serving(log_of(ALPHA, LITTLE), marked_log(BRAVO, CANARY, LITTLE)) as (served, client):
        secrets = World(served.store, BRAVO).secrets()
        _, replayed = await ask(client, ALPHA, "GET", "/api/live", {"since": "1"}, seconds=1)
        assert (b"event: changes" in replayed, leaked(replayed, secrets, "")) == (True, [])
        _, everything = await ask(client, "local", "GET", "/api/live", {"since": "1"}, seconds=1)
        assert leaked(everything, secrets, "")
        feeds = {user: asyncio.create_task(ask(client, user, "GET", "/api/live", {}, seconds=1.5)) for user in (ALPHA, BRAVO)}
        await asyncio.sleep(0.3)
        fresh = interleaved(log_of(ALPHA, LATER), marked_log(BRAVO, CANARY, LATER))
        await asyncio.to_thread(served.commit, fresh)
        told = {user: (await feed)[1] for user, feed in feeds.items()}
        for user, other in ((ALPHA, BRAVO), (BRAVO, ALPHA)):
            theirs = World(served.store, other).secrets()
            assert b"event: changes" in told[user]
            assert [id for id in IDS.findall(told[user]) if id in theirs] == []
        assert (CANARY.encode() in told[ALPHA], CANARY.encode() in told[BRAVO]) == (False, True)



async def test_what_is_gone_is_told_to_its_owner_alone() -> None:
    async with serving(log_of(ALPHA, LITTLE), marked_log(BRAVO, CANARY, LITTLE)) as (served, client):
        rows = {project: World(served.store, project).one["task"] for project in (ALPHA, BRAVO)}
        feed = asyncio.create_task(ask(client, ALPHA, "GET", "/api/live", {}, seconds=0.8))
        await asyncio.sleep(0.2)
        served._publish(served.store.seq() + 1, {("tasks", id): None for id in rows.values()})
        _, told = await feed
        assert (rows[ALPHA].encode() in told, rows[BRAVO].encode() in told) == (True, False)


async def test_of_what_is_gone_and_was_nobodys_the_reader_loads_everything_anew() -> None:
    async with serving(log_of(ALPHA, LITTLE)) as (served, client):
        feed = asyncio.create_task(ask(client, ALPHA, "GET", "/api/live", {}, seconds=0.8))
        await asyncio.sleep(0.2)
        served._publish(served.store.seq() + 1, {("tasks", "task_long_ago"): None})
        _, told = await feed
        assert (b"event: resync" in told, b"task_long_ago" in told) == (True, False)


# -- what comes in -----------------------------------------------------------------------------------------------------


async def test_nothing_can_be_added_to_the_others_project() -> None:
    async with serving(log_of(ALPHA, LITTLE), marked_log(BRAVO, CANARY, LITTLE)) as (served, client):
        before = everything(served.store, BRAVO)
        foreign = {"x-ramify-project": BRAVO}
        hook = hook_of(1, "planted")
        record = {"id": "r1", "at": 1, "source": "sdk", "format": "sdk", "body": "{}", "project": BRAVO}
        event = {"eventType": "task_created", "operationId": "planted", "agentId": "a", "taskType": "t"}
        spans = {"resourceSpans": []}
        tried = [
            await ask(client, ALPHA, "POST", "/api/hooks/claude", {}, data=hook, headers=foreign),
            await ask(client, ALPHA, "POST", "/api/records", {}, json={"records": [record]}),
            await ask(client, ALPHA, "POST", "/api/records", {}, json={"records": [{**record, "project": ""}]}, headers=foreign),
            await ask(client, ALPHA, "POST", "/api/events", {}, json=event, headers=foreign),
            await ask(client, ALPHA, "GET", "/api/events", {}, headers=foreign),
            await ask(client, ALPHA, "GET", "/api/events/stream", {}, headers=foreign),
            await ask(client, ALPHA, "DELETE", "/api/events", {}, headers=foreign),
            await ask(client, ALPHA, "POST", "/v1/traces", {}, json=spans, headers={**foreign, "x-ramify-token": client.tokens[ALPHA]}),
            await ask(client, ALPHA, "POST", "/v1/messages", {}, json={}, headers={**foreign, "x-ramify-token": client.tokens[ALPHA]}),
        ]  # fmt: skip
        assert [status for status, _ in tried] == [403] * len(tried)
        await asyncio.sleep(0.2)
        assert everything(served.store, BRAVO) == before


async def test_what_is_added_goes_to_ones_own_project() -> None:
    async with serving(log_of(ALPHA, LITTLE)) as (_, client):
        event = {"eventType": "task_created", "operationId": "op_1", "agentId": "a", "taskType": "t"}
        assert (await ask(client, BRAVO, "POST", "/api/events", {}, json=event))[0] == 200
        own = json.loads((await ask(client, BRAVO, "GET", "/api/all/operations", {}))[1])["items"]
        assert [one["operationId"] for one in own] == ["op_1"]
        others = json.loads((await ask(client, ALPHA, "GET", "/api/all/operations", {}))[1])["items"]
        assert "op_1" not in [one["operationId"] for one in others]


async def test_a_token_for_several_projects_says_which_where_it_cannot_be_told() -> None:
    async with serving(log_of(ALPHA, LITTLE), log_of(BRAVO, LITTLE)) as (served, client):
        client.tokens["both"] = Tokens(served.store, served.clock).create(Wanted("both", EVERYTHING, (BRAVO, "charlie")), LOCAL)[1]
        await asyncio.sleep(1.1)  # tokens are known a second later
        assert (await ask(client, "both", "GET", "/api/sessions", {}))[0] == 403
        status, answer = await ask(client, "both", "GET", "/api/sessions", {}, headers={"x-ramify-project": BRAVO})
        assert (status, len(json.loads(answer)["items"])) == (200, 1)
        seen = json.loads((await ask(client, "both", "GET", "/api/tasks", {"limit": "1000"}))[1])["items"]
        assert {task["id"] for task in seen} == {row.id for row in World(served.store, BRAVO).rows["tasks"] if row.kind != "none"}
        session = World(served.store, BRAVO).one["session"]
        assert (await ask(client, "both", "DELETE", f"/api/conversations/{session}", {}))[0] == 200
        assert (await ask(client, "both", "DELETE", f"/api/conversations/{session}", {}))[0] == 404
        assert World(served.store, ALPHA).one["session"] == session


async def test_nobody_links_across_projects() -> None:
    async with serving(log_of(ALPHA, LITTLE), log_of(BRAVO, LITTLE)) as (served, client):
        own, other = World(served.store, ALPHA), World(served.store, BRAVO)
        link = {"child": own.one["task"], "parent": other.one["root"]}
        status, answer = await ask(client, "local", "POST", "/api/links", {}, json=link)
        assert (status, b"across projects" in answer) == (400, True)
        status, answer = await ask(client, ALPHA, "POST", "/api/links", {}, json=link)
        assert (status, b"across" in answer) == (404, False)


# -- the way there -----------------------------------------------------------------------------------------------------

WHOLE = {
    "served.py", "app.py", "guard.py", "metrics.py", "webhooks.py", "client.py", "login.py", "oidc.py", "noting.py", "tokens.py", "audit.py",
}  # fmt: skip
"""Who decides what is shown, and what is about the server as a whole; who asks, and what the audit tells whom (`test_audit.py`)."""


def test_there_is_one_way_from_a_request_to_what_is_stored() -> None:
    folder = Path(web_app.__file__).parent
    assert {path.name for path in folder.glob("*.py") if "[RAMIFY]" in path.read_text("utf-8")} == WHOLE
