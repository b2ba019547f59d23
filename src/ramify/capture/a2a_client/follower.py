"""Follows a task and, recursively, every task that it refers to, each on the agent that has it, until all have ended."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import aclosing

from msgspec import Struct

from ramify.capture.a2a_client.finding import find
from ramify.capture.a2a_client.forest import Followed, Forest
from ramify.capture.a2a_client.heard import Heard, is_over
from ramify.capture.a2a_client.peer import Gone, Peer
from ramify.capture.a2a_client.pursuit import FIRST_PAUSE, IN_VAIN, LONGEST_PAUSE, PAUSE_GROWS, Pursuit
from ramify.capture.a2a_client.question import Said
from ramify.capture.a2a_client.tape import new_name

SILENCE = 10.0
"""Seconds. Some agents leave a stream open for ever when its task has ended: a silent one is looked after."""


class NotThere(Exception):
    """The agent does not know the task that was asked for, or takes none."""

    hint = "check the id with the agent, or begin with --say TEXT"


class Watcher(Struct, frozen=True):
    """Who is told of every task that something has become of and, where somebody is there to answer, of questions."""

    tell: Callable[[Followed], None]
    ask: Callable[[Followed], Awaitable[str]] | None = None


class Follower:
    """`first` has the root; `others` are the agents that may have its children."""

    def __init__(self, first: Peer, others: Iterable[Peer], watcher: Watcher, resubscribe: bool = False) -> None:
        self.forest = Forest()
        self.reply = ""  # where the agent answered with a message alone, to the one with this id:
        self.said = ""
        self._first = first
        self._agents = [first, *(peer for peer in others if peer is not first)]
        self._watcher = watcher
        self._resubscribe = resubscribe
        self._live = 0
        self._quiet = asyncio.Event()  # nothing is followed any more, except for what nobody has
        self._questions: dict[str, asyncio.Task[None]] = {}
        self._group = asyncio.TaskGroup()

    # -- how it begins ------------------------------------------------------------------------------------------------

    async def attach(self, id: str) -> None:
        """Raises NotThere, Gone, NoCard."""
        heard = await self._first.show(id)
        if heard.kind != "task":
            raise NotThere(f"{self._first.name} has no task {id!r}: {heard.reason or 'it answers something else'}")
        async with self._group:
            pursuit = await self._begun(heard)
            pursuit.read(self._take(self.forest.root, pursuit, self._first, heard))
            await self._pursue(self.forest.root, pursuit, self._first)

    async def say(self, text: str) -> None:
        """Raises NotThere where the agent refuses, Gone, NoCard."""
        offer = await self._first.meet()
        said = Said(new_name(), text)
        self.said = said.id
        async with aclosing(self._first.discuss(said) if offer.streams else once(self._first.tell(said))) as stream:
            heard = await anext(stream, Heard("error", reason="it ends its answer before it says anything"))
            if heard.kind == "error":
                raise NotThere(f"{self._first.name} does not take it: {heard.reason}")
            if heard.kind == "message":
                self.reply = "\n".join(spoken.text for spoken in heard.said)
                return
            if not heard.task:
                raise NotThere(f"{self._first.name} answers with something that is neither a task nor a message")
            async with self._group:
                pursuit = await self._begun(heard)
                changed = self._take(self.forest.root, pursuit, self._first, heard)
                if offer.streams:
                    await self._listen(self.forest.root, pursuit, self._first, stream, changed)
                await self._pursue(self.forest.root, pursuit, self._first)

    async def _begun(self, heard: Heard) -> Pursuit:
        self.forest.begin(heard.task, self._first.name, self._first.clock())
        return Pursuit(await self._watches(self._first))

    async def _watches(self, peer: Peer) -> bool:
        offer = await peer.meet()
        return offer.subscribes or (self._resubscribe and offer.streams)

    # -- one task -----------------------------------------------------------------------------------------------------

    async def _pursue(self, task: Followed, pursuit: Pursuit, peer: Peer) -> None:
        self._live += 1
        self._quiet.clear()
        while (step := pursuit.next()).act != "done":
            self._mark(task, pursuit)
            await asyncio.sleep(step.after)
            if step.act == "read":
                await self._read(task, pursuit, peer)
            else:
                await self._watch(task, pursuit, peer)
        self._mark(task, pursuit)
        self._live -= 1
        if not self._live:
            self._quiet.set()

    async def _read(self, task: Followed, pursuit: Pursuit, peer: Peer) -> None:
        try:
            heard = await peer.show(task.id)
        except Gone:
            pursuit.failed()
            return
        if heard.kind == "task":
            pursuit.read(self._take(task, pursuit, peer, heard))
        else:
            pursuit.failed()

    async def _watch(self, task: Followed, pursuit: Pursuit, peer: Peer) -> None:
        async with aclosing(peer.watch(task.id)) as stream:
            await self._listen(task, pursuit, peer, stream)

    async def _listen(
        self, task: Followed, pursuit: Pursuit, peer: Peer, stream: AsyncIterator[Heard], changed: bool = False
    ) -> None:
        """`changed`: what the stream has said before this was new."""
        began = changed
        try:
            async with aclosing(with_silences(stream)) as events:
                async for heard in events:
                    if heard is None:
                        await self._look_after(task, pursuit, peer)
                        if is_over(task.state):
                            break
                        continue
                    if heard.kind == "error":
                        if not began:
                            pursuit.refused()
                            return
                        break
                    began = True
                    pursuit.attached()
                    changed |= self._take(task, pursuit, peer, heard)
        except Gone:
            if not began:
                pursuit.failed()
                return
        pursuit.watched(changed)

    async def _look_after(self, task: Followed, pursuit: Pursuit, peer: Peer) -> None:
        """A stream that says nothing may have been forgotten by its agent."""
        try:
            heard = await peer.show(task.id)
        except Gone:
            return  # the stream will say so
        if heard.kind == "task":
            self._take(task, pursuit, peer, heard)

    # -- what is heard ------------------------------------------------------------------------------------------------

    def _take(self, task: Followed, pursuit: Pursuit, peer: Peer, heard: Heard) -> bool:
        if heard.task and heard.task != task.id:
            return False
        changed, children = self.forest.hear(task, heard, peer.clock())
        pursuit.move(heard.state)
        for child in children:
            self._group.create_task(self._find_and_pursue(child, peer))
        self._raise_question(task, peer)
        if changed:
            self._watcher.tell(task)
            for child in children:
                self._watcher.tell(child)
        return changed

    def _mark(self, task: Followed, pursuit: Pursuit) -> None:
        flags = ("stalled",) if pursuit.stalled else ()
        if flags != task.flags:
            task.flags = flags
            self._watcher.tell(task)

    async def _find_and_pursue(self, child: Followed, near: Peer) -> None:
        """Nobody may have it yet: it is looked for again, until all else is over and a few more looks were in vain."""
        pause, looks = FIRST_PAUSE, 1
        while (found := await find(child.id, near, self._agents)) is None:
            child.asked = tuple(peer.name or peer.url for peer in self._agents)
            self._watcher.tell(child)
            if self._quiet.is_set() and looks >= IN_VAIN:
                return
            await self._until_quiet(pause)
            pause, looks = min(pause * PAUSE_GROWS, LONGEST_PAUSE), looks + 1
        child.agent, child.asked = found.peer.name, ()
        pursuit = Pursuit(await self._watches(found.peer))
        pursuit.read(self._take(child, pursuit, found.peer, found.heard))
        await self._pursue(child, pursuit, found.peer)

    async def _until_quiet(self, seconds: float) -> None:
        if self._quiet.is_set():
            await asyncio.sleep(seconds)
            return
        try:
            await asyncio.wait_for(self._quiet.wait(), seconds)
        except TimeoutError:
            pass

    # -- questions ----------------------------------------------------------------------------------------------------

    def _raise_question(self, task: Followed, peer: Peer) -> None:
        """Asked once; taken back when somebody else has answered. A secret is never asked for."""
        key = f"{task.agent}/{task.id}/{task.question_id}" if task.state == "input-required" else ""
        for other in [one for one in self._questions if one.startswith(f"{task.agent}/{task.id}/") and one != key]:
            self._questions.pop(other).cancel()
        if key and self._watcher.ask is not None and key not in self._questions:
            self._questions[key] = self._group.create_task(self._answer(task, peer))

    async def _answer(self, task: Followed, peer: Peer) -> None:
        """Asked again when the agent could not be told."""
        assert self._watcher.ask is not None
        while words := await self._watcher.ask(task):
            try:
                heard = await peer.tell(Said(new_name(), words, task=task.id, context=task.context))
            except Gone:
                continue
            if heard.kind != "error":
                return


async def once(answer: Awaitable[Heard]) -> AsyncGenerator[Heard, None]:
    yield await answer


async def with_silences(stream: AsyncIterator[Heard]) -> AsyncGenerator[Heard | None, None]:
    """The same, and None whenever nothing has come for a while."""
    end = Heard("")
    while True:
        coming = asyncio.ensure_future(anext(stream, end))
        try:
            while not (await asyncio.wait({coming}, timeout=SILENCE))[0]:
                yield None
        finally:
            if not coming.done():
                coming.cancel()
                await asyncio.wait({coming})
        heard = coming.result()
        if heard is end:
            return
        yield heard
