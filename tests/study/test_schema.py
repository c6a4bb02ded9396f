"""The keys of a study: one source of files, command line, starter file and documentation."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ubayfs.cli.main import build_parser
from ubayfs.constraints import KINDS
from ubayfs.decision.workflow import Decision, collect_evidence
from ubayfs.study.schema import KEYS, SECTIONS

PAGE = (Path(__file__).parents[2] / "docs" / "study.md").read_text(encoding="utf-8")
KEYS_OF_ALL = [(name, key) for name, section in SECTIONS.items() for key in section.keys()]  # noqa: SIM118


def key_table(section):
    """Return the keys of a section as the table of Markdown that the page has."""
    defaults = section.defaults()
    rows = ["| key | meaning | default |", "| --- | --- | --- |"]
    for name, key in section.keys().items():
        quote = "`" if not key.default_text and isinstance(defaults[name], str | tuple) else ""
        form = "" if key.option is None else key.option.form
        other = f", on the command line `{key.option.flag} {form}`" if form else ""
        meaning = "; ".join(filter(None, (key.help, key.details))) + other
        rows.append(f"| `{name}` | {meaning} | {quote}{section.default_text(name)}{quote} |")
    return "\n".join(rows)


@pytest.mark.parametrize("name", SECTIONS)
def test_the_documentation_has_the_keys_of_each_section(name):
    """Copy the output of ``key_table(SECTIONS[name])`` into the page when a key changes."""
    content = PAGE.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    assert key_table(SECTIONS[name]) in content


def test_sections_are_keys_of_a_study():
    assert set(SECTIONS) < set(KEYS)
    assert all(f"## {key}" in PAGE for key in KEYS if key not in ("title", "versions"))


def test_arguments_of_the_workflow_are_keys():
    """Whoever adds an argument to ``decide`` is reminded of the study file."""
    from inspect import signature

    by_name = {"weights", "prior", "constraints", "blocks", "trust_in_lists"}
    assert set(SECTIONS["decision"]().arguments()) == set(Decision.names()) - by_name
    of_the_data = {"X", "y", "task", "groups", "missing", "max_missing", "target", "layer", "adjust_for"}
    of_the_data |= {"measured"}
    not_of_the_study = of_the_data | {"on_progress", "checkpoint", "part"}
    assert set(SECTIONS["evidence"]().arguments()) == set(signature(collect_evidence).parameters) - not_of_the_study


@pytest.mark.parametrize(("name", "key"), KEYS_OF_ALL)
def test_every_key_explains_itself(name, key):
    entry = SECTIONS[name].keys()[key]
    assert entry.help
    assert not entry.help.endswith(".")
    assert len(entry.text) < 90  # a comment beside a value
    assert SECTIONS[name].default_text(key)


@pytest.fixture(scope="module")
def help_of_select():
    run = subprocess.run(
        [sys.executable, "-m", "ubayfs", "select", "--help"], capture_output=True, text=True, check=True,
        env={"COLUMNS": "1000", "PATH": "", "PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    return run.stdout


def test_the_command_line_has_an_option_for_each_key(help_of_select):
    for name, key in KEYS_OF_ALL:
        entry = SECTIONS[name].keys()[key]
        if entry.option is not None and not entry.option.shared:
            assert entry.option.flag in help_of_select
            assert entry.text in help_of_select


def test_the_command_line_has_an_option_for_each_simple_constraint(help_of_select):
    for kind, builder in KINDS.items():
        simple = next(iter(builder.parameters)) in ("n", "threshold", "features")
        assert (f"--{kind.replace('_', '-')} " in help_of_select) == simple, kind


def test_a_constraint_that_needs_a_second_argument_has_no_option(monkeypatch, capsys):
    def at_most_k_of(features, k, rho=1.0):
        """At most `k` of some features."""

    monkeypatch.setitem(KINDS, "at_most_k_of", replace(KINDS["require"], build=at_most_k_of))
    with pytest.raises(SystemExit):
        build_parser().parse_args(["select", "t.csv", "--at-most-k-of", "a", "b"])
    assert "--at-most-k-of" in capsys.readouterr().err


def test_the_help_of_all_commands_imports_nothing_heavy():
    code = (
        "import sys\nfrom ubayfs.cli.main import main\nmain(['--help'])\n"
        "assert not {'numpy', 'scipy', 'pandas', 'sklearn', 'matplotlib', 'yaml'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)


def test_the_parser_is_complete_when_it_is_used():
    arguments = build_parser().parse_args(
        ["select", "t.csv", "--max-size", "3", "--models", "7", "--time-limit", "none"]
    )
    assert (arguments.max_size, arguments.models, arguments.time_limit) == (3, 7, None)
