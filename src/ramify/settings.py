"""Every setting, once: this list drives flags, variables, `ramify.toml`, defaults and documentation."""

import re
import sys
import tomllib
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from ramify.model.claims import Rule
from ramify.model.mistake import UserMistake
from ramify.setting_readers import (
    HOUR,
    read_address,
    read_agents,
    read_asked,
    read_count,
    read_duration,
    read_folders,
    read_hook,
    read_names,
    read_port,
    read_rules,
    read_size,
    read_text,
    read_truth,
    read_zone,
)
from ramify.storage.address import HIDDEN

WORD = re.compile(r"[^\s,]+")


class Setting(Struct, frozen=True):
    """`area` says which commands have a flag for it: "store" all, "address" those that talk to a server,
    "capture" those that start one, "watch" those that can follow transcripts, "recording" those that report,
    "reading" those that read messages of a mesh, "agents" those that reach A2A agents,
    "asking" those that ask agents how tasks stand. `default` is written as a person
    would write it."""

    name: str
    area: str
    default: str | None
    read: Callable[[str], object]
    example: str
    meaning: str

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        return "RAMIFY_" + self.name.upper()


SETTINGS = (
    Setting(
        "store",
        "store",
        None,
        read_text,
        "sqlite:/data/ramify.db",
        "where everything is kept; by default a SQLite file in your data folder",
    ),
    Setting(
        "project",
        "store",
        None,
        read_text,
        "billing",
        "whose data it is: what is recorded without a project of its own gets this one (else `default`), "
        "and lists show only this one (else all)",
    ),
    Setting(
        "host",
        "address",
        "127.0.0.1",
        read_text,
        "0.0.0.0",
        "the address to listen on; any other than this machine's own needs tokens",
    ),
    Setting("port", "address", "8377", read_port, "9000", "the one port for capture, API, live feed and dashboard"),
    Setting(
        "token",
        "address",
        None,
        read_text,
        "a-long-random-text",
        "what a client must present (`Authorization: Bearer …`) to ask questions or to change anything; as a server's it "
        "allows everything, beside the tokens that its store keeps",
    ),
    Setting(
        "require_token", "capture", "no", read_truth, "yes",
        "whether everybody must present a token, this machine's own programs and captured traffic included: yes or no",
    ),
    Setting(
        "public_url", "capture", None, read_address, "https://ramify.example",
        "the address at which browsers reach the server, where it is another; with https, logins are for TLS alone",
    ),
    Setting(
        "oidc_issuer", "capture", None, read_address, "https://login.example",
        "an OpenID provider at which people log in to the page; its client's secret, if it has one, is in `RAMIFY_OIDC_SECRET`",
    ),
    Setting("oidc_client_id", "capture", None, read_text, "ramify", "what the provider calls this server"),
    Setting(
        "oidc_map", "capture", None, read_rules, "groups=agents:read+write:billing",
        "who may do what, as `CLAIM=VALUE:SCOPES:PROJECTS` or `*:SCOPES:PROJECTS`, with + between several scopes or projects and * for "
        "all projects; several with commas between them, of which the first that fits counts",
    ),
    Setting("oidc_scopes", "capture", "openid email profile", read_text, "openid email groups", "what is asked of the provider"),
    Setting(
        "trusted_proxy", "capture", None, read_text, "127.0.0.1",
        "the address of a proxy in front, whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed",
    ),
    Setting(
        "server",
        "recording",
        None,
        read_address,
        "http://127.0.0.1:8377",
        "the server that recorded programs and hooks report to; by default the one at `host` and `port` if it has "
        "the same store, else they write to the store themselves",
    ),
    Setting(
        "anthropic_upstream",
        "capture",
        "https://api.anthropic.com",
        read_address,
        "https://gateway.example",
        "where captured requests to the Anthropic API are sent on to",
    ),
    Setting(
        "openai_upstream",
        "capture",
        "https://api.openai.com",
        read_address,
        "http://127.0.0.1:11434",
        "where captured requests to an OpenAI-compatible API (`/openai/v1/…`) are sent on to",
    ),
    Setting(
        "a2a",
        "agents",
        None,
        read_agents,
        "planner=http://127.0.0.1:9000",
        "A2A agents to watch: clients reach each of them at `/a2a/NAME`, and nobody else; several with commas between "
        "them, or the flag several times",
    ),
    Setting(
        "agent", "asking", None, read_asked, "seller=https://seller.example/mcp",
        "agents that are asked how tasks of the event log stand, most of them over MCP: their tokens go there, and nowhere else; "
        "several with commas between them, or the flag several times",
    ),
    Setting(
        "spawn_tools",
        "capture",
        "Agent,Task,task",
        read_names,
        "Agent,delegate",
        "the tools whose calls start a sub-agent, by name",
    ),
    Setting(
        "match_window",
        "capture",
        "24h",
        read_duration,
        "30s",
        "how long after a call a sub-task may begin and still be matched by its prompt alone, "
        "where no session is known",
    ),
    Setting(
        "stalled_after",
        "capture",
        "2m",
        read_duration,
        "10m",
        "how long a task that works may be silent, with nobody at work under it, before it is said to be stalled",
    ),
    Setting(
        "body_limit",
        "capture",
        "64MiB",
        read_size,
        "128MiB",
        "the longest body that is kept; a longer one is forwarded all the same and recorded as too long",
    ),
    Setting(
        "queue_limit",
        "capture",
        "20000",
        read_count,
        "5000",
        "how many observations may wait in memory for the store before they go to the spool",
    ),
    Setting("queue_bytes", "capture", "128MiB", read_size, "32MiB", "the same, by size"),
    Setting(
        "spool_limit",
        "capture",
        "1GiB",
        read_size,
        "10GiB",
        "how much may wait on disk while the store is away; what comes then is dropped and counted",
    ),
    Setting(
        "watch",
        "watch",
        None,
        read_folders,
        "~/.claude",
        "folders with Claude Code transcripts to follow as they grow, with commas between them; `auto` is the "
        "client's usual one",
    ),
    Setting(
        "events_max_sessions", "capture", "100", read_count, "20",
        "how many sessions the event log of a `memory:` store holds; the one that was silent longest goes first",
    ),
    Setting(
        "events_session_timeout_ms", "capture", "3600000", read_count, "600000",
        "after how many milliseconds of silence a session of a `memory:` store is emptied",
    ),
    Setting(
        "events_max_per_session", "capture", "10000", read_count, "500",
        "how many events of one session a `memory:` store holds; the oldest go first, what followed from them stays",
    ),
    Setting(
        "events_max_event_bytes", "capture", "64KiB", read_size, "16KiB",
        "the largest event that is kept whole; of a larger one the status is read and the payload is cut",
    ),
    Setting("events_max_session_bytes", "capture", "32MiB", read_size, "4MiB", "the same as events_max_per_session, by size"),
    Setting("events_max_bytes", "capture", "256MiB", read_size, "64MiB", "the same for all sessions together"),
    Setting(
        "retention", "capture", None, read_duration, "30d",
        "how long a conversation is kept after its last sign of life; a server then forgets it, once an hour at most. By "
        "default everything is kept",
    ),
    Setting(
        "on_finding", "capture", None, read_hook, "http://127.0.0.1:9000/findings",
        "who is told of findings, each once: an address that is sent JSON, or a command that gets it on standard input",
    ),
    Setting(
        "store_limit", "capture", None, read_size, "20GiB",
        "how large the store may become before health and `ramify doctor` say so; nothing is deleted for that",
    ),
    Setting(
        "otlp_to", "capture", None, read_address, "http://127.0.0.1:4318",
        "an OTLP endpoint that everything is sent to as spans when it has ended; what it wants to know of the sender is in "
        "`OTEL_EXPORTER_OTLP_HEADERS`",
    ),
    Setting("otlp_content", "capture", "no", read_truth, "yes", "whether these spans hold what was said: yes or no"),
    Setting(
        "log_file", "capture", None, read_text, "/var/log/ramify/ramify.log",
        "where a server writes its log; by default to standard error. Five full files are kept beside it (`.1` to `.5`)",
    ),
    Setting("log_limit", "capture", "10MiB", read_size, "1MiB", "how large that file becomes before the next one begins"),
    Setting(
        "zone",
        "reading",
        "UTC",
        read_zone,
        "Europe/Amsterdam",
        "the time zone of stamps that name none, as some listeners of an agent mesh write them",
    ),
    Setting(
        "prices",
        "capture",
        None,
        read_text,
        "prices.json",
        "a file with prices of models, used before the built-in table",
    ),
)
USUAL = "auto"
"""Among the folders to watch: wherever the client keeps its transcripts."""
BY_NAME = {setting.name: setting for setting in SETTINGS}


