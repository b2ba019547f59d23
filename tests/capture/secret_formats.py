"""Some hundred formats of secrets, and real-looking secrets made from them. None is real, and no line here looks like one.

A format is text in which `{…}` is the secret and the rest is what stands around it. `<a36>` are 36 random letters and digits
(`h` hexadecimal, `u` capitals and digits, `l` small letters and digits, `d` digits, `b` base64, `w` letters, digits, `_` and `-`);
`~` only cuts a prefix in two, so that nobody's scanner takes this file for a leak.
"""

import random
import re
import string
from collections.abc import Iterator
from typing import NamedTuple

ALPHABETS = {
    "a": string.ascii_letters + string.digits,
    "h": "0123456789abcdef",
    "u": string.ascii_uppercase + string.digits,
    "l": string.ascii_lowercase + string.digits,
    "d": string.digits,
    "b": string.ascii_letters + string.digits + "+/",
    "w": string.ascii_letters + string.digits + "_-",
}
NOISE = re.compile(r"<([a-z])(\d+)>")
SECRET = re.compile(r"\{(.*)\}", re.DOTALL)

MODELS = {  # keys of model providers
    "anthropic": "{sk-~ant-api03-<w93>}AA",
    "anthropic-admin": "{sk-~ant-admin01-<w93>}",
    "anthropic-oauth": "{sk-~ant-oat01-<w86>}",
    "openai-project": "{sk-~proj-<w74>T3~BlbkFJ<w73>}",
    "openai-service": "{sk-~svcacct-<w60>}",
    "openai-old": "OpenAI says {sk-~<a20>T3~BlbkFJ<a20>}",
    "openrouter": "{sk-~or-v1-<h64>}",
    "deepseek": "key {sk-~<h32>} of DeepSeek",
    "groq": "{gs~k_<a52>}",
    "xai": "{xa~i-<a80>}",
    "perplexity": "{pp~lx-<a48>}",
    "replicate": "{r8~_<a37>}",
    "nvidia": "{nv~api-<w64>}",
    "huggingface": "{h~f_<a34>}",
    "fireworks": "{fw~_<a24>}",
    "cerebras": "{cs~k-<l48>}",
    "langsmith": "{ls~v2_pt_<h32>_<h10>}",
    "langfuse": "{sk-~lf-<h8>-<h4>-<h4>-<h4>-<h12>}",
    "tavily": "{tv~ly-dev-<a32>}",
    "jina": "{ji~na_<h32><a28>}",
    "elevenlabs": "{sk~_<h48>}",
    "google-ai": "{AI~za<w35>}",
    "bedrock": "{AB~SK<b107>}=",
    "wandb": "WANDB_API_KEY={<h40>}",
    "mistral": "MISTRAL_API_KEY={<a32>}",
    "cohere": 'CO_API_KEY="{<a40>}"',
}
CLOUDS = {
    "aws-key-id": "{AK~IA<u16>}",
    "aws-session-key-id": "{AS~IA<u16>}",
    "aws-secret": "aws_secret_access_key = {<b40>}",
    "aws-secret-environment": "export AWS_SECRET_ACCESS_KEY={<b40>}",
    "aws-session-token": "aws_session_token = {<b200>}",
    "azure-storage": "DefaultEndpointsProtocol=https;AccountName=ramify;AccountKey={<b86>==};EndpointSuffix=core.example.net",
    "azure-sas": "https://ramify.example.net/c/f.txt?sv=2022-11-02&sr=b&sig={<a43>%3D}",
    "azure-client-secret": "client_secret={<a3>8~Q~<w34>}",
    "azure-service-bus": "Endpoint=sb://x.example.net/;SharedAccessKeyName=Root;SharedAccessKey={<b43>=}",
    "azure-search": "curl -H 'api-key: {<a52>}'",
    "azure-subscription": "Ocp-Apim-Subscription-Key: {<h32>}",
    "google-oauth-client": "{GO~CSPX-<w28>}",
    "google-refresh": "refresh_token: {1/~/0<w60>}",
    "google-access": "{ya~29.<w120>}",
    "digitalocean": "{do~p_v1_<h64>}",
    "digitalocean-oauth": "{do~o_v1_<h64>}",
    "heroku": "{HR~KU-AA<w58>}",
    "fly": "{fm~2_<b120>}",
    "vercel": "VERCEL_TOKEN={<a24>}",
    "netlify": "{nf~p_<a36>}",
    "cloudflare": "Authorization: Bearer {<w40>}",
    "cloudflare-origin": "{v1.~0-<h24>-<h146>}",
    "alibaba": "{LT~AI<a20>}",
    "tencent": "{AK~ID<a32>}",
    "scaleway": "SCW_SECRET_KEY={<h8>-<h4>-<h4>-<h4>-<h12>}",
    "oracle-key": "{-----BEGIN RSA PRI~VATE KEY-----\n<b64>\n<b64>\n<b40>\n-----END RSA PRI~VATE KEY-----}",
}
FORGES = {  # places of code, packages and deployment
    "github-personal": "{gh~p_<a36>}",
    "github-oauth": "{gh~o_<a36>}",
    "github-user": "{gh~u_<a36>}",
    "github-server": "{gh~s_<a36>}",
    "github-refresh": "{gh~r_<a76>}",
    "github-fine": "{github~_pat_<a22>_<a59>}",
    "gitlab-personal": "{gl~pat-<w20>}",
    "gitlab-deploy": "{gl~dt-<w20>}",
    "gitlab-runner": "{gl~rt-<w20>}",
    "gitlab-trigger": "{gl~ptt-<h40>}",
    "gitlab-feed": "{gl~ft-<w20>}",
    "bitbucket": "{AT~BB<a28>}",
    "atlassian": "{AT~ATT3xFfGF0<w170>}=<u8>",
    "npm": "{np~m_<a36>}",
    "npmrc": "//registry.example.org/:_authToken={<h8>-<h4>-<h4>-<h4>-<h12>}",
    "pypi": "{py~pi-AgEIcHlwaS5vcmc<w120>}",
    "rubygems": "{rubygems~_<h48>}",
    "cargo": "cargo login --token {ci~o<a32>}",
    "nuget": "dotnet nuget push x.nupkg --api-key {oy~2<l43>}",
    "docker": "{dc~kr_pat_<w27>}",
    "docker-config": '{"auths": {"registry.example.org": {"auth": "{<b48>}"}}}',
    "terraform": "{<a14>.atlas~v1.<w67>}",
    "pulumi": "{pu~l-<h40>}",
    "vault": "{hv~s.<w95>}",
    "vault-batch": "{hv~b.<w140>}",
    "doppler": "{dp~.pt.<a43>}",
    "databricks": "DATABRICKS_TOKEN={da~pi<h32>}",
    "databricks-alone": "with {da~pi<h32>}-2",
    "pinecone": "{pc~sk_<a6>_<a62>}",
    "e2b": "{e2~b_<h40>}",
    "vercel-blob": "{vercel~_blob_rw_<a16>_<a30>}",
    "resend": "{re~_<a8>_<a24>}",
    "atlassian-api": "{AT~CTT3xFfGN0<w170>}=<u8>",
    "okta-bare": "curl with SS~WS {00<w40>}",
    "okta-header": "Authorization: SS~WS {00<w40>}",
    "circleci": "{CCI~PAT_<a22>_<h40>}",
    "buildkite": "{bk~ua_<h40>}",
    "sonar": "{sq~p_<h40>}",
    "age": "{AGE~-SECRET-KEY-1<u58>}",
    "openssh-key": "{-----BEGIN OPENSSH PRI~VATE KEY-----\n<b70>\n<b70>\n<b70>\n-----END OPENSSH PRI~VATE KEY-----}",
    "ec-key": "{-----BEGIN EC PRI~VATE KEY-----\n<b64>\n<b64>\n<b20>==\n-----END EC PRI~VATE KEY-----}",
    "pgp-key": "{-----BEGIN PGP PRI~VATE KEY BLOCK-----\n\n<b64>\n<b64>\n=<b4>\n-----END PGP PRI~VATE KEY BLOCK-----}",
    "putty-key": "PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n{<b64>}\nPrivate-MAC: {<h64>}",
    "kubeconfig": "client-key-data: {LS0tLS1CRUdJTiBS~U0EgUFJJVkFURSBLRVk<b400>}",
    "key-in-base64": "{LS0tLS1CRUdJTiBQ~UklWQVRFIEtFWS<b300>}",
}
SERVICES = {
    "slack-bot": "{xo~xb-<d12>-<d12>-<a24>}",
    "slack-user": "{xo~xp-<d12>-<d12>-<d12>-<h32>}",
    "slack-app": "{xa~pp-1-A<u10>-<d13>-<h64>}",
    "slack-webhook": "https://hooks.slack.com/services/{T<u10>/B<u10>/<a24>}",
    "discord-bot": "{MT<a22>.G<a5>.<w38>}",
    "discord-webhook": "https://discord.com/api/webhooks/<d18>/{<w68>}",
    "telegram": "{<d10>:AA~<w33>}",
    "stripe": "{sk~_live_<a99>}",
    "stripe-test": "{sk~_test_<a24>}",
    "stripe-restricted": "{rk~_live_<a24>}",
    "stripe-webhook": "{wh~sec_<a32>}",
    "square": "{sq~0atp-<w22>}",
    "shopify": "{sh~pat_<h32>}",
    "shopify-secret": "{sh~pss_<h32>}",
    "paypal": "PAYPAL_CLIENT_SECRET={E<w79>}",
    "sendgrid": "{S~G.<w22>.<w43>}",
    "mailgun": "{ke~y-<h32>}",
    "mailchimp": "{<h32>-u~s14}",
    "twilio": "TWILIO_AUTH_TOKEN={<h32>}",
    "notion": "{nt~n_<d11><a35>}",
    "notion-old": "{sec~ret_<a43>}",
    "linear": "{li~n_api_<a40>}",
    "figma": "{fi~gd_<w40>}",
    "airtable": "{pa~t<a14>.<h64>}",
    "hubspot": "{pat~-na1-<h8>-<h4>-<h4>-<h4>-<h12>}",
    "asana": "asana_access_token: {1/<d16>:<h32>}",
    "postman": "{PM~AK-<h24>-<h34>}",
    "sentry": "{sn~tryu_<h64>}",
    "sentry-dsn": "https://<h32>:{<h32>}@sentry.example.org/42",
    "newrelic": "{NR~AK-<u27>}",
    "datadog": "DD_API_KEY={<h32>}",
    "datadog-header": "curl -H 'DD-APPLICATION-KEY: {<h40>}'",
    "grafana": "{gl~sa_<a32>_<h8>}",
    "grafana-cloud": "{gl~c_<b100>}",
    "posthog": "{ph~x_<a43>}",
    "dynatrace": "{dt~0c01.<u24>.<u64>}",
    "supabase": "{sb~p_<h40>}",
    "supabase-secret": "{sb~_secret_<w31>}",
    "planetscale": "{pscale_~tkn_<w43>}",
    "neon": "{na~pi_<l64>}",
    "tailscale": "{tskey-~auth-<a17>-<a32>}",
    "onepassword": "{ops~_eyJ<w250>}",
    "dropbox": "{sl~.u.<w135>}",
    "facebook": "{EA~ACEdEose0cBA<a120>}",
    "contentful": "{CF~PAT-<w43>}",
    "zapier-hook": "https://hooks.zapier.com/hooks/catch/<d7>/?token={<a22>}",
    "algolia": "X-Algolia-API-Key: {<h32>}",
    "pagerduty": "Authorization: Token token={<w20>}",
}
WRITTEN = {  # where only the words around it tell
    "bearer": "Authorization: Bearer {<a40>}",
    "bearer-lower": "authorization: bearer {<w43>}",
    "basic": "Authorization: Basic {<b36>==}",
    "digest-like": "Proxy-Authorization: Basic {<b32>}",
    "jwt": "{ey~J<w30>.ey~J<w80>.<w43>}",
    "jwt-bearer": "Bearer {ey~J<w30>.ey~J<w80>.<w43>}",
    "cookie": "Cookie: session={<w40>}; theme=dark",
    "set-cookie": "< Set-Cookie: connect.sid={s%3A<w32>.<w43>}; Path=/; HttpOnly",
    "csrf": "X-CSRF-Token: {<w43>}",
    "postgres": "postgresql://admin:{<a16>}@db.example.org:5432/main",
    "mysql": "mysql://root:{<a12>}@127.0.0.1/shop",
    "mongodb": "mongodb+srv://app:{<a20>}@cluster0.example.net/?retryWrites=true",
    "redis": "redis://:{<a24>}@cache.example.org:6379/0",
    "amqp": "amqps://agent:{<a18>}@broker.example.org/vhost",
    "smtp": "smtp://mailer:{<a14>}@mail.example.org:587",
    "git-url": "https://oauth2:{<a26>}@git.example.org/team/thing.git",
    "jdbc": "jdbc:postgresql://db.example.org/main?user=app&password={<a14>}",
    "ado": "Server=tcp:db.example.net,1433;Database=main;User ID=app;Password={<a18>};Encrypt=True",
    "odbc": "Driver={ODBC};Server=db;Uid=app;Pwd={<a16>};",
    "libpq": "host=db.example.org user=app password={<a16>} dbname=main",
    "dotenv": "DATABASE_PASSWORD={<a16>}",
    "dotenv-quoted": "SECRET_KEY_BASE='{<h128>}'",
    "export": "export GITHUB_TOKEN={<a40>}",
    "compose": "      POSTGRES_PASSWORD: {<a20>}",
    "yaml": "  client_secret: {<a32>}",
    "yaml-quoted": 'api_key: "{<a32>}"',
    "toml": 'token = "{<a40>}"',
    "ini": "secret_key = {<a50>}",
    "python": 'client = Client(api_key="{<a40>}")',
    "javascript": "const apiKey = '{<a39>}';",
    "json-in-shell": "curl -d '{\"password\": \"{<a14>}\"}' https://example.org/login",
    "xml": "<user>bot</user><password>{<a14>}</password>",
    "xml-key": "<cfg:apiKey>{<h20>}</cfg:apiKey>",
    "netrc": "machine git.example.org login bot password {<a20>}",
    "curl-user": "curl -u admin:{<a20>} https://example.org",
    "flag": "mysql --user=root --password={<a14>} shop",
    "flag-apart": "deploy --token {<a40>} --region eu",
    "flag-key": "tool --api-key={<a32>}",
    "sentence": "The API key is {<a32>}, keep it safe.",
    "sentence-password": "use the password {<a20>} to log in",
    "sentence-token": "Your access token: {<h40>}",
    "django": "SECRET_KEY = '{<a50>}'",
    "url-token": "https://example.org/reset?user=7&token={<w32>}",
    "url-access-token": "GET /v2/me?access_token={<a40>} HTTP/1.1",
    "url-key": "https://maps.example.org/geocode?address=x&key={<a39>}",
    "url-api-key": "https://example.org/data?format=json&api_key={<h32>}",
    "url-code": "https://app.example.org/callback?code={<w43>}&state=x",
    "url-signature": "https://b.example.org/o?X-Amz-Credential=x&X-Amz-Signature={<h64>}",
    "url-google-signature": "https://b.example.org/o?X-Goog-Signature={<h128>}",
    "url-session": "https://example.org/x;jsessionid={<u32>}",
    "encryption-key": "ENCRYPTION_KEY={<b43>=}",
    "signing-key": "signing_secret: {<h32>}",
    "x-header": "x-api-key: {<a40>}",
    "x-auth": "X-Auth-Token: {<h32>}",
    "x-vault": "X-Vault-Token: {<w26>}",
}
LATER = {  # found by trying: prefixes of more issuers, and more ways in which people and programs write names and values down
    "together-prefix": "{tgp_~v1_<w43>}",
    "voyage": "{pa-~<w43>}",
    "anyscale": "{esecret_~<l28>}",
    "modal": "{ak-~<a22>} {as-~<a22>}",
    "firecrawl": "{fc-~<h32>}",
    "helicone": "{sk-helicone-~<l7>-<l7>-<l7>-<l7>}",
    "litellm": "{sk-~<w22>}",
    "google-new-key": "{AQ.~Ab8RN6<w40>}",
    "wandb-netrc": "machine api.wandb.ai\n  login user\n  password {<h40>}",
    "huggingface-org": "{api_org_~<a34>}",
    "azure-devops-pat": "AZURE_DEVOPS_EXT_PAT={<l52>}",
    "aws-mws": "{amzn.mws.~<h8>-<h4>-<h4>-<h4>-<h12>}",
    "aws-presign": "https://b.s3.amazonaws.com/k?AWSAccessKeyId=AK~IA<u16>&Signature={<b27>%3D}&Expires=1",
    "render": "{rnd_~<a28>}",
    "gitlab-agent": "{glagent-~<w50>}",
    "gitlab-incoming": "{glimt-~<w25>}",
    "gitlab-oauth": "{gloas-~<w64>}",
    "gitlab-new": "{glpat-~<w27>.01.<l9>}",
    "jfrog": "{AKCp~<a69>}",
    "openvpn-static": "-----BEGIN OpenVPN Static key V1-----\n{<h32>\n<h32>\n<h32>}\n-----END OpenVPN Static key V1-----",
    "htpasswd": "admin:$apr1${<a8>$<a22>}",
    "bcrypt": "password_hash: $2b$12${<a53>}",
    "slack-cookie": "d={xoxd-~<a80>}",
    "teams-webhook": "https://x.webhook.office.com/webhookb2/<h8>-<h4>-<h4>-<h4>-<h12>@<h8>-<h4>-<h4>-<h4>-<h12>/IncomingWebhook/{<h32>}/<h8>",
    "sendinblue": "{xkeysib-~<h64>-<a16>}",
    "typeform": "{tfp_~<w40>}",
    "clickup": "{pk_~<d8>_<u32>}",
    "mapbox": "{sk.~eyJ<w60>.<w22>}",
    "segment": "SEGMENT_WRITE_KEY={<a32>}",
    "honeycomb2": "{hcaik_~<l60>}",
    "splunk-hec": "Authorization: Splunk {<h8>-<h4>-<h4>-<h4>-<h12>}",
    "sshpass": "sshpass -p '{<a14>}' ssh bob@h",
    "mysql-p": "mysql -u root -p{<a14>} shop",
    "redis-cli": "redis-cli -h h -a {<a24>} ping",
    "docker-login": "docker login -u bob -p {<a20>} registry.example.org",
    "curl-cookie": "curl -b 'sessionid={<l32>}' https://x",
    "curl-oauth2": "curl --oauth2-bearer {<a40>} https://x",
    "aws-sigv4": "Authorization: AWS4-HMAC-SHA256 Credential=AK~IA<u16>/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature={<h64>}",
    "private-jwk": '{"kty":"EC","crv":"P-256","d":"{<w43>}","x":"<w43>","y":"<w43>"}',
    "private-jwk-oct": '{"kty":"oct","k":"{<w43>}"}',
    "rsa-jwk": '{"kty":"RSA","n":"<w342>","e":"AQAB","d":"{<w342>}","p":"{<w171>}"}',
    "ssh2": "---- BEGIN SSH2 ENCRYPTED PRI~VATE KEY ----\n{<b64>\n<b64>}\n---- END SSH2 ENCRYPTED PRI~VATE KEY ----",
    "url-userinfo-only": "https://{<a40>}@git.example.org/a/b",
    "url-pct": "https://e.org/?redirect=https%3A%2F%2Fx%2F%3Ftoken%3D{<a32>}",
    "jira-cookie": "JSESSIONID={<u32>}",
    "php-session": "PHPSESSID={<l26>}",
    "hmac": '{"hmacKey":"{<b43>="}',
    "bearer-json": '{"bearer":"{<a40>}"}',
    "openai-sess": "{sess-~<a40>}",
    "c-define": '#define WIFI_PASSWORD "{<a14>}"',
    "bash-pass": "DB_PASS={<a14>}",
    "env-pw": "ADMIN_PW={<a14>}",
    "env-auth": "NPM_AUTH={<a32>}",
    "env-creds": "API_CREDENTIALS={<a32>}",
    "yaml-block": "password: |\n  {<a14>}",
    "yaml-multi": "private_key: >\n  {<b64>}",
    "table": "| password | {<a14>} |",
    "markdown": "**Password:** `{<a14>}`",
    "html-input": '<input type="password" name="password" value="{<a14>}">',
    "html-hidden": '<input type="hidden" name="csrf_token" value="{<w43>}">',
    "html-meta": '<meta name="csrf-token" content="{<w43>}">',
    "xml-attr": '<add key="ApiKey" value="{<a32>}"/>',
    "sql": "CREATE USER bob WITH PASSWORD '{<a14>}';",
    "de": "Das Passwort lautet {<a14>}",
    "fr": "mot de passe : {<a14>}",
    "lower-bearer": "bearer {<a40>}",
    "bearer-quote": "'Bearer ' + '{<a40>}'",
    "gpg-pass": "--passphrase {<a14>}",
    "zip-pass": "unzip -P {<a14>} x.zip",
    "openssl-pass": "-passin pass:{<a14>}",
    "keytool": "-storepass {<a14>}",
    "vnc": "vncpasswd {<a14>}",
    "cursor": "{crsr_~<h64>}",
    "doppler-cli": "{dp.ct.~<a40>}",
    "infisical": "{st.~<h24>.<h64>.<h32>}",
    "plaid": "{access-production-~<h8>-<h4>-<h4>-<h4>-<h12>}",
    "shippo": "{shippo_live_~<h40>}",
    "easypost": "{EZAK~<a54>}",
    "lob": "{live_~<h35>}",
    "frameio": "{fio-u-~<w64>}",
    "prefect": "{pnu_~<a36>}",
    "readme": "{rdme_~<l70>}",
    "scalingo": "{tk-us-~<w48>}",
    "yandex": "{y0_~<w55>}",
    "yandex-iam": "{t1.~<w86>.<w86>}",
    "duffel": "{duffel_live_~<w43>}",
    "fastly": "Fastly-Key: {<w32>}",
    "vscode-pat": "vsce publish -p {<l52>}",
}
FORMATS = {**MODELS, **CLOUDS, **FORGES, **SERVICES, **WRITTEN, **LATER}


