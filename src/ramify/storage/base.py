"""The contract that every engine keeps, in prose, with the types that go in and out.

- `append` is atomic: observations and what follows from them are there together, or none of it is. It returns only
  when they would survive a crash. An observation that is already there (by id) is not added again.
- Observations are never changed (but see `rewrite`) and come back byte for byte, in the order in which they were appended.
- Projections (rows, keys, refs) can be emptied and written again from the observations; same log, same rows.
- The fact `outdated` says that they were written by an older version and mean something else by now.
- `exclusive` makes reading and writing one act: whoever decides by what is stored decides by what is stored now,
  also when several processes write. It says whether another one has written since the last time, and `others` what, where the
  engine can tell.
- One writer at a time; any number of readers, which never block it and see whole batches only.
- `find` gives the newest entries of a key, oldest first; `span` those of a stretch of time, its first or its last;
  `between` all entries of a range of keys, in order.
- `sift` gives a page of the rows that pass all tests, newest first. It looks at no more than `most` rows, unless an
  index names few enough: a page may then be short, even empty, and still not be the last.
- `sql` answers one query in the engine's own language over the documented views (`ramify_tasks` …), which are part of
  the contract with people. It can only read, never what is secret, and no more than the bounds say. An engine in this
  process also answers over `further` views, which take the place of its own of the same name; another leaves them out.
  Of `projects` it shows no others; an engine that cannot promise that refuses.
- `sketches` gives all tasks of a conversation that count, in the order in which they began, with what a tree is drawn
  from and no more: there may be tens of thousands.
- `follow` tells what others wrote, as they write it, where the engine can (`tells`); `sign` says who is not another.
- Facts are small things that follow from no observation; `set_facts` is one act, and a rebuild leaves them alone.
- `forget` takes observations out of the log, for good; what follows from the others is for whoever asks to derive again.
  Numbers in the log are never given twice. `rewrite` puts observations in the place of those with their ids, under the same
  numbers: for secrets that were found late, and nothing else. `sweep` takes pieces that no body is made of any more, in small transactions;
  `shrink` gives the room back, where the engine can, and leaves nothing of what was deleted behind. `write_anew` costs as much as
  there is: pages are written again whole, for old versions of rows may stand between the new ones.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import Struct

from ramify.model.entity import Entity
from ramify.model.observation import Observation
from ramify.model.piece import Layout
from ramify.model.sketch import Sketch

if TYPE_CHECKING:
    from ramify.storage.sealing import Sealer

Entry = tuple[int, str]


class News(Protocol):
    """Up to where the log goes now, and which rows were written (table and id); None: that is not known. `after` is where
    the log ended before, where the engine can say so: what goes on from elsewhere comes later than something untold."""

    def __call__(self, seq: int, rows: Sequence[tuple[str, str]] | None, after: int | None = None, /) -> None: ...


class Kept(Struct, frozen=True):
    """An observation to be stored, how its body is made of pieces, and what it belongs to, where that is known: engines that
    spread their contents keep together what belongs together."""

    observation: Observation
    layout: Layout | None = None
    belongs: str = ""


class Others(Struct, frozen=True):
    """What other writers have written: rows by table and id, and keys."""

    rows: frozenset[tuple[str, str]]
    keys: frozenset[int]


class Ref(Struct, frozen=True):
    """An id as its own protocol writes it."""

    value: str
    kind: str  # protocol:kind
    entity: str  # the table
    id: str


class Changes(Struct, frozen=True):
    """Everything that follows from a batch."""

    rows: dict[tuple[str, str], Entity | None] = {}
    keys: dict[tuple[int, int, str], bool] = {}
    refs: tuple[Ref, ...] = ()
    unreadable: tuple[tuple[str, int, str], ...] = ()
    forgotten: tuple[str, ...] = ()  # observations that go: only a store that is bounded on purpose lets any go


class Ask(Struct, frozen=True):
    """A page of rows: equal columns, newest first by `order`, behind a place."""

    order: str
    where: dict[str, str] = {}
    limit: int = 50
    behind: tuple[int, str] | None = None
    ascending: bool = False
    without: dict[str, str] = {}
    within: dict[str, tuple[int, int]] = {}  # from and to, both included


class Test(Struct, frozen=True):
    """A condition: one of the values fits the column. Words are compared without regard to the case of A to Z.

    `tokens`, `words`, `lasted` (microseconds) and `orphan` (0, 1) are columns that every engine makes up from others.
    """

    column: str
    compare: Literal["is", "like", "has", "<", "<=", ">", ">="]  # like: * stands for anything; has: it is in there
    values: tuple[str | int, ...]
    negated: bool = False
    of: str = ""  # instead of the row: some one of its calls, tools, tasks, subtasks; its task


class Wish(Struct, frozen=True):
    """Rows of a table that say one of these in this column."""

    table: str
    column: str
    values: Sequence[str]


class Sifted(Struct, frozen=True):
    """A page of what passed, how many rows were looked at for it, and where to go on (None: that was all)."""

    rows: list[Entity]
    looked: int
    place: tuple[int, str] | None


class Bounds(Struct, frozen=True):
    """How much a query that a person wrote may take."""

    rows: int = 10_000
    seconds: float = 10.0
    bytes: int = 64 * 2**20


class Further(Struct, frozen=True):
    """Views that only an engine in this process can have: some of their columns are read by functions, row by row."""

    views: dict[str, str] = {}
    functions: dict[str, Callable[..., Any]] = {}


class Rows(Struct, frozen=True):
    """What it answered; `more` says that it was cut off."""

    columns: tuple[str, ...]
    rows: list[tuple[object, ...]]
    more: bool


class About(Struct, frozen=True, kw_only=True):
    """What whoever runs a database asks first. None: there is no such thing here, or it is not shown to this user."""

    engine: str
    version: str
    schema: int  # how often the engine's tables have changed so far; each engine counts for itself
    partitions: int | None = None  # PostgreSQL: tables of a day
    notices: bool | None = None  # PostgreSQL: whether servers hear of each other at once; a pooler carries none
    lacks: tuple[str, ...] = ()  # PostgreSQL: schemas of the views that are missing, and that this user may not make
    parts: int | None = None  # ClickHouse
    most_parts: int | None = None  # in one partition: there inserts are slowed down, and then refused
    merges: int | None = None  # under way
    mutations: int | None = None  # deletions that are not done
    shards: int | None = None
    replicas: int | None = None
    answering: int | None = None  # of the replicas


class Words(Struct, frozen=True):
    """A text that can be searched for, and where it stands."""

    call: str
    side: str  # request, response
    message: int
    block: int
    kind: str  # text, thinking, input, result
    text: str = ""


class StoreDown(Exception):
    """The store cannot take this now (locked, full, gone); the same batch may be tried again later."""


class NotAdmitted(StoreDown):
    """Somebody has to do something first: the server is there and refuses us, or nobody has that name."""


class Overtaken(StoreDown):
    """Another writer was first. Nothing was stored, and the same may be tried again at once."""


class TextIndex(Protocol):
    """Full-text search. It may lag behind the log; `indexed` says how far it has come. `stretch` is how many observations are best
    added at once. `fed`: what comes is added at all; of an encrypted store only where somebody asks for that."""

    stretch: int
    fed: bool

    def add(self, texts: Sequence[Words], after: int, seq: int) -> bool: ...
    def find(self, text: str, limit: int, before: int | None) -> list[tuple[int, Words]]: ...
    def indexed(self) -> int: ...
    def clear(self) -> None: ...
    def drop(self, texts: Sequence[Words]) -> bool:
        """All texts of the calls and messages that these are of, and no others. False: it cannot, and nothing was done."""
        ...



class Projected(Protocol):
    """A store whose derived rows another one takes over."""

    def projected(self, table: str, names: Sequence[str]) -> Iterator[tuple[Any, ...]]: ...


class Store(Projected, Protocol):
    """`path` is the file, where there is one; `sealer` encrypts bodies, where they are."""

    url: str
    path: str
    tells: bool
    sealer: "Sealer | None"

    @property
    def search(self) -> TextIndex: ...

    def exclusive(self) -> AbstractContextManager[bool]: ...
    def others(self) -> Others | None:
        """Inside it: what others wrote since the last time. None: it cannot be told, or is too much to be worth it."""
        ...

    def append(self, kept: Sequence[Kept], changes: Changes) -> int: ...
    def missing(self, ids: Sequence[str]) -> set[str]: ...
    def projects_of(self, observations: Sequence[str]) -> dict[str, str]:
        """Whose each of them is; those that are not there are left out."""
        ...

    def seq(self) -> int: ...
    def between(self, first: int, last: int, most: int) -> list[tuple[int, int, str]]: ...
    def find(self, keys: Sequence[int]) -> dict[int, list[Entry]]: ...
    def span(self, key: int, low: int, high: int, limit: int, newest: bool) -> list[Entry]: ...
    def load(self, table: str, id: str) -> Entity | None: ...
    def observation(self, id: str) -> Observation | None: ...
    def seen(self, ids: Sequence[str]) -> dict[str, Observation]:
        """Those of them that are there, by their ids; read together, where each by itself would be a journey."""
        ...

    def observations(self, after: int = 0) -> Iterator[tuple[int, Observation]]: ...
    def page(self, table: str, ask: "Ask") -> list[Entity]: ...
    def sift(self, table: str, ask: "Ask", tests: Sequence["Test"], most: int) -> "Sifted": ...
    def sql(
        self, query: str, bounds: "Bounds", further: "Further | None" = None, projects: "frozenset[str] | None" = None
    ) -> "Rows": ...
    def sketches(self, conversation: str) -> Iterator[Sketch]: ...
    def inside(self) -> list[tuple[str, str]]:
        """Conversations of which a root stands under a task of another: the other, then its own."""

    def among(self, table: str, column: str, values: Sequence[str]) -> list[Entity]: ...
    def gather(self, wishes: Sequence[Wish]) -> list[list[Entity]]:
        """`among` for each of them, all in one question where a question is a journey."""
        ...

    def count(
        self, table: str, where: dict[str, str] | None = None, without: dict[str, str] | None = None
    ) -> int: ...
    def openings(self, conversations: Sequence[str]) -> dict[str, tuple[str, int, int]]:
        """The title of the first root of each, how many tasks it has, and how many roots."""
        ...

    def totals(self) -> dict[str, int]:
        """How much there is of everything, as `storage/totals.py` names it; read from where it is kept, not counted."""
        ...

    def refs(self, value: str) -> list[Ref]: ...
    def ids_like(self, table: str, prefix: str, limit: int) -> list[str]: ...
    def unreadable(self, limit: int) -> list[tuple[str, int, str]]: ...
    def count_unreadable(self) -> int: ...
    def fact(self, name: str) -> str | bytes | int | None: ...
    def facts(self, prefix: str) -> dict[str, str | bytes | int]: ...
    def set_fact(self, name: str, value: str | bytes | int) -> None: ...
    def set_facts(self, facts: Mapping[str, str | bytes | int]) -> None: ...
    def drop_facts(self, names: Sequence[str]) -> None: ...
    def forget(self, ids: Sequence[str]) -> int:
        """How many there were."""
        ...

    def rewrite(self, kept: Sequence[Kept]) -> None:
        """Those that are not there any more stay away."""
        ...

    def bodies(self, after: int, limit: int) -> list[tuple[int, int, bytes]]:
        """Number, kind and folded body of the next observations."""
        ...

    def blobs(self, after: int, limit: int) -> list[tuple[int, int]]:
        """Ids of the next pieces, and their kinds."""
        ...

    def get(self, ids: Sequence[int]) -> dict[int, tuple[int, bytes]]: ...
    def drop_blobs(self, ids: Sequence[int]) -> None: ...
    def shrink(self) -> None: ...
    def write_anew(self) -> None: ...
    def distrust(self) -> None:
        """Says to the next one who decides that rows have changed behind its back."""
        ...

    def keys_after(self, place: tuple[int, int, str], limit: int) -> list[tuple[int, int, str]]: ...
    def size(self) -> dict[str, int]: ...
    def in_use(self) -> int:
        """Of `size`, what holds anything; the rest is room that new rows take. It may read every table."""
        ...

    def docs(self, table: str) -> Iterator[Entity]: ...
    def take_projections(self, other: Projected, tables: Sequence[str] | None = None) -> None:
        """Everything derived, or these tables, from another store with the same log; all at once, so that readers see old or new."""
        ...

    def sign(self, name: str) -> None: ...
    def follow(self, tell: News) -> Callable[[], None]:
        """Gives what ends it."""
        ...

    def check(self) -> str:
        """`ok`, or what is wrong with the store."""
        ...

    def about(self) -> About:
        """It may ask several questions, and take a second."""
        ...

    def close(self) -> None: ...
