"""Files that `load` refuses, and what it says then."""

import json
import os
import random

import pytest

import tamis
from tamis.model_files import ModelFileError, load, save


# --------------------------------------------------------------------------- no model file
@pytest.mark.parametrize("name", ["pipe", "link"])
def test_a_pipe_is_refused_and_not_waited_for(name, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    with pytest.raises(ModelFileError, match="no regular file"):
        load(tmp_path / name)


def test_a_long_header_is_refused_before_it_is_read(path, forge, monkeypatch):
    header, blocks = forge.header_and_blocks(path)
    header["attributes"]["kept_"] = "x" * (1 << 24)
    forge.sign(path, header, blocks)
    monkeypatch.setattr(json, "loads", lambda *_, **__: pytest.fail("it was parsed"))
    with pytest.raises(ModelFileError, match="a header of"):
        load(path)


def test_unknown_and_repeated_keys_are_refused(path, forge):
    header, blocks = forge.header_and_blocks(path)
    forge.sign(path, {**header, "more": [1] * 1000}, blocks)
    with pytest.raises(ModelFileError, match="unknown key, 'more'"):
        load(path)
    for key in ("features", "parameters", "alpha"):
        text = json.dumps(header)
        twice = text.replace(f'"{key}":', f'"{key}": null, "{key}":', 1)
        assert twice != text
        forge.sign(path, twice.encode(), blocks)
        with pytest.raises(ModelFileError, match=f"key '{key}' twice"):
            load(path)


# --------------------------------------------------------------------------- accidents
def test_truncated_files(path):
    whole = path.read_bytes()
    for step in range(40):
        path.write_bytes(whole[: len(whole) * step // 40])
        with pytest.raises(ModelFileError, match=r"model.tamis: cut short"):
            load(path)


def test_flipped_bits(path):
    whole = path.read_bytes()
    draw = random.Random(0)
    for place in [draw.randrange(len(whole)) for _ in range(30)] + [
        draw.randrange(90) for _ in range(10)
    ]:
        changed = bytearray(whole)
        changed[place] ^= 1 << draw.randrange(8)
        path.write_bytes(changed)
        with pytest.raises(
            ModelFileError, match=r"model.tamis: .*(damaged|cut short|not a model file)"
        ):
            load(path)


def test_checksum_comes_first(path, monkeypatch):
    """A damaged header is never parsed."""
    changed = bytearray(path.read_bytes())
    changed[200] ^= 1
    path.write_bytes(changed)
    monkeypatch.setattr(
        json, "loads", lambda *_, **__: pytest.fail("parsed before the checksum was verified")
    )
    with pytest.raises(ModelFileError, match=r"checksum"):
        load(path)


@pytest.mark.parametrize(
    "content", [b"\x80\x04\x95 a pickle", b"TAMIS MODELS\n", b"x", b"{}" * 100]
)
def test_other_files(content, tmp_path):
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(ModelFileError, match=r"other: not a model file"):
        load(tmp_path / "other")


def test_trailing_bytes(path):
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(ModelFileError, match=r"damaged: .* bytes"):
        load(path)


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "absent")


# --------------------------------------------------------------------------- strangers
@pytest.mark.parametrize("version", [0, 2])
def test_another_format(path, forge, version):
    forge.sign(path, b"a header \xff of another format", version=version)
    with pytest.raises(ModelFileError, match=f"in format {version}.* reads format 1"):
        load(path)


@pytest.mark.parametrize(
    "name", ["Nobody", "not_a_model", "Wheel", "Alias", "os.system", "__class__", 3, None]
)
def test_unknown_classes(name, path, forge):
    header, blocks = forge.header_and_blocks(path)
    forge.sign(path, header | {"class": name}, blocks)
    with pytest.raises(ModelFileError, match=r"unknown .*1\.2\.3"):
        load(path)


def test_unknown_parameter(path, forge):
    header, blocks = forge.header_and_blocks(path)
    header["parameters"]["beta"] = 1.0
    forge.sign(path, header, blocks)
    with pytest.raises(ModelFileError, match=r"Toy has no parameter 'beta' .*1\.2\.3"):
        load(path)


def test_lacking_parameter(demanding, tmp_path, forge):
    save(demanding(1.0), tmp_path / "m")
    header, blocks = forge.header_and_blocks(tmp_path / "m")
    forge.sign(tmp_path / "m", header | {"parameters": {}}, blocks)
    with pytest.raises(ModelFileError, match="Demanding needs the parameter 'needed'"):
        load(tmp_path / "m")


def test_closed_table_is_the_public_one(homes, path):
    homes.clear()
    assert not tamis._HOMES
    with pytest.raises(ModelFileError, match="class 'Toy' is unknown"):
        load(path)
