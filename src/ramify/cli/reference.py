"""The documentation's pages on commands and settings, written from the parsers and the list of settings.

`python -m ramify.cli.reference` writes both into docs/."""

import argparse
import re
from importlib import import_module
from pathlib import Path

from ramify.cli.commands import COMMANDS, FIRST_STEPS, Command
from ramify.cli.parser import Parser
from ramify.settings import SETTINGS

NOTE = "<!-- Written by `python -m ramify.cli.reference`; change the code, not this page. -->"
ENDINGS = """\
| exit status | meaning |
|---|---|
| 0 | done, or found |
| 1 | not found (`doctor`: something is broken; `tail`: no server answers) |
| 2 | wrong use: one line on standard error says what was wrong and what to do |
| 130 | interrupted with Ctrl-C |

Results go to standard output, everything else to standard error. Colours appear only on a terminal and never
with `NO_COLOR`; `--color` overrules both. Control characters in what agents said are shown as pictures (`␛`)
and never sent to the terminal. `ramify run` ends with the exit status of the program it ran."""
SETTINGS_INTRODUCTION = """\
A flag beats a variable, a variable beats the file, the file beats the default. The file is `ramify.toml` in
your configuration folder (`~/.config/ramify` on Linux), or what `--config` or `RAMIFY_CONFIG` names."""
SETTINGS_EXAMPLE = """\
```toml
port = 9000
spawn_tools = ["Agent", "Task", "delegate"]

[projects.batch]
match_window = "30s"
```

Times are written as `30s`, `10m`, `24h` or `7d`, sizes as `500MB` or `1GiB`. A project may have a
`match_window` of its own. Without `store`, everything is kept in `ramify.db` in your data folder
(`~/.local/share/ramify` on Linux)."""


def commands_page() -> str:
    lines = ["# The command line", "", NOTE, "", "Try first:", ""]
    lines += [f"- `{example}`: {meaning}" for example, meaning in FIRST_STEPS]
    for group in dict.fromkeys(command.group for command in COMMANDS):
        lines += ["", f"## {group}"]
        for command in COMMANDS:
            if command.group == group:
                lines += ["", *command_section(command)]
    return "\n".join([*lines, "", "## How it ends", "", ENDINGS, ""])


def command_section(command: Command) -> list[str]:
    parser = parser_of(command)
    positional = [action for action in parser._actions if not action.option_strings]
    options = [action for action in parser._actions if action.option_strings and action.dest != "help"]
    usage = " ".join(["ramify", command.name, *map(usage_of, positional), "[OPTIONS]"])
    if command.name == "run":
        usage = "ramify run [OPTIONS] -- COMMAND…"
    lines = [f"### `{usage}`", "", command.summary[:1].upper() + command.summary[1:] + ".", ""]
    rows = [f"| `{action.metavar}` | {meaning(action)} |" for action in positional]
    rows += [f"| `{spelling(action)}` | {meaning(action)} |" for action in options]
    return [*lines, "| option | meaning |", "|---|---|", *rows]


def parser_of(command: Command) -> Parser:
    parser = Parser(command.name, command.summary)
    import_module(f"ramify.cli.{command.family}").FAMILY[command.name].options(parser)
    return parser


def usage_of(action: argparse.Action) -> str:
    many = f"{action.metavar}…" if action.nargs in ("+", "*") else str(action.metavar)
    return f"[{many}]" if action.nargs in ("*", "?") else many


def spelling(action: argparse.Action) -> str:
    return " ".join([*action.option_strings, *([str(action.metavar)] if action.metavar else [])])


def meaning(action: argparse.Action) -> str:
    return re.sub(r"%%", "%", action.help or "").replace("|", "\\|")


def settings_page() -> str:
    parts = ["# Settings", NOTE, SETTINGS_INTRODUCTION, table_of_settings(), SETTINGS_EXAMPLE]
    return "\n\n".join(parts) + "\n"


def table_of_settings() -> str:
    rows = ["| setting | flag | variable | default | meaning |", "|---|---|---|---|---|"]
    for setting in SETTINGS:
        default = "" if setting.default is None else f"`{setting.default}`"
        names = f"| `{setting.name}` | `{setting.flag}` | `{setting.variable}` |"
        rows.append(f"{names} {default} | {setting.meaning} |")
    return "\n".join(rows)


PAGES = {"cli.md": commands_page, "settings.md": settings_page}


def write_pages(folder: Path) -> None:
    for name, page in PAGES.items():
        (folder / name).write_text(page(), "utf-8")


if __name__ == "__main__":
    write_pages(Path("docs"))
