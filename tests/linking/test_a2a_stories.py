"""What people meet with A2A agents, as frames: announcements, answers, refinements, damage, crashes. Every story is told
in its own order and in others, and gives the same rows."""

import random
from typing import Any

import pytest

from ramify.ingest import Ingest
from ramify.model.entity import Task
from ramify.model.observation import Correction
from ramify.query.errors import Ambiguous
from ramify.query.service import Questions
from ramify.storage.sqlite import Sqlite
from tests.a2a_verdicts import in_random_batches, native, rows, told
from tests.linking.a2a_builder import Wire, artifact, begin, message, records, task
from tests.story import row_differences

Shape = dict[str, Any]


class Answer:
    """A story's rows, and questions about them by the agents' own ids."""

    def __init__(self, store: Sqlite) -> None:
        self.store, self.questions = store, Questions(store)

    def task(self, id: str) -> Shape:
        return self.questions.task(id)

    def row(self, id: str) -> Task:
        row = self.store.load("tasks", self.task(id)["id"])
        assert isinstance(row, Task)
        return row

    def parent(self, id: str) -> str | None:
        link = self.task(id)["link"]
        return self.name(link["parent"]) if link else None

    def name(self, id: str) -> str:
        return native(self.questions.task(id))

    def refers(self, id: str) -> list[str]:
        return [self.name(link["parent"]) for link in self.questions.why(self.task(id)["id"])["links"] if link["kind"] == "refers"]

    def candidates(self, id: str) -> list[tuple[str, str]]:
        found = self.questions.why(self.task(id)["id"])["candidates"]
        return [(self.name(one["parent"]), one["rejected_because"]) for one in found]

    def artifact(self, id: str, name: str = "r") -> list[Any]:
        return next([next(iter(part.values())) for part in one["parts"]] for one in self.task(id)["artifacts"] if one["artifactId"] == name)

    def said(self, id: str) -> list[tuple[str, str]]:
        items = self.questions.messages(self.task(id)["id"], limit=0)["items"]
        return [(one["author"], one["blocks"][0].get("text")) for one in items]

    @property
    def natives(self) -> list[str]:
        return sorted(native(task) for task in self.questions.tasks(limit=0)["items"])


def tell(wire: Wire) -> Answer:
    seen = records(wire.frames)
    store = told(seen, 1)
    for seed in range(4):
        chance = random.Random(seed)
        mixed = chance.sample(seen, len(seen)) if seed else seen[::-1]
        assert row_differences(rows(store), rows(in_random_batches(mixed, chance))) == [], seed
    return Answer(store)


def announce(line: Any, parent: str, *children: str, title: str = "", state: str = "WORKING") -> None:
    more: Shape = {"metadata": {"referencedWorkflow": {"workflowName": title}}} if title else {}
    line.status(parent, state, message(f"dispatching {children}", f"{parent}-names-{'-'.join(children)}-{line.seq}", refs=children, **more))


# -- where a sub-task shows --------------------------------------------------------------------------------------------


def test_three_ids_in_one_message_are_three_children_in_their_order() -> None:
    wire = Wire()
    root = begin(wire, "a", "root")
    announce(root, "root", "x", "y", "z", title="Lending")
    answer = tell(wire)
    assert [answer.parent(id) for id in "xyz"] == ["root"] * 3
    for number, id in enumerate("xyz", 1):
        child = answer.task(id)
        assert (child["status"], child["agent"], child["title"], child["branch"]) == ("unknown", None, "Lending", f"subtask_{number}")
        assert child["link"]["certainty"] == 1.0
        assert child["conversation"] == answer.task("root")["conversation"]


@pytest.mark.parametrize("first", ["child", "announcement"])
def test_an_unresolved_child_becomes_the_real_one_wherever_it_shows(first: str) -> None:
    wire = Wire()
    root = begin(wire, "a", "root")
    if first == "announcement":
        announce(root, "root", "kid", title="Lookup")
    begin(wire, "b", "kid", "find rates", context="own").status("kid", "COMPLETED", context="own").end()
    if first == "child":
        announce(root, "root", "kid", title="Lookup")
    answer = tell(wire)
    kid = answer.task("kid")
    assert (kid["agent"], kid["status"], kid["title"], answer.parent("kid")) == ("b", "completed", "Lookup", "root")
    assert kid["conversation"] == answer.task("root")["conversation"]
    assert answer.natives == ["kid", "root"]
    assert answer.said("kid")[0] == ("agent", "find rates")


def test_the_id_that_an_unresolved_child_had_still_leads_to_it() -> None:
    wire = Wire()
    announce(begin(wire, "a", "root"), "root", "kid")
    before = Answer(told(records(wire.frames))).task("kid")["id"]
    begin(wire, "b", "kid")
    answer = tell(wire)
    assert answer.task(before)["id"] == answer.task("kid")["id"] != before


