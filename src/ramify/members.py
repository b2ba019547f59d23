"""Which observations tell of a conversation, found by the keys that each has left."""

from collections.abc import Iterable, Iterator

from ramify.belonging import Belonging
from ramify.linking.keys import FOREVER
from ramify.linking.world import key
from ramify.model import ids
from ramify.model.entity import Call, Conversation
from ramify.protocols.anthropic.decode import BATCH
from ramify.scopes import NOBODY, TOLD, seen_key
from ramify.storage.base import Store

MOST = 1 << 40


class Members:
    """Of one store, as it stands."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.belonging = Belonging(store)
        self._told: dict[str, frozenset[str]] | None = None

    def of(self, names: Iterable[str]) -> set[str]:
        """Ids of all observations that tell of these conversations, of others as well or not."""
        wanted = set(names)
        found: set[str] = set()
        sessions: set[tuple[str, str]] = set()
        for id in wanted:
            row = self._store.load("conversations", id)
            if isinstance(row, Conversation) and row.session:
                sessions.add((row.project, row.session))
        for call in self._store.among("calls", "conversation", sorted(wanted)):
            if isinstance(call, Call):
                found |= {call.request, call.response, *self._wholes(call)}
                sessions |= {(call.project, call.session)} if call.session else set()
        for project, session in sessions:
            if ids.session_conversation_id(project, session) in wanted:
                found |= set(self._with_answers(seen_key(project, session)))
        found |= {id for id, owners in self._all_told().items() if owners & wanted}
        return found - {""}

    def _wholes(self, call: Call) -> Iterator[str]:
        """The bodies that a batch's call was cut out of."""
        if call.source == BATCH:
            batch = call.exchange.rpartition("/")[0]
            yield from (id for _, id in self._store.span(key("batch", call.project, batch), -FOREVER, FOREVER, MOST, False))

    def of_nobody(self, before: int) -> Iterator[str]:
        """What names nobody, or may turn out not to, and is older."""
        yield from self._with_answers(NOBODY, before - 1)
        yield from self._all_told()

    def _with_answers(self, place: int, until: int = FOREVER) -> Iterator[str]:
        for _, id in self._store.span(place, -FOREVER, until, MOST, False):
            yield id
            call = self._store.load("calls", ids.call_id(id))
            if isinstance(call, Call) and call.response:
                yield call.response
            yield from (answer for _, answer in self._store.span(key("reply", id), -FOREVER, FOREVER, MOST, False))

    def _all_told(self) -> dict[str, frozenset[str]]:
        if self._told is None:
            entries = self._store.span(TOLD, -FOREVER, FOREVER, MOST, False)
            told = [seen for _, id in entries if (seen := self._store.observation(id)) is not None]
            self._told = {seen.id: self.belonging.of(seen) for seen in told}
        return self._told
