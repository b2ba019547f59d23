"""Ancestors and descendants: who stands under whom, however the question is asked."""

import sys

from ramify.model.entity import Task
from ramify.model.usage import Usage
from ramify.query.family import ancestry, descend, flat, tree_usage
from ramify.query.service import Questions
from ramify.storage.base import Changes
from ramify.storage.sqlite import Sqlite, open_sqlite


def stored(**parents: str) -> tuple[Sqlite, dict[str, Task]]:
    """Tasks by name, each with its parent's name, each with one call of one token."""
    store = open_sqlite("memory:")
    tasks = {
        id: Task(id, parent=parent, kind="sub" if parent else "root", opened=at, usage=Usage(1, 1))
        for at, (id, parent) in enumerate(parents.items(), 1)
    }
    store.append((), Changes({("tasks", id): task for id, task in tasks.items()}))
    return store, tasks


def names(family: dict[str, list[Task]]) -> dict[str, list[str]]:
    return {parent: [task.id for task in tasks] for parent, tasks in family.items()}


def test_everything_under_a_root_is_found() -> None:
    store, tasks = stored(top="", left="top", right="top", deep="left")
    assert names(descend(store, [tasks["top"]])) == {"top": ["left", "right"], "left": ["deep"]}


def test_a_task_that_is_listed_beside_its_parent_still_stands_under_it() -> None:
    store, tasks = stored(top="", left="top", deep="left")
    family = descend(store, [tasks["deep"], tasks["left"], tasks["top"]])
    assert names(family) == {"top": ["left"], "left": ["deep"]}
    assert tree_usage(tasks["top"], family).calls == 3


def test_a_list_counts_sub_tasks_as_a_single_question_does() -> None:
    store, _ = stored(task_top="", task_left="task_top", task_deep="task_left")
    questions = Questions(store)
    listed = {task["id"]: task for task in questions.tasks()["items"]}
    for id, task in listed.items():
        alone = questions.task(id)
        assert (task["subtasks"], task["tree_usage"]) == (alone["subtasks"], alone["tree_usage"])
    assert listed["task_top"]["tree_usage"]["input"] == 3


def test_a_tree_of_any_depth_is_told_as_a_list() -> None:
    depth = 2 * sys.getrecursionlimit()
    chain = {f"task_{at}": f"task_{at - 1}" if at else "" for at in range(depth)}
    store, tasks = stored(**chain)
    assert [task.id for task in flat(descend(store, [tasks["task_0"]]), "task_0")] == list(chain)[1:]
    questions = Questions(store)
    assert questions.subtasks("task_0", tree=True, limit=0)["items"][-1]["depth"] == depth - 1
    assert questions.tools("task_0", tree=True)["items"] == []
    assert questions.task("task_0")["tree_usage"]["calls"] == depth


def test_a_cycle_ends_where_it_closes() -> None:
    store, tasks = stored(one="two", two="one")
    assert names(descend(store, [tasks["one"]])) == {"one": ["two"], "two": []}
    assert tree_usage(tasks["one"], descend(store, list(tasks.values()))).calls == 1
    assert ancestry(store, tasks.values()) == {"one": ["two"], "two": ["one"]}