def test_a_context_of_its_own_leads_to_a_sub_task_and_a_shared_one_to_the_conversation() -> None:
    wire = Wire()
    root = begin(wire, "a", "root", context="shared")
    begin(wire, "b", "own", context="apart")
    begin(wire, "b", "same", context="shared")
    announce(root, "root", "own", "same")
    answer = tell(wire)
    kid = answer.task("own")["id"]
    assert [answer.questions.show(id)["id"] for id in ("apart", "b/apart", "a2a:context:b/apart")] == [kid] * 3
    assert answer.questions.show("b/shared")["id"] == answer.task("same")["id"]
    assert answer.questions.show("shared")["id"] == answer.questions.show("a/shared")["id"] == answer.task("root")["conversation"]
    Ingest(answer.store).step([Correction("obs_word", "p", 1, "cli", "unlink", kid, "")])
    assert answer.questions.show("apart")["id"] == answer.task("own")["conversation"]
    assert answer.questions.tree("apart")["roots"][0]["id"] == kid


def test_children_that_a_list_shows_at_one_moment_stand_as_they_were_named() -> None:
    wire = Wire()
    announce(begin(wire, "a", "root"), "root", "one", "two", "three", "four")
    shown = [task(id, state="COMPLETED") for id in ("four", "two", "three", "one")]  # lists begin with the newest
    wire.connect("a").ask("ListTasks", {}).answer({"tasks": shown})
    children = tell(wire).questions.tree("root")["children"]
    assert [(native(child), child["branch"]) for child in children] == [
        ("one", "subtask_1"), ("two", "subtask_2"), ("three", "subtask_3"), ("four", "subtask_4"),
    ]  # fmt: skip


def test_a_child_announced_twice_late_and_in_the_last_status_is_one() -> None:
    wire = Wire()
    root = begin(wire, "a", "root")
    begin(wire, "a", "kid").status("kid", "FAILED").end()
    announce(root, "root", "kid")
    announce(root, "root", "kid")
    announce(root, "root", "kid", "other", state="COMPLETED")
    root.end()
    answer = tell(wire)
    assert answer.natives == ["kid", "other", "root"]
    assert (answer.parent("kid"), answer.parent("other")) == ("root", "root")
    assert (answer.task("root")["status"], answer.task("kid")["status"]) == ("completed", "failed")


def test_a_child_that_is_never_announced_is_nobodys() -> None:
    wire = Wire()
    begin(wire, "a", "root")
    begin(wire, "a", "stranger")
    answer = tell(wire)
    assert answer.parent("stranger") is None
    assert answer.task("stranger")["conversation"] == answer.task("root")["conversation"]


def test_a_child_that_only_a_history_names_is_found() -> None:
    wire = Wire()
    wire.connect("a").ask("GetTask", {"id": "root"}).answer(
        task("root", state="COMPLETED", history=[message("go", "m", "user"), message("sent out", "n", refs=["kid"])])
    )
    answer = tell(wire)
    assert (answer.parent("kid"), answer.task("root")["prompt"]) == ("root", "go")


def test_a_bare_message_can_announce_a_child() -> None:
    wire = Wire()
    wire.connect("a").send(message("go", "m", "user", contextId="c"), "SendMessage").answer({"message": message("on it", "r", refs=["kid"], contextId="c")})
    answer = tell(wire)
    root = answer.task(answer.task("kid")["link"]["parent"])
    assert (root["status"], root["prompt"], root["title"]) == ("completed", "go", "go")
    assert {(ref["kind"], ref["value"]) for ref in root["refs"]} == {("context", "c"), ("message", "m")}
    assert answer.said(root["id"]) == [("human", "go"), ("agent", "on it")]
    assert answer.task("a2a:message:a/m")["id"] == root["id"]


def test_five_levels_are_one_tree_whoever_comes_first() -> None:
    wire = Wire()
    lines = {level: begin(wire, "ab"[level % 2], f"t{level}", context=f"c{level}") for level in range(6)}
    for level in range(4, -1, -1):
        announce(lines[level], f"t{level}", f"t{level + 1}")
    answer = tell(wire)
    assert [answer.task(f"t{level}")["depth"] for level in range(6)] == list(range(6))
    assert {answer.task(f"t{level}")["conversation"] for level in range(6)} == {answer.task("t0")["conversation"]}
    assert len(answer.questions.conversations()["items"]) == 1


