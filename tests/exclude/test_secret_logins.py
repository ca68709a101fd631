"""Passwords behind a user's name in calls and on command lines, those of names in other languages, and PINs.

No secret stands in this file: values are put together at run time, so that scanners stay quiet.
"""

from __future__ import annotations

import time

import pytest

from completiond.exclude.mask import mask_secrets
from completiond.exclude.secret_text import find_secrets

MIXED = "Winter" + "2024x"
SPECIAL = "Tr0ub" + "4dor&3zz"
WORDS = "correct horse " + "battery"
PIN = "4839" + "201"

CALLS = [
    ('requests.get(url, auth=("admin", "{}"))', MIXED),
    ('requests.get(url, auth=("admin", "{}"))', WORDS),
    ('requests.get(url, auth=HTTPBasicAuth("admin", "{}"))', MIXED),
    ("session.auth = ('admin', '{}')", MIXED),
    ('$db = mysqli_connect($host, "root", "{}");', MIXED),
    ('auth=HTTPDigestAuth(USER, "{}"),', MIXED),
    ("'auth' => ['admin', '{}'],", MIXED),
    ('req.SetBasicAuth("admin", "{}")', WORDS),
    ('client.login("admin", "{}")', SPECIAL),
    ('client.login("admin", "{}")', WORDS),
    ('smtp.login(\n    sender.address,\n    "{}",\n)', SPECIAL),
    ('cy.login("admin@acme.io", `{}`)', MIXED),
    ('pymysql.connect("localhost", "root", "{}", "shop")', MIXED),
    ('$db = new mysqli("localhost", "root", "{}");', SPECIAL),
    ('$db = new PDO($dsn, "root", "{}");', SPECIAL),
    ('DriverManager.getConnection(url, "root", "{}");', MIXED),
]
COMMANDS = [
    ("curl -u admin:{} https://acme.io/a", MIXED),
    ("curl -s -uadmin:{} https://acme.io/a", MIXED),
    ("$ curl --user admin:{} https://acme.io/a", MIXED),
    ("curl --user=admin:{} https://acme.io/a", MIXED),
    ("curl --proxy-user 'jo@acme.io:{}' https://acme.io/a", WORDS),
    ('curl -X POST \\\n  -u "admin:{}" \\\n  https://acme.io/a', WORDS),
    ('os.system("curl -u admin:{} " + url)', MIXED),
    ('subprocess.run([\n    "curl",\n    "-u",\n    "admin:{}",\n    url,\n])', MIXED),
    ("mysql -u root -p{} db", MIXED),
    ("mysqldump -h db -u root -p'{}' shop > shop.sql", SPECIAL),
    ('mysql -uroot -p"{}" -e "select 1"', WORDS),
    ("mysql -u root --password={} db", "hunter" + "2"),
    ("mysqladmin --password {} status", MIXED),
    ("mysql --password='{}' db", WORDS),
    ('run(["mysqldump", "-u", "root", "-p{}", "shop"])', MIXED),
    ("docker exec db mariadb -uroot -p{} \\\n  shop", "hunter" + "2"),
]
NAMES = [
    ('PIN = "{}"', PIN),
    ("card_pin: str = '{}'", PIN),
    ('"otp": "{}",', PIN),
    ('passcode = "{}"', PIN),
    ('kennwort = "{}"', WORDS),
    ('DB_PASSWORT = "{}"', WORDS),
    ('contrasena = "{}"', MIXED),
    ('"contraseña": "{}"', MIXED),
    ('motdepasse = "{}"', WORDS),
    ("mot_de_passe = '{}'", WORDS),
    ("const motDePasse = '{}';", MIXED),
    ("mot-de-passe: {}", MIXED),
    ('novaSenha = "{}"', WORDS),
    ("export DB_SENHA={}", MIXED),
    ('wachtwoord := "{}"', WORDS),
    ('haslo = "{}"', MIXED),
    ('hasło2 = "{}"', MIXED),
    ('parola = "{}"', MIXED),
]
CLEAN = r"""
requests.get(url, auth=(user, password))
requests.get(url, auth=("user", "password"))
requests.get(url, auth=("admin", password2))
requests.get(url, auth=("admin", f"{password1}"))
requests.get(url, auth=HTTPBasicAuth(user1, password1))
auth = ("admin", "")
auth: ["read", "write"],
'OAuth': ('oauth_urlencode', 'oauth_get_sbs'),
auth: ["profiles:read", "profiles:write"],
client.login("admin", password)
client.login("admin", passwords["admin1"])
client.login("user", "")
client.login("user", "your-password")
client.login(username, "dashboard")
login(request, user1)
login_required("admin", "northwest")
self.connect("clicked", "button", "north-west")
sqlite3.connect("north.db", "immediate", "deferred")
socket.connect(("10.0.0.1", 8080))
find /var/lib/mysql -print
find /var/lib/mysql -path "*.frm" -prune
mysql -u root -p db
mysql -u root -p"$MYSQL_PWD" db
mysql -u root -p${DB_PASS1} db
mysql -u root --password=<password> db
mysql -h db -P3306 db
docker run --name mysql -p 8080:80
docker run --name mysql -p33060:3306 mysql:8
mysql -u root db\nssh -pWinter2024x
cp -pr mysql-data copy
mkdir -p mysql/dir/north
ssh -p2222 mysql.acme.io
cp -print2 file
curl -u admin https://acme.io:8443/path
curl -u "$USER1:$PASS1" https://acme.io
curl -u user:password https://acme.io
curl -u <user>:<password> https://acme.io
curl --user-agent=north:western https://acme.io
curl -u: --negotiate https://acme.io
docker run -u node:north2 image
docker run --user 1000:1000 curlimages/curl
sudo -u root: north
pin = 13
PIN = "A1"
pin = "GPIO13"
pin_mode = "4839201"
spin = "4839201"
pin: "1234"
"pin": "north",
option = "4839201"
senhas = ["north", "west"]
"contraseña": "Introduce tu contraseña",
kennwort_label = "Geheimes Wort"
""".strip().split("\n")


