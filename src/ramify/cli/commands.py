"""Every command, once: its name, what people want with it, and the family that carries it out."""

from typing import NamedTuple


class Command(NamedTuple):
    name: str
    group: str
    family: str  # a module of this package, imported only when one of its commands is asked for
    summary: str


CAPTURE = "Watch agents work"
FIND = "Find something"
ASK = "Ask about one thing, by its ID"
KEEP = "Correct and look after"
COMMANDS = (
    Command("demo", CAPTURE, "serving", "a live multi-agent session on a throw-away store; needs no network"),
    Command("run", CAPTURE, "running", "run a program with its agent traffic captured, then print what it did"),
    Command("serve", CAPTURE, "serving", "capture, API, live feed and dashboard on one port"),
    Command("import", CAPTURE, "importing", "read recorded traffic and transcripts into the store"),
    Command("watch", CAPTURE, "watching", "follow Claude Code's transcripts as they grow"),
    Command("follow", CAPTURE, "pursuing", "ask an A2A agent, or attach to its task, and follow every child it refers to"),
    Command("listen", CAPTURE, "listening", "hear an agent mesh at its broker; nothing is lost while nobody listens"),
    Command("hook", CAPTURE, "hooking", "record what the Claude client tells a hook; silent, and never in its way"),
    Command("hooks", CAPTURE, "hooking", "print the settings that make the Claude client report to Ramify"),
    Command("tail", CAPTURE, "tailing", "follow what happens, line by line or as a live tree"),
    Command("conversations", FIND, "listing", "conversations, newest first"),
    Command("tasks", FIND, "listing", "tasks, newest first; --roots for those that a person began"),
    Command("calls", FIND, "listing", "calls to models, newest first"),
    Command("operations", FIND, "logged", "what callers grouped: one act, many agents; last updated first"),
    Command("events", FIND, "logged", "the event log, newest first"),
    Command("search", FIND, "listing", "full text over everything that was said"),
    Command("sql", FIND, "querying", "one SQL query over everything, read-only; without one, what can be asked"),
    Command("mcp", FIND, "mcp", "the same questions for agents: an MCP server on standard input and output"),
    Command("lint", FIND, "finding", "what people should look at: stalls, loops, ignored failures, secrets, waste"),
    Command("stats", FIND, "summing", "totals; sums by day, project, agent, model or tool, with times and success rates"),
    Command("tree", ASK, "asking", "a task and everything it started; a conversation and its roots"),
    Command("show", ASK, "asking", "everything known about it"),
    Command("messages", ASK, "asking", "what was said, as a conversation"),
    Command("flow", ASK, "asking", "everything that happened in it and under it, by time"),
    Command("subtasks", ASK, "asking", "the tasks it gave to others"),
    Command("tools", ASK, "asking", "the tools it used"),
    Command("tool", ASK, "asking", "one tool call: what went in, what came out"),
    Command("reasoning", ASK, "asking", "what the agent thought and explained"),
    Command("why", ASK, "asking", "how it is linked: rule, certainty, evidence, and what else it might have been"),
    Command("compare", ASK, "comparing", "two runs side by side: where they part, and what that cost"),
    Command("export", ASK, "exporting", "a run to pass on: a page, a text, the log of it, tables, spans"),
    Command("link", KEEP, "correcting", "say that one task was started by another; outlives every rebuild"),
    Command("unlink", KEEP, "correcting", "say that a task was started by nobody known"),
    Command("answer", KEEP, "acting", "answer an A2A task that waits for input"),
    Command("cancel", KEEP, "acting", "ask to cancel an A2A task, and what it started and is still open"),
    Command("reconcile", KEEP, "logged", "ask agents how the tasks stand that are not known to have ended"),
    Command("rebuild", KEEP, "upkeep", "derive everything again from what was seen"),
    Command("forget", KEEP, "forgetting", "delete a conversation for good, as if it had never been seen"),
    Command("prune", KEEP, "forgetting", "forget what is old, or what is too much"),
    Command("redact", KEEP, "redacting", "take secrets out of what is stored already, everywhere"),
    Command("rekey", KEEP, "upkeep", "open an encrypted store with another key from now on"),
    Command("token", KEEP, "access", "make, list, revoke and renew the tokens that a server for others asks for"),
    Command("audit", KEEP, "access", "who linked, forgot, exported, read raw bodies, made tokens; newest first"),
    Command("copy", KEEP, "upkeep", "move a store to another engine; goes on where it was cut, and checks itself"),
    Command("doctor", KEEP, "upkeep", "check store and capture, and say what to do"),
)
BY_NAME = {command.name: command for command in COMMANDS}

FIRST_STEPS = (
    ("ramify demo", "see it work, with nothing to set up"),
    ("ramify run -- claude", "run your agent, then read the tree of what it did"),
    ("ramify tasks --roots", "what has been asked so far"),
)


def overview() -> str:
    """What `ramify --help` prints."""
    widest = max(len(command.name) for command in COMMANDS)
    lines = ["Ramify shows what your AI agents, and the agents those agents started, really did.", ""]
    lines += ["Usage: ramify COMMAND [OPTIONS]", "", "Try first:"]
    lines += [f"  {example:<22}  {meaning}" for example, meaning in FIRST_STEPS]
    for group in dict.fromkeys(command.group for command in COMMANDS):
        lines += ["", f"{group}:"]
        lines += [f"  {each.name:<{widest}}  {each.summary}" for each in COMMANDS if each.group == group]
    lines += ["", "An ID is Ramify's own, or any id of the protocol: toolu_…, a session, an agent, a task."]
    lines += ["ramify COMMAND --help explains a command; ramify --version prints the version.", ""]
    return "\n".join(lines)
