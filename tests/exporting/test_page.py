"""The file around a saved run: what is in it, and that nothing in it can act."""

import json
import re
from pathlib import Path

import pytest

from ramify.exporting.page import inert, only, write
from ramify.exporting.wish import Wish
from ramify.model.mistake import UserMistake
from ramify.query.scope import scope
from tests.exporting.world import conversations, told


def made(tmp_path: Path, case: str, id: str | None = None, wish: Wish | None = None) -> str:
    (tmp_path / "saved.js").write_text('var end = "</script><!--";')
    (tmp_path / "saved.css").write_text("body{color:red}")
    ramify = told(case)
    found = scope(ramify.questions, id or conversations(ramify)[0])
    return b"".join(write(ramify.questions, found, wish or Wish("html"), tmp_path)).decode()


def test_the_file_has_one_script_and_its_policy_names_it(tmp_path: Path) -> None:
    page = made(tmp_path, "claude/nested")
    assert page.count("<script") == 2
    assert page.count("</script>") == 2
    assert r'var end = "<\/script><\!--";' in page
    policy = re.search(r'content-security-policy" content="([^"]+)"', page)
    assert policy is not None
    assert "default-src 'none'; script-src 'sha256-" in policy[1]
    assert "unsafe" not in policy[1]


def test_it_holds_every_task_with_what_belongs_to_it(tmp_path: Path) -> None:
    page = made(tmp_path, "claude/nested")
    run = json.loads(page.partition('id="run">')[2].partition("</script>")[0])
    assert len(run["tasks"]) == len(run["why"]) == run["skeleton"]["n"] == 3
    assert sum(map(len, run["calls"].values())) == 6
    assert sum(map(len, run["tools"].values())) == 3
    assert run["bodies"] == {}
    bodies = json.loads(made(tmp_path, "claude/nested", wish=Wish("html", bodies=True)).partition('id="run">')[2].partition("</script>")[0])["bodies"]
    assert len(bodies) == 12
    assert all(text for text in bodies.values())


def test_no_tag_can_begin_in_the_data() -> None:
    document = json.dumps({"words": "</script><script>alert(1)</script><!--"}).encode()
    assert b"<" not in inert(document)
    assert json.loads(inert(document)) == json.loads(document)


def test_rows_of_some_tasks_are_a_tree_again() -> None:
    rows = {"id": ["a", "b", "c", "d", "e"], "depth": [0, 1, 2, 1, 0], "size": [4, 2, 1, 1, 1], "open": [1, 4], "active": [10, 40]}
    none: dict[str, list[object]] = {name: [] for name in rows}
    found = only({"rows": rows, "unattached": none, "n": 5}, {"a", "c", "e"})
    assert found["n"] == 3
    assert found["rows"] == {"id": ["a", "c", "e"], "depth": [0, 1, 0], "size": [2, 1, 1], "open": [2], "active": [40]}


def test_a_page_that_was_not_built_is_said(tmp_path: Path) -> None:
    ramify = told("claude/simple")
    with pytest.raises(UserMistake, match="the page was not built yet"):
        list(write(ramify.questions, scope(ramify.questions, conversations(ramify)[0]), Wish("html"), tmp_path))