@pytest.mark.parametrize(("template", "value"), CALLS + COMMANDS + NAMES)
@pytest.mark.parametrize("around", ["{}", "x = 1\n{}\ny = 2\n", "    {}\r\n"])
def test_the_value_is_masked_and_the_rest_is_kept(template: str, value: str, around: str) -> None:
    before, after = around.format(template).split("{}")

    masked, _ = mask_secrets(before + value + after, "", 1000, 0)

    assert masked == before + "*" * len(value) + after


@pytest.mark.parametrize("before", ['auth=("admin", "', "smtp.login('admin', '"])
@pytest.mark.parametrize("after", ["", "\n", "\r\nx = 'a'\n"])
def test_a_password_that_is_being_typed(before: str, after: str) -> None:
    (span,) = find_secrets(before + "open sesa" + after)

    assert (span.start_chars, span.end_chars) == (len(before), len(before) + 9)


@pytest.mark.parametrize("line", CLEAN)
def test_what_only_looks_like_a_password(line: str) -> None:
    assert find_secrets(line.replace("\\n", "\n")) == []
    assert find_secrets(f"import mysql, curl\n    {line}\n".replace("\\n", "\n")) == []


def test_names_in_a_text_whose_small_letters_are_more() -> None:
    text = f'"\u0130"; KENNWORT = "{WORDS}"; auth=HTTPBasicAuth("admin", "{MIXED}")'

    assert [text[span.start_chars : span.end_chars] for span in find_secrets(text)] == [WORDS, MIXED]


UNITS = [
    "auth=", "auth=(", 'auth=("a",', 'auth=("', "login(", "login('", "login(a,", "connect(", 'connect("a",', "auth=(  ",
    "connect(a, b,", "connect(\n", "curl -u ", "curl -u=", "curl -ua:bcdef", "-u=", "\n-ua:bcde,", "mysql -pa",
    "mysql -pabcdef ", "-pabcdef\n", "--password ", "pin", "pin=", "otp='1234", "de_passe", "senha: &",
    "parola = a1b2c3d4e5f6, ",
]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_a_hostile_line_of_a_megabyte(unit: str) -> None:
    text = "curl mysql " + unit * (1_000_000 // len(unit))
    started = time.perf_counter()

    find_secrets(text)

    assert time.perf_counter() - started < 5.0
