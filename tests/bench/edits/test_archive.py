"""Archives that are not what a package's author would send."""

from __future__ import annotations

import io
import stat
import zipfile

import pytest

from completiond.bench.edits.archive import read_sources


def archive(*members: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as target:
        for name, data in members:
            target.writestr(name, data, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def special(name: str, mode: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


def test_only_source_files_are_read_as_they_are() -> None:
    text = "x = 'ä'\r\n\x0c\n"
    data = archive(
        ("demo/a.py", text.encode()),
        ("demo/b.txt", b"no"),
        ("demo/c.pyc", b"no"),
        (special("demo/d.py", 0o100644), b""),
    )
    assert read_sources(data) == {"demo/a.py": text, "demo/d.py": ""}


@pytest.mark.parametrize(
    "name",
    [
        "../up.py",
        "demo/../../up.py",
        "/root.py",
        "demo//a.py",
        "./a.py",
        "..\\up.py",
        "c:/a.py",
        "demo/./a.py",
        "a.py/",
    ],
)
def test_paths_that_lead_elsewhere_are_passed_over(name: str) -> None:
    assert read_sources(archive((name, b"x = 1\n"), ("ok.py", b""))) == {"ok.py": ""}


def test_links_and_other_special_files_are_passed_over() -> None:
    link = special("demo/link.py", stat.S_IFLNK | 0o777)
    pipe = special("demo/pipe.py", stat.S_IFIFO | 0o644)
    assert read_sources(archive((link, b"/etc/passwd"), (pipe, b""), ("ok.py", b""))) == {"ok.py": ""}


def test_what_is_not_utf_8_is_passed_over() -> None:
    assert read_sources(archive(("latin.py", b"x = '\xe4'\n"), ("ok.py", b""))) == {"ok.py": ""}


def test_a_huge_member_is_passed_over() -> None:
    assert read_sources(archive(("huge.py", b"#" * 1_000_001), ("big.py", b"#" * 1_000_000))).keys() == {"big.py"}


def test_the_total_is_bounded() -> None:
    assert len(read_sources(archive(*((f"m{number}.py", b"#" * 999_999) for number in range(60))))) == 50


def test_a_member_that_is_larger_than_it_says_is_not_unpacked() -> None:
    data = archive(("bomb.py", b"#" * 5_000_000), ("ok.py", b""))
    lied = data.replace((5_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    assert lied != data
    assert read_sources(lied) == {"ok.py": ""}


def test_a_damaged_member_is_passed_over() -> None:
    data = bytearray(archive(("bad.py", bytes(range(1, 120)) * 3), ("ok.py", b"")))
    data[60] ^= 0xFF
    assert read_sources(bytes(data)) == {"ok.py": ""}


def test_of_two_files_of_one_name_the_first_counts() -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        data = archive(("a.py", b"first\n"), ("a.py", b"second\n"))
    assert read_sources(data) == {"a.py": "first\n"}


def test_what_is_no_zip_file_is_an_error() -> None:
    with pytest.raises(ValueError, match="not a zip file"):
        read_sources(b"<html>captive portal</html>")
