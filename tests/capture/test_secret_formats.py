"""Some hundred kinds of secrets in every place where one can hide, and what only looks like one."""

import gzip
import json
import random
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any

import brotli
import msgspec
import pytest
import zstandard

from ramify.capture.a2a.secrets import redact_frame
from ramify.capture.cleaner import Cleaner
from ramify.capture.mesh_secrets import redact_message
from ramify.capture.redact import redact_json, redact_sse
from ramify.capture.secret_patterns import FAMILIES
from ramify.ingest import Ingest
from ramify.model.observation import Record, Request, Response
from ramify.protocols.otel.request import FORMAT as OTLP
from ramify.storage.sqlite import open_sqlite
from tests.capture import corpus
from tests.capture.secret_formats import CORPUS, FORMATS, Planted, leaks, planted

SECRETS = {secret for each in CORPUS for secret in each.secrets}


def leaking(clean: Callable[[Planted], bytes | str]) -> list[str]:
    """The names of those that are still there."""
    found = []
    for each in CORPUS:
        text = clean(each)
        if leaks(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"), each):
            found.append(each.name)
    return found


def test_there_are_enough_of_them() -> None:
    assert len(FORMATS) >= 280
    assert len(SECRETS) >= 560


def test_each_of_them_is_there_before_anybody_looks() -> None:
    assert leaking(lambda planted: planted.text) == [each.name for each in CORPUS]


# -- JSON, and JSON inside strings -------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_none_stays_in_text_and_in_json_inside_strings(depth: int) -> None:
    def clean(planted: Planted) -> bytes:
        text = planted.text
        for _ in range(depth):
            text = json.dumps({"messages": [{"content": [{"type": "tool_result", "content": f"before\n{text}\nafter"}]}]})
        once = redact_json(text.encode())
        assert redact_json(once) == once
        assert not depth or "after" in str(json.loads(once))
        return once

    assert leaking(clean) == []


def test_none_stays_where_a_tools_input_holds_it() -> None:
    def clean(planted: Planted) -> bytes:
        block = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": f"echo '{planted.text}'", "timeout": 7}}
        call = {"id": "call_1", "function": {"name": "run", "arguments": json.dumps(block["input"])}}
        both = redact_json(json.dumps([block, {"tool_calls": [call]}]).encode())
        assert json.loads(both)[0]["input"]["timeout"] == 7
        return both

    assert leaking(clean) == []


def by_php(text: str) -> str:
    return json.dumps(text).replace("/", "\\/")


def by_dotnet(text: str) -> str:
    """Everything that could mean something in HTML, the quote above all."""
    return json.dumps(text.replace('"', "\x00")).replace("\\u0000", "\\u0022").replace("'", "\\u0027").replace("+", "\\u002B").replace("&", "\\u0026")


def by_somebody_careful(text: str) -> str:
    return '"' + "".join(f"\\u{ord(letter):04x}" if not letter.isalnum() else letter for letter in text) + '"'


WRITERS: dict[str, Callable[[str], str]] = {"php": by_php, "dotnet": by_dotnet, "careful": by_somebody_careful}


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("writer", WRITERS)
def test_none_stays_however_its_letters_are_escaped(writer: str, depth: int) -> None:
    write = WRITERS[writer]

    def clean(planted: Planted) -> str:
        text = f"before\n{planted.text}\nafter"
        for _ in range(depth):
            text = f'{{"content":{write(text)}}}'
        once = redact_json(text.encode())
        assert redact_json(once) == once
        read = json.loads(once)["content"]
        for _ in range(depth - 1):
            read = json.loads(read)["content"]
        assert read.startswith("before\n")
        assert read.endswith("\nafter")
        return once.decode() + str(read)

    assert leaking(clean) == []


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("place", ["request", "stream"])
def test_none_stays_in_a_frame_however_its_letters_are_escaped(place: str, writer: str) -> None:
    def clean(planted: Planted) -> str:
        message = f'{{"result":{{"parts":[{{"text":{WRITERS[writer](planted.text)}}}]}}}}'
        frame = f'{{"kind":"request","body":{message}}}' if place == "request" else json.dumps({"kind": "sse", "raw": f"data: {message}\n\n"})
        read = json.loads(redact_frame(frame.encode()))
        return str(read["body"] if place == "request" else json.loads(read["raw"][6:]))

    assert leaking(clean) == []


# -- exchanges ---------------------------------------------------------------------------------------------------------


def one_line(planted: Planted) -> str:
    return planted.text.replace("\n", " ")


def cleaned_request(path: str, headers: tuple[tuple[str, str], ...]) -> Request:
    seen = Cleaner().observation(Request("r", "default", 1, "proxy", "r", "POST", path, headers, b""))
    assert isinstance(seen, Request)
    return seen


def test_none_stays_in_the_values_of_headers() -> None:
    def clean(planted: Planted) -> str:
        headers = (("content-type", "text/plain"), ("referer", f"see {one_line(planted)}"), ("x-note", one_line(planted)))
        seen = cleaned_request("/v1/messages", headers)
        assert seen.headers[0] == headers[0]
        return str(seen.headers)

    assert leaking(clean) == []


def test_none_stays_in_an_address() -> None:
    assert leaking(lambda planted: cleaned_request(f"/v1/files/{one_line(planted)}?next=1", ()).path) == []


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstandard.ZstdCompressor().compress,
    "br": brotli.compress,
}


