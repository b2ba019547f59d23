r"""What secrets look like in text. Works on bytes, plain or JSON-escaped any number of times.

Two stages, because almost all text holds none: `PROBES` ask, one pass each, whether a family can be
there at all; only then do the exact patterns of that family run. A probe begins with one literal
character and looks back from it: `re` walks to such a character several times faster than it tries an
alternation at every byte.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

Replace = Callable[["re.Match[bytes]"], bytes]


class Pattern(NamedTuple):
    shape: "re.Pattern[bytes]"
    replace: Replace


class Family(NamedTuple):
    probe: "re.Pattern[bytes]"
    patterns: tuple[Pattern, ...]


BLOB = re.compile(rb"[A-Za-z0-9+/]{128}")


def mark(kind: str) -> bytes:
    return b"[redacted:" + kind.encode() + b"]"


def bounded(prefix: str) -> str:
    r"""The prefix where a word begins. In JSON text the letter of `\n` stands before it as well."""
    return rf"{prefix}(?:(?<![A-Za-z0-9]{prefix})|(?<=\\[nrtbf]{prefix})|(?<=\\u[0-9A-Fa-f]{{4}}{prefix}))"


def whole(kind: str, shape: str) -> Pattern:
    """A secret that its own letters give away."""
    replacement = mark(kind)
    return Pattern(re.compile(shape.encode()), lambda match: replacement)


def outside_blobs(kind: str, shape: str) -> Pattern:
    """The same, but its letters also turn up by chance inside long base64 (images, signatures)."""
    replacement = mark(kind)

    def replace(match: "re.Match[bytes]") -> bytes:
        before = match.string[max(0, match.start() - 128) : match.start()]
        inside = BLOB.fullmatch(before) or BLOB.match(match.string, match.end())
        return match[0] if inside else replacement

    return Pattern(re.compile(shape.encode()), replace)


def after(kind: str, shape: str) -> Pattern:
    """A secret known by the words before it (group 1), which stay, as does what follows (group 3)."""
    replacement = mark(kind)

    def replace(match: "re.Match[bytes]") -> bytes:
        tail: bytes = match[3] if match.re.groups > 2 else b""
        head: bytes = match[1]
        return head + replacement + tail

    return Pattern(re.compile(shape.encode()), replace)


def json_web_token() -> Pattern:
    """Takes the whole first part in one go and then looks for the others, so that the work stays linear."""
    shape = re.compile(rb"eyJ[\w-]*+(\.[\w-]{4,}\.[\w-]{4,}(?:\.[\w-]*){0,2})?")
    replacement = mark("jwt")
    return Pattern(shape, lambda match: replacement if match[1] else match[0])


PEM = r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
PEM_END = r"-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
# Line ends, and the line numbers of a file viewer.
PEM_GAP = r"(?:\s|\\+[nrt]|\\+u2192|\xe2\x86\x92|\d{1,6}(?=\\|\xe2|\s))*+"
SCHEME = r"(?i:bearer|basic|token|bot|apikey)"
VALUE = r"[^\s\"'\\,;&|<>(){}\[\]$`]"

DASHED = Family(
    re.compile(
        rb"-(?:(?<=sk-)[\w-]{8}|(?<=lpat-)[\w-]{8}|(?<=pypi-)AgE|(?<=xox[a-z]-)\w|(?<=xapp-)\d|----BEGIN )"
    ),
    (
        whole(
            "private-key",
            rf"{PEM}(?:(?:[^\"-]|-(?!----))*+{PEM_END}|(?:{PEM_GAP}[A-Za-z0-9+/]{{16,}}={{0,2}})+)",
        ),
        whole("anthropic-key", rf"sk-ant-[a-z]{{3,6}}\d\d-[\w-]{{8,}}|{bounded('sk-ant-')}[\w-]{{8,}}"),
        whole(
            "openai-key", r"sk-(?:proj|svcacct|admin)-[\w-]{40,}|sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20,}"
        ),
        whole("gitlab-token", r"glpat-[\w-]{20,}"),
        whole("pypi-token", r"pypi-AgE[\w-]{40,}"),
        whole("slack-token", r"xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,}"),
        whole(
            "openai-key",
            rf"{bounded('sk-')}(?:(?:proj|svcacct|admin|None|or-v1)-[\w-]{{20,}}|(?=[A-Za-z]*\d)[A-Za-z0-9]{{20,}})",
        ),
    ),
)
UNDERSCORED = Family(
    re.compile(
        rb"_(?=[A-Za-z0-9]{16}|access_key|ACCESS_KEY)(?:(?=access_|ACCESS_)|(?<=gh[a-z]_)|(?<=_pat_)|(?<=k_live_)"
        rb"|(?<=npm_)|(?<=hf_))"
    ),
    (
        whole("github-token", r"gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}"),
        whole("stripe-key", r"[sr]k_live_[A-Za-z0-9]{16,}"),
        whole("npm-token", r"npm_[A-Za-z0-9]{36,}"),
        whole("huggingface-token", r"hf_[A-Za-z0-9]{30,}"),
        after(
            "aws-secret",
            r"((?i:secret_access_key)\\*[\"']?\s*[=:]\s*\\*[\"']?)([A-Za-z0-9+/]{40})(?![A-Za-z0-9+/])",
        ),
    ),
)
AMAZON_GOOGLE = Family(
    re.compile(rb"A(?:KIA|SIA|Iza)[A-Za-z0-9]{8}"),
    (
        outside_blobs("aws-key-id", r"A(?:KIA|SIA)[A-Z0-9]{16}"),
        outside_blobs("google-key", r"AIza[\w-]{35}"),
    ),
)
GOOGLE_ACCESS = Family(re.compile(rb"29\.(?<=ya29\.)"), (whole("google-token", r"ya29\.[\w-]{20,}"),))
JWT = Family(re.compile(rb"J(?<=eyJ)\w{4}"), (json_web_token(),))
BEARER = Family(
    re.compile(rb"B(?:earer|EARER) "),
    (after("bearer-token", r"(B(?:earer|EARER) +)((?=[A-Za-z._~+/=-]*\d)[\w.~+/=-]{20,})"),),
)
COLON = Family(
    re.compile(
        (
            r":(?://[^\s/:@\"\\]{0,64}:[^\s/@\"\\]{1,256}@|(?:(?<=[nNyY]:)|(?<=[nNyY]':))(?:"
            rf"(?:(?<=(?i:zation):)|(?<=(?i:zation)':))\s*\\*['\"]?(?:{SCHEME} |{VALUE}{{16}})"
            r"|(?:(?<=(?i:-key):)|(?<=(?i:-key)':)|(?<=(?i:-token):)|(?<=(?i:-token)':))"
            rf"\s*\\*[\"']?{VALUE}{{8}}))"
        ).encode()
    ),
    (
        after(
            "authorization",
            rf"((?i:authorization)'?:\s*\\*[\"']?{SCHEME} +)([\w.~+/=:-]{{6,}})",
        ),
        after("authorization", rf"((?i:authorization)'?:\s*\\*[\"']?)((?=[^\s\d]{{0,200}}\d){VALUE}{{16,}})"),
        after("api-key", rf"((?i:api-key|auth-token|private-token)'?:\s*\\*[\"']?)({VALUE}{{8,}})"),
        after("url-password", r"(://[^\s/:@\"\\]{0,64}:)(?![$<{])([^\s/@\"\\]{1,256})(@)"),
    ),
)
ASSIGNED = Family(
    re.compile(
        rb"=(?<=[YNTDyntde]=)(?:(?<=KEY=)|(?<=TOKEN=)|(?<=SECRET=)|(?<=PASSWORD=)|(?<=PASSWD=)"
        rb"|(?<=_key=)|(?<=[tT]oken=)|(?<=secret=)|(?<=password=)|(?<=ature=))"
    ),
    (
        after(
            "environment",
            r"((?:API_?KEY|ACCESS_KEY|SECRET_KEY|PRIVATE_KEY|SECRET|TOKEN|PASSWORD|PASSWD)=\\*[\"']?)"
            rf"((?!process\.|os\.|import\.){VALUE}{{8,}})",
        ),
        after(
            "url-parameter",
            r"((?:[?&;]|\\u0026)(?:api_key|access_token|refresh_token|id_token|token|client_secret|secret|password"
            rf"|X-Amz-Signature|X-Amz-Security-Token|signature)=)({VALUE}{{8,}})",
        ),
    ),
)

FAMILIES = (DASHED, UNDERSCORED, AMAZON_GOOGLE, GOOGLE_ACCESS, JWT, BEARER, COLON, ASSIGNED)
