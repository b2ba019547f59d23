r"""What secrets look like in text. Works on bytes, plain or JSON-escaped any number of times.

Two stages, because almost all text holds none: `PROBES` ask, one pass each, whether a family can be
there at all; only then do the exact patterns of that family run. A probe begins with one literal
character and looks back from it: `re` walks to such a character several times faster than it tries an
alternation at every byte.
"""

import re
from base64 import b64encode

from ramify.capture.secret_providers import cuts, probe_after
from ramify.capture.secret_shapes import Family, Pattern, after, begun, bounded, judged, mark, outside_blobs, whole
from ramify.capture.secret_words import is_drawn, is_random, restless


def json_web_token() -> Pattern:
    """Takes the whole first part in one go and then looks for the others, so that the work stays linear."""
    shape = re.compile(rb"eyJ[\w-]*+(\.[\w-]{4,}\.[\w-]{4,}(?:\.[\w-]*){0,2})?")
    replacement = mark("jwt")
    return Pattern("jwt", shape, lambda match: replacement if match[1] else match[0])


def login_in_base64() -> Pattern:
    """`auth` is as often the name of a method as that of a login, as settings for registries have it: the value decides."""
    shape = re.compile(rb'(auth\\*"\s*:\s*\\*")([A-Za-z0-9+/]{16,}={0,2})(?=\\*")')
    replacement = mark("authorization")
    return Pattern("authorization", shape, lambda match: match[1] + replacement if is_random(match[2]) else match[0])


PEM = r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
PEM_END = r"-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
# Line ends, and the line numbers of a file viewer.
PEM_GAP = r"(?:\s|\\+[nrt]|\\+u2192|\xe2\x86\x92|\d{1,6}(?=\\|\xe2|\s))*+"
SCHEME = r"(?i:bearer|basic|token|bot|apikey|ssws|splunk|geniekey|negotiate|ntlm|sso-key|zoho-oauthtoken|klaviyo-api-key)"
NO_PLAIN_KEY = "".join(f"(?<!{each})" for each in ("idempotency", "cache", "surrogate", "routing", "partition", "dedup", "deduplication", "correlation"))
VALUE = r"[^\s\"'\\,;&|<>(){}\[\]$`]"
GIVEN = r"[^\n|;&\\]{0,80}? -"
LOGIN = rf"(?:(?:sshpass|(?:docker|podman|helm registry|oras|nerdctl) login|redis-cli|unzip|vsce publish)\b{GIVEN}[pPa] ?|(?:mysql\w{{0,8}}|mariadb)\b{GIVEN}p)"
"""Programs to which a password is given by one letter; some of them take it only where no space is between."""

