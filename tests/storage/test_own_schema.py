"""PostgreSQL as careful administrators give it away: one schema that somebody made for us, and the right to connect."""

import json
import secrets
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from ramify.model.mistake import UserMistake
from ramify.storage.base import Bounds
from ramify.wiring import open_store
from tests.cli.test_main import ramify
from tests.contracts.engines import cluster, to_be_had
from tests.story import CASES
from tests.test_addresses import asked, serving

CASE = str(CASES / "anthropic" / "subtask-task" / "exchanges.jsonl")
MESH = str(CASES / "sam" / "parallel" / "messages.jsonl")


@pytest.fixture(autouse=True)
def present() -> None:
    to_be_had("postgres")


@pytest.fixture
def name() -> str:
    """Of a user and the one schema that is theirs, in a database in which nobody else may do anything."""
    name = f"app{secrets.token_hex(3)}"
    as_administrator(f"CREATE ROLE {name} LOGIN", f"CREATE DATABASE {name}", f"REVOKE ALL ON DATABASE {name} FROM PUBLIC", f"GRANT CONNECT ON DATABASE {name} TO {name}")
    as_administrator(f"CREATE SCHEMA {name} AUTHORIZATION {name}", within=name)
    return name


def as_administrator(*statements: str, within: str = "postgres") -> None:
    with psycopg.connect(cluster().url.replace("/postgres", f"/{within}"), autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def address_of(name: str) -> str:
    return f"postgresql://{name}@127.0.0.1:{cluster().port}/{name}?schema={name}"


def test_a_schema_of_their_own_is_all_that_a_user_needs(name: str, tmp_path: Path) -> None:
    def told(*words: str) -> str:
        done = ramify(tmp_path, *words, RAMIFY_STORE=address_of(name))
        assert done.returncode == 0, done.stderr
        return done.stdout

    told("import", CASE)
    [conversation] = json.loads(told("conversations", "--json"))["items"]
    assert json.loads(told("tree", conversation["id"], "--json"))
    word = next(word for word in conversation["title"].split() if word.isalpha() and len(word) > 3)
    assert json.loads(told("search", word, "--json"))["items"]
    told("rebuild")
    with serving(tmp_path, address_of(name)) as (port, _):
        assert len(json.loads(asked(f"http://127.0.0.1:{port}/api/conversations"))["items"]) == 1
        assert json.loads(asked(f"http://127.0.0.1:{port}/api/health"))["status"] == "ok"
    told("forget", conversation["id"])
    assert json.loads(told("conversations", "--json"))["items"] == []


def test_without_schemas_for_views_it_is_said_which_are_missing(name: str, tmp_path: Path) -> None:
    for query in ("SELECT count(*) FROM ramify_tasks", "SELECT count(*) FROM sam_messages"):
        refused = ramify(tmp_path, "sql", query, RAMIFY_STORE=address_of(name))
        assert refused.returncode == 2
        assert f"may not make the schemas {name}_views, {name}_sam, {name}_sam_rows" in refused.stderr
        assert "CREATE SCHEMA" in refused.stderr
    checks = json.loads(ramify(tmp_path, "doctor", "--json", RAMIFY_STORE=address_of(name)).stdout)
    [engine] = [check for check in checks if check["check"] == "engine"]
    assert (engine["status"], f"{name}_views" in engine["message"]) == ("warn", True)
    as_administrator(f"CREATE SCHEMA {name}_views AUTHORIZATION {name}", within=name)
    with closing(open_store(address_of(name))) as store, pytest.raises(UserMistake, match=f"make the schemas {name}_sam, {name}_sam_rows"):
        store.sql("SELECT 1", Bounds())


def test_schemas_that_somebody_made_for_the_views_are_filled(name: str, tmp_path: Path) -> None:
    open_store(address_of(name)).close()
    as_administrator(*(f"CREATE SCHEMA {name}_{one} AUTHORIZATION {name}" for one in ("views", "sam", "sam_rows")), "CREATE ROLE analyst_" + name, within=name)
    as_administrator(f"GRANT USAGE ON SCHEMA {name}_views TO analyst_{name}", f"CREATE TABLE {name}_sam.theirs (id int)", within=name)
    for words in ([CASE], [MESH, "--format", "sam"]):
        assert ramify(tmp_path, "import", *words, RAMIFY_STORE=address_of(name)).returncode == 0
    store = open_store(address_of(name))
    assert store.sql("SELECT count(*) FROM ramify_tasks", Bounds()).rows[0][0] > 0
    assert store.about().lacks == ()
    store.set_fact("views", "of an older version")
    store.close()
    mesh = ramify(tmp_path, "sql", "SELECT count(*) AS n FROM sam_messages", "--json", RAMIFY_STORE=address_of(name))
    assert json.loads(mesh.stdout)["rows"][0][0] > 0
    with psycopg.connect(cluster().url.replace("/postgres", f"/{name}")) as connection:
        kept = connection.execute(f"SELECT has_schema_privilege('analyst_{name}', '{name}_views', 'USAGE'), to_regclass('{name}_sam.theirs') IS NOT NULL").fetchone()
    assert kept == (True, True)


def test_one_who_may_make_none_is_told_what_would_help(name: str) -> None:
    with pytest.raises(UserMistake) as refused:
        open_store(address_of(name).replace("schema=", "schema=other_"))
    assert "CREATE SCHEMA other_" in refused.value.hint


@pytest.mark.parametrize("granted", ["", "GRANT USAGE ON SCHEMA {store} TO {reader}"])
def test_a_user_who_may_not_use_the_schema_is_told_so(name: str, tmp_path: Path, granted: str) -> None:
    """A role that only reads the views, say, with the address of the store."""
    reader = f"{name}_reader"
    as_administrator(f"CREATE ROLE {reader} LOGIN", f"GRANT CONNECT ON DATABASE {name} TO {reader}")
    as_administrator(*filter(None, [granted.format(store=name, reader=reader)]), within=name)
    url = address_of(name).replace(f"{name}@", f"{reader}@")
    for words in (["conversations"], ["serve"]):
        done = ramify(tmp_path, *words, "--store", url)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert f"CREATE SCHEMA {name} AUTHORIZATION" in done.stderr
    assert ramify(tmp_path, "doctor", "--store", url).returncode == 1
