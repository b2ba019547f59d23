"""Secrets, and what only looks like one. Put together at run time: no literal here is a secret."""

import itertools
import json
import string

LETTERS = string.ascii_letters + string.digits


def noise(length: int, alphabet: str = LETTERS) -> str:
    """Looks random, is the same every time, and holds a digit early on."""
    return "".join(alphabet[(7 + 31 * at + at * at) % len(alphabet)] for at in range(length - 2)) + "4Q"


JWT = ".".join(("ey" + "J" + noise(20), "ey" + "J" + noise(40), noise(43)))
PEM = "\n".join(
    (
        "-----BEGIN RSA " + "PRIVATE KEY-----",
        noise(64),
        noise(64),
        noise(30),
        "-----END RSA " + "PRIVATE KEY-----",
    )
)

# Found wherever they stand, also in the middle of a word.
SELF_EVIDENT = {
    "anthropic-key": "sk-" + "ant-" + "api03-" + noise(40) + "-_" + noise(20),
    "openai-key": "sk-" + "proj-" + noise(60),
    "aws-key-id": "AK" + "IA" + noise(16, string.ascii_uppercase + string.digits).upper(),
    "github-token": "gh" + "p_" + noise(36),
    "gitlab-token": "gl" + "pat-" + noise(20),
    "slack-token": "xo" + "xb-" + "12345678901-" + noise(24),
    "google-key": "AI" + "za" + noise(35),
    "google-token": "ya" + "29." + noise(50),
    "stripe-key": "sk_" + "live_" + noise(24),
    "npm-token": "np" + "m_" + noise(36),
    "pypi-token": "py" + "pi-AgE" + noise(60),
    "huggingface-token": "h" + "f_" + noise(34),
    "jwt": JWT,
    "private-key": PEM,
}

IN_CONTEXT = [
    ("openai-key", "key sk-" + "{}", noise(48)),
    ("anthropic-key", "key sk-" + "ant-{}", noise(12)),
    ("github-token", "gh" + "s_{}", noise(36)),
    ("github-token", "github" + "_pat_{}", noise(22) + "_" + noise(40)),
    ("aws-key-id", "AS" + "IA{}", noise(16, string.ascii_uppercase).upper()),
    ("aws-secret", "aws_secret_access_key = {}", noise(40)),
    ("aws-secret", "AWS_SECRET_ACCESS_KEY: {}", noise(38) + "/+"),
    ("bearer-token", "send Bearer {} along", noise(30)),
    ("authorization", "curl -H 'Authorization: Basic {}'", noise(20) + "=="),
    ("authorization", "authorization: token {}", noise(12)),
    ("authorization", "{{'Authorization': '{}'}}", noise(24)),
    ("api-key", 'curl -H "x-api-key: {}"', noise(16)),
    ("url-password", "postgresql://admin:{}@db.example.org/main", "hunter2!x"),
    ("url-password", "redis://:{}@127.0.0.1:6379", "pa55:word"),
    ("environment", "export STRIPE_API_KEY={}", noise(20)),
    ("environment", 'DB_PASSWORD="{}"', "correct-horse"),
    ("url-parameter", "https://example.org/x?id=3&access_token={}&y=1", noise(24)),
    ("url-parameter", "https://bucket.example.org/x?X-Amz-Signature={}", "0123456789abcdef" * 4),
]

HARMLESS = [
    "toolu_01A09q90qw90lq917835lq9",
    "msg_01XFDUDYJgAACzvnptvVoYEL",
    "req_011CSHoEeqs5C35K2UUqR7Fy",
    "3f1c2b7e-52a1-4c1f-9a37-0b8f2d6c7e11",
    "agentId: a5f3c9e1 (for resuming to continue this agent's work if needed)",
    "user_" + "0123456789abcdef" * 4 + "_account_3f1c2b7e-52a1-4c1f-9a37-0b8f2d6c7e11_session_9a37",
    "gdk-task-0123456789abcdef0123456789abcdef",
    "\\task-0123456789abcdef0123456789abcdef",
    "https://localhost:8377/v1/messages and http://[::1]:80/@scope/package",
    "https://user@example.org/ git@github.com:ramify/ramify.git",
    "postgres://app:$PASSWORD@db and postgres://app:{password}@db",
    "import sk_learn; risk-assessment-of-the-whole-organisation-2026",
    "the bearer of this letter, Bearer authentication, basic research",
    "authorization: required",
    "max_tokens=32000 CLAUDE_CODE_MAX_OUTPUT_TOKENS=32000",
    "def call(token=token_from_file, api_key=settings.api_key_1234): ...",
    "API_KEY=$SECRET_FROM_VAULT TOKEN=os.environ['TOKEN']",
    "hf_hub_download npm_config_registry github_pattern_matching_is_fun xoxo",
    "-----BEGIN PUBLIC KEY-----",
    "re_compile_the_whole_pattern_2026 are_12345678_" + "0123456789abcdef" * 2 + " e2b_sandbox_template_id_of_the_run_01 SSWS 00 dapi-gateway",
    "dapi" + "0123456789abcdef" * 3,
    "looks for '-----BEGIN PRIVATE KEY-----' in files",
    "eyJ is how base64 of JSON begins; eyJhbGciOiJIUzI1NiJ9 alone is no token",
]

NAMES = [
    "password",
    "passwd",
    "db_password",
    "dbPassword",
    "api_key",
    "apiKey",
    "X-API-Key",
    "access_token",
    "accessToken",
    "refresh_token",
    "id_token",
    "session_token",
    "client_secret",
    "clientSecret",
    "private_key",
    "secret",
    "token",
    "Authorization",
    "cookie",
    "Set-Cookie",
    "credentials",
    "aws_secret_access_key",
    "PASSPHRASE",
    "pwd",
]

HARMLESS_NAMES = [
    "max_tokens",
    "input_tokens",
    "token_count",
    "budget_tokens",
    "signature",
    "apiKeySource",
    "next_page_token",
    "key",
    "token_type",
    "description",
    "user_id",
    "tool_use_id",
    "name",
    "text",
    "secret_name",
    "password_hint_shown",
]


def event(kind: str, **fields: object) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"


FIELDS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


def stream(delta: str, pieces: list[str]) -> bytes:
    between = [event("ping"), ": a comment\n\n"]
    head = event("message_start", message={"id": "msg_1"}) + event(
        "content_block_start", index=0, content_block={}
    )
    body = "".join(
        event("content_block_delta", index=0, delta={"type": delta, FIELDS[delta]: piece}) + between[at % 2]
        for at, piece in enumerate(pieces)
    )
    return (head + body + event("content_block_stop", index=0) + event("message_stop")).encode()


def said(raw: bytes) -> list[str]:
    deltas = [
        json.loads(line[5:]) for line in raw.split(b"\n") if line.startswith(b"data:") and b"_delta" in line
    ]
    return [next(value for name, value in each["delta"].items() if name != "type") for each in deltas]


def cut(text: str, places: list[int]) -> list[str]:
    edges = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[start:end] for start, end in itertools.pairwise(edges)]
