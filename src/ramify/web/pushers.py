"""Who may push: an agent that signs by a key, shares a secret, or has a token; as the environment says, for all or for one.

Keys (`RAMIFY_WEBHOOK_KEYS`) verify RFC 9421, secrets (`RAMIFY_WEBHOOK_SECRET`) AdCP's older HMAC, and a token
(`RAMIFY_WEBHOOK_TOKEN`) is what A2A sends along. Where none of them is set for an agent, nobody vouches for its pushes.
"""

import re
from collections.abc import Mapping

from aiohttp import web

from ramify.protocols.adcp import forms, signature
from ramify.protocols.adcp.message_signature import SKEW_SECONDS, BadSignature, Push, Signer, check, is_signed
from ramify.protocols.adcp.wire import Line
from ramify.web.errors import Refused
from ramify.web.public_keys import PublicKeys, has_signed

KEYS, SECRET, TOKEN, URL = "RAMIFY_WEBHOOK_KEYS", "RAMIFY_WEBHOOK_SECRET", "RAMIFY_WEBHOOK_TOKEN", "RAMIFY_WEBHOOK_URL"
NAME = re.compile(r"[^A-Z0-9]+")
MOST_NONCES = 100_000
SIGN = "Sign it as AdCP's webhook profile of RFC 9421 says, with a key that is configured here"


class Nonces:
    """Of signatures that were taken and have not expired. When there is no room, nobody is pushed out: a signature that
    is forgotten too early could be sent again."""

    def __init__(self, most: int = MOST_NONCES) -> None:
        self._most = most
        self._seen: dict[tuple[str, str], int] = {}

    def check(self, signer: Signer, now: float) -> None:
        """Raises BadSignature."""
        if self._seen.get((signer.key, signer.nonce), 0) + SKEW_SECONDS >= now:
            raise BadSignature("replayed", f"the nonce {signer.nonce[:60]!r} was used before")
        if len(self._seen) >= self._most:
            self._seen = {one: until for one, until in self._seen.items() if until + SKEW_SECONDS >= now}
        if len(self._seen) >= self._most:
            raise BadSignature("rate_abuse", "too many signatures in a short time")

    def keep(self, signer: Signer) -> None:
        self._seen[signer.key, signer.nonce] = signer.expires


class Pushers:
    def __init__(self, environment: Mapping[str, str]) -> None:
        """Raises UserMistake for keys that cannot be read."""
        self._environment = environment
        self._keys = {name: PublicKeys(name, value) for name, value in environment.items() if name.startswith(KEYS) and value}
        self.nonces = Nonces()

    def check(self, push: Push, body: Line, agent: str, now: float) -> tuple[bool, Signer | None]:
        """Whether somebody vouches for it, and who signed it by a key. Raises Refused where somebody should and nobody does."""
        keys, secret, token = (self._of(name, agent) for name in (KEYS, SECRET, TOKEN))
        if not (keys or secret or token):
            return False, None
        if keys and (is_signed(push.headers) or not (secret or token)):
            return True, self._signer(push, self._keys[keys], now)
        if forms.carried(body) is not None:
            if not signature.has_token(push.headers, (token, secret)):
                raise refused("the notification token is missing or wrong", f"Send it as {TOKEN} has it")
            return True, None
        if secret:
            reason = signature.refusal(push.headers, push.body, secret, now)
        else:
            reason = "" if signature.has_token(push.headers, (token,)) else "the token is wrong"
        if reason:
            raise refused(reason, "Sign `{timestamp}.{body}` with the secret, by HMAC-SHA256")
        return True, None

    def _signer(self, push: Push, keys: PublicKeys, now: float) -> Signer:
        try:
            found = check(push, keys.current(), has_signed, now)
            self.nonces.check(found, now)
        except BadSignature as problem:
            raise Refused(401, problem.code, str(problem), SIGN) from None
        return found

    def _of(self, name: str, agent: str) -> str:
        """An agent's own wins, also where it is empty: that one needs none. Of keys, the name of the variable."""
        own = own_name(name, agent)
        found = own if own in self._environment else name
        value = self._environment.get(found, "")
        return found if value and name == KEYS else value

    def address(self, request: web.Request) -> str:
        """Where the sender believes to have sent it: behind a proxy, only whoever runs the server can say."""
        base = self._environment.get(URL, "").rstrip("/")
        if base:
            return base + request.raw_path
        scheme = request.headers.get("x-forwarded-proto") or request.scheme
        return f"{scheme}://{request.host}{request.raw_path}"


def own_name(name: str, agent: str) -> str:
    """The variable that is for this agent alone."""
    return f"{name}_{NAME.sub('_', agent.upper())}"


def to_configure(agent: str) -> str:
    """For whoever runs a server that believes nobody yet."""
    return f"Set {own_name(SECRET, agent)[:120]} (AdCP's signature), {KEYS}… (RFC 9421) or {TOKEN}… (A2A's token) for this server"


def refused(reason: str, hint: str) -> Refused:
    return Refused(401, "unauthorized", reason, hint)


PUSHERS: web.AppKey[Pushers] = web.AppKey("pushers")