def test_two_agents_with_equal_ids_keep_their_tasks() -> None:
    wire = Wire()
    announce(begin(wire, "a", "root", context="one"), "root", "7")
    begin(wire, "a", "7", "mine", context="one")
    begin(wire, "b", "7", "theirs", context="two")
    answer = tell(wire)
    assert answer.parent("a/7") == "root"
    assert answer.parent("b/7") is None
    with pytest.raises(Ambiguous):
        answer.task("7")


def test_a_child_that_two_other_agents_may_have_stays_unresolved() -> None:
    wire = Wire()
    announce(begin(wire, "a", "root"), "root", "7", title="Lookup")
    begin(wire, "b", "7")
    one = tell(wire)
    assert one.parent("b/7") == "root"
    begin(wire, "c", "7")
    answer = tell(wire)
    assert (answer.parent("b/7"), answer.parent("c/7")) == (None, None)
    unresolved = next(one for one in answer.questions.tasks(limit=0)["items"] if one["agent"] is None)
    assert (unresolved["status"], unresolved["title"], answer.name(unresolved["link"]["parent"])) == ("unknown", "Lookup", "root")
    assert [reason for _, reason in answer.candidates(unresolved["id"])] == ["several agents have a task of this id"] * 2


# -- what a reference means --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "parent"), [("WORKING", "p"), ("COMPLETED", None), ("INPUT_REQUIRED", None), ("FAILED", None), ("ODD", None)]
)
def test_a_prompt_that_names_a_task_at_work_comes_from_it(state: str, parent: str | None) -> None:
    wire = Wire()
    begin(wire, "a", "p").status("p", state)
    begin(wire, "a", "c", refs=["p"])
    answer = tell(wire)
    assert answer.parent("c") == parent
    assert answer.refers("c") == ([] if parent else ["p"])
    if parent:
        assert answer.task("c")["link"]["certainty"] == 0.8


def test_what_a_task_became_later_does_not_change_what_it_was() -> None:
    wire = Wire()
    line = begin(wire, "a", "p")
    begin(wire, "a", "c", refs=["p"])
    line.status("p", "COMPLETED").end()
    assert tell(wire).parent("c") == "p"


def test_a_prompt_that_names_an_unknown_task_refers_when_it_is_shown() -> None:
    wire = Wire()
    begin(wire, "a", "c", refs=["p"])
    assert tell(wire).natives == ["c"]
    begin(wire, "a", "p")
    answer = tell(wire)
    assert (answer.parent("c"), answer.refers("c")) == (None, ["p"])


def test_both_sides_name_each_other_and_it_is_one_link() -> None:
    wire = Wire()
    line = begin(wire, "a", "p")
    begin(wire, "a", "c", refs=["p"])
    announce(line, "p", "c")
    answer = tell(wire)
    assert (answer.parent("c"), answer.task("c")["link"]["certainty"], answer.refers("c"), answer.refers("p")) == ("p", 1.0, [], [])
    assert len(answer.task("c")["link"]["evidence"]) == 2


def test_a_child_that_points_back_at_its_parent_makes_no_circle() -> None:
    wire = Wire()
    parent = begin(wire, "a", "p")
    child = begin(wire, "a", "c")
    announce(child, "c", "p")
    announce(parent, "p", "c")
    answer = tell(wire)
    assert (answer.parent("c"), answer.parent("p")) == ("p", None)
    assert (answer.refers("c"), answer.refers("p")) == ([], [])


def test_an_older_task_that_is_quoted_is_no_child() -> None:
    wire = Wire()
    begin(wire, "a", "old").status("old", "COMPLETED").end()
    announce(begin(wire, "a", "new"), "new", "old")
    answer = tell(wire)
    assert (answer.parent("old"), answer.refers("new")) == (None, ["old"])


def test_what_was_there_before_somebody_asked_for_a_task_is_none_of_its_children() -> None:
    wire = Wire()
    root = wire.connect("a").open().status("root", "WORKING", message("go", "g"))  # the capture began in mid-work
    child = begin(wire, "a", "kid")
    child.status("kid", "WORKING", message("for root", "k", refs=["root"]))
    announce(root, "root", "kid")
    answer = tell(wire)
    assert (answer.parent("kid"), answer.parent("root")) == ("root", None)


def test_a_request_that_an_agent_takes_for_a_task_that_was_there_says_nothing_about_its_age() -> None:
    wire = Wire()
    root = wire.connect("a").open().status("root", "INPUT_REQUIRED", message("how?", "q"))  # the capture began in mid-work
    begin(wire, "a", "kid")
    wire.connect("a").send(message("like this", "u", "user", contextId="ctx")).open().status("root", "WORKING")
    announce(root, "root", "kid")
    assert tell(wire).parent("kid") == "root"


