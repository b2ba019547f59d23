"""The deployment files are whole: they parse, hold what must be there, and agree with the program."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

import pytest

from ramify.settings import SETTINGS
from ramify.web.app import ROUTES
from tests.cli.test_main import ramify
from tests.test_mistakes import serving

yaml = pytest.importorskip("yaml")
TOP = Path(__file__).parent.parent
DEPLOY = TOP / "deploy"
VARIABLES = {setting.variable for setting in SETTINGS}


def compose() -> Any:
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))


def kinds() -> dict[str, Any]:
    documents = yaml.safe_load_all((DEPLOY / "kubernetes" / "ramify.yaml").read_text("utf-8"))
    found = {}
    for document in documents:
        assert document["apiVersion"]
        assert document["metadata"]["name"]
        found[f"{document['kind']} {document['metadata']['name']}"] = document
    return found


def container() -> Any:
    [only] = kinds()["StatefulSet ramify"]["spec"]["template"]["spec"]["containers"]
    return only


def test_compose_has_a_server_that_waits_for_its_database_and_keeps_its_spool() -> None:
    services, volumes = compose()["services"], compose()["volumes"]
    assert set(services) == {"database", "ramify", "prometheus"}
    assert services["prometheus"]["profiles"]  # only for those who ask for it
    ramify = services["ramify"]
    assert ramify["depends_on"]["database"]["condition"] == "service_healthy"
    assert services["database"]["healthcheck"]["test"]
    for service in services.values():
        mounted = {mount.partition(":")[0] for mount in service["volumes"]}
        assert all(name in volumes or (DEPLOY / name).is_file() for name in mounted)
    assert (DEPLOY / ramify["build"]["context"] / ramify["build"]["dockerfile"]).resolve() == (DEPLOY / "Dockerfile").resolve()
    assert all(port.startswith("127.0.0.1:") for service in services.values() for port in service.get("ports", ()))


def test_the_set_selects_its_own_pods_and_its_services_find_them() -> None:
    found = kinds()
    spec = found["StatefulSet ramify"]["spec"]
    labels = spec["template"]["metadata"]["labels"]
    assert spec["selector"]["matchLabels"] == labels
    for service in ("Service ramify", "Service ramify-each"):
        assert found[service]["spec"]["selector"] == labels
        assert [port["targetPort"] for port in found[service]["spec"]["ports"]] == [container()["ports"][0]["name"]]
    assert f"Service {spec['serviceName']}" in found
    assert found["PodDisruptionBudget ramify"]["spec"]["selector"]["matchLabels"] == labels


def test_a_server_of_the_set_has_a_disk_probes_and_a_grace() -> None:
    spec = kinds()["StatefulSet ramify"]["spec"]
    pod = spec["template"]["spec"]
    volumes = {one["metadata"]["name"] for one in spec["volumeClaimTemplates"]} | {one["name"] for one in pod["volumes"]}
    assert {mount["name"] for mount in container()["volumeMounts"]} == volumes
    assert pod["terminationGracePeriodSeconds"] >= 30
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container()["startupProbe"]["periodSeconds"] * container()["startupProbe"]["failureThreshold"] >= 3600


def test_variables_and_addresses_are_those_of_the_program() -> None:
    names = [*compose()["services"]["ramify"]["environment"], *(one["name"] for one in container()["env"])]
    assert {name for name in names if name.startswith("RAMIFY_")} <= VARIABLES
    open_to_all = {route.path for route in ROUTES if route.scope == "open"}  # whoever asks has no token, and comes from outside
    probes = [container()[probe]["httpGet"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")]
    assert [probe["path"] for probe in probes] == ["/api/alive", "/api/alive", "/api/ready"]
    assert {probe["path"] for probe in probes} <= open_to_all
    assert {probe["port"] for probe in probes} == {port["name"] for port in container()["ports"]}
    command = compose()["services"]["ramify"]["healthcheck"]["test"][-1]
    compile(command, "probe", "exec")
    assert any(f'8377{path}"' in command for path in open_to_all)


def test_no_service_of_the_set_names_a_variable_of_the_program() -> None:
    """A service named ramify would be RAMIFY_PORT=tcp://… in every container of its namespace."""
    assert kinds()["StatefulSet ramify"]["spec"]["template"]["spec"]["enableServiceLinks"] is False


def test_no_secret_stands_in_a_file() -> None:
    for name in ("RAMIFY_TOKEN", "PGPASSWORD", "RAMIFY_STORE"):
        [entry] = [one for one in container()["env"] if one["name"] == name]
        assert entry["valueFrom"]["secretKeyRef"]["name"] == "ramify"
    environment = compose()["services"]["ramify"]["environment"]
    assert environment["RAMIFY_TOKEN"].startswith("${")
    assert environment["PGPASSWORD"].startswith("${")


# -- the image --------------------------------------------------------------------------------------------------------------------