class Project(Struct, frozen=True):
    """What a project has differently."""

    match_window: int | None = None  # seconds


class Settings(Struct, frozen=True, kw_only=True):
    """Times in seconds, sizes in bytes."""

    store: str
    project: str | None = None
    host: str = "127.0.0.1"
    port: int = 8377
    token: str | None = None
    require_token: bool = False
    public_url: str | None = None
    trusted_proxy: str | None = None
    oidc_issuer: str | None = None
    oidc_client_id: str | None = None
    oidc_map: tuple[Rule, ...] = ()
    oidc_scopes: str = "openid email profile"
    server: str | None = None
    anthropic_upstream: str = "https://api.anthropic.com"
    openai_upstream: str = "https://api.openai.com"
    a2a: dict[str, str] = {}
    agent: dict[str, str] = {}
    spawn_tools: tuple[str, ...] = ("Agent", "Task", "task")
    match_window: int = 24 * HOUR
    stalled_after: int = 120
    body_limit: int = 64 * 2**20
    queue_limit: int = 20_000
    queue_bytes: int = 128 * 2**20
    spool_limit: int = 2**30
    watch: tuple[str, ...] = ()
    zone: str = "UTC"
    prices: str | None = None
    retention: int | None = None
    store_limit: int | None = None
    on_finding: str | None = None
    log_file: str | None = None
    log_limit: int = 10 * 2**20
    otlp_to: str | None = None
    otlp_content: bool = False
    events_max_sessions: int = 100
    events_session_timeout_ms: int = 3_600_000
    events_max_per_session: int = 10_000
    events_max_event_bytes: int = 64 * 2**10
    events_max_session_bytes: int = 32 * 2**20
    events_max_bytes: int = 256 * 2**20
    projects: dict[str, Project] = {}

    def match_window_of(self, project: str) -> int:
        own = self.projects.get(project, Project()).match_window
        return self.match_window if own is None else own

    @property
    def address(self) -> str:
        """Where a client on this machine reaches the server."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"


def load(flags: Mapping[str, str | None], environment: Mapping[str, str], file: Path | None = None) -> Settings:
    """Flags before environment before file before default."""
    place = settings_file(environment, file)
    document = read_document(place)
    values: dict[str, Any] = {}
    for setting in SETTINGS:
        for text, origin in (
            (flags.get(setting.name), setting.flag),
            (variable_of(setting, environment), setting.variable),
            (as_text(document.get(setting.name)), f"`{setting.name}` in {place}"),
        ):
            if text is not None:
                values[setting.name] = checked(setting, text, origin)
                break
    if (database := environment.get("DATABASE_URL", "")).startswith(("postgresql://", "postgres://")):
        values.setdefault("store", database.replace("postgres://", "postgresql://", 1))
    values.setdefault("store", f"sqlite:{user_folder('data', environment) / 'ramify.db'}")
    return Settings(**values, projects=read_projects(document, place))


def variable_of(setting: Setting, environment: Mapping[str, str]) -> str | None:
    """An empty one counts as unset; so does what Kubernetes tells every container of a service named `ramify`: RAMIFY_PORT=tcp://…"""
    text = environment.get(setting.variable, "")
    return None if not text or (setting.name == "port" and text.startswith("tcp://")) else text


