"""A ClickHouse cluster: what decides stands on one shard with its copies, what is large on all of them, and no node that dies takes anything along."""

import gzip
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests import clickhouse

if why := clickhouse.missing():
    assert not os.environ.get("CI"), why
    pytest.skip(why, allow_module_level=True)

import clickhouse_connect

from ramify.belonging import aliases
from ramify.indexing import Indexer
from ramify.ingest import Ingest, Prices
from ramify.linking.world import Rules
from ramify.model.entity import Conversation
from ramify.model.observation import Record
from ramify.rebuild import rebuild
from ramify.standing import described
from ramify.storage import clickhouse_schema, clickhouse_views
from ramify.storage.base import Bounds, Changes, Kept, StoreDown
from ramify.storage.clickhouse import SCHEMA, ClickHouse, open_clickhouse
from ramify.storage.clickhouse_server import ClickHouseServer
from ramify.storage.sqlite import Sqlite, open_sqlite
from tests import test_forgetting as forgetting
from tests.contracts.engines import derived, difference, log_of, seen_stories, server

OLDER = Path(__file__).parent / "storage" / "test_older_clickhouse.py"
CASES = ("anthropic/subtask-three-parallel", "a2a/v1-refine")  # of which it holds the traffic
STORE = "crew"  # whose name chooses the first shard, the one with two copies
ENTRIES = "SELECT count(), sum(cityHash64(space, key, moment, id, doc, place)) FROM `{0}`.entries_local FINAL WHERE space NOT IN ('turns', 'news')"
CONTENTS = "SELECT count(), sum(cityHash64(id, head, payload)) FROM `{0}`.contents_local FINAL"


def test_what_decides_stands_on_one_shard_and_what_is_large_on_all() -> None:
    """ON CLUSTER, replication by a Keeper and its paths: as text, which the engine reads."""
    made = [*clickhouse_schema.statements("team", "main"), *clickhouse_views.statements("team", "main")]
    assert all(" ON CLUSTER `main`" in statement for statement in made)
    with_paths = [statement for statement in made if "ENGINE = Replicated" in statement]
    assert len(with_paths) == 7
    assert all("'/clickhouse/tables/{shard}/team/" in one and "'{replica}'" in one and "non_replicated" not in one for one in with_paths)
    spread = {statement.split("`team`.")[1].split()[0]: statement for statement in made if "ENGINE = Distributed" in statement}
    assert len(spread) == 7
    assert spread.pop("contents").endswith(", bitAnd(bitShiftRight(id, 32), 32767))")
    assert spread.pop("texts").endswith(", bitShiftRight(key, 20))")
    assert spread.pop("entries").endswith(", cityHash64('team', space = ''))")
    assert all(statement.endswith("cityHash64('team', 0))") for statement in spread.values())
    client = clickhouse_connect.get_client(host="127.0.0.1", port=server().port)
    for statement in made:
        assert client.raw_query(f"EXPLAIN AST {statement}").startswith(b"Create")
    client.close()


@pytest.fixture(scope="module")
def cluster() -> Iterator[clickhouse.Cluster]:
    with TemporaryDirectory(dir=clickhouse.quick_folder()) as folder:
        made = clickhouse.Cluster(Path(folder))
        made.prepare(STORE)
        yield made
        made.kill()


@pytest.fixture(scope="module")
def pair(cluster: clickhouse.Cluster) -> Iterator[tuple[ClickHouse, Sqlite]]:
    """One store for all questions, and a file that is told the same."""
    store, same = opened(cluster, STORE), open_sqlite("memory:")
    yield store, same
    store.close()
    same.close()


def opened(cluster: clickhouse.Cluster, database: str) -> ClickHouse:
    """Without a Keeper nobody carries a command to every node, so that is done here."""
    store = open_clickhouse(cluster.url(database), busy_seconds=20)
    bare = store.server.command

    def command(statement: str, settings: dict[str, object] | None = None) -> None:
        (cluster.everywhere if " ON CLUSTER " in statement else bare)(statement, settings)

    store.server.command = command  # type: ignore[method-assign]
    return store


def on_nodes(cluster: clickhouse.Cluster, query: str) -> list[list[tuple[object, ...]]]:
    found = []
    for node in cluster.nodes:
        with closing(clickhouse_connect.get_client(host="127.0.0.1", port=node.port)) as client:
            found.append([tuple(row) for row in client.query(query.format(STORE)).result_rows])
    return found


def records(number: int) -> list[Kept]:
    """Of several conversations, so that both shards get some."""
    return [Kept(Record(f"obs_{number}-{some}", "default", some, "test", "lines", "", b"said once"), belongs=str(some)) for some in range(8)]


