"""Which topics to listen to, in the words of each broker."""

from collections.abc import Sequence

from ramify.model.mistake import UserMistake

PARTS = ("agent", "gateway", "client", "trust")
CARDS = "discovery"
REST, LEVEL = ">", "*"
"""As Solace writes them: the rest, and one level."""


def subscriptions(namespace: str, topics: Sequence[str], exclude: Sequence[str]) -> tuple[str, ...]:
    """Everything that a mesh says, and its feedback. Cards are left out by not asking for them."""
    if topics:
        return tuple(dict.fromkeys(topics))
    if not namespace:
        raise UserMistake("no namespace is given", "use --namespace NS, the variable NAMESPACE, or --topic T")
    root = namespace.strip("/")
    spoken = [f"{root}/a2a/v1/{REST}"]
    if f"{root}/a2a/v1/{CARDS}/{REST}" in exclude:
        spoken = [f"{root}/a2a/v1/{part}/{REST}" for part in PARTS]
    return (*spoken, f"{root}/sam/{REST}", "sam/feedback/v1")


def is_excluded(topic: str, exclude: Sequence[str]) -> bool:
    return any(fits(topic.split("/"), pattern.split("/")) for pattern in exclude)


def fits(levels: list[str], pattern: list[str]) -> bool:
    for at, part in enumerate(pattern):
        if part == REST:
            return len(levels) > at
        if at >= len(levels) or part not in (LEVEL, levels[at]):
            return False
    return len(levels) == len(pattern)


def as_mqtt(topic: str) -> str:
    return "/".join({REST: "#", LEVEL: "+"}.get(level, level) for level in topic.split("/"))