def test_where_nobody_saw_the_requests_the_first_of_two_claims_stands() -> None:
    wire = Wire()
    for id, other in (("x", "y"), ("y", "x")):
        wire.connect("a").ask("SubscribeToTask", {"id": id}).open().task(id, state="WORKING").status(id, "WORKING", message("see", f"m-{id}", refs=[other]))
    answer = tell(wire)
    assert (answer.parent("y"), answer.parent("x")) == ("x", None)


def test_a_circle_of_three_breaks_at_its_last_link_and_mends_when_more_is_known() -> None:
    wire = Wire()
    lines = {id: wire.connect("a").ask("SubscribeToTask", {"id": id}).open().task(id, state="WORKING") for id in "xyz"}
    for id, other in (("x", "y"), ("y", "z"), ("z", "x")):
        announce(lines[id], id, other)
    answer = tell(wire)
    assert (answer.parent("y"), answer.parent("z"), answer.parent("x")) == ("x", "y", None)
    announce(wire.connect("a").ask("SubscribeToTask", {"id": "root"}).open().task("root", state="WORKING"), "root", "x")
    answer = tell(wire)
    assert (answer.parent("y"), answer.parent("z"), answer.parent("x")) == ("x", "y", "root")
    assert answer.candidates("x") == [("z", "it would be its own ancestor")]


def test_of_two_that_name_a_child_the_first_keeps_it() -> None:
    wire = Wire()
    one, two = begin(wire, "a", "one", context="c1"), begin(wire, "a", "two", context="c2")
    announce(one, "one", "kid")
    announce(two, "two", "kid")
    answer = tell(wire)
    assert (answer.parent("kid"), answer.refers("two"), answer.refers("one")) == ("one", ["kid"], [])
    assert answer.candidates("kid") == [("two", "another task named it first")]


def test_a_request_that_an_agent_takes_for_a_task_that_was_there_has_not_made_it() -> None:
    wire = Wire()
    opened = wire.stamp()
    begin(wire, "a", "t").status("t", "INPUT_REQUIRED").end()
    begin(wire, "a", "boss", context="other")
    begin(wire, "a", "t", "go on", refs=["boss"])  # no task id: the agent knows it by its context
    answer = tell(wire)
    assert (answer.parent("t"), answer.refers("t"), answer.task("t")["prompt"]) == (None, ["boss"], "do it")
    wire.frames = wire.frames[1:]  # who asked first was not heard
    answer = tell(wire)
    assert (answer.parent("t"), answer.refers("t"), answer.task("t")["opened"][:19]) == (None, ["boss"], opened[:19])
    assert answer.task("t")["opened"] < answer.task("boss")["opened"]


def test_a_message_that_goes_on_with_a_task_only_refers() -> None:
    wire = Wire()
    begin(wire, "a", "p")
    line = begin(wire, "a", "c")
    line.status("c", "INPUT_REQUIRED").end()
    wire.connect("a").send(message("as in p", "more", "user", ["p"], taskId="c", contextId="ctx")).open().status("c", "WORKING")
    answer = tell(wire)
    assert (answer.parent("c"), answer.refers("c")) == (None, ["p"])
    assert ("human", "as in p") in answer.said("c")


def test_a_stamp_of_the_senders_process_names_the_parent() -> None:
    wire = Wire()
    begin(wire, "a", "p", context="one")
    span = {"traceparent": "00-" + "a" * 32 + "-" + "b" * 16 + "-01"}
    stamped = message("sub", "m-c", "user", metadata={"parentTaskId": "p"})
    wire.connect("b").send(stamped, headers=span).open().task("c", "two")
    begin(wire, "b", "d", context="three", headers=span)
    answer = tell(wire)
    assert (answer.parent("c"), answer.task("c")["link"]["rule"], answer.task("c")["link"]["certainty"]) == ("p", "parentTaskId", 1.0)
    assert (answer.parent("d"), answer.task("d")["link"]["rule"], answer.task("d")["link"]["certainty"]) == ("p", "traceparent", 0.9)


def test_an_agent_may_say_itself_whose_child_its_task_is() -> None:
    wire = Wire()
    begin(wire, "a", "root")
    said = {"taskId": "one", "contextId": "own", "metadata": {"parentTaskId": "root"}, "status": {"state": "TASK_STATE_WORKING"}}
    wire.connect("b").ask("SubscribeToTask", {"id": "one"}).open().event({"statusUpdate": said})
    begin(wire, "b", "two", context="other").status("two", "WORKING", message("on it", "w", metadata={"parentTaskId": "root"}))
    answer = tell(wire)
    assert [answer.task(id)["link"]["rule"] for id in ("one", "two")] == ["parentTaskId"] * 2
    assert [answer.parent(id) for id in ("one", "two")] == ["root"] * 2