@pytest.mark.parametrize("coding", PACKED)
def test_none_stays_in_a_packed_body(coding: str) -> None:
    text = json.dumps({"text": "\n".join(each.text for each in CORPUS)})
    headers = (("content-type", "application/json"), ("content-encoding", coding))
    seen = Cleaner().observation(
        Response("a", "default", 1, "proxy", "r", "/v1/messages", 200, headers, PACKED[coding](text.encode()), "complete", 1)
    )
    assert isinstance(seen, Response)
    assert seen.headers == headers[:1]
    assert [each.name for each in CORPUS if leaks(seen.body, each)] == []


# -- streams, cut anywhere ---------------------------------------------------------------------------------------------


def pieces(planted: Planted, inside: bool) -> list[str]:
    text = f"It is this:\n{planted.text}\nand no other."
    source = random.Random(planted.name)
    return corpus.cut(json.dumps({"command": text}) if inside else text, [source.randrange(400) for _ in range(9)])


def chat(planted: Planted, inside: bool) -> bytes:
    def delta(piece: str) -> dict[str, Any]:
        return {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} if inside else {"content": piece}

    chunks = [{"id": "chatcmpl-1", "choices": [{"index": 0, "delta": delta(piece)}]} for piece in pieces(planted, inside)]
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks).encode() + b"data: [DONE]\n\n"


def thought(planted: Planted, inside: bool) -> bytes:
    """Words in a member that stands behind an empty one; with a tool's input, in the second of two calls."""

    def delta(piece: str) -> dict[str, Any]:
        calls = [{"index": at, "function": {"arguments": part}} for at, part in ((0, " "), (1, piece))]
        return {"tool_calls": calls[::-1]} if inside else {"content": "", "reasoning": piece}

    chunks = [{"id": "chatcmpl-1", "choices": [{"delta": delta(piece), "index": 0}]} for piece in pieces(planted, inside)]
    return "".join(f"data: {json.dumps(chunk)}\r\r" for chunk in chunks).encode()


def completed(planted: Planted, inside: bool) -> bytes:
    chunks = [{"id": "cmpl-1", "choices": [{"text": piece, "index": 0}]} for piece in pieces(planted, inside)]
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks).encode()


