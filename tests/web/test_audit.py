"""What is done, and what is read whole, leaves a line before it is answered."""

from collections.abc import AsyncIterator

import pytest

from ramify.ingest import Ingest
from ramify.model.audit import Noted, audit_record, read_noted
from ramify.model.observation import Record
from ramify.storage.base import StoreDown
from ramify.web.app import ROUTES
from tests.web.served import Client, Small, serving
from tests.web.test_access import Guarded, bearer


class Kept(Guarded):
    """Lines go into the store, as in a real server."""

    def note(self, noted: Noted, project: str = "") -> None:
        super().note(noted, project)
        Ingest(self.questions.store).step([audit_record(noted, project, self.clock() + len(self.noted), str(len(self.noted)))])


@pytest.fixture
async def kept() -> AsyncIterator[tuple[Kept, Client]]:
    small = Kept()
    async with serving(small) as client:
        yield small, client


def test_every_act_and_all_that_gives_bytes_as_they_were_has_a_name_in_the_audit() -> None:
    named = {(route.method, route.path): route.act for route in ROUTES if route.act}
    assert named == {
        ("GET", "/api/calls/{id}/request"): "read-body",
        ("GET", "/api/calls/{id}/response"): "read-body",
        ("GET", "/api/observations/{id}"): "read-observation",
        ("GET", "/api/tasks/{id}/export"): "export",
        ("GET", "/api/conversations/{id}/export"): "export",
        ("GET", "/api/all/operations/{id}/export"): "export",
        ("POST", "/api/sql"): "sql",
        ("POST", "/api/links"): "link",
        ("DELETE", "/api/links/{child}"): "unlink",
        ("DELETE", "/api/conversations/{id}"): "forget",
        ("DELETE", "/api/events"): "empty-session",
        ("DELETE", "/api/sessions/{session}/events"): "empty-session",
        ("POST", "/api/tasks/{id}/answer"): "answer",
        ("POST", "/api/tasks/{id}/cancel"): "cancel",
        ("POST", "/api/tokens"): "token-create",
        ("DELETE", "/api/tokens/{name}"): "token-revoke",
        ("POST", "/api/tokens/{name}/rotate"): "token-rotate",
    }
    silent = {route.path for route in ROUTES if route.method != "GET" and not route.act and route.scope != "capture"}
    assert silent - {"/api/login", "/api/logout"} == {  # which note it themselves
        "/api/demo", "/api/reconcile", "/api/all/reconcile", "/api/sessions/{session}/reconcile",
    }  # fmt: skip


async def test_a_line_says_who_did_what_from_where(kept: tuple[Kept, Client]) -> None:
    small, client = kept
    ann = bearer(small.token("ann", "write"))
    for method, path, body in (
        ("POST", "/api/links", {"child": "task_a", "parent": "task_b"}),
        ("DELETE", "/api/links/task_a", None),
        ("DELETE", "/api/links/task_a?withdraw=true", None),
        ("GET", "/api/calls/call_x/request", None),
        ("POST", "/api/sql", {"sql": "SELECT 1"}),
        ("POST", "/api/tasks/task_a/answer", {"text": "what was said is not told again"}),
    ):
        async with client.request(method, path, json=body, headers=ann) as response:
            assert response.status == 200, path
    assert [(line.act, line.what, line.more) for line, _ in small.noted] == [
        ("link", "task_a", {"parent": "task_b"}),
        ("unlink", "task_a", {}),
        ("withdraw", "task_a", {}),
        ("read-body", "call_x", {}),
        ("sql", "", {"sql": "SELECT 1"}),
        ("answer", "task_a", {}),
    ]
    assert {(line.who, line.way, line.address) for line, _ in small.noted} == {("ann", "http", "127.0.0.1")}


async def test_what_failed_was_not_done_and_leaves_no_line(kept: tuple[Kept, Client]) -> None:
    small, client = kept
    ann = bearer(small.token("ann", "read"))
    for method, path in (("GET", "/api/observations/none"), ("DELETE", "/api/links/a"), ("GET", "/api/tasks/x/export?to=pdf")):
        async with client.request(method, path, headers=ann) as response:
            assert response.status in (400, 403, 404)
    assert small.noted == []


async def test_sql_that_failed_was_asked_all_the_same(kept: tuple[Kept, Client]) -> None:
    """What an error says may be what was sought."""
    small, client = kept
    ann, ci = bearer(small.token("ann", "read")), bearer(small.token("ci", "capture"))
    for sql in ("SELECT abs(-9223372036854775807 - 1)", "DROP TABLE tasks", "SELECT value FROM facts"):
        async with client.post("/api/sql", json={"sql": sql}, headers=ann) as response:
            assert response.status == 400
        assert [(line.who, line.act, line.more) for line, _ in small.noted] == [("ann", "sql", {"sql": sql, "failed": "yes"})]
        small.noted.clear()
    for body, headers, status in (({"sql": "SELECT 1"}, ci, 403), ({}, ann, 400)):  # nobody asked, or nothing was
        async with client.post("/api/sql", json=body, headers=headers) as response:
            assert response.status == status
    assert small.noted == []
    small.problem = StoreDown("gone")
    async with client.post("/api/sql", json={"sql": "SELECT value FROM facts"}, headers=ann) as response:
        assert response.status == 503
        assert "facts" not in await response.text()


