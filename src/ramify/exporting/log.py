"""The observations that a tree rests on, in the order of the log, without what counts as a secret today."""

from collections.abc import Callable, Iterator

from ramify.belonging import Belonging, aliases
from ramify.capture.cleaner import Cleaner
from ramify.capture.log_file import HEADER, write_line
from ramify.model.entity import Call, Conversation, Operation
from ramify.model.ids import call_id, session_conversation_id
from ramify.model.observation import Correction, Observation, Request, Response
from ramify.query.operations import tasks_of
from ramify.query.scope import Scope, conversations_above
from ramify.query.service import Questions
from ramify.storage.base import Store

Progress = Callable[[int, int], None]
STEP = 500


def lines(questions: Questions, scope: Scope, progress: Progress) -> Iterator[bytes]:
    cleaner = Cleaner()
    yield HEADER
    for seen in observations(questions, scope, progress):
        yield write_line(cleaner.observation(seen))


def observations(questions: Questions, scope: Scope, progress: Progress) -> Iterator[Observation]:
    """Of whole conversations: requests repeat their history, so that a part of one would be linked in another way."""
    store = questions.store
    wanted, tasks = owners(questions, scope), set(scope.ids)
    belonging, total = Belonging(store), store.seq()
    for seq, seen in store.observations():
        about = isinstance(seen, Correction) and (seen.child in tasks or seen.parent in tasks)
        if about or belonging.of(seen) & wanted or reporter(store, seen) in wanted:
            yield seen
        if seq % STEP == 0:
            progress(seq, total)
    progress(total, total)


def owners(questions: Questions, scope: Scope) -> frozenset[str]:
    """Conversations and sessions of the event log without which the tree would be another one."""
    store = questions.store
    found = scope.conversations | conversations_above(questions, scope)
    waiting = sorted(found)
    while waiting:
        tied = ties(store, waiting) - found
        found |= tied
        waiting = sorted(tied)
    names = {name for one in found for name in aliases(store, one)}
    return frozenset(names | sessions_of(store, scope))


def ties(store: Store, conversations: list[str]) -> set[str]:
    """Where they were forked from, and where calls go on that began elsewhere."""
    rows = [store.load("conversations", id) for id in conversations]
    found = {row.forked_from for row in rows if isinstance(row, Conversation)}
    calls = [call for call in store.among("calls", "conversation", conversations) if isinstance(call, Call)]
    before = {call.parent for call in calls if call.parent} - {call.id for call in calls}
    found |= {call.conversation for call in store.among("calls", "id", sorted(before)) if isinstance(call, Call)}
    return found - {""}


def reporter(store: Store, seen: Observation) -> str:
    """The conversation that reports the same call: helpers of old clients have a session of their own on the wire only."""
    if not isinstance(seen, Request | Response):
        return ""
    call = store.load("calls", call_id(seen.id if isinstance(seen, Request) else seen.request))
    twin = store.load("calls", call.twin) if isinstance(call, Call) and call.twin else None
    return session_conversation_id(twin.project, twin.session) if isinstance(twin, Call) and twin.session else ""


def sessions_of(store: Store, scope: Scope) -> set[str]:
    """A session of the event log is told as a whole: what one event means depends on those around it."""
    named = {task["operation"] for task in scope.tasks if task["operation"]} | ({scope.id} if scope.entity == "operation" else set())
    rows = [store.load("operations", name) for name in named]
    rows += [store.load("operations", ref.id) for name in named for ref in store.refs(name) if ref.entity == "operations"]
    tasks = set(scope.ids)
    found = [row for row in rows if isinstance(row, Operation)]
    return {row.session for row in found if row.id == scope.id or any(task.id in tasks for task in tasks_of(store, row))}