def responses(planted: Planted, inside: bool) -> bytes:
    kind = "response.function_call_arguments.delta" if inside else "response.output_text.delta"
    events = [{"type": kind, "item_id": "i1", "output_index": 0, "delta": piece} for piece in pieces(planted, inside)]
    return "".join(f"event: {kind}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


def messages(planted: Planted, inside: bool) -> bytes:
    return corpus.stream("input_json_delta" if inside else "text_delta", pieces(planted, inside))


def grown(raw: bytes) -> bytes:
    """What the pieces of a stream say together, as a reader puts them together."""
    said = ""
    for line in raw.splitlines():
        if line.startswith(b"data: {"):
            event = json.loads(line[6:])
            choice = event.get("choices", [{}])[0]
            delta = event.get("delta") or choice.get("delta") or choice
            calls = delta.get("tool_calls", [{"function": {}}]) if isinstance(delta, dict) else []
            words = [delta] if isinstance(delta, str) else [*delta.values(), *calls[0]["function"].values()]
            said += "".join(word for word in words if isinstance(word, str))
    return said.encode()


@pytest.mark.parametrize("stream", [messages, chat, thought, completed, responses], ids=lambda each: each.__name__)
@pytest.mark.parametrize("inside", [False, True], ids=["said", "in a tool's input"])
def test_none_stays_in_a_stream_that_cuts_it_into_pieces(stream: Callable[[Planted, bool], bytes], inside: bool) -> None:
    def clean(planted: Planted) -> bytes:
        seen = redact_sse(stream(planted, inside))
        assert b"and no other." in grown(seen)
        return seen + grown(seen).replace(b"\\n", b"\n")

    assert leaking(clean) == []


# -- records of other protocols ----------------------------------------------------------------------------------------


def cleaned_record(format: str, line: dict[str, Any]) -> bytes:
    seen = Cleaner().observation(Record("r", "default", 1, "import", format, "f:1", msgspec.json.encode(line)))
    assert isinstance(seen, Record)
    return seen.body


def test_a_probe_stops_wherever_an_exact_pattern_finds_anything() -> None:
    for each in CORPUS:
        for lead in ("", " ", "task", "a", "7", r"a\n", r"\u000a", r"a\\n", "é"):
            text = "".join((lead, *each.secrets, " ", each.text)).encode()
            for family in FAMILIES:
                assert family.probe.search(text) or not any(one.shape.sub(one.replace, text) != text for one in family.patterns), (each.name, lead)


@pytest.mark.parametrize("text", ["gdk-task-0123456789abcdef", "a2a_subtask_0123456789abcdef0123", "risk-averse-parties", "unmask_everything_now"])
def test_words_that_end_like_a_prefix_wake_no_pattern(text: str) -> None:
    assert not any(family.probe.search(text.encode()) for family in FAMILIES)


def test_none_stays_in_a_line_of_a_transcript() -> None:
    def clean(planted: Planted) -> bytes:
        said = {"role": "user", "content": [{"type": "tool_result", "content": planted.text}]}
        return cleaned_record("claude", {"type": "user", "message": said, "toolUseResult": {"stdout": planted.text}})

    assert leaking(clean) == []


@pytest.mark.parametrize("place", ["request", "stream", "response"])
def test_none_stays_in_a_frame_of_an_agent(place: str) -> None:
    def clean(planted: Planted) -> str:
        message = {"kind": "message", "parts": [{"kind": "text", "text": planted.text}, {"kind": "data", "data": {"deep": [planted.text]}}]}
        frames: dict[str, dict[str, Any]] = {
            "request": {"path": f"/x?note={one_line(planted)}", "headers": {"x-note": one_line(planted)}, "body": {"params": message}},
            "stream": {"raw": f"data: {json.dumps({'result': message})}\n\n"},
            "response": {"body": json.dumps(message)},
        }
        line = redact_frame(json.dumps({"kind": place, **frames[place]}).encode())
        return line.decode() + str(json.loads(line))

    assert leaking(clean) == []


def test_none_stays_in_what_a_mesh_says() -> None:
    def clean(planted: Planted) -> bytes:
        parts = [{"kind": "text", "text": planted.text}, {"kind": "data", "data": {"tool_args": {"command": planted.text}}}]
        body = {"topic": "a2a/v1/agent/request/x", "payload": {"parts": parts}, "user_properties": {"note": planted.text}}
        return redact_message(json.dumps(body).encode())

    assert leaking(clean) == []


def test_none_stays_in_an_event_of_a_program() -> None:
    def clean(planted: Planted) -> bytes:
        payload = {"note": planted.text, "inner": json.dumps({"text": planted.text})}
        return cleaned_record("adcp", {"eventId": "e1", "type": "sync_creatives", "payload": payload})

    assert leaking(clean) == []


def attribute(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "value": {"stringValue": value}}


def test_none_stays_in_a_span() -> None:
    def clean(planted: Planted) -> bytes:
        attributes = [attribute("gen_ai.input.messages", json.dumps([{"content": planted.text}])), attribute("note", planted.text)]
        return cleaned_record(OTLP, {"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "chat", "attributes": attributes}]}]}]})

    assert leaking(clean) == []


def test_an_attribute_of_a_span_is_known_by_its_name() -> None:
    secret = ("http.request.header.authorization", "http.request.header.x_api_key", "app.db.password", "access_token", "http.response.header.set-cookie", "enduser.pass")
    plain = ("gen_ai.usage.input_tokens", "http.request.header.content-type", "session.id", "gen_ai.token.type", "user.name")
    many = {"key": "http.request.header.cookie", "value": {"arrayValue": {"values": [{"stringValue": "abc"}, {"stringValue": "def"}]}}}
    span = json.loads(cleaned_record(OTLP, {"attributes": [*(attribute(key, 'a"b') for key in (*secret, *plain)), many]}))
    given = {each["key"]: each["value"].get("stringValue") for each in span["attributes"]}
    assert given == dict.fromkeys(secret, "[redacted:secret]") | dict.fromkeys(plain, 'a"b') | {"http.request.header.cookie": None}
    assert span["attributes"][-1]["value"]["arrayValue"]["values"] == [{"stringValue": "[redacted:secret]"}] * 2


def test_none_stays_where_a_text_was_encoded_whole() -> None:
    """A file, a setting of a cluster, an attribute of bytes; pictures, digests and ids keep their letters."""
    long = [each for each in CORPUS if len(each.text) > 24]

    def clean(planted: Planted) -> str:
        coded = b64encode(f"the file says: {planted.text}\n".encode()).decode()
        document = json.dumps({"data": coded, "inner": json.dumps({"bytesValue": coded})})
        found = json.loads(redact_json(document.encode()))
        both = found["data"], json.loads(found["inner"])["bytesValue"]
        return "".join(one if "[redacted" in one else b64decode(one).decode() for one in both)  # some keys are known by their coding

    assert [each.name for each in long if leaks(clean(each).encode(), each)] == []


@pytest.mark.parametrize("raw", [b"\x89PNG\r\n\x1a\n" + bytes(range(256)), b"only words, and no secret among them", "Füße und Bären, häufig genug".encode(), bytes(64)])
def test_what_was_encoded_and_holds_none_stays(raw: bytes) -> None:
    document = json.dumps({"data": b64encode(raw).decode(), "cut": b64encode(raw).decode()[:-3]}).encode()
    assert redact_json(document) == document


@pytest.mark.parametrize("flag", ["--token", "--api-key", "-password", "--client-secret"])
def test_a_word_of_a_command_is_known_by_the_one_before(flag: str) -> None:
    value = planted("export", 4).secrets[0]
    for indent in (None, 1):
        document = json.dumps({"args": ["tool", flag, value, "--region", "eu-central-1"], "inner": json.dumps({"args": [flag, value]})}, indent=indent).encode()
        assert value not in redact_json(document).decode()
        assert b"eu-central-1" in redact_json(document)
    listed = {"arrayValue": {"values": [{"stringValue": flag}, {"stringValue": value}]}}
    assert value not in cleaned_record(OTLP, {"attributes": [{"key": "process.command_args", "value": listed}]}).decode()
    named = json.dumps({"fields": ["token", "identifier2026Of4Things", "password", "username2026x"]}).encode()
    assert redact_json(named) == named


def test_the_address_of_a_model_call_is_cleaned_where_its_body_holds_nothing() -> None:
    token = planted("url-token").secrets[0]
    body = b'{"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "hello"}]}'
    asked = Request("r", "default", 1, "proxy", "r", "POST", f"/v1/messages?token={token}", (("content-type", "application/json"),), body)
    said = b'{"id": "msg_1", "type": "message", "role": "assistant", "content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn"}'
    answered = Response("a", "default", 2, "proxy", "r", asked.path, 200, asked.headers, said, "complete", 2)
    store = open_sqlite("memory:")
    Ingest(store, redaction=Cleaner()).step([asked, answered])
    kept = [seen for _, seen in store.observations() if isinstance(seen, Request | Response)]
    assert [(seen.path, seen.body) for seen in kept] == [("/v1/messages?token=[redacted:url-parameter]", body), ("/v1/messages?token=[redacted:url-parameter]", said)]
    store.close()


# -- what is none ------------------------------------------------------------------------------------------------------

HEXADECIMAL = "0123456789abcdef"


def drawn(source: random.Random, alphabet: str, length: int) -> str:
    return "".join(source.choices(alphabet, k=length))


def harmless(source: random.Random) -> list[str]:
    letters = corpus.LETTERS
    uuid = "-".join(drawn(source, HEXADECIMAL, length) for length in (8, 4, 4, 4, 12))
    return [
        f"commit {drawn(source, HEXADECIMAL, 40)}",
        f"index {drawn(source, HEXADECIMAL, 7)}..{drawn(source, HEXADECIMAL, 7)} 100644",
        f"HEAD is now at {drawn(source, HEXADECIMAL, 12)} Keep the token of the page",
        f"sha256:{drawn(source, HEXADECIMAL, 64)}  dist/ramify-1.0-py3-none-any.whl",
        f"integrity sha512-{drawn(source, letters + '+/', 86)}==",
        f"session {uuid} of request {uuid}",
        f"the key {uuid} of the table, its primary key {drawn(source, HEXADECIMAL, 32)}",
        f"cache_key={drawn(source, HEXADECIMAL, 32)} idempotency-key: {uuid} key={drawn(source, letters, 24)}",
        f"next_page_token={drawn(source, letters, 40)} progressToken: {drawn(source, letters, 24)} max_token={drawn(source, letters, 20)}",
        f"msg_01{drawn(source, letters, 22)} toolu_01{drawn(source, letters, 22)} req_011{drawn(source, letters, 21)}",
        f"chatcmpl-{drawn(source, letters, 29)} resp_{drawn(source, HEXADECIMAL, 48)} call_{drawn(source, letters, 24)} fc_{drawn(source, HEXADECIMAL, 48)}",
        f"sk-{drawn(source, HEXADECIMAL, 12)} sdk-{uuid} live_{drawn(source, HEXADECIMAL, 20)} fc_{drawn(source, letters, 32)} st.{drawn(source, letters, 12)}",
        f"sessionid={uuid} session_id={drawn(source, letters, 24)} https://{drawn(source, HEXADECIMAL, 32)}@o1.ingest.example.org/42",
        f"gdk-task-{drawn(source, HEXADECIMAL, 32)} a2a_subtask_{drawn(source, HEXADECIMAL, 32)} web-session-{drawn(source, HEXADECIMAL, 32)}",
        f"data:image/png;base64,iVBORw0KGgo{drawn(source, letters + '+/', 4000)}==",
        f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{drawn(source, letters + '+/', 43)} me@example.org",
        f"-----BEGIN CERTIFICATE-----\n{drawn(source, letters + '+/', 64)}\n-----END CERTIFICATE-----",
        f"/nix/store/{drawn(source, letters.lower(), 32)}-python3 arn:aws:iam::123456789012:role/deploy",
        f"https://example.org/blob/{drawn(source, HEXADECIMAL, 40)}/src/secret_words.py#L{source.randrange(99)}",
    ]


@pytest.mark.parametrize("seed", range(40))
def test_hashes_ids_digests_pictures_and_certificates_stay(seed: int) -> None:
    for text in harmless(random.Random(seed)):
        document = json.dumps({"text": text, "signature": text, "inner": json.dumps({"id": text})}).encode()
        assert redact_json(document) == document, text
        for write in WRITERS.values():
            document = f'{{"text":{write(text)},"inner":{write(write(text))}}}'.encode()
            assert redact_json(document) == document, text


CODE = [
    "token = self.tokens[index]; secret = secrets.token_hex(16); key = hashlib.sha256(b'x').hexdigest()",
    "password = getpass.getpass(); password: str | None = None; passwordField2 = document.getElementById('password1')",
    "api_key = os.environ['OPENAI_API_KEY_2026']; apiKey: process.env.API_KEY_V2, accessKey = settings.access_key_id",
    "const token = await getAccessTokenFromCache2(); let secretKey = generateSecretKey256();",
    "def test_secret(token: Token2, password: Password) -> None: assert token != other_token",
    "Cookie: a small file. The cookie: sweet. Set-Cookie is a header; the secret is out; the password is required",
    "the token is TokenKind.identifier_or_keyword_2 and the api key is read from /etc/ramify/keys/production.key",
    "--password-file /run/secrets/db --token-url https://example.org/oauth2/v2/token --key-type ecdsa-p256",
    "docker run -u 1000:1000 image; ls -u; tar -u file:name", "client_secret: ${CLIENT_SECRET} token: {{ .Values.token }}",
    '{"auth": "none", "auth": "oauth2-client-credentials", "author": "somebody"}',
    "3 tests pass: test_tokens2, test_pages; pass: integration2 PASS=unit_tests_2026 bypass: Version2b compass: N42E7 --- PASS: TestToken2 (0.00s)",
    "def call(self, password: str | None = None, token: Token2 | None = None) -> Pass2: ...  # the password 'password1' is refused",
    'required = ("password", "username2"); {"pass": "3 of 5", "passed": 12, "passing": "unit2026"}; | password | required |',
    "**Token:** a word. **Password:** `your-password` <input name=\"username\" value=\"ann2026\"> <meta name=\"viewport\" content=\"width=device-width\">",
    "mkdir -p src/ramify2; docker run -p 8080:80 -p 127.0.0.1:8443:8443 image2; mysql -u root -p shop2026; ls -a dir2026; tar -P x2026y",
    "sk-toggleable__control sk-estimator-doc-link-2 sk-container-id-1 as-of-2026-the-rules-have-changed-a-lot ak-9 pa-system-of-the-year-2026-in-the-hall-of-fame",
    "Surrogate-Key: page2026/section4/article1234567 Idempotency-Key: 6ba7b810-9dad-11d1-80b4-00c04fd430c8 Sec-WebSocket-Key: sample",
    "the price is $6$ or $1$, and $2a of it; `echo $1$2`; awk '{print $1$2$3}'", '{"kty": "EC", "x": "short", "d": "text"} {"d": "M10 20"}',
    "https://user-name-of-a-service-account@example.org/ https://team.of.agents.2026@git.example.org/x", "bearer of good news and of bad ones; bearer authentication-flow",
    "a map from key | value, token | count | share, and `password` | `secret`", "GITHUB_PATH=/opt/bin2026/tool_cache APP_AUTH=oauth2-client-credentials ADMIN_PW=required",
    "created identified by 'agent' and identified by its id; sessionid=6ba7b810-9dad-11d1-80b4-00c04fd430c8",
]


@pytest.mark.parametrize("text", CODE)
def test_code_and_sentences_about_secrets_stay(text: str) -> None:
    assert redact_json(text.encode()) == text.encode()
    document = json.dumps({"text": text}).encode()
    assert redact_json(document) == document
