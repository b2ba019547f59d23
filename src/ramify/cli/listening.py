"""`listen`: a broker's messages into the store, as they come, until it is interrupted."""

import sys
from getpass import getpass
from os import environ
from time import monotonic
from typing import Any

from ramify.cli.contract import application
from ramify.cli.parser import Parser, add_reading, one_of
from ramify.cli.session import Part, Session
from ramify.cli.watching import until_interrupted
from ramify.model.mistake import UserMistake

BROKERS = ("solace", "mqtt")
TELL_SECONDS = 10.0
CREDENTIALS = {
    "solace": ("SOLACE_BROKER_URL", "SOLACE_BROKER_USERNAME", "SOLACE_BROKER_PASSWORD"),
    "mqtt": ("MQTT_URL", "MQTT_USERNAME", "MQTT_PASSWORD"),
}


def listen_options(parser: Parser) -> None:
    parser.add_argument("broker", type=one_of(*BROKERS), metavar="BROKER", help="solace, or mqtt for brokers that speak MQTT 5")
    parser.add_argument("--host", dest="address", metavar="URL", help="tcp://, tcps://, ws:// or wss:// (default: $SOLACE_BROKER_URL); mqtt:// or mqtts:// ($MQTT_URL)")
    parser.add_argument("--vpn", metavar="V", help="the message VPN (default: $SOLACE_BROKER_VPN, else default)")
    parser.add_argument("--namespace", metavar="NS", help="the namespace of the mesh (default: $NAMESPACE)")
    parser.add_argument("--queue", metavar="NAME", default="ramify", help="the durable queue that keeps messages while nobody listens (default: ramify)")
    parser.add_argument("--direct", action="store_true", help="no queue: only what is said while this command runs")
    parser.add_argument("--topic", metavar="T", action="append", help="a topic to listen to, in place of the namespace's; may be given again")
    parser.add_argument("--exclude", metavar="T", action="append", help="a topic to leave alone, such as NS/a2a/v1/discovery/>; may be given again")
    parser.add_argument("--replay", metavar="FILE", help="messages from a file, one a line, as if a broker handed them over; - is standard input")
    add_reading(parser, "reading")


def listen(session: Session) -> int:
    if session.settings.store == "memory:":
        raise UserMistake("the store memory: ends with this command", "use another --store")
    wanted = wanted_of(session)
    stopping = until_interrupted()
    telling = Telling(session)
    with application().hearing(wanted) as broker, session.opened(write=True, create=True) as store:
        heard = store.listen(broker, wanted["exclude"], session.settings.zone, telling.tell, stopping)
    if session.output.json:
        session.output.document(heard)
    else:
        session.output.lines([summary(heard)])
    return 0


def wanted_of(session: Session) -> dict[str, Any]:
    given = session.arguments
    address, username, password = CREDENTIALS[given.broker]
    wanted = {
        "broker": given.broker, "host": given.address or environ.get(address, ""),
        "vpn": given.vpn or environ.get("SOLACE_BROKER_VPN", "default"),
        "namespace": given.namespace or environ.get("NAMESPACE", ""), "queue": given.queue, "direct": given.direct,
        "topics": tuple(given.topic or ()), "exclude": tuple(given.exclude or ()), "replay": given.replay or "",
        "username": environ.get(username, ""), "password": environ.get(password, ""),
        "trust_store": environ.get("TRUST_STORE", ""),
    }  # fmt: skip
    if wanted["username"] and not wanted["password"] and not wanted["replay"] and sys.stdin.isatty():
        wanted["password"] = getpass(f"password of {wanted['username']}: ")
    return wanted


class Telling:
    """A line when it begins, and then now and again while something happens."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._last: dict[str, Any] | None = None
        self._at = 0.0

    def tell(self, heard: dict[str, Any]) -> None:
        if heard == self._last or (self._last is not None and monotonic() - self._at < TELL_SECONDS):
            return
        self._session.output.say(f"{self._session.output.clock():%H:%M:%S} {summary(heard)}")
        self._last, self._at = dict(heard), monotonic()


def summary(heard: dict[str, Any]) -> str:
    counts = [f"{heard[name]:,} {name}" for name in ("received", "stored", "duplicates")]
    counts += [f"{heard[name]:,} {name}" for name in ("unreadable", "excluded", "gaps", "reconnects") if heard[name]]
    lag = heard["lag_ms"]
    return ", ".join([*counts, *([f"{lag:,.0f} ms behind"] if lag is not None else [])])


FAMILY = {"listen": Part(listen_options, listen)}
