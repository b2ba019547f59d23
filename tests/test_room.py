"""Room that runs out is told before it is gone."""

from pathlib import Path

from ramify.app import Ramify
from ramify.diagnosis import checks
from ramify.room import LITTLE, Room, notices
from ramify.settings import load
from ramify.spool import Spool
from ramify.spools import spool_folder
from tests.test_spool import record

GIB = 2**30


def test_nothing_is_said_while_there_is_room() -> None:
    assert notices(Room(7 * GIB, 10 * GIB, GIB // 2, GIB, 100 * GIB)) == []
    assert notices(Room(7 * GIB, None, 0, GIB)) == []


def test_each_limit_is_told_at_four_fifths_of_it() -> None:
    store, spool, disk = notices(Room(8 * GIB, 10 * GIB, 9 * GIB // 10, GIB, LITTLE - 1))
    assert "80% of its 10.0 GiB" in store
    assert "90% of its 1.0 GiB" in spool
    assert "500 MiB are left" in disk


def test_of_a_store_elsewhere_the_disk_of_the_spool_is_told() -> None:
    [disk] = notices(Room(7 * GIB, None, 0, GIB, LITTLE - 1, "spool"))
    assert "left on the disk of the spool" in disk
    [spool] = notices(Room(0, None, 90_000, 100_000))
    assert "90% of its 98 KiB" in spool


def test_doctor_tells_of_a_store_and_a_spool_that_are_nearly_full(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path}/store.db"
    with_limits = load({"store": url, "store_limit": "400kB", "spool_limit": "100kB"}, {})
    ramify = Ramify.open(url)
    folder = spool_folder(with_limits)
    assert folder is not None
    Spool(folder, 100_000).append([record(1, 85_000)])
    found = {(one["check"], one["status"]): one["message"] for one in checks(ramify.store, with_limits)}
    assert "of its" in found["size", "warn"]
    assert [message for (check, status), message in found.items() if check == "spool"]
    ramify.close()