def test_a_request_that_names_its_parent_says_nothing_about_the_childs_title() -> None:
    wire = Wire()
    begin(wire, "a", "root", "the whole")
    said = message("a part", "m", "user", ["root"], metadata={"referencedWorkflow": {"workflowName": "The whole"}})
    wire.connect("a").send(said).open().task("kid")
    answer = tell(wire)
    assert (answer.parent("kid"), answer.task("kid")["title"]) == ("root", "a part")


def test_a_task_that_names_itself_is_not_its_own_child() -> None:
    wire = Wire()
    announce(begin(wire, "a", "t"), "t", "t")
    answer = tell(wire)
    assert (answer.natives, answer.parent("t"), answer.refers("t")) == (["t"], None, [])


# -- status ------------------------------------------------------------------------------------------------------------


def test_a_terminal_state_is_never_left_and_an_older_time_does_not_count() -> None:
    wire = Wire()
    early = wire.stamp()
    line = begin(wire, "a", "t")
    wire.connect("a").push({"statusUpdate": {"taskId": "t", "status": {"state": "TASK_STATE_SUBMITTED", "timestamp": early}}})
    assert tell(wire).task("t")["status"] == "working"
    line.status("t", "COMPLETED").end()
    wire.connect("a").push({"statusUpdate": {"taskId": "t", "status": {"state": "TASK_STATE_WORKING", "timestamp": early}}})
    answer = tell(wire)
    assert (answer.task("t")["status"], answer.row("t").flags) == ("completed", ())


def test_another_spelling_of_the_same_state_changes_nothing() -> None:
    wire = Wire()
    begin(wire, "a", "t").status("t", "CANCELED").end()
    wire.connect("a").ask("tasks/get", {"id": "t"}).answer({"id": "t", "contextId": "ctx", "kind": "task", "status": {"state": "canceled"}})
    answer = tell(wire)
    assert (answer.task("t")["status"], answer.task("t")["native_status"]) == ("canceled", "TASK_STATE_CANCELED")


def test_a_state_that_nobody_knows_is_shown_as_it_is() -> None:
    wire = Wire()
    begin(wire, "a", "t").status("t", "RESTING")
    answer = tell(wire)
    assert (answer.task("t")["status"], answer.task("t")["native_status"]) == ("unknown", "TASK_STATE_RESTING")


def test_of_states_that_nobody_knows_the_present_one_is_shown() -> None:
    wire = Wire()
    begin(wire, "a", "t").status("t", "PAUSED").status("t", "DREAMING")
    wire.connect("a").ask("tasks/get", {"id": "t"}).answer({"kind": "task", "id": "t", "status": {"state": "dreaming"}})
    task = tell(wire).task("t")
    assert (task["status"], task["native_status"]) == ("unknown", "TASK_STATE_DREAMING")


def test_a_parent_keeps_its_agents_word_while_its_child_works() -> None:
    wire = Wire()
    root = begin(wire, "a", "root")
    begin(wire, "a", "kid")
    announce(root, "root", "kid")
    answer = tell(wire)
    assert [answer.task(id)["native_status"] for id in ("root", "kid")] == ["TASK_STATE_WORKING"] * 2


@pytest.mark.parametrize("state", ["REJECTED", "AUTH_REQUIRED", "INPUT_REQUIRED"])
def test_a_stream_that_ends_where_a_task_rests_is_not_broken(state: str) -> None:
    wire = Wire()
    begin(wire, "a", "t").status("t", state).end()
    answer = tell(wire)
    assert (answer.task("t")["status"], answer.row("t").flags) == (state.lower().replace("_", "-"), ())


@pytest.mark.parametrize(
    ("end", "stalled"), [("cut", True), ("error", True), ("end", True), ("leave", False), ("open", False)]
)
def test_a_task_is_stalled_when_its_last_stream_broke(end: str, stalled: bool) -> None:
    wire = Wire()
    line = begin(wire, "a", "t")
    if end == "cut":
        line.cut()
    elif end == "error":
        line.fail()
    elif end == "end":
        line.end()
    elif end == "leave":
        line.cut("client")
    answer = tell(wire)
    assert (answer.task("t")["status"], answer.row("t").flags) == ("working", ("stalled",) if stalled else ())


