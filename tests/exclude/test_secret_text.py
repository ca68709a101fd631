"""Secrets in realistic source code, and what only looks like one.

No secret stands in this file: values are put together at run time from a fixed seed, so that scanners stay quiet.
"""

from __future__ import annotations

import base64
import random
import string
import time
import timeit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from completiond.exclude.secret_text import find_secrets, secret_lines

ALNUM = string.ascii_letters + string.digits
RANDOM = random.Random(20)


def rnd(num_chars: int, alphabet: str = ALNUM) -> str:
    """Random text of several classes of characters."""
    while True:
        text = "".join(RANDOM.choice(alphabet) for _ in range(num_chars))
        if sum(map(str.isdigit, text)) >= min(4, num_chars // 4):
            return text


HEX = rnd(32, "0123456789abcdef")
UPPER = string.ascii_uppercase + string.digits
PASSWORD = "Tr0ub" + "4dor&3x"
WORD = "hunter" + "2hunter"
JWT = ".".join(["eyJ" + rnd(20), "eyJ" + rnd(40), rnd(43)])
BASIC = base64.b64encode(b"jenny:" + PASSWORD.encode()).decode()

SHAPES = [
    ("aws_access_key_id", "AWS_ID = '{}'", "AKIA" + rnd(16, UPPER)),
    ("aws_access_key_id", "aws configure set aws_access_key_id {}", "ASIA" + rnd(16, UPPER)),
    ("aws_secret_key", "aws_secret_access_key = {}", rnd(38) + "/" + "q"),
    ("github_token", "git clone https://{}@github.com/a/b", "gh" + "p_" + rnd(36)),
    ("github_token", "env: {{ GH: {} }}", "github" + "_pat_" + rnd(22) + "_" + rnd(59)),
    ("gitlab_token", "curl -H 'PRIVATE-TOKEN: {}'", "gl" + "pat-" + rnd(20)),
    ("slack_token", 'client = WebClient("{}")', "xox" + "b-" + rnd(12, "1234567890") + "-" + rnd(24)),
    ("slack_token", "POST https://{}", "hooks.slack" + ".com/services/T" + rnd(8) + "/B" + rnd(8) + "/" + rnd(24)),
    ("stripe_key", "Stripe.api_key = '{}'", "sk_" + "live_" + rnd(24)),
    ("stripe_key", "stripe({{ key: `{}` }})", "rk_" + "test_" + rnd(24)),
    ("google_key", "<script src='maps?x={}'>", "AI" + "za" + rnd(35)),
    ("openai_key", 'client = OpenAI("{}")', "sk" + "-proj-" + rnd(48)),
    ("openai_key", "llm: {}", "sk" + "-" + HEX),
    ("anthropic_key", 'x := "{}"', "sk" + "-ant-api03-" + rnd(93)),
    ("huggingface_token", "login('{}')", "h" + "f_" + rnd(34)),
    ("npm_token", "//registry.npmjs.org/:_x={}", "np" + "m_" + rnd(36)),
    ("pypi_token", "twine upload -p {}", "py" + "pi-" + rnd(80)),
    ("twilio_key", "Twilio::Client.new('{}')", "S" + "K" + HEX),
    ("sendgrid_key", "setKey('{}')", "S" + "G." + rnd(22) + "." + rnd(43)),
    ("jwt", "cookie = {}; path=/", JWT),
    ("other_token", "bot = Bot('{}')", rnd(9, "123456789") + ":" + "AA" + rnd(33)),
    ("other_token", "age -i {}", "AGE-SECRET" + "-KEY-1" + rnd(58, UPPER)),
    ("url_password", "DB = 'postgres://app:{}@db.internal:5432/app'", "s3cure" + "pw"),
    ("url_password", "redis://:{}@cache:6379/0", "blue" + "whale"),
    ("url_password", "mongodb+srv://app:{}@c0.mongodb.net/", PASSWORD),
    ("authorization", 'headers = {{"Authorization": "Bearer {}"}}', rnd(32)),
    ("authorization", "curl -H 'Authorization: Basic {}'", BASIC),
    ("authorization", 'req.Header.Set("Authorization", "Token {}")', HEX),
    ("connection_string", '"Server=db;User Id=sa;Password={};Encrypt=true"', PASSWORD),
    ("connection_string", '"DefaultEndpointsProtocol=https;AccountName=a;AccountKey={}"', rnd(86) + "=="),
]

ASSIGNED = [
    ('password = "{}"', PASSWORD),  # Python
    ("PASSWORD: Final[str] = '{}'", PASSWORD),
    ('self.api_key: str | None = "{}"', HEX),
    ('connect(user="u", password="{}", port=1)', WORD),
    ('os.environ["API_TOKEN"] = "{}"', rnd(20)),
    ('SECRET_KEY = os.environ.get("SECRET_KEY", "{}")', rnd(40)),
    ('config["db"]["password"] = "{}"', PASSWORD),
    ("{{'client_secret': '{}'}}", rnd(24)),
    ('"accessToken": "{}",', rnd(30)),  # JSON
    ('{{"name": "API_KEY", "value": "{}"}}', rnd(20)),
    ('"{{\\"password\\": \\"{}\\"}}"', rnd(14)),
    ("  password: {}", WORD),  # YAML
    ("  db_password: '{}'", PASSWORD),
    ("- api-key: {}", HEX),
    ("- name: API_KEY\n  value: {}", rnd(20)),
    ("export GITHUB_TOKEN={}", rnd(20)),  # shell, .env, Dockerfile, command lines
    ("DB_PASS={}", WORD),
    ("ENV API_KEY {}", rnd(24)),
    ("ENV API_KEY={}", rnd(24)),
    ("mysql --user root --password={} shop", WORD),
    ("tool --api-key {} run", rnd(24)),
    ("curl 'https://api.acme.io/v1?api_key={}&q=1'", rnd(24)),
    ("const apiKey = '{}';", rnd(24)),  # JavaScript, TypeScript
    ("const token: string = `{}`;", rnd(24)),
    ("const key = process.env.API_KEY || '{}';", rnd(24)),
    ("axios.post(url, {{ password: '{}' }})", PASSWORD),
    ("if (password === '{}') {{", PASSWORD),
    ('private static final String API_KEY = "{}";', HEX),  # Java, Kotlin, C#, Go, Rust, C
    ('props.setProperty("db.password", "{}");', PASSWORD),
    ('val secret: String = "{}"', rnd(20)),
    ('string clientSecret = @"{}";', rnd(20)),
    ('const apiKey string = "{}"', rnd(20)),
    ('token := "{}"', rnd(20)),
    ('let api_key: &str = "{}";', rnd(20)),
    ('let token = String::from("{}");', rnd(20)),
    ('#define API_SECRET "{}"', rnd(20)),
    ("'password' => '{}',", PASSWORD),  # PHP, Ruby, Perl, Elixir
    ("define('AUTH_KEY', '{}');", rnd(40)),
    ("password: \"{}\", # staging", PASSWORD),
    ("config.secret_key_base = '{}'", HEX * 2),
    ("<password>{}</password>", WORD),  # XML
    ('<add key="ApiKey" value="{}" />', rnd(20)),
    ("spring.datasource.password={}", WORD),  # properties, ini, Terraform
    ("password = {}", "P@ss" + "w0rd!23"),
    ('master_password = "{}"', PASSWORD),
    ("passphrase: {}", rnd(12)),
    ("api_secret={}", rnd(400)),
]  # fmt: skip

PLAIN = [
    ('password = "{}"', "hunter" + "2"),
    ("DB_PASSWORD: str = '{}'", "correct-horse" + "-battery"),
    ('"password": "{}",', "my dog is " + "called rex"),
    ("const pwd: string = `{}`", "open " + "sesame"),
    ('if password == "{}":', "let" + "mein!"),
    ('login(user, passphrase="{}")', "sword" + "fish"),
    ("userPass2 := '{}'", "tango" + "foxtrot"),
]

CLEAN = r"""
password = input("Password: ")
password = getpass.getpass()
password = user.password
password = None
password: str
password: str = ""
password: Optional[SecretStr] = Field(None, min_length=8)
PASSWORD = "changeme"
password = "password"
password = "password123"
"password": "your-password-here",
token = "<your token>"
token = "xxxxxxxxxxxxxxxxxxxx"
api_key = "YOUR_API_KEY_123"
api_key: ${API_KEY_2}
api_key = os.environ["OPENAI_API_KEY_2"]
api_key = settings.API_KEY_V2
api_key=api_key_v2,
const token = await getToken2(user1);
const token = req.headers['x-auth-token2'];
const { token2, secret1 } = useAuth();
tokens = tokenizer.encode(text1)
num_tokens = len(tokens2)
tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-Coder-0.5B")
max_tokens: 4096
token_type = "Bearer2Token1"
TOKEN_URL = "https://login.acme.io/oauth2/v2.0/token"
secretName: my-app-secret-7f9c
password_field = driver.find_element("id", "password-input-2")
errors.password = "Password must have 8 characters"
'password' => 'required|string|min:8|confirmed',
"password": "Passwort eingeben",
label: "form.password.label2"
password = "{{ vault_password_1 }}"
password = f"{user}-{suffix1}"
password = "%s-%d1234"
if password == confirm_password2:
if token.type == TokenType.NUMBER2:
secret = hashlib.sha256(data1).hexdigest()
secret = Secret("projects/p1/secrets/name/versions")
password: Joi.string().min(8).max(64)
export TOKEN=$(cat /run/secrets/token1)
export TOKEN=$CI_JOB_TOKEN2
DATABASE_URL=postgres://user:password@localhost:5432/app1
url = f"postgres://{user}:{password}@{host}:5432/db1"
git clone https://github.com/a/b1.git && cd b1
http://localhost:8080/path@2x.png
image = "registry:5000/team/app@sha256:abc1"
Authorization: Bearer <token1>
headers = {"Authorization": f"Bearer {token1}"}
"Bearer authentication_required_2 is missing"
key = "AKIAIOSFODNN7" "EXAMPLE"
<div class="sk-folding-cube-with-long-name-1">
risk-assessment-of-the-department-2024
if "-----BEGIN PRIVATE KEY-----" in text:
public_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5"
sha = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
id = "550e8400-e29b-41d4-a716-446655440000"
csrf_token = "{% csrf_token %}"
type Token2 = { kind: "number"; value1: string }
bypass = compass2.passenger["A1"]
for i, token in enumerate(tokens1):
def check_password(self, password1: str) -> bool:
access_key = "ACCESS_KEY_ID_2"
private_key_path = "/etc/ssl/private/server1.key"
password_label = "Secret word"
bypass = "north by west"
compass: "north by west"
password = ''  # the 'old' one
"password": "Enter your password",
passwordHash = "none of it"
<input type="password" name="password1" id="pwd2">
""".strip().split("\n")


@pytest.mark.parametrize(("kind", "template", "value"), SHAPES)
def test_a_well_known_shape(kind: str, template: str, value: str) -> None:
    text = template.format(value)

    (span,) = find_secrets(text)
    assert span.kind == kind
    assert text[span.start_chars : span.end_chars] == value


@pytest.mark.parametrize(("template", "value"), ASSIGNED)
@pytest.mark.parametrize("around", ["{}", "x = 1\n{}\ny = 2\n", "    {}\r\n"])
def test_a_value_assigned_to_a_telling_name(template: str, value: str, around: str) -> None:
    text = around.format(template.format(value))

    (span,) = find_secrets(text)
    assert text[span.start_chars : span.end_chars] == value


@pytest.mark.parametrize(("template", "value"), PLAIN)
@pytest.mark.parametrize("around", ["{}", "x = 1\n{}\ny = 2\n", "    {}\r\n"])
def test_a_password_of_plain_words(template: str, value: str, around: str) -> None:
    text = around.format(template.format(value))

    (span,) = find_secrets(text)
    assert text[span.start_chars : span.end_chars] == value


@pytest.mark.parametrize("after", ["", "\n", "\r\nx = 'a'\n"])
def test_a_password_that_is_being_typed(after: str) -> None:
    text = 'x = "a"\npassword = "open sesa'

    (span,) = find_secrets(text + after)
    assert text[span.start_chars : span.end_chars] == "open sesa"


@pytest.mark.parametrize("line", CLEAN)
def test_what_only_looks_like_a_secret(line: str) -> None:
    assert find_secrets(line) == []
    assert find_secrets(f"\n    {line}\n") == []


def test_there_are_enough_samples() -> None:
    assert len(SHAPES) + len(ASSIGNED) >= 40
    assert len(CLEAN) >= 40


def pem(kind: str = "RSA ", lines: int = 5) -> list[str]:
    bars = "-" * 5
    body = [rnd(64) for _ in range(lines)]
    return [f"{bars}BEGIN {kind}PRIVATE KEY{bars}", *body, rnd(20) + "==", f"{bars}END {kind}PRIVATE KEY{bars}"]


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "])
def test_all_lines_of_a_private_key(kind: str) -> None:
    key = pem(kind)
    assert secret_lines(["import x", *key, "", "print(1)"]) == set(range(1, 9))
    assert secret_lines(['KEY = """' + key[0], *key[1:-1], key[-1] + '"""', "f(KEY)"]) == set(range(8))
    assert secret_lines([f'  "{line}\\n" +' for line in key] + ["f(KEY);"]) == set(range(8))


def test_a_key_that_the_text_cuts_through() -> None:
    key = pem()
    assert secret_lines(["a = 1", *key[:4]]) == {1, 2, 3, 4}
    assert secret_lines(["a = 1", *key[:-1], "", "def f():", "    return 1"]) >= set(range(1, 8))
    assert not secret_lines(["a = 1", *key[:-1], "", "def f():", "    return 1"]) & {9, 10}
    assert secret_lines([*key[3:], "def f():"]) == set(range(len(key) - 3))
    assert secret_lines(["def f():", *key[3:]]) == set(range(1, len(key) - 2))


def test_a_key_in_one_line() -> None:
    line = '"private_key": "' + "\\n".join(pem("")) + '\\n",'
    assert secret_lines(["{", line, "}"]) == {1}
    assert [span.kind for span in find_secrets(line)] == ["private_key"]


def test_lines_touched_are_counted_from_zero() -> None:
    secret = f'password = "{PASSWORD}"'
    assert secret_lines([]) == frozenset()
    assert secret_lines(["", secret, "", "x", secret]) == {1, 4}
    assert secret_lines([secret + "\r\n", "x\n", secret + "\n"]) == {0, 2}


def test_what_is_kept_of_a_secret_is_only_its_place() -> None:
    (span,) = find_secrets(f'token = "{HEX}"')
    assert HEX not in repr(span)


@given(st.text(alphabet="pasword=:\"'` \n\\-tkeBEGIN/@1#(", max_size=80) | st.text(max_size=80))
def test_any_text_gives_spans_in_order_and_inside(text: str) -> None:
    spans = find_secrets(text)
    edges = [edge for span in spans for edge in (span.start_chars, span.end_chars)]
    assert edges == sorted(edges)
    assert all(0 <= span.start_chars < span.end_chars <= len(text) for span in spans)


UNITS = [
    "a", "password", "password=", "password='", "password: ", "password:'password=\"", "eyJ", "eyJ.", "eyJhbGciOiJ.",
    "://a:", "sk-", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "-----BEGIN ", "Bearer ", "AKIA",
    "gh" + "p_",
    "secret_", "token(", "token  ", "key=a1B2c3D4e5", "password = a1b2c3d4e5f6, ",
    "basic a1b2c3d4 ", "AIza", "xox" + "b-",
    "token: &", "token: a ", "secret\n", "-----BEGIN PRIVATE KEY-----\n", "-----END PRIVATE KEY-----\n",
    "hf_", "123456789:AA",
    "pwd value", "token,new ", "{", "<a ", "$", "token='Ab1", "://" + "a" * 100,
]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_a_hostile_line_of_a_megabyte(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    started = time.perf_counter()

    find_secrets(text)
    find_secrets("password = '" + text)

    assert time.perf_counter() - started < 5.0


def test_a_hundred_thousand_lines() -> None:
    lines = [*CLEAN * (100_000 // len(CLEAN)), f'password = "{PASSWORD}"']
    started = time.perf_counter()

    assert secret_lines(lines) == {len(lines) - 1}
    assert time.perf_counter() - started < 5.0


def test_a_line_without_secrets_costs_microseconds() -> None:
    line = "    result = [compute(item, scale=0.5) for item in self.items if item.weight > threshold]  # the heavy ones"
    assert min(timeit.repeat(lambda: find_secrets(line), number=1000, repeat=5)) / 1000 < 100e-6