async def test_without_a_line_nothing_is_given_out() -> None:
    small = Small()
    small.problem = StoreDown("gone")
    async with serving(small) as client, client.get("/api/calls/call_x/request") as response:
        assert response.status == 503
        assert "alert" not in await response.text()


async def test_nobody_writes_lines_but_the_server_itself(kept: tuple[Kept, Client]) -> None:
    small, client = kept
    forged = audit_record(Noted("boss", "link"), "default", 5, "x")
    record = {"id": "forged", "at": 5, "source": "x", "format": "audit", "body": forged.body.decode()}
    async with client.post("/api/records", json={"records": [record]}, headers=bearer(small.token("ci", "capture"))) as response:
        assert response.status == 400
        assert "by Ramify alone" in await response.text()
    assert small.observed == []


async def test_admins_make_rotate_and_revoke_tokens_and_the_audit_tells(kept: tuple[Kept, Client]) -> None:
    small, client = kept
    boss = bearer(small.token("boss", "admin"))
    wish = {"name": "ci", "scopes": ["capture", "read"], "projects": ["billing"], "expires_in": 60}
    async with client.post("/api/tokens", json=wish, headers=boss) as response:
        made = await response.json()
    async with client.get("/api/health", headers=bearer(made["secret"])) as response:
        assert response.status == 200
    async with client.post("/api/tokens/ci/rotate", json={"grace": 0}, headers=boss) as response:
        again = await response.json()
    async with client.get("/api/tokens", headers=boss) as response:
        listed = await response.text()
    async with client.delete("/api/tokens/ci", headers=boss) as response:
        assert (await response.json())["status"] == "revoked"
    for secret in (made["secret"], again["secret"]):
        assert secret not in listed
        async with client.get("/api/health", headers=bearer(secret)) as response:
            assert response.status == 401
    async with client.get("/api/audit?limit=2&who=boss", headers=boss) as response:
        newest = await response.json()
    async with client.get(f"/api/audit?who=boss&cursor={newest['next']}", headers=boss) as response:
        rest = await response.json()
    found = [(item["who"], item["act"], item["what"]) for item in (*newest["items"], *rest["items"])]
    assert found == [("boss", "token-revoke", "ci"), ("boss", "token-rotate", "ci"), ("boss", "token-create", "ci")]
    assert rest["items"][0]["more"] | {"id": ""} == {"id": "", "scopes": "capture read", "projects": "billing", "expires": made["expires"]}
    kept_lines = [seen.body for _, seen in small.questions.store.observations() if isinstance(seen, Record)]
    assert not any(secret[8:].encode() in line for line in kept_lines for secret in (made["secret"], again["secret"]))


@pytest.mark.parametrize(
    ("wish", "status"),
    [
        ({"name": "x", "scopes": ["root"]}, 400),
        ({"name": "x", "scopes": []}, 400),
        ({"name": "x", "scopes": ["read"], "more": 1}, 400),
        ({"name": "x", "scopes": ["read"], "projects": ["search"]}, 400),
        ({"name": "x", "scopes": ["read"]}, 400),
        ({"name": "x", "scopes": ["read"], "projects": ["billing"]}, 200),
    ],
)
async def test_an_admin_of_one_project_gives_away_no_more(kept: tuple[Kept, Client], wish: dict[str, object], status: int) -> None:
    small, client = kept
    async with client.post("/api/tokens", json=wish, headers=bearer(small.token("boss", "admin", projects=["billing"]))) as response:
        assert response.status == status


async def test_an_admin_of_one_project_is_told_what_concerns_it(kept: tuple[Kept, Client]) -> None:
    small, client = kept
    ours, theirs, every = (
        bearer(small.token(name, "admin", projects=projects)) for name, projects in (("ours", ["billing"]), ("theirs", ["search"]), ("all", None))
    )
    for who in (ours, theirs, every):
        async with client.delete("/api/links/task_a", headers=who) as response:
            assert response.status == 200
    for who, told in ((ours, {"ours"}), (theirs, {"theirs"}), (every, {"ours", "theirs", "all"})):
        async with client.get("/api/audit", headers=who) as response:
            assert {item["who"] for item in (await response.json())["items"]} == told
    async with client.get("/api/audit?who=theirs", headers=ours) as response:
        assert (await response.json())["items"] == []


def test_whatever_was_asked_for_can_be_written_down() -> None:
    seen = audit_record(Noted("ann", "export", "\udcff", more={"to\ud800": "\udcff" * 5000}), "", 5, "x")
    found = read_noted(seen)
    assert found is not None
    assert (found.what, found.more) == ("?", {"to?": "?" * 2000})


async def test_a_secret_in_a_query_is_not_kept_in_the_audit(kept: tuple[Kept, Client]) -> None:
    from ramify.capture.cleaner import Cleaner

    secret = "sk-ant-api03-" + "Ab3dE9" * 15 + "AA"
    seen = Cleaner().observation(audit_record(Noted("ann", "sql", more={"sql": f"SELECT '{secret}'"}), "", 5, "x"))
    assert isinstance(seen, Record)
    assert secret.encode() not in seen.body
    assert read_noted(seen) is not None
