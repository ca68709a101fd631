"""Files of drafting heads: what is read, and what is said of one that cannot be."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from completiond.errors import ModelCorruptError, ModelUnsupportedError
from completiond.spec.head_file import HeadFile, take
from tests.spec.malicious import Malicious

TENSORS = {"a.weight": torch.arange(6.0).view(2, 3), "b": torch.tensor([True, False, True])}
FILES = ["model.safetensors", "pytorch_model.bin"]


def write(folder: Path, file: str, tensors: dict[str, Tensor] = TENSORS, config: str | None = None) -> Path:
    if file.endswith(".safetensors"):
        save_file(tensors, folder / file)
    else:
        torch.save(tensors, folder / file)
    if config is not None:
        (folder / "config.json").write_text(config, encoding="utf-8")
    return folder / file


@pytest.mark.parametrize("name", FILES)
def test_tensors_and_configuration_are_read_from_either_format(name: str, tmp_path: Path) -> None:
    write(tmp_path, name, config='{"hidden_size": 3, "ä": null}')

    file = HeadFile.read(tmp_path)

    assert file.folder == tmp_path
    assert file.config == {"hidden_size": 3, "ä": None}
    assert file.tensors.keys() == TENSORS.keys()
    assert all(torch.equal(file.tensors[key], TENSORS[key]) for key in TENSORS)
    assert [tensor.dtype for tensor in file.tensors.values()] == [torch.float32, torch.bool]


def test_without_a_configuration_it_is_empty(tmp_path: Path) -> None:
    write(tmp_path, "model.safetensors")

    assert HeadFile.read(tmp_path).config == {}


def test_the_first_name_that_is_there_is_read(tmp_path: Path) -> None:
    write(tmp_path, "model.safetensors", {"x": torch.ones(1)})
    write(tmp_path, "pytorch_model.bin", {"y": torch.ones(1)})
    write(tmp_path, "heads.pt", {"z": torch.ones(1)})

    assert set(HeadFile.read(tmp_path).tensors) == {"x"}
    assert set(HeadFile.read(tmp_path, "heads.safetensors", "heads.pt").tensors) == {"z"}
    (tmp_path / "model.safetensors").unlink()
    assert set(HeadFile.read(tmp_path).tensors) == {"y"}


def test_a_folder_without_a_head_says_which_files_were_looked_for(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").mkdir()

    with pytest.raises(ModelUnsupportedError, match=r"model\.safetensors or pytorch_model\.bin is missing") as error:
        HeadFile.read(tmp_path)
    assert str(tmp_path) in error.value.message
    assert error.value.advice
    with pytest.raises(ModelUnsupportedError, match=r": heads\.pt is missing"):
        HeadFile.read(tmp_path, "heads.pt")
    with pytest.raises(ModelUnsupportedError, match="is missing"):
        HeadFile.read(tmp_path / "nowhere")


@pytest.mark.parametrize("share", [0.0, 0.005, 0.1, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_ends_early_is_corrupt(name: str, share: float, tmp_path: Path) -> None:
    file = write(tmp_path, name)
    content = file.read_bytes()
    file.write_bytes(content[: int(share * len(content))])

    with pytest.raises(ModelCorruptError, match=rf"{name} cannot be read: .+\.") as error:
        HeadFile.read(tmp_path)
    assert "\n" not in error.value.message
    assert error.value.advice


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("content", [b"\0" * 100, b"<!DOCTYPE html>\n<html>", b"version https://git-lfs\n", b"(dp0\n."])
def test_a_file_of_something_else_is_corrupt(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)

    with pytest.raises(ModelCorruptError, match=name):
        HeadFile.read(tmp_path)


def test_a_pickle_with_changed_bytes_is_corrupt(tmp_path: Path) -> None:
    content = pickle.dumps({"a": [1.5, "text", (2, None)], "b": {"c": b"bytes"}}, 2)
    for place in range(2, len(content)):  # behind the number of the protocol
        changed = bytearray(content)
        changed[place] ^= 0x15
        (tmp_path / "pytorch_model.bin").write_bytes(changed)
        with pytest.raises(ModelCorruptError):
            HeadFile.read(tmp_path)


@pytest.mark.parametrize("save", [torch.save, lambda obj, path: path.write_bytes(pickle.dumps(obj, 2))])
def test_code_in_a_pickle_is_not_run(save: Callable[[Any, Path], None], tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    save(TENSORS | {"c": Malicious(touched)}, tmp_path / "pytorch_model.bin")

    with pytest.raises(ModelCorruptError, match=r"pytorch_model\.bin cannot be read"):
        HeadFile.read(tmp_path)

    assert not touched.exists()


@pytest.mark.parametrize("content", [[torch.ones(2)], {"a.weight": 3}, {"a": {"b": torch.ones(2)}}, torch.ones(2)])
def test_a_pickle_of_something_else_is_refused(content: object, tmp_path: Path) -> None:
    torch.save(content, tmp_path / "pytorch_model.bin")

    with pytest.raises(ModelCorruptError, match="not a table of tensors"):
        HeadFile.read(tmp_path)


@pytest.mark.parametrize("config", ["", "{", '{"hidden_size": 3', "hidden_size: 3", '{"a": 1}\n{"a": 2}'])
def test_a_configuration_that_is_no_json_is_corrupt(config: str, tmp_path: Path) -> None:
    write(tmp_path, "model.safetensors", config=config)

    with pytest.raises(ModelCorruptError, match=r"config\.json cannot be read: .+"):
        HeadFile.read(tmp_path)


def test_a_configuration_that_is_no_text_is_corrupt(tmp_path: Path) -> None:
    write(tmp_path, "model.safetensors")
    (tmp_path / "config.json").write_bytes(b'{"a": "\xff"}')

    with pytest.raises(ModelCorruptError, match=r"config\.json cannot be read"):
        HeadFile.read(tmp_path)


@pytest.mark.parametrize("config", ["[]", "3", "null", '"text"'])
def test_a_configuration_that_is_no_object_is_corrupt(config: str, tmp_path: Path) -> None:
    write(tmp_path, "model.safetensors", config=config)

    with pytest.raises(ModelCorruptError, match=r"config\.json is not a JSON object"):
        HeadFile.read(tmp_path)


# Values of the configuration


def said(**config: Any) -> HeadFile:
    return HeadFile(Path("some/head"), json.loads(json.dumps(config)), {})


def test_values_are_read() -> None:
    file = said(size=7, eps=1e-5, whole=2, flag=True, part={"a": 1})

    assert file.number("size") == file.number("size", 3) == 7
    assert file.decimal("eps", 1.0) == 1e-5
    assert file.decimal("whole", 1.0) == 2.0
    assert file.switch("flag") is file.switch("flag", False) is True
    assert file.table("part") == {"a": 1}


def test_what_is_missing_or_null_has_its_default() -> None:
    for file in (said(), said(x=None)):
        assert file.number("x", 3) == 3
        assert file.decimal("x", 0.5) == 0.5
        assert file.switch("x") is False
        assert file.switch("x", True) is True
        assert file.table("x") == {}
        with pytest.raises(ModelUnsupportedError, match=r"^some/head: config\.json does not say x\. "):
            file.number("x")


BAD: list[tuple[Callable[[HeadFile], object], list[Any]]] = [
    (lambda file: file.number("x", 3), ["16", 16.0, True, 0, -1, [16], {}]),
    (lambda file: file.decimal("x", 3.0), ["1e-5", False, 0, -1.0, [1.0], float("inf"), float("nan")]),
    (lambda file: file.switch("x"), ["false", 0, 1, []]),
    (lambda file: file.table("x"), ["text", [], 3, True]),
]


@pytest.mark.parametrize(("read", "value"), [(read, value) for read, values in BAD for value in values])
def test_a_value_of_another_kind_is_refused(read: Callable[[HeadFile], object], value: Any) -> None:
    with pytest.raises(ModelUnsupportedError, match=r"^some/head: config\.json says x is ") as error:
        read(said(x=value))
    assert repr(value) in error.value.message


# Taking tensors

FOLDER = Path("some/head")
SHAPES: dict[str, tuple[int, ...]] = {"a.weight": (2, 3), "b": (3,)}


def test_exactly_what_is_expected_is_taken() -> None:
    assert take(FOLDER, TENSORS, SHAPES) == TENSORS


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (SHAPES | {"c": (1,)}, "some/head: the tensor c is missing."),
        (SHAPES | {"a.weight": (3, 2)}, "some/head: the tensor a.weight is [2, 3], not [3, 2]."),
        (SHAPES | {"b": ()}, "some/head: the tensor b is [3], not []."),
        ({"b": (3,)}, "some/head: the tensor a.weight belongs to no layout that is known."),
        ({}, "some/head: the tensor a.weight belongs to no layout that is known."),
        ({"c": (1,), "a.weight": (9,)}, "some/head: the tensor c is missing."),
    ],
)
def test_the_first_that_is_wrong_is_named(shapes: dict[str, tuple[int, ...]], message: str) -> None:
    with pytest.raises(ModelUnsupportedError) as error:
        take(FOLDER, TENSORS, shapes)

    assert error.value.message == message
    assert "docs/tuning.md" in error.value.advice
