"""The real AdCP client, with one line for us, against real agents and a real server: what it asked, what really came of it."""

import asyncio
import json
import sysconfig
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_main import SOURCE
from tests.peers.a2a.environments import VERSIONS, Unavailable, python_of
from tests.peers.a2a.world import agent, environment
from tests.peers.adcp.environment import HERE, python
from tests.peers.log import Log, states
from tests.peers.served import serve
from tests.peers.started import started

pytestmark = pytest.mark.peer
KEY = {
    "kid": "seller-2026", "kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "key_ops": ["verify"], "adcp_use": "webhook-signing",
}  # fmt: skip


def new_key() -> tuple[str, str]:
    """Public and private."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from tests.web.signing import unpadded

    private = Ed25519PrivateKey.generate()
    public = KEY | {"x": unpadded(private.public_key().public_bytes_raw())}
    return json.dumps({"keys": [public]}), json.dumps(public | {"d": unpadded(private.private_bytes_raw())})


async def buy(log: Log, *arguments: str) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        *(str(python()), str(HERE / "buyer.py"), SOURCE, sysconfig.get_paths()["purelib"], log.server.url, log.key, *arguments),
        env=environment(), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        output, problems = await asyncio.wait_for(process.communicate(), 400)  # importing the client takes long
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode == 0, problems.decode()[-3000:]
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


async def test_a_program_with_the_real_client_is_told_as_it_was(tmp_path: Path) -> None:
    try:
        python_of(VERSIONS[0])
    except Unavailable as problem:
        pytest.skip(str(problem))
    with started(HERE / "seller.py", "mcp_alpha") as mcp:
        await check(mcp, tmp_path)


async def check(mcp: str, folder: Path) -> None:
    public, private = new_key()
    async with (
        serve("http://127.0.0.1:9", folder, RAMIFY_WEBHOOK_KEYS_MCP_ALPHA=public) as server,
        agent("1") as a2a,
    ):
        log = await Log.open(server)
        told = await buy(log, mcp, a2a.url, private)
        found, other, dead = [await log.operation(id) for id in ("op_adcp", "op_other", "op_dead")]
        async with server.http.get(f"{server.url}/api/operations", headers={"X-Ramify-Session": log.key}) as answer:
            names = {one["operationId"] for one in (await answer.json())["data"]["operations"]}
    # The program got what it gets without us, our operation stood in what its seller was sent, and its own callback was called.
    assert (told["products"], told["looked"], told["pushes"]) == (True, "completed", [200, 200])
    assert [one[0] for one in told["answers"]] == ["task_0001", "task_0002"]
    assert {one[2]["told_operation"] for one in told["answers"]} == {"op_adcp"}
    assert ["protocol_response", "sync_creatives", "completed"] in told["activities"]  # what the library says of submitted work
    assert (told["stats"]["unencodable"], told["stats"]["dropped"]) == (0, 0)
    # Told: one task for each call; the second was only found completed because somebody looked.
    assert [(task["title"], task["status"]) for task in found["tasks"]] == [
        ("get_products", "completed"), ("sync_creatives", "completed"), ("sync_creatives", "completed"),
    ]  # fmt: skip
    kinds = Counter((one["eventType"], one["source"]) for one in found["events"])
    assert kinds["protocol_request", "client"] == kinds["protocol_response", "client"] == 3
    assert kinds["status_update", "poll"] == 1
    pushed = [one for one in found["events"] if one["source"] == "webhook"]
    assert [one["flags"] for one in pushed] == [[], ["duplicate"]]
    assert "key-of-the-buyer" not in json.dumps(found)
    # Over A2A it is told once, by the client that meant it; and a dead agent leaves an end that nobody knows.
    assert Counter(one["eventType"] for one in other["events"])["protocol_request"] == 1
    assert (other["operation"]["agents"], other["operation"]["taskTypes"]) == (["a2a_beta"], ["get_products"])
    assert states(dead) == ["unknown"]
    assert names == {"op_adcp", "op_other", "op_dead"}
