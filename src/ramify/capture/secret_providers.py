r"""Keys that their issuers gave a prefix to. One table; what asks quickly and what cuts exactly both follow from it.

A prefix ends in `-`, `_` or `.`, so a probe walks to that one character, asks for a long word after it, and only then
looks back for the prefix: almost every such character in real text fails at the second step.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ramify.capture.secret_shapes import Pattern, begun, bounded, whole


class Prefix(NamedTuple):
    kind: str
    prefix: str
    body: str


LETTERS, WORD, HEX = "[A-Za-z0-9]", r"[\w-]", "[0-9a-f]"
UUID = "[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"

PREFIXES = (
    Prefix("ramify-token", "rmf_", LETTERS + "{40,}"),
    Prefix("groq-key", "gsk_", LETTERS + "{40,}"),
    Prefix("xai-key", "xai-", LETTERS + "{60,}"),
    Prefix("perplexity-key", "pplx-", LETTERS + "{40,}"),
    Prefix("replicate-token", "r8_", LETTERS + "{30,}"),
    Prefix("nvidia-key", "nvapi-", WORD + "{40,}"),
    Prefix("fireworks-key", "fw_", r"(?=[A-Za-z]*\d)" + LETTERS + "{22,}"),
    Prefix("cerebras-key", "csk-", LETTERS + "{40,}"),
    Prefix("langsmith-key", "lsv2_pt_", HEX + r"{32}\w*"),
    Prefix("langsmith-key", "lsv2_sk_", HEX + r"{32}\w*"),
    Prefix("langfuse-key", "sk-lf-", UUID),
    Prefix("tavily-key", "tvly-", WORD + "{24,}"),
    Prefix("jina-key", "jina_", r"(?=[A-Za-z]*\d)" + LETTERS + "{40,}"),
    Prefix("elevenlabs-key", "sk_", HEX + "{48}"),
    Prefix("digitalocean-token", "dop_v1_", HEX + "{64}"),
    Prefix("digitalocean-token", "doo_v1_", HEX + "{64}"),
    Prefix("digitalocean-token", "dor_v1_", HEX + "{64}"),
    Prefix("heroku-key", "HRKU-", WORD + "{40,}"),
    Prefix("fly-token", "fm1_", "[A-Za-z0-9+/]{60,}={0,2}"),
    Prefix("fly-token", "fm2_", "[A-Za-z0-9+/]{60,}={0,2}"),
    Prefix("netlify-token", "nfp_", LETTERS + "{36,}"),
    Prefix("cloudflare-key", "v1.0-", HEX + "{24}-" + HEX + "{100,}"),
    Prefix("google-client-secret", "GOCSPX-", WORD + "{20,}"),
    Prefix("gitlab-token", "gldt-", WORD + "{20,}"),
    Prefix("gitlab-token", "glrt-", WORD + "{20,}"),
    Prefix("gitlab-token", "glptt-", WORD + "{20,}"),
    Prefix("gitlab-token", "glft-", WORD + "{20,}"),
    Prefix("gitlab-token", "glsoat-", WORD + "{20,}"),
    Prefix("gitlab-token", "glcbt-", WORD + "{20,}"),
    Prefix("rubygems-key", "rubygems_", HEX + "{48}"),
    Prefix("docker-token", "dckr_pat_", WORD + "{20,}"),
    Prefix("docker-token", "dckr_oat_", WORD + "{20,}"),
    Prefix("pulumi-token", "pul-", HEX + "{40}"),
    Prefix("vault-token", "hvs.", WORD + "{24,}"),
    Prefix("vault-token", "hvb.", WORD + "{24,}"),
    Prefix("vault-token", "hvr.", WORD + "{24,}"),
    Prefix("doppler-token", "dp.pt.", LETTERS + "{40,}"),
    Prefix("doppler-token", "dp.st.", r"[\w.-]{40,}"),
    Prefix("circleci-token", "CCIPAT_", r"\w{40,}"),
    Prefix("buildkite-token", "bkua_", HEX + "{40}"),
    Prefix("sonar-token", "sqp_", HEX + "{40}"),
    Prefix("sonar-token", "squ_", HEX + "{40}"),
    Prefix("age-key", "AGE-SECRET-KEY-", "1[A-Z0-9]{50,}"),
    Prefix("stripe-key", "sk_test_", LETTERS + "{16,}"),
    Prefix("stripe-key", "rk_test_", LETTERS + "{16,}"),
    Prefix("stripe-webhook-secret", "whsec_", "[A-Za-z0-9+/]{24,}={0,2}"),
    Prefix("square-token", "sq0atp-", WORD + "{22,}"),
    Prefix("square-token", "sq0csp-", WORD + "{22,}"),
    Prefix("shopify-token", "shpat_", HEX + "{32}"),
    Prefix("shopify-token", "shpss_", HEX + "{32}"),
    Prefix("shopify-token", "shpca_", HEX + "{32}"),
    Prefix("shopify-token", "shppa_", HEX + "{32}"),
    Prefix("sendgrid-key", "SG.", r"[\w-]{16,32}\.[\w-]{30,}"),
    Prefix("mailgun-key", "key-", HEX + "{32}"),
    Prefix("notion-token", "ntn_", LETTERS + "{40,}"),
    Prefix("notion-token", "secret_", r"(?=[A-Za-z]*\d)" + LETTERS + "{43}"),
    Prefix("linear-key", "lin_api_", LETTERS + "{32,}"),
    Prefix("linear-key", "lin_oauth_", LETTERS + "{32,}"),
    Prefix("figma-token", "figd_", WORD + "{36,}"),
    Prefix("hubspot-token", "pat-na1-", UUID),
    Prefix("hubspot-token", "pat-eu1-", UUID),
    Prefix("postman-key", "PMAK-", HEX + "{24}-" + HEX + "{34}"),
    Prefix("sentry-token", "sntryu_", HEX + "{64}"),
    Prefix("sentry-token", "sntrys_", r"[\w+/=-]{60,}"),
    Prefix("newrelic-key", "NRAK-", "[A-Z0-9]{27}"),
    Prefix("grafana-token", "glsa_", r"\w{32,}"),
    Prefix("grafana-token", "glc_", r"(?=[A-Za-z+/]*\d)[A-Za-z0-9+/]{40,}={0,2}"),
    Prefix("posthog-key", "phx_", LETTERS + "{40,}"),
    Prefix("dynatrace-token", "dt0c01.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    Prefix("supabase-token", "sbp_", HEX + "{40}"),
    Prefix("supabase-key", "sb_secret_", WORD + "{20,}"),
    Prefix("planetscale-token", "pscale_tkn_", r"[\w.-]{32,}"),
    Prefix("planetscale-token", "pscale_pw_", r"[\w.-]{32,}"),
    Prefix("planetscale-token", "pscale_oauth_", r"[\w.-]{32,}"),
    Prefix("neon-key", "napi_", r"(?=[a-z]*\d)[a-z0-9]{48,}"),
    Prefix("tailscale-key", "tskey-auth-", WORD + "{20,}"),
    Prefix("tailscale-key", "tskey-api-", WORD + "{20,}"),
    Prefix("tailscale-key", "tskey-client-", WORD + "{20,}"),
    Prefix("onepassword-token", "ops_", "eyJ" + WORD + "{100,}"),
    Prefix("dropbox-token", "sl.", WORD + "{100,}"),
    Prefix("dropbox-token", "sl.u.", WORD + "{100,}"),
    Prefix("pinecone-key", "pcsk_", LETTERS + "{4,8}_" + LETTERS + "{40,}"),
    Prefix("e2b-key", "e2b_", HEX + "{40}"),
    Prefix("vercel-token", "vercel_blob_rw_", LETTERS + "{12,20}_" + LETTERS + "{24,}"),
    Prefix("resend-key", "re_", r"(?=\w{0,24}\d)" + LETTERS + "{8}_" + LETTERS + "{22,}"),
    Prefix("contentful-token", "CFPAT-", WORD + "{40,}"),
    Prefix("together-key", "tgp_v1_", WORD + "{40,}"),
    Prefix("wandb-key", "wandb_v1_", WORD + "{40,}"),
    Prefix("voyage-key", "pa-", r"(?=[\w-]{0,30}\d)(?=[\w-]{0,30}[A-Z])[\w-]{43}(?![\w-])"),
    Prefix("anyscale-key", "esecret_", r"(?=[a-z]*\d)[a-z0-9]{24,}"),
    Prefix("modal-token", "ak-", r"(?=[A-Za-z]*\d)[A-Za-z0-9]{22}(?![\w-])"),
    Prefix("modal-token", "as-", r"(?=[A-Za-z]*\d)[A-Za-z0-9]{22}(?![\w-])"),
    Prefix("firecrawl-key", "fc-", HEX + r"{32}(?!\w)"),
    Prefix("helicone-key", "sk-helicone-", "[a-z0-9]{7}(?:-[a-z0-9]{7}){3}"),
    Prefix("context7-key", "ctx7sk-", UUID),
    Prefix("mem0-key", "m0-", r"(?=[A-Za-z]*\d)[A-Za-z0-9]{40}(?![\w-])"),
    Prefix("browserbase-key", "bb_live_", WORD + "{20,}"),
    Prefix("apify-token", "apify_api_", LETTERS + "{30,}"),
    Prefix("runpod-key", "rpa_", r"(?=[A-Za-z]*\d)" + LETTERS + "{40,}"),
    Prefix("cursor-key", "crsr_", HEX + "{64}"),
    Prefix("openai-session", "sess-", r"(?=[A-Za-z]*\d)" + LETTERS + r"{40}(?!\w)"),
    Prefix("google-key", "AQ.", r"Ab[\w-]{30,}"),
    Prefix("huggingface-token", "api_org_", LETTERS + "{30,}"),
    Prefix("amazon-token", "amzn.mws.", UUID),
    Prefix("render-key", "rnd_", r"(?=[A-Za-z]*\d)" + LETTERS + "{24,}"),
    Prefix("gitlab-token", "glagent-", WORD + "{20,}"),
    Prefix("gitlab-token", "glimt-", WORD + "{20,}"),
    Prefix("gitlab-token", "gloas-", WORD + "{20,}"),
    Prefix("sourcegraph-token", "sgp_", r"(?:[0-9a-f]{16}_)?[0-9a-f]{40}"),
    Prefix("clojars-token", "CLOJARS_", HEX + "{60}"),
    Prefix("brevo-key", "xkeysib-", HEX + "{64}-" + LETTERS + "{16}"),
    Prefix("typeform-token", "tfp_", WORD + "{40,}"),
    Prefix("clickup-token", "pk_", r"\d{6,10}_[A-Z0-9]{32}"),
    Prefix("mapbox-token", "sk.", r"eyJ[\w-]{20,}\.[\w-]{20,}"),
    Prefix("mapbox-token", "tk.", r"eyJ[\w-]{20,}\.[\w-]{20,}"),
    Prefix("honeycomb-key", "hcaik_", "[a-z0-9]{50,}"),
    Prefix("honeycomb-key", "hcxik_", "[a-z0-9]{50,}"),
    Prefix("doppler-token", "dp.ct.", LETTERS + "{40,}"),
    Prefix("doppler-token", "dp.sa.", LETTERS + "{40,}"),
    Prefix("doppler-token", "dp.scim.", LETTERS + "{40,}"),
    Prefix("doppler-token", "dp.audit.", LETTERS + "{40,}"),
    Prefix("infisical-token", "st.", r"[0-9a-f]{24}\.[0-9a-f]{32,64}\.[0-9a-f]{32}"),
    Prefix("plaid-token", "access-production-", UUID),
    Prefix("plaid-token", "access-development-", UUID),
    Prefix("plaid-token", "access-sandbox-", UUID),
    Prefix("shippo-token", "shippo_live_", HEX + "{40}"),
    Prefix("shippo-token", "shippo_test_", HEX + "{40}"),
    Prefix("flutterwave-key", "FLWSECK-", HEX + "{32}-X"),
    Prefix("lob-key", "live_", HEX + r"{35}(?!\w)"),
    Prefix("frameio-token", "fio-u-", WORD + "{64}"),
    Prefix("prefect-key", "pnu_", LETTERS + "{36}"),
    Prefix("prefect-key", "pnb_", LETTERS + "{36}"),
    Prefix("readme-key", "rdme_", "[a-z0-9]{70}"),
    Prefix("scalingo-token", "tk-us-", WORD + "{48}"),
    Prefix("yandex-token", "y0_", WORD + "{50,}"),
    Prefix("yandex-token", "t1.", r"[\w-]{40,}={0,2}\.[\w-]{80,}={0,2}"),
    Prefix("duffel-token", "duffel_live_", WORD + "{40,}"),
    Prefix("duffel-token", "duffel_test_", WORD + "{40,}"),
)
SHORTEST = 16
"""No key has fewer letters after its prefix."""


def before(words: Iterable[str]) -> Iterator[str]:
    """Looking back needs one width: prefixes of one length stand together. Each begins a word, as what cuts exactly wants it."""
    by_length: dict[int, list[str]] = defaultdict(list)
    for word in sorted(set(words)):
        by_length[len(word)].append(re.escape(word))
    return (f"(?<={'|'.join(same)}){begun(length)}" for length, same in by_length.items())


def ending_in(separator: str) -> list[Prefix]:
    return [each for each in PREFIXES if each.prefix.endswith(separator)]


def probe_after(separator: str, *others: str) -> str:
    """What must stand around a separator, for a probe that has walked to it; `others` are patterns of further prefixes."""
    prefixes = (*before(each.prefix for each in ending_in(separator)), *(f"(?<={other})" for other in others))
    return rf"(?=[\w+/-]{{{SHORTEST}}})(?:{'|'.join(prefixes)})"


def cuts(separator: str) -> tuple[Pattern, ...]:
    return tuple(whole(each.kind, bounded(re.escape(each.prefix)) + each.body) for each in ending_in(separator))
