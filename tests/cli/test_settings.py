"""Settings: one list, four places, clear refusals."""

from pathlib import Path

import pytest

from ramify.cli.commands import BY_NAME as COMMANDS
from ramify.cli.reference import parser_of
from ramify.cli.session import load_settings
from ramify.model.mistake import UserMistake
from ramify.settings import SETTINGS, Settings, check_exposure, load, user_folder

AGENT_WANTED = "must be NAME=URL, a name of letters, digits and . _ ~ - and an http address"


def written(folder: Path, text: str) -> Path:
    place = folder / "ramify.toml"
    place.write_text(text, "utf-8")
    return place


def test_a_flag_beats_a_variable_which_beats_the_file_which_beats_the_default(tmp_path: Path) -> None:
    file = written(tmp_path, 'port = 3\nqueue_limit = 3\nhost = "localhost"\n')
    settings = load({"port": "1"}, {"RAMIFY_PORT": "2", "RAMIFY_QUEUE_LIMIT": "2"}, file)
    assert (settings.port, settings.queue_limit, settings.host) == (1, 2, "localhost")
    assert settings.anthropic_upstream == "https://api.anthropic.com"


def test_what_kubernetes_says_of_a_service_of_that_name_is_no_port(tmp_path: Path) -> None:
    """Every pod beside a service named ramify gets RAMIFY_PORT=tcp://…, the server's own and those of its clients."""
    settings = load({}, {"HOME": str(tmp_path), "RAMIFY_PORT": "tcp://10.96.0.7:8377", "RAMIFY_SERVICE_PORT": "8377"})
    assert settings.port == 8377
    assert load({}, {"RAMIFY_PORT": "tcp://[fd00::7]:8377"}, written(tmp_path, "port = 9000\n")).port == 9000


def test_the_written_defaults_are_the_real_ones(tmp_path: Path) -> None:
    written_out = {setting.name: setting.default for setting in SETTINGS}
    nowhere = {"HOME": str(tmp_path)}
    assert load(written_out, nowhere) == load({}, nowhere)


def test_every_setting_has_a_field_and_a_readable_example() -> None:
    for setting in SETTINGS:
        assert setting.name in Settings.__struct_fields__
        setting.read(setting.example)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"port": "abc"}, "port must be a number from 1 to 65535, not 'abc'"),
        ({"port": "65536"}, "port must be a number from 1 to 65535, not '65536'"),
        ({"port": "²"}, "port must be a number from 1 to 65535, not '²'"),
        ({"match_window": "30"}, "match_window must be a time such as 30s, 10m, 24h or 7d, not '30'"),
        ({"spool_limit": "much"}, "spool_limit must be a size such as 500MB or 1GiB, not 'much'"),
        (
            {"anthropic_upstream": "api"},
            "anthropic_upstream must be an address that begins with http:// or https://, not 'api'",
        ),
        ({"anthropic_upstream": "http://gateway:99999"}, "anthropic_upstream must be an address that begins with http:// or https://, not 'http://gateway:99999'"),
        ({"anthropic_upstream": "http://me:s3cret@gateway"}, "anthropic_upstream must be an address without user and password, not 'http://…@gateway'"),
        ({"spawn_tools": " , "}, "spawn_tools must be one or more names with commas between them, not ' , '"),
        ({"a2a": "http://127.0.0.1:1"}, f"a2a {AGENT_WANTED}, not 'http://127.0.0.1:1'"),
        ({"a2a": "a/b=http://127.0.0.1:1"}, f"a2a {AGENT_WANTED}, not 'a/b=http://127.0.0.1:1'"),
        ({"a2a": "a=http://h:99999"}, f"a2a {AGENT_WANTED}, not 'a=http://h:99999'"),
        ({"a2a": "a=http://h,a=http://g"}, "a2a must name each agent once: 'a' is there twice, not 'a=http://h,a=http://g'"),
        ({"agent": "seller"}, "agent must be NAME=URL, the agent's name in events and an http address, not 'seller'"),
        ({"agent": "a=http://h/mcp?key=1"}, "agent must be NAME=URL with a plain address: no user, no query, not 'a=http://h/mcp?key=1'"),
        ({"agent": "a=http://h,a=http://g"}, "agent must name each agent once: 'a' is there twice, not 'a=http://h,a=http://g'"),
        ({"a2a": "a=http://me:pw@h"}, "a2a must be NAME=URL with a plain address: no user, no query, not 'a=http://…@h'"),
        ({"store": " "}, "store must not be empty, not ' '"),
        ({"queue_limit": "0"}, "queue_limit must be a whole number, 1 or more, not '0'"),
    ],
)
def test_a_bad_value_is_refused_with_the_value(flags: dict[str, str], message: str) -> None:
    with pytest.raises(UserMistake) as caught:
        load(flags, {"HOME": "/nowhere"})
    assert caught.value.message == message
    assert "\n" not in str(caught.value)


