"""Words for states: every spelling that agents and clients use, and ours."""

from ramify.model.operation_event import RANKS

OPEN = frozenset({"submitted", "working", "input-required", "auth-required"})
OTHER_NAMES = {"cancelled": "canceled", "needs-input": "input-required", "unspecified": "unknown"}
PREFIX = "task-state-"

UNREACHED = ("connecterror", "connectionrefused", "cardresolution", "nameresolution", "gaierror", "getaddrinfo")
LEFT = ("timeout", "timedout", "cancel", "generatorexit")  # the caller went away, and the agent may not have noticed
PERHAPS_TAKEN = ("readerror", "writeerror", "remoteprotocol", "connectionreset", "brokenpipe", "incompleteread")


def status_word(native: object) -> str:
    """Ours; `unknown` for a word that nobody has agreed on, nothing for what is no word."""
    if not isinstance(native, str) or not native:
        return ""
    word = native.strip().lower().replace("_", "-").removeprefix(PREFIX)
    word = OTHER_NAMES.get(word, word)
    return word if word in RANKS else "unknown"


def raised_status(name: str) -> str:
    """How a call stands that broke: an agent that may have heard of it may go on with it."""
    squeezed = name.lower().replace("_", "").replace(" ", "")
    if any(part in squeezed for part in LEFT):
        return "unknown"
    if any(part in squeezed for part in UNREACHED):
        return "failed"
    return "unknown" if any(part in squeezed for part in PERHAPS_TAKEN) else "failed"
