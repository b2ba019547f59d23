"""The page is served with a strict policy; where it was not built, that is said."""

from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from ramify.web.pages import ELSEWHERE, paged
from ramify.web.typescript import written
from tests.web.served import Small, serving

GENERATED = Path(__file__).parents[2] / "web/src/api/types.gen.ts"


def built(folder: Path) -> TestClient[web.Request, web.Application]:
    (folder / "assets").mkdir()
    (folder / "index.html").write_text("<title>Ramify</title>")
    (folder / "assets" / "index-1.js").write_text("alert(1)")
    app = web.Application()
    app.router.add_route("GET", f"/{{tail:{ELSEWHERE}.*}}", paged(folder))
    return TestClient(TestServer(app, host="127.0.0.1"))


async def test_every_page_is_the_same_file_and_unknown_ones_say_so(tmp_path: Path) -> None:
    async with built(tmp_path) as client:
        for path, status in (("/", 200), ("/task/task_1", 200), ("/calls?kind=main", 200), ("/nothing/here", 404)):
            async with client.get(path) as response:
                assert response.status == status
                assert "<title>Ramify</title>" in await response.text()


async def test_nothing_foreign_may_run_or_be_loaded(tmp_path: Path) -> None:
    async with built(tmp_path) as client, client.get("/") as response:
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert response.headers["x-content-type-options"] == "nosniff"


async def test_assets_are_kept_for_ever_and_pages_are_not(tmp_path: Path) -> None:
    async with built(tmp_path) as client:
        async with client.get("/assets/index-1.js") as response:
            assert "immutable" in response.headers["cache-control"]
            assert response.content_type == "text/javascript"
        async with client.get("/") as response:
            assert response.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", ["/assets/../index.html", "/assets/%2e%2e/index.html", "/..%2f..%2fetc/passwd"])
async def test_no_file_outside_is_served(tmp_path: Path, path: str) -> None:
    async with built(tmp_path) as client, client.get(path) as response:
        assert "root:" not in await response.text()


async def test_a_checkout_without_the_page_says_how_to_build_it(tmp_path: Path) -> None:
    app = web.Application()
    app.router.add_route("GET", f"/{{tail:{ELSEWHERE}.*}}", paged(tmp_path))
    async with TestClient(TestServer(app, host="127.0.0.1")) as client, client.get("/") as response:
        assert "make web" in await response.text()


async def test_a_wrong_address_of_the_api_is_not_answered_with_a_page() -> None:
    async with serving(Small()) as client, client.get("/api/nothing") as response:
        assert response.status == 404
        assert (await response.json())["error"]["code"] == "not_found"


def test_the_types_of_the_page_are_those_of_the_server() -> None:
    assert GENERATED.read_text("utf-8") == written(), "run: python -m ramify.web.typescript > web/src/api/types.gen.ts"
