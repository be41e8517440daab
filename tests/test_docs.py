"""What the documents say is run: Python examples, commands, names, and the two of the quick start.

A document's Python blocks share their names, in the order of the page. A block with prompts is a
doctest; one without is executed. Lines ``$ spatialindex …`` of console blocks have to succeed, in
less time than they ask for.
"""

import doctest
import importlib
import re
import runpy
import shlex
import subprocess
import textwrap
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

import spatialindex as si
from spatialindex.cli import commands

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PICTURES = runpy.run_path(str(DOCS / "pictures.py"))
DRAWN = {DOCS / PICTURES["FOLDER"] / f"{name}.png" for name in PICTURES["PICTURES"]}
"""Pictures that there are when the site is built."""

DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "examples/README.md")),
    *sorted(DOCS.rglob("*.md")),
]
FENCE = re.compile(
    r"^(?P<indent>[ ]*)```(?P<language>\w+)[^\n]*\n(?P<body>.*?)^(?P=indent)```[ ]*$",
    re.MULTILINE | re.DOTALL,
)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


class Block(NamedTuple):
    language: str
    source: str
    line: int
    """Of the document, counted from 0, where the source starts."""


def blocks_of(document, *languages):
    text = document.read_text(encoding="utf-8")
    return [
        Block(
            match["language"],
            re.sub(f"^{match['indent']}", "", match["body"], flags=re.MULTILINE),
            text.count("\n", 0, match.start("body")),
        )
        for match in FENCE.finditer(text)
        if match["language"] in languages
    ]


WITH_EXAMPLES = [
    pytest.param(document, id=str(document.relative_to(ROOT)))
    for document in DOCUMENTS
    if blocks_of(document, "python", "pycon", "console")
]


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """A folder to write to, with the examples where the documents say they are."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_document(document, report):
    """Run all blocks of a page in order; return how many Python examples failed."""
    names = {"__name__": "__main__"}
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    parser = doctest.DocTestParser()
    for block in blocks_of(document, "python", "pycon", "console"):
        if block.language == "console":
            run_commands(block.source)
        elif ">>>" in block.source:
            test = parser.get_doctest(block.source, {}, document.name, str(document), block.line)
            test.globs = names
            runner.run(test, out=report, clear_globs=False)
        else:
            lines = "\n" * block.line + block.source  # so that a traceback names the line
            exec(compile(lines, str(document), "exec"), names)
    return runner.failures


def run_commands(source):
    for line in source.splitlines():
        if line.startswith("$ spatialindex "):
            # in this process, which has loaded the kernels; `test_cli.py` has processes
            arguments = shlex.split(re.sub(r"--budget \d+", "--budget 1", line))[2:]
            done = CliRunner().invoke(commands.command, arguments)
            assert done.exit_code == 0, f"{line}: {done.stderr}{done.exception!r}"
            assert done.stdout, line


@pytest.mark.parametrize("document", WITH_EXAMPLES)
def test_examples_do_what_the_page_says(document, workplace):
    reports = []
    assert run_document(document, reports.append) == 0, "".join(reports)


def test_examples_that_are_wrong_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```pycon\n>>> a = 1\n>>> a + 1\n3\n```\n\n- b\n\n  ```python\n  a.b\n  ```\n")
    reports = []
    with pytest.raises(AttributeError, match="has no attribute 'b'"):
        run_document(page, reports.append)
    assert "Expected:\n    3\nGot:\n    2" in "".join(reports)
    page.write_text("```console\n$ spatialindex info nothing.npz\n```\n")
    with pytest.raises(AssertionError, match=r"nothing\.npz: no such file"):
        run_document(page, reports.append)


@pytest.mark.parametrize(
    ("page", "examples"),
    [
        ("own-structure.md", ["own_structure.py"]),
        ("engines.md", ["pymunk_loop.py", "pygame_crowd.py"]),
    ],
)
def test_excerpts_stand_in_the_example(page, examples):
    example = "".join((ROOT / "examples" / name).read_text(encoding="utf-8") for name in examples)
    excerpts = [
        part
        for block in blocks_of(DOCS / "how-to" / page, "py")
        for part in re.split(r"\n\n+(?=def )", block.source.strip("\n"))
    ]
    assert len(excerpts) > 3
    for excerpt in excerpts:
        excerpt = excerpt.rstrip()
        assert excerpt in example or textwrap.indent(excerpt, "    ") in example


# What the documents have to hold


def quick_start():
    """Return the commands of the README's quick start."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text.split("\n## Quick start\n")[1].split("\n## ")[0]
    return [match["body"] for match in FENCE.finditer(section)]