DASHED = Family(
    re.compile(
        (
            rf"-(?:(?<=sk-)(?:(?:ant|proj|svcacct|admin)-|[A-Za-z0-9]{{20}}T3Blb|{begun(3)}[\w-]{{8}})"
            r"|(?<=lpat-)[\w-]{8}|(?<=pypi-)AgE|(?<=xox[a-z]-)\w|(?<=xapp-)\d|----BEGIN |--- BEGIN SSH2"
            rf"|(?<=[0-9a-f]{{32}}-)us\d|(?<=Private-)(?:Lines|MAC): |u [^\s:]{{1,64}}:|-user[ =]|{probe_after('-')})"
        ).encode()
    ),
    (
        *cuts("-"),
        whole(
            "private-key",
            rf"{PEM}(?:(?:[^\"-]|-(?!----))*+{PEM_END}|(?:{PEM_GAP}[A-Za-z0-9+/]{{16,}}={{0,2}})+)",
        ),
        whole("private-key", rf"-----BEGIN OpenVPN Static key V1-----(?:{PEM_GAP}[0-9a-f]{{16,}})+"),
        whole("private-key", rf"---- BEGIN SSH2 [A-Z ]{{0,20}}PRIVATE KEY ----(?:{PEM_GAP}[A-Za-z0-9+/]{{16,}}={{0,2}})+"),
        whole("anthropic-key", rf"sk-ant-[a-z]{{3,6}}\d\d-[\w-]{{8,}}|{bounded('sk-ant-')}[\w-]{{8,}}"),
        whole(
            "openai-key", r"sk-(?:proj|svcacct|admin)-[\w-]{40,}|sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20,}"
        ),
        whole("gitlab-token", r"glpat-[\w-]{20,}(?:\.[0-9a-z]{2}\.[0-9a-z]{7,9})?"),
        whole("pypi-token", r"pypi-AgE[\w-]{40,}"),
        whole("slack-token", r"xox[abdeoprs]-[A-Za-z0-9%+/-]{10,}|xapp-\d-[A-Za-z0-9-]{10,}"),
        whole(
            "openai-key",
            rf"{bounded('sk-')}(?:(?:proj|svcacct|admin|None|or-v1)-[\w-]{{20,}}|(?=[A-Za-z]*\d)[A-Za-z0-9]{{20,}})",
        ),
        judged("openai-key", rf"({bounded('sk-')})([\w-]{{20,}})", is_drawn),
        whole("mailchimp-key", r"(?<![0-9a-f])[0-9a-f]{32}-us\d{1,2}(?!\w)"),
        whole("private-key", r"(?<=Private-Lines: )\d{1,4}(?:(?:\s|\\+[nr])+[A-Za-z0-9+/]{16,}={0,2})+"),
        whole("private-key", r"(?<=Private-MAC: )[0-9a-f]{40,64}"),
        after("password", r"((?:(?<![\w-])-u|--user)[ =]['\"]?[^\s:'\"\\]{1,64}:)((?=[^\s\d]{0,60}\d)(?=\d*[A-Za-z])[^\s'\"\\]{6,})"),
    ),
)
LOGINS = Family(
    re.compile(rb"-[pPa](?<= -[pPa]) ?\\*['\"]?(?=[^\s\d]{0,60}\d)(?=\d*[A-Za-z])[A-Za-z0-9!@#%^*_+=-]{8}"),
    (
        after("password", rf"({LOGIN}\\*['\"]?)((?=[^\s\d]{{0,60}}\d)(?=\d*[A-Za-z])[A-Za-z0-9!@#%^*_+=-]{{8,}})(?![\w./:-])"),
    ),
)
UNDERSCORED = Family(
    re.compile(rf"_(?:{probe_after('_', 'gh[a-z]_', '_pat_', 'k_live_', 'npm_', 'hf_')}|access_key|ACCESS_KEY)".encode()),
    (
        *cuts("_"),
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
LETTERED = Family(
    re.compile(rb"A(?:KIA|SIA|Iza|KID|TBB|T[AC]TT|BSK|(?<=LTA)I|(?<=EAA)\w|KCp|(?<=EZA)K)[\w+/-]{8}"),
    (
        outside_blobs("aws-key-id", r"A(?:KIA|SIA)[A-Z0-9]{16}"),
        outside_blobs("google-key", r"AIza[\w-]{35}"),
        outside_blobs("tencent-key-id", bounded("AKID") + r"[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
        outside_blobs("bitbucket-token", bounded("ATBB") + r"(?=[A-Za-z]*\d)[A-Za-z0-9]{24,}"),
        outside_blobs("alibaba-key-id", bounded("LTAI") + r"(?=[A-Za-z]*\d)[A-Za-z0-9]{12,20}(?![A-Za-z0-9])"),
        outside_blobs("facebook-token", bounded("EAA[A-Z]") + r"(?=[A-Za-z]*\d)[A-Za-z0-9]{60,}"),
        whole("atlassian-token", bounded("AT[AC]TT3") + r"[\w-]{60,}(?:=[A-F0-9]{8})?"),
        outside_blobs("jfrog-key", bounded("AKCp") + r"(?=[A-Za-z]*\d)[A-Za-z0-9]{60,}"),
        outside_blobs("easypost-key", bounded("EZAK") + r"(?=[A-Za-z]*\d)[A-Za-z0-9]{54}(?![A-Za-z0-9])"),
        whole("bedrock-key", bounded("ABSK") + r"[A-Za-z0-9+/]{100,}={0,2}"),
    ),
)
DOTTED = Family(
    re.compile(
        (
            r"\.(?=[\w+/-])(?:(?=[\w-]{6}\.[\w-]{27})(?<=[\w-]{23}\.)|(?<=pat\w{14}\.)[0-9a-f]{64}|atlasv1\."
            rf"|slack\.com/services/T|com/api/webhooks/\d|office\.com/webhookb2/|{probe_after('.', 'ya29[.]')})"
        ).encode()
    ),
    (
        *cuts("."),
        whole("google-token", r"ya29\.[\w-]{20,}"),
        whole("discord-token", bounded("[MNO]") + r"(?=[\w-]*\d)[\w-]{22,27}\.[\w-]{6}\.[\w-]{27,}"),
        whole("airtable-token", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
        whole("terraform-token", r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}"),
        whole("slack-webhook", r"(?<=hooks\.slack\.com/services/)T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{16,}"),
        after("teams-webhook", r"(\.office\.com/webhookb2/[\w@-]{36,80}/IncomingWebhook/)([0-9a-f]{32}(?:/[\w-]{8,80})?)"),
        after("discord-webhook", r"(\.com/api/webhooks/\d+/)([\w-]{50,})"),
    ),
)


def private_key_in_base64() -> str:
    """How the beginnings of keys look when a file of them was encoded once more, as settings of clusters have it."""
    kinds = ("", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED ", "PGP ")
    beginnings = (b64encode(f"-----BEGIN {kind}PRIVATE KEY".encode()).decode().rstrip("=")[:-1] for kind in kinds)
    return f"(?:{'|'.join(beginnings)})[A-Za-z0-9+/]{{16,}}={{0,2}}"


IN_BASE64 = Family(
    re.compile(rb"J(?:(?<=eyJ)\w{4}|(?<=LS0tLS1CRUdJ)Ti)"),
    (json_web_token(), whole("private-key", private_key_in_base64())),
)
JOINED = r"(?:\\*['\"`] ?[+,.] ?\\*['\"`])?"
BEARER = Family(
    re.compile(rb"B(?:earer|EARER) "),
    (after("bearer-token", rf"(B(?:earer|EARER) +{JOINED})((?=[A-Za-z._~+/=-]*\d)[\w.~+/=-]{{20,}})"),),
)
SMALL_BEARER = Family(
    re.compile(rb"bearer(?: +[\w\"'\\]|\\*\"\s*:)"),
    (judged("bearer-token", rf"(bearer(?: +{JOINED}|\\*\"\s{{0,9}}:\s{{0,9}}\\*\"))([\w.~+/=-]{{20,}})", is_random),),
)
HASHED = Family(
    re.compile(rb"\$(?:2[abxy]?\$\d|(?:apr1|[1567y]|argon2)[id]{0,2}\$)"),
    (
        whole("password-hash", r"\$2[abxy]?\$\d\d\$[./A-Za-z0-9]{53}"),
        whole("password-hash", r"\$(?:apr1|[156]|7|y)\$(?:rounds=\d{1,9}\$)?[./A-Za-z0-9]{1,24}\$(?:[./A-Za-z0-9]{1,40}\$)?[./A-Za-z0-9]{22,90}"),
        whole("password-hash", r"\$argon2(?:id|i|d)\$v=\d{1,3}\$[a-z0-9=,]{1,40}\$[A-Za-z0-9+/]{8,90}\$[A-Za-z0-9+/]{16,120}"),
    ),
)
WEB_KEY = Family(
    re.compile(rb'kty\\*+"'),
    (after("private-key", r"((?<![\w])(?:d|k|p|q|dp|dq|qi)\\*\"\s{0,9}:\s{0,9}\\*\")([\w-]{40,})"),),
)
"""A key as JSON has it (RFC 7517): what makes it private has names of one or two letters."""
SSWS = Family(re.compile(rb"SSWS +00"), (after("okta-token", r"(SSWS +)(00[\w-]{38,})"),))
DAPI = Family(re.compile(rb"dapi[0-9a-f]"), (whole("databricks-token", bounded("dapi") + r"[0-9a-f]{32}(?:-\d)?(?![0-9A-Za-z])"),))
COLON = Family(
    re.compile(
        (
            r":(?:(?<=[h\\]\":)(?:(?<=auth\":)|(?<=auth\\\":)|(?<=auth\\{3}\":)|(?<=auth\\{7}\":))|AA(?<=\d{8}:AA)[\w-]{33}|APA91b|//[^\s/:@\"\\]{20,256}@|//[^\s/:@\"\\]{0,64}:[^\s/@\"\\]{1,256}@|(?<=[nNyY']:)(?:(?<=[nNyY]:)|(?<=[nNyY]':))(?:"
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
        judged("api-key", rf"((?i:[a-z]{NO_PLAIN_KEY}-key|[a-z]-token)'?:\s*\\*[\"']?)({VALUE}{{16,}})", is_drawn),
        after("api-key", rf"((?i:api-key|auth-token|private-token)'?:\s*\\*[\"']?)({VALUE}{{8,}})"),
        login_in_base64(),
        whole("telegram-token", r"(?<!\d)\d{8,10}:AA[\w-]{33}"),
        whole("firebase-key", r"(?<=:)APA91b[\w-]{100,}"),
        judged("url-password", r"(://)([^\s/:@\"\\]{20,256})(?=@)", is_drawn),
        after("url-password", r"(://[^\s/:@\"\\]{0,64}:)(?![$<{])([^\s/@\"\\]{1,256})(@)"),
    ),
)
ASSIGNED = Family(
    re.compile(
        rb"=(?<=[YNTDSHWyntdegh]=)(?:(?<=KEY=)|(?<=TOKEN=)|(?<=SECRET=)|(?<=PASSWORD=)|(?<=PASSWD=)"
        rb"|(?<=_key=)|(?<=[tT]oken=)|(?<=secret=)|(?<=password=)|(?<=ature=)"
        rb"|(?<=[?&;]key=)|(?<=[?&;]sig=)|(?<=[?&;]jwt=)|(?<=[?&;]auth=)|(?<=[?&;]code=)|(?<=sessionid=)|(?<=SESSID=)|(?<=SESSIONID=)|(?<=_PW=)|(?<=_PAT=)|(?<=_AUTH=)|(?<=_auth=)|(?<=CREDENTIALS=)|(?<=(?i:pwd)=)|(?<=[?&;]apikey=))"
    ),
    (
        after(
            "environment",
            r"((?:API_?KEY|ACCESS_KEY|SECRET_KEY|PRIVATE_KEY|SECRET|TOKEN|PASSWORD|PASSWD)=\\*[\"']?)"
            rf"((?!process\.|os\.|import\.){VALUE}{{8,}})",
        ),
        after("password", rf"((?i:pwd)=)((?=[^\s;\d]{{0,60}}\d)(?=\d*[A-Za-z]){VALUE}{{8,}})"),
        after(
            "url-parameter",
            r"((?:[?&;]|\\u0026)(?:api_key|access_token|refresh_token|id_token|token|client_secret|secret|password"
            rf"|X-Amz-Signature|X-Amz-Security-Token|X-Goog-Signature|[sS]ignature)=)({VALUE}{{8,}})",
        ),
        after("signature", r"(aws4_request[^\n\"]{0,200}?[, ]Signature=)([0-9a-f]{64})"),
        judged("environment", rf"((?:_PAT|_AUTH|_auth|CREDENTIALS) ?= ?\\*[\"']?)({VALUE}{{16,}})", is_random),
        judged("environment", rf"(_PW=\\*[\"']?)({VALUE}{{8,}})", lambda value: restless(value) or is_random(value)),
        judged("session", r"((?:PHPSESSID|JSESSIONID|sessionid)=)([\w%.-]{20,})", is_drawn),
        after(
            "url-parameter",
            rf"((?:[?&;]|\\u0026)(?:key|sig|jwt|auth|code|apikey|(?:j|php)?sessionid)=)((?=[^\s&;\d]{{0,200}}\d){VALUE}{{16,}})",
        ),
    ),
)

FAMILIES = (DASHED, LOGINS, UNDERSCORED, LETTERED, DOTTED, IN_BASE64, BEARER, SMALL_BEARER, SSWS, HASHED, WEB_KEY, DAPI, COLON, ASSIGNED)