def without_login(word: re.Match[str]) -> str:
    """Of an address, whoever it names."""
    scheme, mark, rest = word[0].partition("://")
    _, at, place = rest.rpartition("@")
    return f"{scheme}{mark}{HIDDEN}@{place}" if mark and at else word[0]


def checked(setting: Setting, text: str, origin: str) -> object:
    try:
        return setting.read(text)
    except ValueError as problem:
        raise UserMistake(
            f"{setting.name} {problem}, not {WORD.sub(without_login, text)!r}",
            f"it was set by {origin}; for example {setting.flag} {setting.example}",
        ) from None


def check_exposure(settings: Settings, has_tokens: bool) -> None:
    """What agents said is private: nobody else on the network may read it only because a host was typed."""
    protected = settings.token is not None or settings.oidc_issuer is not None or has_tokens
    if not protected and not is_loopback(settings.host):
        raise UserMistake(
            f"host {settings.host!r} lets other machines in, and no token protects what is recorded",
            "make one with ramify token create, set one with RAMIFY_TOKEN, or use --host 127.0.0.1",
        )


def check_provider(settings: Settings) -> None:
    """Half of what is needed would lock everybody out, or let the wrong ones in."""
    if settings.oidc_issuer is None:
        return
    missing = [name for name in ("oidc_client_id", "oidc_map") if not getattr(settings, name)]
    if missing:
        raise UserMistake(f"oidc_issuer is set, but {' and '.join(missing)} is not", f"see {BY_NAME[missing[0]].flag}")
    if settings.oidc_issuer.startswith("http:") and not is_loopback(urlsplit(settings.oidc_issuer).hostname or ""):
        raise UserMistake("whoever vouches for people must be reached under TLS", "give oidc_issuer as an https address")


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def settings_file(environment: Mapping[str, str], file: Path | None) -> Path | None:
    """The file that was named must exist; the one in the user's folder need not."""
    named = file or (Path(environment["RAMIFY_CONFIG"]) if environment.get("RAMIFY_CONFIG") else None)
    if named is None:
        usual = user_folder("config", environment) / "ramify.toml"
        return usual if usual.is_file() else None
    if not named.is_file():
        raise UserMistake(f"there is no settings file {str(named)!r}", "name an existing one with --config FILE")
    return named


