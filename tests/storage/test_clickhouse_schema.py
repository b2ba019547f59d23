"""What ClickHouse is told to make: on one server, and on a cluster, which tests cannot have."""

import pytest

from ramify.model.mistake import UserMistake

pytest.importorskip("clickhouse_connect", reason="no driver for ClickHouse: pip install clickhouse-connect")

from ramify.storage import clickhouse_packing, clickhouse_schema, postgres_schema
from ramify.storage.clickhouse import open_clickhouse
from ramify.storage.columns import COLUMNS


def test_one_server_has_one_table_that_drops_numbers_used_before_and_others_for_what_is_large() -> None:
    database, table, contents, texts = clickhouse_schema.statements("team")
    assert database == "CREATE DATABASE IF NOT EXISTS `team`"
    assert table.startswith("CREATE TABLE IF NOT EXISTS `team`.entries (`space` LowCardinality(String), `key` Int64, ")
    assert "ENGINE = ReplacingMergeTree(version, gone) ORDER BY (space, key, moment, id)" in table
    assert "non_replicated_deduplication_window = 10000" in table
    assert all("fsync_after_insert = 1" in one for one in (table, contents, texts))
    assert "PARTITION" not in table  # a number must be unique in the table, and is so only within a partition
    assert "PARTITION BY bitShiftRight(id, 47) ORDER BY (id) TTL marked + INTERVAL 1 DAY DELETE WHERE gone = 1" in contents
    assert "PARTITION BY filling ORDER BY (filling, key)" in texts
    assert clickhouse_schema.statements("team", present=("entries", "texts")) == [contents]


def test_a_cluster_has_copies_on_one_shard_and_a_table_that_finds_it() -> None:
    database, local, found, contents, spread, *_ = clickhouse_schema.statements("team", "main's")
    assert database == "CREATE DATABASE IF NOT EXISTS `team` ON CLUSTER `main's`"
    assert local.startswith("CREATE TABLE IF NOT EXISTS `team`.entries_local ON CLUSTER `main's` (")
    assert "ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/team/packed', '{replica}', version, gone)" in local
    assert "replicated_deduplication_window = 10000" in local
    assert "non_replicated" not in local
    assert found == (
        "CREATE TABLE IF NOT EXISTS `team`.entries ON CLUSTER `main's` AS `team`.entries_local "
        "ENGINE = Distributed('main\\'s', 'team', 'entries_local', cityHash64('team', space = ''))"
    )
    assert "ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/team/contents', '{replica}', version, gone) PARTITION BY" in contents
    assert spread.endswith("'contents_local', bitAnd(bitShiftRight(id, 32), 32767))")


def test_every_column_has_a_place_that_no_other_of_its_table_has() -> None:
    for table, columns in COLUMNS.items():
        numbers = [column for column in columns if postgres_schema.kind_of(column) != "text"]
        packed = [column for column in columns if column in clickhouse_packing.PACKED]
        assert sorted(set(columns) - set(packed)) == (["prompt", "title"] if table == "tasks" else [])
        assert [column for column in packed if column in clickhouse_packing.NUMBER_AT] == numbers
        for at in (clickhouse_packing.TEXT_AT, clickhouse_packing.NUMBER_AT):
            places = [at[column] for column in packed if column in at]
            assert len(set(places)) == len(places)


def test_what_filters_go_by_shares_its_place_with_no_ids() -> None:
    """Else the sets that say what there is in a few thousand entries would be full."""
    for column in ("project", "status", "model", "name"):
        for other in clickhouse_packing.TEXTS[clickhouse_packing.TEXT_AT[column]]:
            assert other in {"project", "status", "client", "model", "name", "task_type", "prompt_author"}


@pytest.mark.parametrize(("value", "written"), [(-3, "-3"), ("it's \\ \x00", r"'it\'s \\ \0'"), ([1, "a"], "(1, 'a')")])
def test_values_are_written_so_that_they_come_back(value: object, written: str) -> None:
    assert clickhouse_schema.literal(value) == written


def test_an_address_that_cannot_be_used_says_so_without_its_password() -> None:
    with pytest.raises(UserMistake, match="cannot be opened") as raised:
        open_clickhouse("clickhouse://me:geheim@127.0.0.1:1/team")
    assert "geheim" not in str(raised.value)
    with pytest.raises(UserMistake, match="shards"):
        open_clickhouse("clickhouse://127.0.0.1:1/team?shards=3")
