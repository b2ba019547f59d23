"""Who wrote a message, where its words name somebody else than the one that works; and what no prompt is."""


import pytest

from ramify.query.service import Questions
from tests.linking.world_builder import Block, Story, agent, notification, reminder, result, text, use

CAVEAT = "<local-command-caveat>Caveat: no answer is needed</local-command-caveat>"
CONTEXT = "<command-name>/context</command-name>\n<command-message>context</command-message>"
OUTPUT = "<local-command-stdout>a third is used</local-command-stdout>"
REVIEW = "<command-message>review</command-message>\n<command-name>/review</command-name>"
SHELL = ("<bash-input>git status</bash-input>", "<bash-stdout>clean</bash-stdout><bash-stderr></bash-stderr>")


def messages(questions: Questions) -> list[Block]:
    return [message for task in questions.tasks(limit=0)["items"] for message in questions.messages(task["id"], limit=0)["items"]]


def saying(questions: Questions, words: str) -> Block:
    [found] = [message for message in messages(questions) if words in str(message["blocks"][0].get("text"))]
    return found


def test_an_agent_that_is_named_wrote_its_message_and_the_caller_what_the_coordinator_sent() -> None:
    story = Story()
    main = story.line(session="s")
    main.ask("a", "go", {**agent("toolu_1", "look"), "input": {"prompt": "look", "name": "ada"}}, task="1")
    child = story.line(session="s", agent="a1").ask("b", "look", use("toolu_2", command="ls"), task="2")
    child.say(result("toolu_2", "files")).say("The coordinator sent a message while you were working:\nhurry", role="system")
    child.call("c", "found", parent="b", task="2")
    main.ask("d", result("toolu_1", "Async agent launched successfully.\nagentId: a1"), "well", parent="a", task="1")
    main.say([reminder(), 'Another Claude session sent a message:\n<agent-message from="ada">\nhere it is\n</agent-message>'])
    main.call("e", "good", parent="d", task="1")
    main.say('<agent-message from="a1">by its id</agent-message>', role="system").call("f", "good", parent="e", task="1")
    main.say('<agent-message from="bob">who?</agent-message>', role="system").call("g", "good", parent="f", task="1")
    story.subtask("b", by="a", via="toolu_1")
    questions = story.check(orders=4)
    tasks = {task["agent"]: task["id"] for task in questions.tasks()["items"]}
    assert saying(questions, "hurry")["author_id"] == tasks[None]
    assert saying(questions, "here it is")["author_id"] == tasks["a1"]
    assert saying(questions, "by its id")["author_id"] == tasks["a1"]
    assert saying(questions, "who?")["author_id"] is None


def test_the_directive_of_a_fork_is_its_callers() -> None:
    story = Story()
    main = story.line(session="s").ask("a", "go", agent("toolu_1", "look"), task="1")
    fork = main.copy(headers={"X-Claude-Code-Session-Id": "s", "x-claude-code-agent-id": "f1"})
    directive = "<fork-boilerplate>\nYou are a forked worker.\n</fork-boilerplate>\nYour directive: look"
    fork.ask("b", [result("toolu_1", "Fork started — working on the directive."), text(directive)], "found", task="2")
    story.subtask("b", by="a", via="toolu_1")
    questions = story.check(orders=4)
    [root] = questions.tasks(roots=True)["items"]
    assert saying(questions, "forked worker")["author_id"] == root["id"]


@pytest.mark.parametrize(
    ("said", "prompt"),
    [
        ([CAVEAT, CONTEXT, OUTPUT, REVIEW, "Review it."], f"{REVIEW}\n\nReview it."),
        ([REVIEW, "Review it.", CAVEAT, CONTEXT, OUTPUT], f"{REVIEW}\n\nReview it."),
        ([CAVEAT, CONTEXT, "<local-command-stderr>no such command</local-command-stderr>", "do that"], "do that"),
        ([CAVEAT, *SHELL, "do that"], "do that"),
        (["Continue from where you left off. Then add tests."], "Continue from where you left off. Then add tests."),
        (["Tool loaded. What is it for?"], "Tool loaded. What is it for?"),
    ],
)
def test_what_a_person_asks_beside_local_commands_opens_a_task_with_these_words(said: list[str], prompt: str) -> None:
    story = Story()
    line = story.line(session="s").ask("a", "go", "gone", task="1")
    line.ask("b", said, "done", parent="a", task="2")
    questions = story.check(orders=3)
    assert {task["prompt"] for task in questions.tasks(roots=True)["items"]} == {"go", prompt}


@pytest.mark.parametrize("said", [[CAVEAT, *SHELL], list(SHELL), [CAVEAT, CONTEXT, "<local-command-stderr>no</local-command-stderr>"], ["Tool loaded."]])
def test_what_the_client_carried_out_itself_opens_nothing(said: list[str]) -> None:
    story = Story()
    line = story.line(session="s").ask("a", "go", "gone", task="1")
    line.say(said).say(notification("a1", "toolu_9")).call("b", "done", parent="a", task="1")
    questions = story.check(orders=3)
    assert {message["author"] for message in messages(questions) if message["role"] == "user"} == {"human", "harness"}


def test_a_person_may_wish_for_a_summary() -> None:
    story = Story()
    words = "Your task is to create a detailed summary of the conversation so far that follows: A met B."
    story.line(session="s").ask("a", words, "They met.", task="1", kind="main", utility=None)
    questions = story.check(orders=2)
    [task] = questions.tasks(roots=True)["items"]
    assert (task["prompt"], task["prompt_author"]) == (words, "human")
    assert saying(questions, "A met B")["author"] == "human"