def test_nodes_that_are_killed_under_load_lose_nothing(cluster: clickhouse.Cluster, pair: tuple[ClickHouse, Sqlite]) -> None:
    """One of two copies, the other one, and the only node of a shard. `make soak` does it for longer, with a server and its clients."""
    store, same = pair
    for number, node in enumerate(cluster.nodes[:3]):
        seen = forgetting.secret(f"word{number}")
        with pytest.raises(StoreDown), store.exclusive():
            node.kill()  # between taking a turn and writing in it
            store.append(records(number), Changes())
        with pytest.raises(StoreDown):
            Ingest(store).step(seen)
        assert store.seq() == same.seq()
        about = store.about()
        assert (about.shards, about.replicas, about.answering) == (2, 3, 2)
        node.start()
        for one in pair:
            one.append(records(number), Changes())
            Ingest(one).step(seen)
    assert log_of(store) == log_of(same)
    assert difference(derived(store), derived(same)) == []
    for query in (ENTRIES, CONTENTS):
        copies = on_nodes(cluster, query)
        assert copies[0] == copies[1]


def test_a_store_over_two_shards_is_the_store_of_one_server(cluster: clickhouse.Cluster, pair: tuple[ClickHouse, Sqlite]) -> None:
    """Written, read, searched, asked in SQL, derived again and forgotten."""
    store, same = pair
    seen = [*seen_stories()[-16:], *forgetting.secret("xylophonic"), *forgetting.secret("marzipan")]
    for one in pair:
        forgetting.told(one, seen)
        Indexer(one).catch_up()
    assert log_of(store) == log_of(same)
    assert store.observation(seen[9].id) == seen[9]
    held = [counted[0][0] for counted in on_nodes(cluster, "SELECT count() FROM `{0}`.contents_local")]
    assert held[0] == held[1] > 0
    assert held[2] > 0  # both shards have their part
    assert held[3] == 0
    assert "; 3 of 3 replicas of 2 shards answer" in described(store.about(), store.size()["bytes"])
    for words in ('"xylophonic"', '"marzipan question"'):
        assert len(store.search.find(words, 99, None)) == len(same.search.find(words, 99, None)) > 0
    for view in ("ramify_tasks", "ramify_model_calls", "ramify_tool_calls", "ramify_links", "ramify_usage"):
        count = f"SELECT count(*) FROM {view}"
        assert store.sql(count, Bounds()).rows == same.sql(count, Bounds()).rows
    for one in pair:
        rebuild(one, Rules(), Prices(), False, lambda done, total: None)
    assert difference(derived(store), derived(same)) == []
    for one in pair:
        [row] = [row for row in one.docs("conversations") if isinstance(row, Conversation) and row.session == "xylophonic-session"]
        answer = forgetting.going(one, frozenset(aliases(one, row.id)))
        assert (answer["observations"], answer["left"]) == (16, "")
    assert log_of(store) == log_of(same)
    assert difference(forgetting.settled(store), forgetting.settled(same)) == []
    raw = repr(on_nodes(cluster, "SELECT head, payload FROM `{0}`.contents_local")) + repr(on_nodes(cluster, "SELECT words FROM `{0}`.texts_local"))
    assert ("xylophonic" in raw, "marzipan" in raw) == (False, True)


def test_a_cluster_of_the_layout_before_is_packed_where_it_stands(cluster: clickhouse.Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    old = "veterans"
    cluster.everywhere(f"CREATE DATABASE {old}")
    for statement in filter(None, OLDER.with_name("clickhouse_5.sql").read_text().split(";\n")):
        kind, rest = statement.split(" (", 1)
        table = kind.removeprefix("CREATE TABLE ")
        cluster.everywhere(f"CREATE TABLE {old}.{table}_local ({rest}".replace("non_replicated", "replicated"))
        spread = next(shape.spread for shape in clickhouse_schema.SHAPES if shape.name == table).format(store=f"'{old}'")
        cluster.everywhere(f"CREATE TABLE {old}.{table} AS {old}.{table}_local ENGINE = Distributed('{cluster.NAME}', '{old}', '{table}_local', {spread})")
        packed = gzip.decompress(OLDER.with_name(f"clickhouse_5.{table}.native.gz").read_bytes())
        with closing(clickhouse_connect.get_client(host="127.0.0.1", port=cluster.front.port)) as client:
            client.raw_insert(f"{old}.{table}", insert_block=packed, fmt="Native", settings={"distributed_foreground_insert": 1})
    bare = ClickHouseServer.command

    def command(server: ClickHouseServer, statement: str, settings: dict[str, object] | None = None) -> None:
        if " ON CLUSTER " in statement:
            cluster.everywhere(statement, settings)
        else:
            bare(server, statement, settings)

    monkeypatch.setattr(ClickHouseServer, "command", command)
    with closing(open_clickhouse(cluster.url(old))) as store:
        assert (store.fact("schema"), store.fact("outdated")) == (SCHEMA, 1)
        assert {one.id: one for one in log_of(store)} == {one.id: one for case in CASES for one in forgetting.seen_in(case)}
        assert store.count("calls") == store.totals()["calls"] > 0
        Ingest(store).step(seen_stories()[-8:])
    held = on_nodes(cluster, f"SELECT groupUniqArray(name) FROM system.tables WHERE database = '{old}' AND startsWith(name, 'entries')")
    assert [sorted(names[0][0]) for names in held] == [["entries", "entries_local"]] * 4
