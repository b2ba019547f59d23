"""What somebody wants to listen to, and the receiver for it."""

from urllib.parse import urlsplit

from msgspec import Struct

from ramify.capture.broker.receiver import Receiver
from ramify.capture.broker.topics import subscriptions
from ramify.model.mistake import UserMistake

BROKERS = ("solace", "mqtt")
QUEUE = "ramify"


class Wanted(Struct, frozen=True, kw_only=True):
    """Credentials come from the environment or a prompt. They are never printed, logged or stored."""

    broker: str
    host: str = ""
    vpn: str = "default"
    namespace: str = ""
    queue: str = QUEUE
    direct: bool = False
    topics: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    replay: str = ""
    username: str = ""
    password: str = ""
    trust_store: str = ""

    def __repr__(self) -> str:
        return f"Wanted({self.broker!r}, {self.host!r}, {self.namespace!r})"


def open_receiver(wanted: Wanted) -> Receiver:
    if wanted.replay:
        from ramify.capture.broker.replay import Replay

        return Replay(wanted.replay)
    topics = subscriptions(wanted.namespace, wanted.topics, wanted.exclude)
    check_host(wanted)
    if wanted.broker == "mqtt":
        from ramify.capture.broker.mqtt import Mqtt

        return Mqtt(wanted.host, topics, wanted.queue, wanted.username, wanted.password)
    from ramify.capture.broker.solace import Login, Solace

    login = Login(wanted.host, wanted.vpn, wanted.username, wanted.password, wanted.trust_store)
    return Solace(login, topics, "" if wanted.direct else wanted.queue)


def check_host(wanted: Wanted) -> None:
    if not wanted.host:
        variable = "SOLACE_BROKER_URL" if wanted.broker == "solace" else "MQTT_URL"
        raise UserMistake("no broker is given", f"use --host URL, or the variable {variable}")
    if wanted.broker == "solace" and not wanted.username:
        raise UserMistake("nobody is named to log in as", "set the variables SOLACE_BROKER_USERNAME and SOLACE_BROKER_PASSWORD")
    if "@" in urlsplit(wanted.host).netloc:
        raise UserMistake("the broker's address holds a name or a password", "give them in the environment instead")
