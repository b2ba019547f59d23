"""Sessions as transcripts tell them: prompts, agents, sums, and what old or broken files leave open."""

from tests.linking.session_builder import Transcript, only_root, text, titles, use

AGENT = "a0123456789abcdef"


def delegated(told: Transcript, **sidecar: object) -> None:
    told.prompt("Look around.")
    told.answer("msg_1", use("toolu_1", "Agent", description="Go", prompt="Count.", subagent_type="Explore"), stop="tool_use")
    told.sidecar(AGENT, agentType="Explore", description="Go", **sidecar)
    told.says("Count.", AGENT)
    told.answer("msg_2", use("toolu_2", "Read", file_path="/a"), use("toolu_3", "Read", file_path="/b"), agent=AGENT, stop="tool_use")
    told.result("toolu_2", agent=AGENT)
    told.result("toolu_3", agent=AGENT)
    told.answer("msg_3", text("Two."), agent=AGENT)
    told.result("toolu_1", "Two.", note={"status": "completed", "prompt": "Count.", "agentId": AGENT})
    told.answer("msg_4", use("toolu_4", "Write", file_path="/c"), text("There are two."))


def test_an_agent_hangs_under_the_call_that_its_sidecar_names() -> None:
    told = Transcript()
    delegated(told, toolUseId="toolu_1")
    questions = told.check()
    child = questions.tree(only_root(questions)["id"])["children"][0]
    assert (child["agent"], child["agent_type"], child["status"]) == (AGENT, "Explore", "completed")
    assert (child["link"]["rule"], child["link"]["certainty"], child["link"]["via"]) == ("sidecar", 1.0, "toolu_1")
    assert child["usage"]["calls"] == 2
    assert only_root(questions)["tree_usage"]["output"] == 40


def test_every_source_of_a_link_is_named() -> None:
    told = Transcript()
    delegated(told, toolUseId="toolu_1")
    witnesses = told.check(1).why(AGENT)["witnesses"]
    assert [(one["source"], one["rule"]) for one in witnesses] == [
        ("transcript", "sidecar"),
        ("transcript", "agent-id-in-result"),
    ]


def test_each_file_is_counted_once_over_the_tree() -> None:
    told = Transcript()
    delegated(told, toolUseId="toolu_1")
    questions = told.check(1)
    root = only_root(questions)["id"]
    assert questions.files(root) == {root: 3, questions.task(AGENT)["id"]: 2}


def test_an_agents_prompt_is_its_callers_and_no_persons() -> None:
    told = Transcript()
    delegated(told, toolUseId="toolu_1")
    questions = told.check(1)
    first = questions.messages(AGENT)["items"][0]
    assert (first["role"], first["author"], first["author_id"]) == ("user", "agent", only_root(questions)["id"])
    root = questions.messages(only_root(questions)["id"])["items"][0]
    assert (root["author"], root["blocks"][0]["text"]) == ("human", "Look around.")


def test_a_persons_prompt_in_pieces_is_a_persons() -> None:
    told = Transcript()
    told.line(type="user", promptSource="sdk", message={"role": "user", "content": [text("One."), text("Two.")]})
    told.answer("msg_1")
    questions = told.check()
    (said, _) = questions.messages(only_root(questions)["id"])["items"]
    assert (said["author"], len(said["blocks"])) == ("human", 2)


def test_an_agent_that_nobody_names_is_shown_unattached() -> None:
    told = Transcript()
    told.says("Warm.", AGENT)
    told.answer("msg_2", agent=AGENT)
    told.prompt("Look around.")
    told.answer("msg_1")
    questions = told.check()
    tree = questions.tree(questions.conversations()["items"][0]["id"])
    assert [task["agent"] for task in tree["unattached"]] == [AGENT]
    assert tree["unattached"][0]["flags"] == ["orphan"]


def test_an_agent_that_nobody_names_may_be_the_running_prompts() -> None:
    told = Transcript()
    told.prompt("Look around.")
    told.answer("msg_1", use("toolu_1", "Agent", prompt="Go."), stop="tool_use")
    told.says("Go.", AGENT)
    told.answer("msg_2", agent=AGENT)
    questions = told.check()
    link = questions.task(AGENT)["link"]
    assert (link["parent"], link["rule"], link["certainty"]) == (only_root(questions)["id"], "same-session", 0.5)


def test_an_old_clients_warm_up_is_a_helper_until_somebody_names_it() -> None:
    told = Transcript()
    told.prompt("Look around.")
    told.answer("msg_1", agent="0a1b2c3d")
    told.answer("msg_2")
    questions = told.check()
    assert len(questions.tasks()["items"]) == 1
    (warm,) = (call for call in questions.calls()["items"] if call["utility"])
    assert (warm["utility"], warm["task"], questions.stats()["usage"]["calls"]) == ("warmup", None, 2)
    told.result("toolu_1", "Done.", note={"status": "completed", "prompt": "Go.", "agentId": "0a1b2c3d"})
    assert told.check().task("0a1b2c3d")["usage"]["calls"] == 1


def test_what_the_client_counted_and_no_line_shows_is_booked_on_the_root() -> None:
    told = Transcript()
    told.prompt("Name it.")
    told.answer("msg_1", output=10)
    told.sums(small={"inputTokens": 7, "outputTokens": 30, "cacheReadInputTokens": 100}, big={"inputTokens": 5})
    questions = told.check()
    usage = only_root(questions)["usage"]
    assert (usage["calls"], usage["input"], usage["output"], usage["cache_read"]) == (1, 12, 30, 100)
    assert questions.stats()["usage"]["output"] == 30