def test_the_image_is_built_from_the_sources_with_every_engine(tmp_path: Path) -> None:
    """As its first stage does, from what it copies and nothing else; only the page was built before, which needs the network."""
    text = (DEPLOY / "Dockerfile").read_text("utf-8").replace("\\\n", "")
    copied = [word for line in text.splitlines() if line.startswith("COPY ") for word in line.split()[1:-1]]
    kept = {line[1:] for line in (TOP / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")}
    assert set(copied) == kept
    [extras] = re.findall(r"ramify-\*\.whl\)\[([\w,]+)\]", text)
    known = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert {"postgres", "clickhouse"} <= set(extras.split(",")) <= set(known)
    pytest.importorskip("hatchling")
    for name in copied:
        if (TOP / name).is_dir():
            shutil.copytree(TOP / name, tmp_path / name, ignore=shutil.ignore_patterns("static", "node_modules", "__pycache__"))
        else:
            shutil.copy(TOP / name, tmp_path / name)
    page = tmp_path / "src" / "ramify" / "web" / "static"
    page.mkdir()
    (page / "index.html").write_text("the page")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel"], cwd=tmp_path, check=True, capture_output=True, timeout=120)
    [wheel] = (tmp_path / "dist").glob("ramify-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "ramify/web/static/index.html" in names
    assert "ramify/storage/clickhouse.py" in names


# -- figures ----------------------------------------------------------------------------------------------------------------------


def scraped() -> Any:
    [job] = yaml.safe_load((DEPLOY / "prometheus.yaml").read_text("utf-8"))["scrape_configs"]
    return job


def monitor() -> Any:
    return yaml.safe_load((DEPLOY / "kubernetes" / "prometheus.yaml").read_text("utf-8"))


def test_prometheus_carries_a_token_that_compose_and_a_secret_hand_over() -> None:
    [service] = [one for one in compose()["services"].values() if one.get("secrets")]
    [secret] = service["secrets"]
    assert scraped()["authorization"] == {"type": "Bearer", "credentials_file": f"/run/secrets/{secret}"}
    assert compose()["secrets"][secret] == {"environment": "RAMIFY_METRICS_TOKEN"}
    [endpoint] = monitor()["spec"]["endpoints"]
    assert endpoint["authorization"]["type"] == "Bearer"
    assert set(endpoint["authorization"]["credentials"]) == {"name", "key"}
    metrics = [(route.path, route.scope) for route in ROUTES if route.path == "/metrics"]
    assert metrics == [(scraped()["metrics_path"], "read")] == [(endpoint["path"], "read")]
    for name in ("compose.yaml", "prometheus.yaml", "kubernetes/prometheus.yaml"):
        assert "--scopes read --projects '*'" in (DEPLOY / name).read_text("utf-8")


def test_every_server_of_the_set_is_asked_once() -> None:
    wanted = monitor()["spec"]["selector"]["matchLabels"].items()
    assert [name for name, one in kinds().items() if name.startswith("Service ") and wanted <= one["metadata"]["labels"].items()] == ["Service ramify-each"]
    ports = kinds()["Service ramify-each"]["spec"]["ports"]
    assert [port["name"] for port in ports] == [endpoint["port"] for endpoint in monitor()["spec"]["endpoints"]]
    assert "annotations" not in kinds()["StatefulSet ramify"]["spec"]["template"]["metadata"]  # they carry no token


def test_a_guarded_server_gives_figures_to_such_a_token_only(tmp_path: Path) -> None:
    store = ("--store", f"sqlite:{tmp_path}/store.db")
    made = ramify(tmp_path, "token", "create", "prometheus", "--scopes", "read", "--projects", "*", "--json", *store)
    token = json.loads(made.stdout)["secret"]
    with serving(tmp_path, "--require-token", "yes", *store) as port:
        address = f"http://127.0.0.1:{port}{scraped()['metrics_path']}"
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(address, timeout=30)
        asking = urllib.request.Request(address, headers={"authorization": f"{scraped()['authorization']['type']} {token}"})
        assert b"ramify_store_up 1" in urllib.request.urlopen(asking, timeout=30).read()


# -- by the rules of those who read them ------------------------------------------------------------------------------------------


def filled(text: str) -> str:
    """As Compose reads it: with what the environment says, or what stands there instead."""
    return re.sub(r"\$\{\w+:(?:-([^}]*)|\?[^}]*)\}", lambda found: found[1] or "chosen", text)


def test_compose_accepts_the_file() -> None:
    read = pytest.importorskip("compose_spec").PyCompose.from_yaml(filled((DEPLOY / "compose.yaml").read_text("utf-8")))
    read.validate()
    assert sorted(read.to_spec().services) == ["database", "prometheus", "ramify"]


def test_compose_would_refuse_a_slip() -> None:
    text = filled((DEPLOY / "compose.yaml").read_text("utf-8")).replace("restart:", "restrat:")
    with pytest.raises(ValueError, match="restrat"):
        pytest.importorskip("compose_spec").PyCompose.from_yaml(text)


@pytest.mark.parametrize("version", ["1.25", "1.33", "1.37"])
def test_kubernetes_accepts_every_object(version: str) -> None:
    validate = pytest.importorskip("kubernetes_validate").validate
    for document in kinds().values():
        validate(document, version, strict=True)


def test_kubernetes_would_refuse_a_slip() -> None:
    known = pytest.importorskip("kubernetes_validate")
    document = kinds()["StatefulSet ramify"]
    document["spec"]["template"]["spec"]["containers"][0]["readynessProbe"] = {}
    with pytest.raises(known.ValidationError):
        known.validate(document, "1.33", strict=True)