class Planted(NamedTuple):
    name: str
    text: str
    """With what stands around it."""
    secrets: tuple[str, ...]


def noise(source: random.Random, alphabet: str, length: int) -> str:
    """As random as the real thing; one that by chance has no digit, which hardly ever happens, is drawn again."""
    while True:
        drawn = "".join(source.choices(ALPHABETS[alphabet], k=length))
        if length < 10 or any(letter.isdigit() for letter in drawn):
            return drawn


def planted(name: str, variant: int = 0) -> Planted:
    source = random.Random(f"{name}/{variant}")
    shape = FORMATS[name].replace("~", "") if "8~Q~" not in FORMATS[name] else FORMATS[name].replace("8~Q~", "8Q\x00")
    text, secrets = "", []
    for at, part in enumerate(re.split(r"\{((?:[^{}]|<\w\d+>)*<\w\d+>[^{}]*)\}", shape)):
        made = NOISE.sub(lambda found: noise(source, found[1], int(found[2])), part).replace("\x00", "~")
        text += made
        if at % 2:
            secrets.append(made)
    return Planted(f"{name}-{variant}", text, tuple(secrets))


CORPUS = [planted(name, variant) for name in FORMATS for variant in range(2)]

WINDOW = 12


def windows(found: Planted) -> Iterator[bytes]:
    """Parts of its secrets that would be a leak: twelve characters of one in a row, and all of a shorter one."""
    for secret in found.secrets:
        for at in range(max(1, len(secret) - WINDOW + 1)):
            part = secret[at : at + WINDOW]
            if "PRI" not in part and "KEY" not in part:
                yield part.encode()


def leaks(text: bytes, found: Planted) -> list[bytes]:
    return [window for window in windows(found) if window in text]