def test_sums_of_a_later_run_include_the_earlier_one() -> None:
    told = Transcript()
    told.prompt("One.")
    told.answer("msg_1", output=10)
    told.sums(big={"inputTokens": 3, "outputTokens": 15, "cacheReadInputTokens": 100})
    told.prompt("Two.")
    told.answer("msg_2", output=10)
    told.sums(big={"inputTokens": 6, "outputTokens": 27, "cacheReadInputTokens": 200})
    questions = told.check()
    tasks = questions.tasks(roots=True)["items"]
    assert {task["title"]: task["usage"]["output"] for task in tasks} == {"One.": 15, "Two.": 12}


def test_an_answer_in_several_lines_counts_once() -> None:
    told = Transcript()
    told.prompt("Go.")
    told.answer("msg_1", text("First."), stop="")
    told.answer("msg_1", use("toolu_1", "Bash", command="ls"), stop="tool_use")
    told.result("toolu_1")
    told.answer("msg_2")
    questions = told.check()
    assert only_root(questions)["usage"]["calls"] == 2
    assert only_root(questions)["usage"]["output"] == 20


def test_an_interruption_cancels_what_ran() -> None:
    told = Transcript()
    told.prompt("Sleep.")
    told.answer("msg_1", use("toolu_1", "Bash", command="sleep 9"), stop="tool_use")
    told.says("[Request interrupted by user for tool use]")
    told.prompt("Then this.")
    told.answer("msg_2")
    questions = told.check()
    status = {task["title"]: task["status"] for task in questions.tasks(roots=True)["items"]}
    assert status == {"Sleep.": "canceled", "Then this.": "completed"}


def test_what_the_client_says_by_itself_opens_nothing() -> None:
    told = Transcript()
    told.prompt("Go.")
    told.says("Stop hook feedback:\nagain", isMeta=True)
    told.says("<task-notification>\n<task-id>b12345678</task-id>\n</task-notification>", origin={"kind": "task-notification"})
    told.says("<local-command-stdout>ok</local-command-stdout>")
    told.answer("msg_1")
    assert titles(told.check()) == ["Go."]


def test_a_command_opens_a_task_when_a_body_follows() -> None:
    told = Transcript()
    told.says("<command-name>/context</command-name>")
    told.says("<local-command-stdout>much</local-command-stdout>")
    command = told.says("<command-message>count</command-message>\n<command-name>/count</command-name>")
    told.says("Count these.", isMeta=True, parentUuid=command)
    told.answer("msg_1")
    assert titles(told.check()) == ["<command-message>count</command-message>"]


def test_a_forked_session_holds_its_origins_history_and_counts_only_its_own() -> None:
    one, two = Transcript(), Transcript("99999999-2222-4333-8444-555555555555")
    one.raw(b'{"type":"queue-operation","operation":"enqueue","sessionId":"%s"}' % one.session.encode())
    delegated(one, toolUseId="toolu_1")
    two.clock = one.clock
    two.raw(b'{"type":"queue-operation","operation":"enqueue","sessionId":"%s"}' % two.session.encode())
    for seen in one.seen:
        if ".jsonl" in seen.place and "subagents" not in seen.place and b'"uuid"' in seen.body:  # type: ignore[union-attr]
            two.raw(seen.body.replace(one.session.encode(), two.session.encode()), at=seen.at)  # type: ignore[union-attr]
    two.prompt("Another way.")
    two.answer("msg_9")
    one.seen += two.seen
    questions = one.check(0)
    assert titles(questions) == ["Look around.", "Another way."]
    assert len(questions.tasks(limit=0)["items"]) == 3
    assert questions.stats()["usage"]["calls"] == 5
    fork = questions.conversation(two.session)
    assert fork["calls"] == 1


def test_broken_lines_are_counted_and_cost_nothing_else() -> None:
    told = Transcript()
    told.prompt("Go.")
    told.raw(b'{"type":"assistant","uuid":')
    told.raw(b"\xff\xfe not json")
    told.answer("msg_1")
    questions = told.check()
    assert questions.stats()["unreadable"] == 2
    assert only_root(questions)["usage"]["calls"] == 1


def test_a_task_waits_while_its_child_works() -> None:
    told = Transcript()
    told.prompt("Look around.")
    told.answer("msg_1", use("toolu_1", "Agent", prompt="Count."), stop="tool_use")
    told.sidecar(AGENT, agentType="Explore", toolUseId="toolu_1")
    told.says("Count.", AGENT)
    told.answer("msg_2", use("toolu_2", "Bash", command="ls"), agent=AGENT, stop="tool_use")
    questions = told.check()
    root = only_root(questions)
    assert (root["status"], root["native_status"]) == ("working", "waiting for a child")
    assert questions.task(AGENT)["status"] == "working"


def test_the_tokens_of_a_tree_by_model_and_by_type_of_agent() -> None:
    told = Transcript()
    delegated(told, toolUseId="toolu_1")
    told.sums(small={"inputTokens": 20, "outputTokens": 50, "cacheReadInputTokens": 400})
    questions = told.check(1)
    root = only_root(questions)
    usage = questions.usage(root["id"])
    assert {name: one["output"] for name, one in usage["models"].items()} == {"claude-opus-5-5": 40, "unknown": 10}
    assert {name: one["output"] for name, one in usage["agent_types"].items()} == {"Explore": 20, "main": 30}
    assert sum(one["output"] for one in usage["models"].values()) == root["tree_usage"]["output"]
