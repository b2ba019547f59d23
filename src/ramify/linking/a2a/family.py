"""The links of a batch: who must be judged again because of what became known, circles, and mere references."""

from ramify.linking import adoption
from ramify.linking.a2a import mentions, parents, subject
from ramify.linking.a2a.mentions import REFERRING, Mention
from ramify.linking.a2a.parents import Claim, all_claims, link_of, valid
from ramify.linking.world import World, key
from ramify.model.entity import Task
from ramify.model.link import Candidate, Link

Name = tuple[str, str]  # project and the task's own id


class Family:
    """What is to be judged, and what was found: the task rows follow later."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.names: dict[Name, None] = {}  # ids, whoever has them
        self.replies: dict[str, str] = {}  # tasks without an id of their own, with their project
        self.links: dict[str, Link | None] = {}
        self.titles: dict[str, str] = {}
        self.orders: dict[str, int] = {}
        self.touched: dict[str, None] = {}  # tasks whose row must be put again
        self.circles: dict[str, None] = {}
        self.unresolved: dict[str, Name] = {}

    # -- what is to be judged ------------------------------------------------------------------------------------------

    def judge(self, project: str, native: str) -> None:
        self.names[project, native] = None

    def judge_task(self, task: str) -> None:
        facts = subject.load(self.world, task)
        if facts is not None and facts.native:
            self.judge(facts.project, facts.native)
        elif facts is not None:
            self.replies[facts.id] = facts.project

    def mentioned(self, one: Mention) -> None:
        """A mention is new, earlier than was known, or gone."""
        if one.kind in ("self", "stamp"):
            self._judge_traced(one)
            return
        self.judge_task(one.subject)
        if one.kind in REFERRING:
            self.judge(one.project, one.target)

    def appeared(self, project: str, native: str) -> None:
        """An agent showed a task of that id, or none does any more."""
        self.judge(project, native)
        for one in mentions.naming(self.world, project, native):
            self.judge_task(one.subject)
            for other in mentions.asked_by(self.world, one.subject) if one.kind == "parent" else ():
                if other.kind == "span":
                    self._judge_traced(other)

    def _judge_traced(self, one: Mention) -> None:
        """Whose span it is may be another than was known."""
        for other in mentions.naming(self.world, one.project, one.target):
            self.judge_task(other.subject)

    def made(self, task: str) -> None:
        """When it was asked for is known now: who names it, and whom it names, may be older or younger."""
        self.judge_task(task)
        for one in mentions.named_by(self.world, task):
            if one.kind == "agent":
                self.judge(one.project, one.target)

    def moved(self, project: str, native: str, at: int) -> None:
        """Its state at some moment is another than was known."""
        for one in mentions.naming(self.world, project, native):
            if one.kind == "maker" and one.at >= at:
                self.judge_task(one.subject)

    # -- judging -------------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        projects = {project for project, _ in self.names} | set(self.replies.values())
        for project, native in list(self.names):
            known = parents.shown_as(self.world, project, native)
            for task in known:
                self._judge(task, project, native)
            self._judge_unresolved(project, native, list(known))
        for task, project in self.replies.items():
            self._judge(task, project, "")
        for project in projects:
            self._judge_circles(project)
        for project, native in list(self.names):
            for one in mentions.naming(self.world, project, native):
                self._refer(one)
        for task in list(self.links):
            self._refer_in_pair(task)

    def _judge(self, task: str, project: str, native: str) -> None:
        claims = all_claims(self.world, task, project, native)
        counting = valid(claims)
        chosen = counting[0] if counting else None
        self._choose(task, claims, chosen)
        if chosen is not None and self._is_circular(task):
            self.circles[task] = None

    def _judge_unresolved(self, project: str, native: str, known: list[str]) -> None:
        """An id that an agent names and none shows, or several others do, is a task of its own until that changes."""
        task = subject.unresolved_id(project, native)
        self.unresolved[task] = (project, native)
        self._judge(task, project, native)
        link = self.links[task]
        if link is not None and known:
            same = tuple(Candidate(one, parents.RULE, 0.0, "several agents have a task of this id") for one in known)
            self.links[task] = Link(link.kind, link.parent, link.rule, link.certainty, evidence=link.evidence, candidates=same + link.candidates)

    def _choose(self, task: str, claims: list[Claim], chosen: Claim | None) -> None:
        self.links[task] = link_of(claims, chosen)
        self.touched[task] = None
        titled = [claim for claim in claims if chosen is not None and claim.parent == chosen.parent and claim.title]
        self.titles[task] = titled[0].title if titled else ""
        self.orders[task] = chosen.at + chosen.index if chosen is not None else 0

    # -- circles -------------------------------------------------------------------------------------------------------

    def _parent(self, task: str) -> str:
        if task in self.links:
            link = self.links[task]
        else:
            row = self.world.task(task)
            link = row.found if row is not None else None
        return link.parent if link is not None else ""

    def _is_circular(self, task: str) -> bool:
        passed, above = {task}, self._parent(task)
        while above and above not in passed:
            passed.add(above)
            above = self._parent(above)
        return bool(above)

    def _judge_circles(self, project: str) -> None:
        """Rare, so all of a project's are judged together: links in their order, each unless it closes a circle."""
        place = key("a2a-circles", project)
        known = [ref for _, ref in self.world.span(place)]
        asked = [*known, *(task for task in self.circles if self.name_of(task)[0] == project)]
        if not asked:
            return
        claims = self._closure(asked)
        parent: dict[str, str] = {}
        chosen: dict[str, Claim] = {}
        counting = [(claim, task) for task, found in claims.items() for claim in valid(found)]
        for claim, task in sorted(counting, key=lambda pair: (pair[0].order(), pair[1])):
            if task not in chosen and not adoption.leads_to(parent, claim.parent, task):
                chosen[task], parent[task] = claim, claim.parent
        for task, found in claims.items():
            first = next(iter(valid(found)), None)
            if chosen.get(task) is not first or task in self.links:
                self._choose(task, found, chosen.get(task))
            if chosen.get(task) is not first:
                self.world.mark(place, 0, task)
            elif task in known:
                self._choose(task, found, first)
                self.world.unmark(place, 0, task)

    def _closure(self, tasks: list[str]) -> dict[str, list[Claim]]:
        """Everybody who may be above them, by any claim."""
        found: dict[str, list[Claim]] = {}
        waiting = list(tasks)
        while waiting:
            task = waiting.pop()
            if task not in found:
                found[task] = all_claims(self.world, task, *self.name_of(task))
                waiting += [claim.parent for claim in valid(found[task])]
        return found

    def name_of(self, task: str) -> Name:
        """The project and the task's own id, also of one that is known by name only."""
        facts, row = subject.load(self.world, task), self.world.task(task)
        if facts is not None:
            return facts.project, facts.native
        if row is not None and row.refs:
            return row.project, next((ref.value for ref in row.refs if ref.kind == "task"), "")
        return self.unresolved.get(task, ("", ""))

    # -- mere references -----------------------------------------------------------------------------------------------

    def _refer_in_pair(self, task: str) -> None:
        """Whether two that are parent and child now, or were, also refer to each other."""
        row = self.world.task(task)
        before = row.found.parent if row is not None and row.found is not None else ""
        for other in {before, self._parent(task)} - {""}:
            for one, two in ((task, other), (other, task)):
                for kind in REFERRING:
                    mention = mentions.load(self.world, mentions.mention_id(one, self.name_of(two)[1], kind))
                    if mention is not None:
                        self._refer(mention)

    def _refer(self, one: Mention) -> None:
        if one.kind not in REFERRING:
            return
        target = parents.resolve(self.world, one.project, one.agent, one.target)
        linked = self._parent(target) == one.subject or self._parent(one.subject) == target
        there = subject.load(self.world, target) is not None or self._parent(target)
        refers = "" if linked or target == one.subject or not there else target
        if refers != one.refers:
            place = key("a2a-refers", one.subject)
            (self.world.mark if refers else self.world.unmark)(place, 0, one.id)
            one.refers = refers
            mentions.keep(self.world, one)
            self.touched[one.subject] = None


def references_of(world: World, task: Task) -> tuple[Link, ...]:
    """What a task only mentions, in the order in which it did; each once."""
    found = (mentions.load(world, ref) for _, ref in world.span(key("a2a-refers", task.id)))
    named = sorted((one.at, one.ref, one.index, one.refers, one.observation) for one in found if one is not None)
    links = {target: Link("refers", target, parents.RULE, 1.0, evidence=(seen,)) for *_, target, seen in reversed(named)}
    return tuple(reversed(links.values()))
