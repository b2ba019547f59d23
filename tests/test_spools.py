"""What waits for a store on a disk: whose it is, who stores it, and what of it was forgotten meanwhile."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ramify.app import Ramify
from ramify.diagnosis import checks
from ramify.model.observation import Observation
from ramify.pipeline import Pipeline
from ramify.settings import Settings, load
from ramify.spool import Spool, glance
from ramify.spools import address_of, check_spool, drain_spools, hashed, held, spool_folder, spool_folders
from ramify.storage.base import Store
from ramify.wiring import now, open_store
from tests.contracts.engines import ENGINES
from tests.test_following import until
from tests.test_forgetting import quiet, secret
from tests.web.test_events import serving

TEAM = "postgresql://me:old@db.example:5432/traces"
SERVERS = [name for name in ("postgres", "clickhouse") if name in ENGINES]


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data" / "ramify"


@pytest.fixture(params=["sqlite", *SERVERS])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if why := ENGINES[request.param].missing:
        assert not os.environ.get("CI"), why
        pytest.skip(why)
    return ENGINES[request.param].address(tmp_path)


def settings_of(address: str, port: int = 8377) -> Settings:
    return load({"store": address, "port": str(port)}, {})


def spooled(settings: Settings, seen: list[Observation], folder: Path | None = None) -> Path:
    place = folder or spool_folder(settings)
    assert place is not None
    Spool(place, 2**20).append(seen)
    return place


def just_now(word: str) -> list[Any]:
    return [replace(seen, at=now()) for seen in secret(word)]


def words_in(store: Store) -> set[str]:
    return {word for _, seen in store.observations() for word in ("marzipan", "nougat") if word.encode() in getattr(seen, "body", b"")}


@pytest.mark.parametrize("same", [
    "postgresql://me:new@db.example:5432/traces", "postgres://you@db.example:5432/traces?sslmode=require&sslpassword=x",
    "postgresql://db.example:5432/traces",
])  # fmt: skip
def test_a_changed_password_or_user_names_the_same_spool(same: str) -> None:
    assert spool_folder(settings_of(same)) == spool_folder(settings_of(TEAM))
    assert "old" not in address_of(TEAM)


@pytest.mark.parametrize("other", [
    "postgresql://me:old@db.example:5432/other", "postgresql://me:old@db.example:5433/traces", "postgresql://me:old@db.example:5432/traces?schema=b",
    "clickhouse://me:old@db.example:5432/traces", "postgresql://me:old@db.example:5432", "postgresql://you:old@db.example:5432",
])  # fmt: skip
def test_another_store_has_another_spool(other: str) -> None:
    others = {"postgresql://me:old@db.example:5432", TEAM} - {other}
    assert not {spool_folder(settings_of(other))} & {spool_folder(settings_of(one)) for one in others}


def test_what_waits_for_any_port_is_forgotten_as_well(address: str, tmp_path: Path) -> None:
    seen = just_now("marzipan")
    ramify = Ramify(open_store(address), settings_of(address))
    ramify.ingest.step(seen[:4])
    folder = spooled(settings_of(address, 18111), seen[4:])
    answer = ramify.forget(["marzipan-session"], False, quiet)
    assert (answer["observations"], answer["waiting"], glance(folder)) == (len(seen), 0, (0, 0))
    assert not any(b"marzipan" in path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())
    assert words_in(ramify.store) == set()
    ramify.close()


def test_what_waits_elsewhere_does_not_come_back(address: str, tmp_path: Path) -> None:
    """As on another machine: there it is stored after it was forgotten here."""
    ramify = Ramify(open_store(address), settings_of(address))
    seen, other = just_now("marzipan"), just_now("nougat")
    ramify.ingest.step(seen[:3])
    with held(spooled(settings_of(address, 18111), [*seen[3:], *other])) as mine:
        assert mine
        assert ramify.forget(["marzipan-session"], False, quiet)["waiting"] == len(seen) - 3 + len(other)
    later = [replace(one, id=f"{one.id}z") for one in just_now("marzipan")[:1]]
    spooled(settings_of(address, 18111), [*later])
    drained = drain_spools(settings_of(address), ramify.ingest)
    assert (drained.stored, drained.withheld, drained.waiting) == (len(other) + 1, len(seen) - 3, 0)
    assert {one.id for _, one in ramify.store.observations()} == {one.id for one in [*other, *later]}
    ramify.close()


def test_a_server_leaves_out_what_was_forgotten_while_it_was_away(tmp_path: Path) -> None:
    address = f"sqlite:{tmp_path}/store.db"
    ramify = Ramify(open_store(address), settings_of(address))
    seen, other = just_now("marzipan"), just_now("nougat")
    ramify.ingest.step(seen[:1])
    ramify.forget(["marzipan-session"], False, quiet)
    spool = Spool(tmp_path / "its.spool", 2**20)
    spool.append([*seen[1:], *other])
    pipeline = Pipeline(ramify.ingest, lambda one: one, spool)
    pipeline.start()
    assert pipeline.flush()
    pipeline.close()
    assert (words_in(ramify.store), len(spool), ramify.ingest.withheld) == ({"nougat"}, 0, len(seen) - 1)
    ramify.close()


async def test_a_server_stores_what_others_left_on_its_machine(tmp_path: Path) -> None:
    if why := ENGINES["postgres"].missing:
        pytest.skip(why)
    address = ENGINES["postgres"].address(tmp_path)
    folder = spooled(settings_of(address, 18111), just_now("marzipan"))
    async with serving(address) as (served, _):
        await asyncio.to_thread(until, lambda: served.store.count("calls") == 8 and glance(folder)[0] == 0)


def test_a_spool_of_the_older_naming_is_taken_over(data_folder: Path) -> None:
    settings = settings_of(TEAM)
    spooled(settings, just_now("marzipan"), data_folder / f"{hashed(TEAM)}-8377.spool")
    check_spool(settings)
    folder = spool_folder(settings)
    assert folder is not None
    assert [glance(one)[0] for one in spool_folders(settings)] == [glance(folder)[0]] == [16]


def test_a_spool_that_was_named_by_another_password_is_found_by_what_waits_in_it(address: str, data_folder: Path) -> None:
    if address.startswith("sqlite:"):
        return
    ramify = Ramify(open_store(address), settings_of(address))
    ramify.store.set_fact("server:marzipan0", "here/1@1")
    mine = spooled(ramify.settings, just_now("marzipan"), data_folder / "0123456789ab-9000.spool")
    theirs = spooled(ramify.settings, just_now("nougat"), data_folder / "0123456789ac-9000.spool")
    [said] = [one["message"] for one in checks(ramify.store, ramify.settings) if one["check"] == "spool"]
    assert said == "16 observations wait in the spool"
    assert drain_spools(ramify.settings, ramify.ingest).stored == 16
    assert (glance(mine)[0], glance(theirs)[0], words_in(ramify.store)) == (0, 16, {"marzipan"})
    ramify.close()