def test_quick_start_is_two_commands_of_one_line():
    compare, test = quick_start()
    assert compare.count("\n") == test.count("\n") == 1
    assert all(command.startswith("python3 -m venv .venv && ") for command in (compare, test))
    path = re.search(r"spatialindex compare (examples/recordings/\S+\.npz)$", compare.strip())[1]
    assert (ROOT / path).is_file()
    assert re.search(r'pip install .*-e "\.\[test\]" && \.venv/bin/pytest\b', test)


def test_continuous_integration_runs_the_commands_of_the_quick_start():
    for number, command in enumerate(quick_start(), 1):
        shown = subprocess.run(
            [ROOT / ".ci" / "run", "--show", str(number)],
            capture_output=True,
            text=True,
            check=True,
        )
        assert shown.stdout == command


def test_readme_lists_the_structures():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = text.split("\n## Structures\n")[1].split("\n## ")[0]
    listed = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|", table, re.M)
    assert listed == [(entry.name, entry.path.rpartition(":")[2]) for entry in si.structures()]


def test_every_public_name_is_in_the_reference():
    pages = "\n".join(
        path.read_text(encoding="utf-8") for path in sorted((DOCS / "reference").rglob("*.md"))
    )
    described = {line.rpartition(".")[2] for line in re.findall(r"^::: (\S+)$", pages, re.M)}
    structures = {entry.path.rpartition(":")[2] for entry in si.structures()}  # listed by a hook
    assert set(si.__all__) - described - structures - {"ALL", "__version__"} == set()
    assert "`ALL`" in pages


def test_names_listed_with_a_module_are_there():
    page = (DOCS / "reference" / "index.md").read_text(encoding="utf-8")
    section = page.split("\n## From modules of their own\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(spatialindex\.[\w.]+)` \| (.*) \|$", section, re.M)
    assert len(rows) == section.count("| `spatialindex.")
    for path, names in rows:
        module = importlib.import_module(path)
        for name in re.findall(r"`(\w+)`", names):
            assert hasattr(module, name), f"{path}.{name}"
            assert name not in si.__all__, f"si.{name}"


def test_every_entry_of_a_played_frame_is_in_the_reference():
    from spatialindex.comparison.playing import FIGURES

    page = (DOCS / "reference" / "command-line.md").read_text(encoding="utf-8")
    section = page.split("\n| entry | |\n")[1].split("\n\n")[0]
    named = [
        name
        for row in section.splitlines()
        for name in re.findall(r"`(\w+)`", row[1:].split("|")[0])
    ]
    assert sorted(named) == sorted([*FIGURES, "format", "time", "warnings"])


def test_every_option_of_the_command_line_is_in_the_reference():
    page = (DOCS / "reference" / "command-line.md").read_text(encoding="utf-8")
    for name, subcommand in commands.command.commands.items():
        section = page.split(f"\n## `spatialindex {name}`\n")[1].split("\n## ")[0]
        options = [option for parameter in subcommand.params for option in parameter.opts]
        missing = [o for o in options if o.startswith("-") and f"`{o}" not in section]
        assert not missing, f"{name}: {missing}"


def test_every_layer_of_the_code_is_in_the_architecture():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    page = (DOCS / "explanation" / "architecture.md").read_text(encoding="utf-8")
    table = page.split("\n## Layers of the code\n")[1].split("\n## ")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    described = re.findall(r"`(\w+)(?:\.py|/)`", " ".join(cells))
    (contract,) = project["tool"]["importlinter"]["contracts"]
    layers = [name for line in contract["layers"] for name in line.split(" | ")]
    assert sorted(described) == sorted(set(layers) - {"__main__"})


def test_every_page_is_in_the_navigation_and_on_the_front_pages():
    configuration = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in DOCS.rglob("*.md"):
        name = str(page.relative_to(DOCS))
        assert name in configuration
        if name.split("/")[0] in ("tutorial", "how-to", "explanation"):
            assert f"(docs/{name})" in (ROOT / "README.md").read_text(encoding="utf-8")
            assert f"({name})" in (DOCS / "index.md").read_text(encoding="utf-8")


def test_each_picture_is_shown_and_described():
    shown = [
        (document.parent / target, text)
        for document in DOCUMENTS
        for text, target in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", document.read_text("utf-8"))
    ]
    assert sorted(path for path, _ in shown) == sorted(DRAWN)
    assert all(len(text) > 20 for _, text in shown)


@pytest.mark.parametrize("name", ["grid", "sweep-and-prune", "hard-motion"])
def test_pictures_can_be_drawn_and_are_the_same_each_time(name):
    picture = PICTURES["draw"](name)
    assert picture.startswith(b"\x89PNG")
    PICTURES["draw"].cache_clear()
    assert PICTURES["draw"](name) == picture


@pytest.mark.parametrize(
    "document", [pytest.param(d, id=str(d.relative_to(ROOT))) for d in DOCUMENTS]
)
def test_links_to_files_lead_somewhere(document):
    text = document.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)", text):
        if "://" not in target:
            path = document.parent / target
            assert path.exists() or path in DRAWN, target
