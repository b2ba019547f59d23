"""A person's corrections: what cannot be is refused, with the reason."""

import pytest

from ramify.acts import correction, preview
from ramify.ingest import Ingest
from ramify.model.ids import call_id, observation_id, opened_task_id
from ramify.query.errors import BadQuestion
from ramify.query.service import Questions
from tests import story as stories
from tests.linking.world_builder import Story, agent, report
from tests.mesh_story import Mesh, model_answered, started, stored


def task_of(name: str) -> str:
    return opened_task_id(call_id(observation_id("told", name)))


def test_a_task_is_not_put_under_what_began_later() -> None:
    story = Story()
    story.line().ask("a", "hello")
    story.line().ask("b", "look", agent("toolu_1", "count"))
    store, _ = story.told([one for seen in story.seen for one in seen])
    for parent in (task_of("b"), "toolu_1"):
        with pytest.raises(BadQuestion, match="began before"):
            correction(store, "link", task_of("a"), parent)
    assert correction(store, "link", task_of("b"), task_of("a")).parent == task_of("a")


def test_a_task_is_not_its_own_parent() -> None:
    story = Story()
    story.line().ask("a", "hello")
    store, _ = story.told(story.seen[0])
    with pytest.raises(BadQuestion, match="own ancestor"):
        correction(store, "link", task_of("a"), task_of("a"))


def test_a_meshs_call_takes_a_task_and_gives_it_back_also_where_nobody_saw_it_decided() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.say("t", started("c", "peer_Cook"))
    mesh.ask("kid", "Cook")
    mesh.say("kid", model_answered(), agent="Cook")
    before = stories.rows(stored(mesh.observations(), 1000))
    ingest = Ingest(stored(mesh.observations(), 1000))
    ingest.step([correction(ingest.store, "link", "kid", "c")])
    moved = Questions(ingest.store)
    assert [(tool["call_id"], tool["spawned"]) for tool in moved.tools("t")["items"]] == [("c", [moved.task("kid")["id"]])]
    ingest.step([correction(ingest.store, "withdraw", "kid")])
    after = {place: row for place, row in stories.rows(moved.store).items() if not place.startswith("corrections/")}
    assert stories.row_differences(before, after) == []


def shop() -> Story:
    """A root with two agents, the first of which has one of its own; and another root."""
    story = Story()
    main = story.line(session="s").ask("a", "go", [agent("toolu_1", "first"), agent("toolu_2", "second")])
    one = story.line(session="s", agent="a1").ask("b", "first", agent("toolu_3", "deep"))
    story.line(session="s", agent="a3", parent_agent="a1").ask("c", "deep", "7")
    one.ask("d", report("toolu_3", "a3"), "7")
    story.line(session="s", agent="a2").ask("e", "second", "8")
    main.ask("f", [report("toolu_1", "a1"), report("toolu_2", "a2")], "15")
    story.line(session="t").ask("g", "another", "fine")
    return story


@pytest.mark.parametrize("act", ["link", "unlink"])
def test_what_is_withdrawn_leaves_everything_as_it_was(act: str) -> None:
    story = shop()
    store, questions = story.told([one for seen in story.seen for one in seen])
    ids = {task["prompt"]: task["id"] for task in questions.tasks(limit=0)["items"]}
    before = stories.rows(store)
    ingest = Ingest(store)
    ingest.step([correction(store, "link" if act == "link" else "unlink", ids["second"], ids["first"])])
    moved = stories.rows(store)
    assert stories.row_differences(before, moved)
    assert questions.why(ids["second"])["links"] == [] or questions.why(ids["second"])["links"][0]["rule"] == "manual"
    ingest.step([correction(store, "withdraw", ids["second"])])
    changed = stories.row_differences(before, stories.rows(store))
    assert [line for line in changed if "corrections" not in line] == []
    assert questions.why(ids["second"])["links"][0]["parent"] == ids["go"]


def test_a_preview_counts_what_goes_along_once_and_says_what_cannot_go() -> None:
    story = shop()
    store, questions = story.told([one for seen in story.seen for one in seen])
    ids = {task["prompt"]: task["id"] for task in questions.tasks(limit=0)["items"]}
    seq = store.seq()
    found = preview(store, [ids["first"], ids["deep"], ids["second"]], ids["another"])
    assert found["parent"] == {"id": ids["another"], "title": "another"}
    assert [(move["child"], move["tasks"]) for move in found["moves"]] == [(ids["first"], 2), (ids["second"], 1)]
    assert {move["from"]["id"] for move in found["moves"]} == {ids["go"]}
    assert [move["refused"] is not None and "began before" in move["refused"] for move in found["moves"]] == [True, True]
    assert (found["tasks"], found["usage"]["calls"]) == (0, 0)
    good = preview(store, [ids["second"]], ids["first"])
    assert (good["tasks"], good["usage"]["calls"], good["moves"][0]["refused"]) == (1, 1, None)
    assert "own ancestor" in preview(store, [ids["first"]], ids["deep"])["moves"][0]["refused"]
    assert preview(store, [ids["first"]], "")["parent"] is None
    assert store.seq() == seq
    Ingest(store).step([correction(store, "link", ids["second"], ids["first"])])
    assert preview(store, [ids["second"]], "")["moves"][0]["before"] == {"act": "link", "parent": ids["first"]}