def test_reading_the_same_again_does_not_end_a_stall_and_news_do() -> None:
    wire = Wire()
    line = begin(wire, "a", "t")
    said = wire.stamp()
    line.status("t", "WORKING", time=said).cut()
    wire.connect("a").ask("GetTask", {"id": "t"}, {"x-ramify-follow": "1"}).answer(task("t", state="WORKING", time=said))
    assert tell(wire).row("t").flags == ("stalled",)
    again = wire.connect("a").ask("SubscribeToTask", {"id": "t"}).open().task("t", state="WORKING", time=said)
    assert tell(wire).row("t").flags == ()
    again.cut()
    assert tell(wire).row("t").flags == ("stalled",)
    wire.connect("a").ask("GetTask", {"id": "t"}).answer(task("t", state="FAILED", time=wire.stamp()))
    answer = tell(wire)
    assert (answer.task("t")["status"], answer.row("t").flags) == ("failed", ())


def test_a_stream_that_brought_no_time_can_break_as_well() -> None:
    wire = Wire()
    line = begin(wire, "a", "t")
    watcher = wire.connect("a").ask("tasks/resubscribe", {"id": "t"}).open()
    line.cut("client")
    said = wire.stamp()
    chunks(watcher, "t", "1")
    watcher.cut()
    assert tell(wire).row("t").flags == ("stalled",)
    wire.connect("a").ask("GetTask", {"id": "t"}).answer(task("t", state="WORKING", time=said))
    assert tell(wire).row("t").flags == ()


def test_a_question_has_the_form_that_came_with_it_and_no_other() -> None:
    wire = Wire()
    line = begin(wire, "a", "t")
    line.status("t", "WORKING", message("on it", "w", metadata={"n": 1})).status("t", "INPUT_REQUIRED", message("fill in", "q1", metadata={"schema": {"type": "object"}}))
    assert tell(wire).task("t")["native"]["question"] == {"schema": {"type": "object"}}
    wire.connect("a").ask("ListTasks", {}).answer({"tasks": [task("t", state="INPUT_REQUIRED")]})
    assert tell(wire).task("t")["native"]["question"] == {"schema": {"type": "object"}}
    line.status("t", "WORKING").status("t", "INPUT_REQUIRED", message("in your own words?", "q2"))
    assert "question" not in tell(wire).task("t")["native"]


def test_an_event_behind_the_end_is_late() -> None:
    wire = Wire()
    begin(wire, "a", "t").status("t", "COMPLETED").chunk("t", artifact("r", "too late"))
    assert tell(wire).row("t").flags == ("late",)


def test_a_refused_call_moves_nothing() -> None:
    wire = Wire()
    begin(wire, "a", "t").status("t", "COMPLETED").end()
    wire.connect("a").send(message("more", "m2", "user", taskId="t")).refuse(-32004)
    wire.connect("a").ask("GetTask", {"id": "ghost"}).refuse(-32001)
    answer = tell(wire)
    assert answer.natives == ["t"]
    assert [text for _, text in answer.said("t")] == ["do it", "t: started"]


# -- messages ----------------------------------------------------------------------------------------------------------


def test_an_answer_to_a_question_is_the_childs_and_nobody_knows_whose() -> None:
    wire = Wire()
    root = begin(wire, "a", "root")
    kid = begin(wire, "a", "kid", "lend")
    announce(root, "root", "kid")
    ask = message("which amount?", "q", metadata={"schema": {"type": "object"}})
    kid.status("kid", "INPUT_REQUIRED", ask).end()
    waiting = tell(wire)
    assert waiting.task("kid")["native"]["question"] == {"schema": {"type": "object"}}
    wire.connect("a").send(message("12", "ans", "user", taskId="kid", contextId="ctx")).open().status("kid", "WORKING")
    answer = tell(wire)
    assert answer.said("kid") == [("agent", "lend"), ("agent", "kid: started"), ("agent", "which amount?"), ("unknown", "12")]
    assert "question" not in answer.task("kid")["native"]


def test_the_first_words_that_anybody_saw_stand_for_the_prompt() -> None:
    wire = Wire()
    wire.connect("a").send(message("12", "ans", "user", taskId="t", contextId="ctx")).open().status("t", "WORKING")
    assert tell(wire).task("t")["prompt"] == "12"
    wire.connect("a").ask("GetTask", {"id": "t"}).answer(task("t", state="WORKING", history=[message("lend", "m", "user")]))
    assert tell(wire).task("t")["prompt"] == "lend"


def test_the_longest_history_has_the_prompt() -> None:
    wire = Wire()
    said = [message("do it", "m1", "user"), message("how?", "m2"), message("quickly", "m3", "user")]
    for history in (said[2:], said, said[1:]):
        wire.connect("a").ask("GetTask", {"id": "t", "historyLength": len(history)}).answer(task("t", state="WORKING", history=history))
    assert tell(wire).task("t")["prompt"] == "do it"


