"""Plugins that are broken: each is named in one line, with its package and what is wrong, and commands that do not need
it work."""

import importlib
import itertools
import re
import sys

import pytest

from lanai_host import plugins, stacks
from lanai_host.plugins import Unusable
from lanai_sim.engines import kinds as engines
from lanai_sim.engines.boards import known
from lanai_sim.machine import blocks, fabrics
from lanai_sim.studies.papers import studies

from .test_examples import lanai

# By kind: its contract, the class and the attributes of a whole plugin, and more lines that it needs.
WHOLE = {
    "stacks": (
        stacks.CONTRACT,
        "lanai_host.stacks.base.Stack",
        {"name": "NAME", "help": "''", "presets": "{'default': dict}", "options_table": "'table'"},
        ("open",),
    ),
    "engines": (
        engines.CONTRACT,
        "lanai_sim.engines.kinds.base.EngineKind",
        {"name": "NAME", "help": "''", "capabilities": "None"},
        ("make",),
    ),
    "fabrics": (
        fabrics.CONTRACT,
        "lanai_sim.machine.fabrics.base.FabricKind",
        {"usage": "NAME + ':N'", "help": "''"},
        ("make",),
    ),
    "blocks": (
        blocks.CONTRACT,
        "lanai_hdl.block_config.BlockConfig",
        {"name": "NAME.replace('-', '_')", "declares": "None"},
        ("build",),
    ),
    "boards": (
        known.CONTRACT,
        "lanai_hdl.boards.board.Board",
        {
            "name": "NAME", "description": "''", "config": "None", "baud": "1", "platform": "None", "pins": "None",
            "__init__": "lambda self: None",
        },
        (),
    ),
    "papers": (
        studies.CONTRACT,
        "lanai_sim.studies.papers.studies.Study",
        {
            "paper": "NAME", "frame": "None", "experiments": "None", "ways": "dict", "draw": "None", "why_not": "None",
            "inputs": "{}", "__init__": "lambda self: None",
        },
        (),
    ),
}  # fmt: skip
KINDS = sorted(WHOLE)
NUMBERS = itertools.count()


def source(kind, its_name, **changed):
    """Return the source of a whole plugin, with some attributes changed, or left out if None."""
    contract, base, attributes, methods = WHOLE[kind]
    module, _, parent = base.rpartition(".")
    lines = [f"    {key} = {value}" for key, value in {**attributes, **changed}.items() if value is not None]
    lines += [f"    def {method}(self, *_): ..." for method in methods]
    held = "Held" if contract.is_class else "Held()"
    return "\n".join(
        [
            f"from {module} import {parent}",
            f"NAME = {its_name!r}",
            f"class Held({parent}):",
            *lines,
            f"{contract.attribute} = {held}",
        ]
    )


