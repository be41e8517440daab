"""Named layers: bits, masks, files, and rules that change."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import spatialindex as si

RULES = {
    "bullet": ["enemy", "wall"],
    "enemy": ["bullet", "wall", "enemy"],
    "wall": ["bullet", "enemy"],
    "debris": [],
}


def test_bits_go_by_the_order_of_the_names() -> None:
    table = si.LayerTable(RULES)
    assert table.names == ("bullet", "enemy", "wall", "debris")
    assert [table.layers(name) for name in table] == [1, 2, 4, 8]
    assert table.layers("bullet", "debris") == 9
    assert table.layers() == 0
    assert len(table) == 4
    assert "wall" in table
    assert "sky" not in table


def test_masks_are_the_layers_met() -> None:
    table = si.LayerTable(RULES)
    assert [table.mask(name) for name in table] == [6, 7, 3, 0]
    assert table.mask("bullet", "wall") == 7
    assert table.meets("enemy", "enemy")
    assert not table.meets("bullet", "bullet")


def test_pairs_follow_the_table() -> None:
    table = si.LayerTable(RULES)
    index = si.HashGrid(ndim=2)
    for name in ("bullet", "bullet", "enemy", "debris"):
        index.insert([0, 0, 1, 1], layer=table.layers(name), mask=table.mask(name))
    np.testing.assert_array_equal(index.pairs(), [[0, 2], [1, 2]])


def test_rules_that_change_take_effect_when_they_are_applied() -> None:
    table = si.LayerTable(RULES)
    index = si.HashGrid(ndim=2)
    for name in ("bullet", "bullet", "enemy"):
        index.insert([0, 0, 1, 1], layer=table.layers(name), mask=table.mask(name))
    index.insert([0, 0, 1, 1], layer=0, mask=table.mask("enemy"))
    table.allow("bullet", "bullet")
    table.allow("bullet", "bullet")
    table.forbid("enemy", "bullet")
    np.testing.assert_array_equal(index.pairs(), [[0, 2], [1, 2]])
    table.apply(index)
    np.testing.assert_array_equal(index.pairs(), [[0, 1]])
    assert index.state()["mask"].tolist() == [5, 5, 6, 0]


def test_an_object_on_a_bit_without_a_name_is_named() -> None:
    table = si.LayerTable({"wall": []})
    index = si.HashGrid(ndim=2)
    index.insert([[0, 0, 1, 1]] * 2, layer=[1, 6])
    with pytest.raises(si.InvalidArgumentError, match=r"object 1 is on layer 0b110: .*add names"):
        table.apply(index)
    assert index.state()["mask"].tolist() == [si.ALL, si.ALL]


@pytest.mark.parametrize("ask", ["layers", "mask"])
@pytest.mark.parametrize("names", [["bullet", "wall"], ("bullet", "wall"), {"bullet"}, 3])
def test_names_that_are_no_arguments_of_their_own_are_refused(ask: str, names: object) -> None:
    table = si.LayerTable(RULES)
    message = rf"^layer {re.escape(repr(names))} is no text: .*or layers\(\*names\)$"
    with pytest.raises(si.InvalidArgumentError, match=message):
        getattr(table, ask)(names)


@pytest.mark.parametrize("wrong", [5, None, si.HashGrid])
def test_only_an_index_gets_the_masks_of_a_table(wrong: object) -> None:
    table = si.LayerTable(RULES)
    with pytest.raises(si.InvalidArgumentError, match=r"apply was given .*: pass the index whose"):
        table.apply(wrong)


def test_64_layers_use_all_bits_and_one_more_is_refused() -> None:
    names = [f"layer {i}" for i in range(64)]
    table = si.LayerTable(dict.fromkeys(names, names))
    assert table.mask("layer 0") == si.ALL
    assert table.layers("layer 63") == 2**63
    index = si.HashGrid(ndim=2)
    index.insert([0, 0, 1, 1], layer=table.layers("layer 63"), mask=0)
    table.apply(index)
    assert index.state()["mask"].tolist() == [si.ALL]
    with pytest.raises(si.InvalidArgumentError, match="65 layers: an object has 64 bits"):
        si.LayerTable({str(i): [] for i in range(65)})


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"a": ["b"], "b": []}, "layer 'a' meets 'b', but 'b' does not meet 'a'"),
        ({"wall": ["bulet"], "bullet": []}, "'bulet', which is no layer; did you mean 'bullet'"),
        ({"a": "a"}, "layer 'a' meets 'a': pass a list of names"),
        ({"a": [1]}, r"layer 'a' meets \[1\]: pass a list of names"),
        ({"": []}, "layer '': a name is a text"),
        ({3: []}, "layer 3: a name is a text"),
        ([("a", [])], "layers is list: pass names"),
    ],
)
def test_rules_that_cannot_be_meant_are_refused(rules: object, message: str) -> None:
    with pytest.raises(si.InvalidArgumentError, match=message):
        si.LayerTable(rules)  # type: ignore[arg-type]


def test_unknown_names_are_refused_with_a_suggestion() -> None:
    table = si.LayerTable(RULES)
    for ask in (table.layers, table.mask, lambda name: table.meets("wall", name)):
        with pytest.raises(si.InvalidArgumentError, match="did you mean 'bullet'"):
            ask("bulet")
    with pytest.raises(si.InvalidArgumentError, match="did you mean 'enemy'"):
        table.allow("wall", "enmy")
    assert table.mask("wall") == 3


@pytest.mark.parametrize("suffix", [".toml", ".json", ".TOML"])
def test_a_table_survives_a_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"layers{suffix}"
    rules = {"größe 1": ['a "b"'], 'a "b"': ["größe 1"]}
    si.LayerTable(rules).save(path)
    table = si.LayerTable.load(path)
    assert table.names == tuple(rules)
    assert table.meets(*rules)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.toml", "layers = [", "a.toml: "),
        ("a.json", "{", "a.json: "),
        ("a.json", json.dumps({"layers": {}, "other": 1}), "expected one table, 'layers'"),
        ("a.json", "[1]", "expected one table, 'layers'"),
        ("a.toml", '[layers]\na = ["b"]', "a.toml: layer 'a' meets 'b', which is no layer"),
        ("a.yaml", "layers:", r"a .toml or a .json file"),
    ],
)
def test_files_that_hold_no_table_are_refused(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(si.InvalidArgumentError, match=message):
        si.LayerTable.load(tmp_path / name)


def test_only_known_suffixes_are_written(tmp_path: Path) -> None:
    with pytest.raises(si.InvalidArgumentError, match=r"a .toml or a .json file"):
        si.LayerTable(RULES).save(tmp_path / "layers.txt")
    assert list(tmp_path.iterdir()) == []
