"""What agents' spans say they used, where no call to a model is known that explains it.

Most add up everything below them, so that the claims of agents inside others are parts of those around them: of each claim
counts what the next ones below leave of it. Where they leave less than nothing, it was about something else, and counts whole.
"""

from collections.abc import Iterator

from ramify.linking.otel.nodes import Node, Nodes, Place
from ramify.linking.otel.structure import Structure
from ramify.model.otel_event import AGENT, LOOP, WORKFLOW
from ramify.model.prices import Tokens
from ramify.model.usage import NOTHING, Usage

AGENTS = (AGENT, LOOP, WORKFLOW)


def of(node: Node, outer: list[Node]) -> Tokens | None:
    """Either half of a remote call may say it."""
    return next((one.seen.tokens for one in (node, *outer) if one.seen.tokens is not None), None)


def shown(tokens: Tokens) -> dict[str, int]:
    usage = _usage(tokens)
    return {"input": usage.input, "output": usage.output, "cache_read": usage.cache_read, "cache_write": usage.cache_write}


def counted(tokens: Tokens, inside: Usage) -> Usage:
    left = _usage(tokens) - inside
    fits = min(left.input, left.output, left.cache_read, left.cache_write) >= 0
    return Usage(0, left.input, left.output, left.cache_read, left.cache_write, 0, 1) if fits else _usage(tokens)


def below(nodes: Nodes, structure: Structure, node: Node) -> Usage:
    """The nearest claims, of tasks of their own."""
    found, waiting, passed = NOTHING, list(nodes.kids(node)), {node.seen.place}
    while waiting:
        one = waiting.pop()
        if one.seen.place in passed:
            continue
        passed.add(one.seen.place)
        tokens = of(one, structure.outer_halves(one)) if structure.is_agent(one) else None
        if tokens is not None:
            found = found + _usage(tokens)
        else:
            waiting += nodes.kids(one)
    return found


def note(nodes: Nodes, node: Node) -> None:
    """That there is a claim, for whoever is above."""
    own = node.seen.tokens is not None and node.seen.role in AGENTS
    if not own and not any(kid.claims for kid in nodes.kids(node)):
        return
    one: Node | None = node
    while one is not None and not one.claims:
        one.claims = True
        nodes.changed(one)
        one = nodes.parent(one)


def above(nodes: Nodes, touched: list[Node]) -> Iterator[Node]:
    """Agents whose claims may leave more or less because of these."""
    passed: set[Place] = set()
    for node in touched:
        one = nodes.parent(node) if node.claims else None
        while one is not None and (at := (one.seen.project, one.seen.place)) not in passed:
            passed.add(at)
            if one.seen.role in AGENTS:
                yield one
            one = nodes.parent(one)


def _usage(tokens: Tokens) -> Usage:
    return Usage(0, tokens.input, tokens.output, tokens.cache_read, tokens.write_5m + tokens.write_1h, 0, 1)