def test_messages_that_histories_repeat_are_there_once() -> None:
    wire = Wire()
    line = begin(wire, "a", "t")
    again = [message("do it", "m-t", "user"), message("t: started", "t-started"), message("t: started", "t-started")]
    line.status("t", "COMPLETED", message("done", "d")).end()
    wire.connect("a").ask("GetTask", {"id": "t"}).answer(task("t", state="COMPLETED", said=message("done", "d"), history=again))
    assert tell(wire).said("t") == [("human", "do it"), ("agent", "t: started"), ("agent", "done")]


def test_two_tasks_of_one_context_stay_apart() -> None:
    wire = Wire()
    begin(wire, "a", "one", "first")
    begin(wire, "a", "two", "second")
    answer = tell(wire)
    assert (answer.said("one")[0][1], answer.said("two")[0][1]) == ("first", "second")
    (conversation,) = answer.questions.conversations()["items"]
    assert conversation["refs"] == [{"protocol": "a2a", "kind": "context", "value": "ctx", "scope": "a"}]


# -- artifacts ---------------------------------------------------------------------------------------------------------


def chunks(line: Any, id: str, *texts: str, append: bool = False) -> None:
    for number, text in enumerate(texts):
        line.chunk(id, artifact("r", text), append=append or number > 0)


def test_chunks_that_pass_on_two_streams_count_once() -> None:
    wire = Wire()
    sender = begin(wire, "a", "t")
    chunks(sender, "t", "1")
    watcher = wire.connect("a").ask("SubscribeToTask", {"id": "t"}).open().task("t", state="WORKING", artifacts=[artifact("r", "1")])
    for text in ("2", "3"):
        chunks(watcher, "t", text, append=True)
        chunks(sender, "t", text, append=True)
    assert tell(wire).artifact("t") == ["1", "2", "3"]


def test_a_stream_that_missed_the_opening_is_partial_until_something_whole_is_seen() -> None:
    wire = Wire()
    watcher = wire.connect("a").ask("tasks/resubscribe", {"id": "t"}).open()
    chunks(watcher, "t", "3", "4", append=True)
    answer = tell(wire)
    assert (answer.artifact("t"), answer.task("t")["artifacts"][0]["partial"]) == (["3", "4"], True)
    wire.connect("a").ask("GetTask", {"id": "t"}).answer(task("t", state="WORKING", artifacts=[artifact("r", "1", "2", "3", "4")]))
    answer = tell(wire)
    assert answer.artifact("t") == ["1", "2", "3", "4"]
    assert "partial" not in answer.task("t")["artifacts"][0]


def test_a_snapshot_that_only_repeats_parts_is_damaged() -> None:
    wire = Wire()
    line = begin(wire, "a", "t")
    chunks(line, "t", "1", "2", "3")
    wire.connect("a").ask("tasks/get", {"id": "t"}).answer(task("t", state="WORKING", artifacts=[artifact("r", "1", "2", "2", "3", "3")]))
    assert tell(wire).artifact("t") == ["1", "2", "3"]
    wire.connect("a").ask("tasks/get", {"id": "t"}).answer(task("t", state="WORKING", artifacts=[artifact("r", "1", "2", "3", "4")]))
    assert tell(wire).artifact("t") == ["1", "2", "3", "4"]


def test_a_snapshot_that_was_overtaken_by_the_last_chunk_takes_nothing_away() -> None:
    wire = Wire()
    line = begin(wire, "a", "t")
    chunks(line, "t", "one", "two")
    poll = wire.connect("a").ask("GetTask", {"id": "t"})
    chunks(line, "t", "three", append=True)
    poll.answer(task("t", state="WORKING", artifacts=[artifact("r", "one", "two")]))
    line.status("t", "COMPLETED").end()
    assert tell(wire).artifact("t") == ["one", "two", "three"]


def test_an_artifact_that_is_replaced_after_an_answer_is_the_new_one() -> None:
    wire = Wire()
    line = begin(wire, "a", "t")
    chunks(line, "t", "form")
    watcher = wire.connect("a").ask("SubscribeToTask", {"id": "t"}).open().task("t", state="WORKING", artifacts=[artifact("r", "form")])
    line.status("t", "INPUT_REQUIRED").end()
    answered = wire.connect("a").send(message("12", "ans", "user", taskId="t")).open()
    chunks(answered, "t", "submitted")
    chunks(watcher, "t", "submitted")
    assert tell(wire).artifact("t") == ["submitted"]


def test_a_list_without_artifacts_takes_none_away() -> None:
    wire = Wire()
    chunks(begin(wire, "a", "t"), "t", "1", "2")
    listed = {**task("t", state="WORKING", history=[]), "artifacts": []}
    wire.connect("a").ask("ListTasks", {}).answer({"tasks": [listed], "nextPageToken": ""})
    wire.connect("a").ask("GetTask", {"id": "t"}).answer(task("t", state="WORKING"))
    answer = tell(wire)
    assert (answer.artifact("t"), len(answer.said("t"))) == (["1", "2"], 2)