def write(folder, kind, name, text):
    """Write a plugin; the file that holds its object."""
    contract = WHOLE[kind][0]
    path = folder / kind / name.replace("-", "_")
    path.mkdir(parents=True)
    (path / "__init__.py").touch()
    if kind == "papers":
        claim = f'[[claim]]\nid = "{name}.a"\nkind = "context"\nsays = "It is fast."\nwhere = "1"\n'
        (path / "claims.toml").write_text(claim)
    held = path / f"{contract.module or '__init__'}.py"
    held.write_text(text)
    return held


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Loads a plugin of some kind by its contract, from a source that is given its name. Returns its object, or what
    the error says of it."""

    def loaded(kind, text):
        contract = WHOLE[kind][0]
        name = f"a-plugin-{next(NUMBERS)}"  # none that an earlier test has loaded
        held = write(tmp_path, kind, name, text(name) if callable(text) else text)
        package = importlib.import_module(contract.package)
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path / kind)])
        try:
            return contract.load(name)
        except Unusable as error:
            noun = kind.removesuffix("s") if kind != "stacks" else "device"
            said = str(error)
            begin = f"the {noun} {name!r} ({contract.package}.{name.replace('-', '_')}) cannot be used: "
            assert said.startswith(begin)
            assert "\n" not in said
            return said.removeprefix(begin).replace(str(held), "HELD")

    return loaded


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_one_is_loaded(kind, load):
    contract = WHOLE[kind][0]
    found = load(kind, lambda name: source(kind, name))
    assert contract.base in (found.__mro__ if contract.is_class else type(found).__mro__)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a = 1\nimport absent_module", "ModuleNotFoundError in HELD, line 2: No module named 'absent_module'"),
        ("\n\n1 / 0", "ZeroDivisionError in HELD, line 3: division by zero"),
        ("int('''a\nb''')", r"ValueError in HELD, line 1: invalid literal for int() with base 10: 'a\nb'"),
        ("\nraise AssertionError('two\\nlines')", "AssertionError in HELD, line 2: two lines"),
        ("def (:", "SyntaxError in HELD, line 1: invalid syntax"),
        ("raise SystemExit(7)", "SystemExit in HELD, line 1: 7"),
        ("import dataclasses\ndataclasses.dataclass(3)", "line 2: "),
    ],
)
def test_one_that_fails_on_import_is_named_with_the_line(kind, text, why, load):
    assert why in load(kind, text)


@pytest.mark.parametrize("kind", KINDS)
def test_one_without_its_object_or_with_another_is_refused(kind, load):
    contract = WHOLE[kind][0]
    wanted = f"{contract.base.__name__} ({contract.base.__module__})"
    assert load(kind, "") == f"HELD has no {contract.attribute}; it must hold {wanted}"
    what = "a class derived from" if contract.is_class else "an object of"
    assert load(kind, f"{contract.attribute} = 3") == f"{contract.attribute} in HELD is 3; it must be {what} {wanted}"


@pytest.mark.parametrize("kind", KINDS)
def test_what_it_lacks_is_named(kind, load):
    """It must have whatever the base class annotates."""
    contract, _, attributes, _ = WHOLE[kind]
    for key in attributes:
        if key == "__init__":
            continue
        said = load(kind, lambda name, key=key: source(kind, name, **{key: None}))
        assert said.startswith(f"{contract.attribute} in HELD lacks {key}; see {contract.base.__name__} ")


@pytest.mark.parametrize("kind", KINDS)
def test_one_that_has_another_name_is_refused(kind, load):
    contract, _, attributes, _ = WHOLE[kind]
    key = next(key for key, value in attributes.items() if "NAME" in value)
    said = load(kind, lambda name: source(kind, name, **{key: "'other'"}))
    assert said == f"{contract.attribute} in HELD says that its name is 'other'; it must be that of its folder or file"


def test_a_file_with_a_dash_in_its_name_is_told(tmp_path, monkeypatch):
    (tmp_path / "an-engine.py").touch()
    monkeypatch.setattr(engines, "__path__", [*engines.__path__, str(tmp_path)])
    with pytest.raises(Unusable, match="its file must have underscores instead of dashes"):
        engines.CONTRACT.load("an-engine")


def test_those_that_are_usable_are_loaded_and_each_other_is_told_once(capsys):
    def load(name):
        if "bad" in name:
            raise Unusable(f"the engine {name!r} is bad")
        return name.upper()

    for _ in range(2):
        assert [*plugins.usable(["a", "bad-1", "b"], load)] == [("a", "A"), ("b", "B")]
    assert capsys.readouterr().err == "lanai: warning: left out: the engine 'bad-1' is bad\n"


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """A directory for LANAI_PATH on which every plugin is broken."""
    folder = tmp_path_factory.mktemp("broken")
    for kind in KINDS:
        write(folder, kind, "bad-import", "import absent_module")
        write(folder, kind, "bad-object", "")
    write(folder, "stacks", "bad-options", source("stacks", "bad-options", presets="{}"))
    write(folder, "stacks", "bad-preset", source("stacks", "bad-preset", presets="{'default': lambda: 1 / 0}"))
    write(folder, "blocks", "bad-options", source("blocks", "bad-options", __init__="lambda self, size: None"))
    return folder


def warnings(run):
    """Return which plugins a command left out, with their kinds. It must say nothing else."""
    found = [re.match(r"lanai: warning: left out: the (\w+ '[\w-]+') \(", line) for line in run.stderr.splitlines()]
    assert all(found), run.stderr
    return {one[1] for one in found}


def test_the_lists_leave_them_out(broken):
    run = lanai("list", "devices", path=broken)
    assert run.returncode == 0
    assert {"mpi-np", "pysim", "torus:XxYxZ"} <= {*run.stdout.split()}
    assert "bad" not in run.stdout
    nouns = [f"{noun} 'bad-{what}'" for noun in ("device", "engine", "fabric") for what in ("import", "object")]
    assert warnings(run) == {*nouns, "device 'bad-options'", "device 'bad-preset'"}


def test_parameters_leave_them_out(broken):
    run = lanai("list", "parameters", path=broken)
    assert run.returncode == 0
    assert "nic.remote.peers" in run.stdout
    nouns = [f"{noun} 'bad-{what}'" for noun in ("device", "block") for what in ("import", "object", "options")]
    assert warnings(run) == {*nouns, "device 'bad-preset'"}


@pytest.mark.parametrize("words", [(), ("--device", "mpi-np")])
def test_a_run_that_does_not_need_them_works(words, broken):
    run = lanai("run", "-q", *words, sys.executable, "-c", "print('ran')", path=broken)
    assert (run.returncode, run.stdout) == (0, "ran\n")
    assert warnings(run) == {"fabric 'bad-import'", "fabric 'bad-object'"}, "the help names fabrics"


CASES = [
    *((kind, "bad-import", "ModuleNotFoundError in ") for kind in KINDS),
    *((kind, "bad-object", " has no ") for kind in KINDS),
    ("stacks", "bad-options", "STACK.presets is empty; "),
    ("stacks", "bad-preset", "ZeroDivisionError in "),
    ("blocks", "bad-options", "TypeError: "),
]


@pytest.mark.parametrize(("kind", "name", "why"), CASES)
def test_a_command_that_needs_one_ends_with_one_line(kind, name, why, broken):
    noun = {"stacks": "device"}.get(kind, kind.removesuffix("s"))
    device = () if kind == "stacks" else ("--device", "mpi-np")
    words = ("paper", name, "--quick") if kind == "papers" else ("run", *device, f"--{noun}", name, "true")
    run = lanai(*words, path=broken)
    assert (run.returncode, run.stdout) == (2, "")
    *before, last = run.stderr.splitlines()
    assert all(line.startswith("lanai: warning: left out: the fabric ") for line in before)
    assert re.match(rf"lanai: error: the {noun} '{name}' \([\w.]+\) cannot be used: .*{why}", last)
