"""Tasks, and what belongs to them."""

from ramify.model.entity import Task
from ramify.model.mistake import UserMistake
from ramify.query.cache import cache_story
from ramify.query.completeness import completeness as completeness_of
from ramify.query.flow import flow as flow_of
from ramify.query.runs import Runs, runs
from ramify.query.service import Answer
from ramify.web.route import Asked


def listed(asked: Asked) -> Answer:
    given = dict(asked.given)
    ids, words = given.pop("ids"), given.pop("words")
    if given["roots"] and not ids:
        del given["roots"]
        limit, cursor = given.pop("limit"), given.pop("cursor")
        questions = asked.ramify.questions
        return runs(questions.store, Runs(words=words, **given), limit, cursor, questions.patience)
    if words:
        raise UserMistake('"words" is only known for root tasks', "Add roots=true, or use /api/search")
    return asked.ramify.questions.tasks(ids=ids.split(",") if ids else None, **given)


def shown(asked: Asked) -> Answer:
    return asked.ramify.questions.task(asked.path["id"])


def tree(asked: Asked) -> Answer:
    """Of a task, a conversation or an operation: the questions find out what the id is."""
    questions = asked.ramify.questions
    ask = questions.skeleton if asked.given["shape"] == "skeleton" else questions.tree
    return ask(asked.path["id"])


def subtasks(asked: Asked) -> Answer:
    return asked.ramify.questions.subtasks(asked.path["id"], **asked.given)


def tools(asked: Asked) -> Answer:
    given = dict(asked.given)
    brief = given.pop("brief")
    found = asked.ramify.questions.tools(asked.path["id"], **given)
    return {**found, "items": [{**tool, "result": None} for tool in found["items"]]} if brief else found


def reasoning(asked: Asked) -> Answer:
    given = dict(asked.given)
    return asked.ramify.questions.reasoning(asked.path["id"], histories=not given.pop("brief"), **given)


def artifacts(asked: Asked) -> Answer:
    return asked.ramify.questions.artifacts(asked.path["id"], **asked.given)


def messages(asked: Asked) -> Answer:
    return asked.ramify.questions.messages(asked.path["id"], **asked.given)


def events(asked: Asked) -> Answer:
    return asked.ramify.questions.task_events(asked.path["id"])


def flow(asked: Asked) -> Answer:
    return flow_of(asked.ramify.questions, asked.path["id"])


def why(asked: Asked) -> Answer:
    return asked.ramify.questions.why(asked.path["id"])


def usage(asked: Asked) -> Answer:
    return asked.ramify.questions.usage(asked.path["id"])


def completeness(asked: Asked) -> Answer:
    return completeness_of(asked.ramify.questions.store, asked.path["id"])


def cache(asked: Asked) -> Answer:
    questions = asked.ramify.questions
    return {"items": cache_story(questions.store, asked.path["id"], asked.given["limit"], questions.price), "next": None}


def titles(asked: Asked) -> Answer:
    """Nothing but titles, so that many can be asked for while somebody scrolls."""
    ids = [id for id in asked.given["ids"].split(",") if id]
    found = asked.ramify.questions.store.among("tasks", "id", ids)
    return {"items": [{"id": task.id, "title": task.title} for task in found if isinstance(task, Task)], "next": None}


def tool(asked: Asked) -> Answer:
    return asked.ramify.questions.tool(asked.path["call_id"])
