"""The deployment files are whole: they parse, hold what must be there, and agree with the program."""

import re
from pathlib import Path
from typing import Any

import pytest

from ramify.settings import SETTINGS
from ramify.web.app import ROUTES

yaml = pytest.importorskip("yaml")
DEPLOY = Path(__file__).parent.parent / "deploy"
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
    assert set(services) == {"database", "ramify"}
    ramify = services["ramify"]
    assert ramify["depends_on"]["database"]["condition"] == "service_healthy"
    assert services["database"]["healthcheck"]["test"]
    for service in services.values():
        assert {mount.partition(":")[0] for mount in service["volumes"]} <= set(volumes)
    assert (DEPLOY / ramify["build"]["context"] / ramify["build"]["dockerfile"]).resolve() == (DEPLOY / "Dockerfile").resolve()
    assert all(port.startswith("127.0.0.1:") for port in ramify["ports"])


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
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container()[probe]["exec"]["command"][:2] == ["python", "-c"]
    assert container()["startupProbe"]["periodSeconds"] * container()["startupProbe"]["failureThreshold"] >= 3600


def test_variables_and_addresses_are_those_of_the_program() -> None:
    names = [*compose()["services"]["ramify"]["environment"], *(one["name"] for one in container()["env"])]
    assert {name for name in names if name.startswith("RAMIFY_")} <= VARIABLES
    commands = [container()[probe]["exec"]["command"][2] for probe in ("startupProbe", "livenessProbe", "readinessProbe")]
    commands.append(compose()["services"]["ramify"]["healthcheck"]["test"][-1])
    paths = {route.path for route in ROUTES}
    for command in commands:
        compile(command, "probe", "exec")
        assert any(f'8377{path}"' in command for path in paths)


def test_no_secret_stands_in_a_file() -> None:
    for name in ("RAMIFY_TOKEN", "PGPASSWORD", "RAMIFY_STORE"):
        [entry] = [one for one in container()["env"] if one["name"] == name]
        assert entry["valueFrom"]["secretKeyRef"]["name"] == "ramify"
    environment = compose()["services"]["ramify"]["environment"]
    assert environment["RAMIFY_TOKEN"].startswith("${")
    assert environment["PGPASSWORD"].startswith("${")


# -- by the rules of those who read them ------------------------------------------------------------------------------------------


def filled(text: str) -> str:
    """As Compose reads it: with what the environment says, or what stands there instead."""
    return re.sub(r"\$\{\w+:(?:-([^}]*)|\?[^}]*)\}", lambda found: found[1] or "chosen", text)


def test_compose_accepts_the_file() -> None:
    read = pytest.importorskip("compose_spec").PyCompose.from_yaml(filled((DEPLOY / "compose.yaml").read_text("utf-8")))
    read.validate()
    assert sorted(read.to_spec().services) == ["database", "ramify"]


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