def test_agents_are_named_by_flags_by_a_variable_or_in_the_file(tmp_path: Path) -> None:
    agents = {"planner": "http://127.0.0.1:9000", "critic.2": "https://h/a2a"}
    words = ["--a2a", "planner=http://127.0.0.1:9000/", "--a2a", "critic.2=https://h/a2a/.well-known/agent-card.json"]
    assert load_settings(parser_of(COMMANDS["serve"]).read(words)).a2a == agents
    assert load({}, {"RAMIFY_A2A": "planner=http://127.0.0.1:9000, critic.2=https://h/a2a"}).a2a == agents
    table = written(tmp_path, '[a2a]\nplanner = "http://127.0.0.1:9000"\n"critic.2" = "https://h/a2a"\n')
    assert load({}, {}, table).a2a == agents
    many = written(tmp_path, 'a2a = ["planner=http://127.0.0.1:9000", "critic.2=https://h/a2a"]\n')
    assert load({}, {}, many).a2a == agents


def test_agents_that_are_asked_are_named_as_events_name_them(tmp_path: Path) -> None:
    agents = {"mcp_alpha": "http://127.0.0.1:9000/mcp/", "Sample agent 1": "https://h/a2a"}
    words = ["--agent", "mcp_alpha=http://127.0.0.1:9000/mcp/", "--agent", "Sample agent 1=https://h/a2a"]
    assert load_settings(parser_of(COMMANDS["reconcile"]).read(words)).agent == agents
    assert load({}, {"RAMIFY_AGENT": "mcp_alpha=http://127.0.0.1:9000/mcp/, Sample agent 1=https://h/a2a"}).agent == agents
    table = written(tmp_path, '[agent]\nmcp_alpha = "http://127.0.0.1:9000/mcp/"\n"Sample agent 1" = "https://h/a2a"\n')
    assert load({}, {}, table).agent == agents


def test_a_host_that_others_can_reach_needs_a_token() -> None:
    bare = load({"host": "0.0.0.0"}, {"HOME": "/nowhere"})
    with pytest.raises(UserMistake, match="ramify token create, set one with RAMIFY_TOKEN"):
        check_exposure(bare, has_tokens=False)
    check_exposure(bare, has_tokens=True)
    protected = load({"host": "0.0.0.0", "token": "secret"}, {"HOME": "/nowhere"})
    check_exposure(protected, has_tokens=False)
    assert protected.address == "http://127.0.0.1:8377"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_a_host_of_this_machine_needs_none(host: str) -> None:
    check_exposure(load({"host": host}, {"HOME": "/nowhere"}), has_tokens=False)


def test_a_project_can_have_its_own_window(tmp_path: Path) -> None:
    settings = load({}, {}, written(tmp_path, 'match_window = "2h"\n[projects.batch]\nmatch_window = "30s"\n'))
    assert settings.match_window_of("batch") == 30
    assert settings.match_window_of("other") == 7200


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prot = 1", "did you mean 'port'"),
        ("port = ", "not valid TOML"),
        ("projects = 3", "must be a table"),
        ('[projects.a]\nmatch_window = "soon"', "not 'soon'"),
        ('[projects.a]\nport = "soon"', "which is no setting"),
        ("port = true", "not 'True'"),
    ],
)
def test_a_mistake_in_the_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserMistake, match=message):
        load({}, {}, written(tmp_path, text))


def test_lists_in_the_file_are_lists(tmp_path: Path) -> None:
    assert load({}, {}, written(tmp_path, 'spawn_tools = ["Agent", "delegate"]')).spawn_tools == (
        "Agent",
        "delegate",
    )


def test_folders_to_watch_may_come_from_anywhere(tmp_path: Path) -> None:
    file = written(tmp_path, 'watch = ["~/.claude", "/work/claude"]')
    assert load({}, {}, file).watch == ("~/.claude", "/work/claude")
    assert load({}, {"RAMIFY_WATCH": "/a, auto"}, file).watch == ("/a", "auto")
    parser = parser_of(COMMANDS["serve"])
    for words, folders in (([], ()), (["--watch"], ("auto",)), (["--watch", "/a", "--watch", "/b"], ("/a", "/b"))):
        assert load_settings(parser.read([*words, "--store", "memory:"])).watch == folders


def test_a_named_file_must_exist_and_the_usual_one_need_not(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="there is no settings file"):
        load({}, {}, tmp_path / "none.toml")
    with pytest.raises(UserMistake, match="there is no settings file"):
        load({}, {"RAMIFY_CONFIG": str(tmp_path / "none.toml")})
    assert load({}, {"XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path)}).port == 8377


def test_the_usual_file_is_found_in_the_users_folder(tmp_path: Path) -> None:
    folder = user_folder("config", {"XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path)})
    folder.mkdir(parents=True)
    written(folder, "port = 99")
    assert load({}, {"XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path)}).port == 99


def test_each_system_has_its_own_folders() -> None:
    assert user_folder("data", {"XDG_DATA_HOME": "/x"}, "linux") == Path("/x/ramify")
    assert user_folder("data", {"HOME": "/h"}, "linux") == Path("/h/.local/share/ramify")
    assert user_folder("config", {"HOME": "/h"}, "linux") == Path("/h/.config/ramify")
    assert user_folder("data", {"HOME": "/h"}, "darwin") == Path("/h/Library/Application Support/ramify")
    assert user_folder("data", {"LOCALAPPDATA": "/l"}, "win32") == Path("/l/ramify")


def test_an_address_with_a_six_is_in_brackets() -> None:
    assert load({"host": "::1"}, {"HOME": "/nowhere"}).address == "http://[::1]:8377"