def test_push_notifications_out_of_order_are_one_stream() -> None:
    wire = Wire()
    old = wire.stamp()
    for number, text in enumerate(("1", "2", "3")):
        made = {"taskId": "t", "contextId": "c", "artifact": artifact("r", text), "append": number > 0}
        wire.connect("a").push({"artifactUpdate": made})
    wire.connect("a").push({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED", "timestamp": wire.stamp()}}})
    wire.connect("a").push({"task": task("t", "c", "WORKING", time=old, artifacts=[artifact("q", "x")])})
    answer = tell(wire)
    assert (answer.artifact("t"), answer.artifact("t", "q"), answer.task("t")["status"]) == (["1", "2", "3"], ["x"], "completed")


def test_an_old_snapshot_that_comes_late_does_not_replace_what_streamed() -> None:
    wire = Wire()
    line = begin(wire, "a", "t")
    old = wire.stamp()
    chunks(line, "t", "1", "2", "3")
    line.status("t", "COMPLETED").end()
    wire.connect("a").push({**task("t", state="WORKING", time=old, artifacts=[artifact("r", "1")]), "kind": "task"})
    assert tell(wire).artifact("t") == ["1", "2", "3"]


def test_streams_that_differ_show_the_whole_one_that_was_updated_last() -> None:
    wire = Wire()
    one, two = begin(wire, "a", "t"), wire.connect("a").ask("SubscribeToTask", {"id": "t"}).open()
    chunks(one, "t", "1", "2")
    chunks(two, "t", "other", "two")
    assert tell(wire).artifact("t") == ["other", "two"]
    chunks(one, "t", "3", append=True)
    assert tell(wire).artifact("t") == ["1", "2", "3"]


def test_a_long_artifact_grows_in_rows_of_its_own() -> None:
    wire = Wire()
    line = begin(wire, "a", "t")
    texts = [f"{number:04}" * 200 for number in range(120)]
    chunks(line, "t", *texts)
    store = told(records(wire.frames), 5)
    assert Answer(store).artifact("t") == texts
    assert store.count("artifact_parts") >= 4
    assert row_differences(rows(store), rows(told(random.Random(1).sample(records(wire.frames), len(wire.frames)), 40))) == []


# -- both versions, both bindings --------------------------------------------------------------------------------------


def test_one_agent_that_speaks_both_versions_and_bindings_has_one_task() -> None:
    wire = Wire()
    begin(wire, "a", "t").chunk("t", {"artifactId": "r", "parts": [{"data": {"n": 1.0}}]})
    wire.connect("a").ask("tasks/get", {"id": "t"}).answer({"id": "t", "contextId": "ctx", "kind": "task", "status": {
        "state": "working", "message": {"kind": "message", "messageId": "t-started", "role": "agent", "parts": [{"kind": "text", "text": "t: started"}]}},
        "artifacts": [{"artifactId": "r", "parts": [{"kind": "data", "data": {"n": 1}}]}]})  # fmt: skip
    wire.connect("a").frame("request", method="GET", path="/v1/tasks/t", headers={}).frame("response", status=200, headers={}, body={
        "id": "t", "contextId": "ctx", "status": {"state": "TASK_STATE_WORKING"}, "history": [
            {"messageId": "m-t", "role": "ROLE_USER", "content": [{"text": "do it"}]}],
        "artifacts": [{"artifactId": "r", "parts": [{"data": {"data": {"n": 1}}}]}]})  # fmt: skip
    wire.connect("a").frame("request", method="GET", path="/rest/tasks/t", headers={"a2a-version": "1.0"}).frame(
        "response", status=200, headers={}, body=task("t", state="COMPLETED"))
    answer = tell(wire)
    assert answer.natives == ["t"]
    assert (answer.artifact("t"), answer.said("t"), answer.task("t")["status"]) == ([{"n": 1}], [("human", "do it"), ("agent", "t: started")], "completed")


def test_a_card_makes_an_agent_known() -> None:
    wire = Wire()
    for name in ("Old", "New"):
        wire.connect("a").frame("request", method="GET", path="/.well-known/agent-card.json", headers={}).frame(
            "response", status=200, headers={}, body={"name": name, "supportedInterfaces": [{"url": "http://x/", "protocolBinding": "JSONRPC"}]})
    store = tell(wire).store
    (agent,) = store.docs("agents")
    assert (agent.name, agent.url, agent.details["card"]["name"]) == ("a", "http://x/", "New")  # type: ignore[union-attr]