def read_document(place: Path | None) -> dict[str, Any]:
    if place is None:
        return {}
    try:
        document = tomllib.loads(place.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise UserMistake(f"{place} is not valid TOML: {problem}", "correct that line") from None
    except OSError as problem:
        raise UserMistake(f"{place} cannot be read: {problem.strerror}", "make it readable") from None
    refuse_unknown(document, [*BY_NAME, "projects"], place)
    return document


def refuse_unknown(table: Mapping[str, Any], known: list[str], place: Path | None) -> None:
    for name in table:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"it may hold {', '.join(known)}"
            raise UserMistake(f"{place} sets {name!r}, which is no setting", hint)


def read_projects(document: Mapping[str, Any], place: Path | None) -> dict[str, Project]:
    projects: dict[str, Project] = {}
    for name, table in as_table(document.get("projects", {}), "projects", place).items():
        own = as_table(table, f"projects.{name}", place)
        refuse_unknown(own, ["match_window"], place)
        text = as_text(own.get("match_window"))
        origin = f"[projects.{name}] in {place}"
        window = None if text is None else checked(BY_NAME["match_window"], text, origin)
        projects[name] = Project(window if isinstance(window, int) else None)
    return projects


def as_table(value: Any, name: str, place: Path | None) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UserMistake(f"{name} in {place} must be a table, not {value!r}", '[projects.NAME] match_window = "30s"')
    return value


def as_text(value: object) -> str | None:
    """TOML has numbers, lists and tables, a repeated flag is a list, a variable is text. One reader serves all."""
    if value is None:
        return None
    if isinstance(value, dict):
        value = [f"{name}={each}" for name, each in value.items()]
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def user_folder(kind: str, environment: Mapping[str, str], platform: str = sys.platform) -> Path:
    """The user's own folder for `data` or `config`, where each system wants it."""
    home = Path(environment.get("HOME") or Path.home())
    if platform == "darwin":
        return home / "Library" / "Application Support" / "ramify"
    if platform == "win32":
        variable, fallback = ("LOCALAPPDATA", "Local") if kind == "data" else ("APPDATA", "Roaming")
        return Path(environment.get(variable) or home / "AppData" / fallback) / "ramify"
    variable, parts = ("XDG_DATA_HOME", (".local", "share")) if kind == "data" else ("XDG_CONFIG_HOME", (".config",))
    return Path(environment.get(variable) or home.joinpath(*parts)) / "ramify"
