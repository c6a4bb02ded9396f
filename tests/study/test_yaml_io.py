import math
import os
from contextlib import suppress

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from amounts import examples
from ubayfs.exceptions import StudyError
from ubayfs.study import yaml_io
from ubayfs.study.diagnostics import Origin, Problems
from ubayfs.study.yaml_io import dump_document, dump_inline, parse_document, read_document


def parse(text):
    problems = Problems(Origin("study.yaml"))
    return parse_document(text, problems), [str(problem) for problem in problems.entries]


def refused(text):
    """Return the problems of a document that is not read at all, or only in part."""
    problems = Problems(Origin("study.yaml"))
    with suppress(StudyError):
        parse_document(text, problems)
    return [str(problem) for problem in problems.entries]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("ON", "ON"),
        ("yes", "yes"),
        ("y", "y"),
        ("007", "007"),
        ("1:30", "1:30"),
        ("2024-01-01", "2024-01-01"),
        ("0x1F", "0x1F"),
        ("1_000", "1_000"),
        ("<<", "<<"),
        ("=", "="),
        ("1.2.3", "1.2.3"),
        ("-", None),
        ("null", None),
        ("~", None),
        ("true", True),
        ("FALSE", False),
        ("7", 7),
        ("-3", -3),
        ("+4", 4),
        ("1e-3", 0.001),
        ("1E3", 1000.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("-.inf", -math.inf),
        (".INF", math.inf),
        ("'7'", "7"),
        ('"null"', "null"),
        ("!!str 7", "7"),
        ("!!int '7'", 7),
        ("!!float 7", 7.0),
    ],
)
def test_plain_values_follow_yaml_1_2(text, value):
    if text == "-":
        assert parse("-") == ([None], [])
        return
    found, problems = parse(f"key: {text}")
    assert found == {"key": value}
    assert type(found["key"]) is type(value)
    assert problems == []


def test_not_a_number_is_read():
    assert math.isnan(parse("x: .nan")[0]["x"])


def test_every_key_and_entry_has_its_line():
    problems = Problems(Origin("study.yaml"))
    parse_document("a: 1\nb:\n  - x\n  - {c: 2,\n     d: 3}\n", problems)
    lines = problems.origin.lines
    assert lines[("a",)] == 1
    assert lines[("b",)] == 2
    assert lines[("b", 0)] == 3
    assert lines[("b", 1, "c")] == 4
    assert lines[("b", 1, "d")] == 5
    problems(("b", 1, "d", "deeper", 7), "is wrong.")
    problems(("unknown",), "is wrong.")
    assert [problem.line for problem in problems.entries] == [5, 0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\na: 2", "study.yaml, line 2, a: occurs twice, first on line 1; remove one of them."),
        ("true: 1", "study.yaml, line 1: has a key 'true'; keys are texts, so put it into quotes."),
        ("1.5: 1", "study.yaml, line 1: has a key '1.5'; keys are texts, so put it into quotes."),
        ("? [1]\n: 2", "study.yaml, line 1: has a key that is a list or a mapping; keys are texts"),
        ("a: !!int x", "study.yaml, line 1, a: has the tag of int, but is not one; got 'x'."),
        ("a: !!map [1]", "study.yaml, line 1, a: has the tag of a mapping, but is not one."),
        ("a: !!seq {b: 1}", "study.yaml, line 1, a: has the tag of a list, but is not one."),
        ("a: !!str [1]", "study.yaml, line 1, a: has the tag of str, but is not one"),
        ("a: !!binary aGk=", "study.yaml, line 1, a: has the tag '!!binary'; a study holds texts, numbers, lists and"),
        ("a: !!set {x}", "study.yaml, line 1, a: has the tag '!!set'"),
        ("a: !custom x", "study.yaml, line 1, a: has the tag '!custom'"),
        ("a: &x [1, *x]", "study.yaml, line 1, a[1]: contains itself by an alias"),
        (f"a: {'9' * 5000}", "study.yaml, line 1, a: is a number of 5000 digits; put it into quotes if it is a name."),
    ],
)
def test_what_cannot_be_used_is_reported_with_its_line(text, problem):
    assert len(problems := refused(text)) == 1
    assert problems[0].startswith(problem)


@pytest.mark.parametrize(
    "attack",
    [
        "!!python/object/apply:os.system ['touch {}']",
        "!!python/object/new:subprocess.Popen [['touch', '{}']]",
        "!!python/name:os.system ''",
        "!!python/module:os ''",
        "!!python/tuple [1]",
    ],
)
def test_objects_are_never_built(tmp_path, attack):
    touched = tmp_path / "touched"
    problems = refused(f"a: 1\nb: {attack.format(touched)}")
    assert not touched.exists()
    assert problems[0].startswith("study.yaml, line 2, b: has the tag '!!python/")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a:\n\tb: 1", r"^study.yaml, line 2: is not YAML: .*This is a tab; indent with spaces\.$"),
        ("a: b: c", r"^study.yaml, line 1: is not YAML: mapping values are not allowed here\. Put texts with a colon"),
        ("a: [1, 2", r"^study.yaml, line \d: is not YAML: "),
        ("a: 1\n---\nb: 2", r"^study.yaml, line 2: is not YAML: "),
        ("a: *nobody", r"^study.yaml, line 1: is not YAML: found undefined alias"),
        ("a: @x", r"^study.yaml, line 1: is not YAML: found character '@' .* Put the text into quotes\.$"),
        ("a: 1\nb: x\x00y", r"^study.yaml, line 2: holds the character '\\x00', which YAML does not allow"),
        ("[" * 500, r"^study.yaml: is nested too deeply for a study\.$"),
    ],
)
def test_broken_yaml_names_the_line(text, message):
    with pytest.raises(StudyError, match=message):
        parse(text)


def test_aliases_share_values_but_cannot_explode(monkeypatch):
    monkeypatch.setattr(yaml_io, "_MOST_VALUES", 10_000)
    assert parse("a: &x [1, 2]\nb: *x")[0] == {"a": [1, 2], "b": [1, 2]}
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12)
    )
    with pytest.raises(StudyError, match=r"holds more than 10000 values; aliases \(\*name\) multiply them"):
        parse(bomb)


def test_files_that_cannot_be_read(tmp_path, monkeypatch):
    (tmp_path / "study.yaml").write_text("a: 1")
    with pytest.raises(
        StudyError, match=r"^studi.yaml: does not exist in the directory '.*'\. Did you mean 'study.yaml'\?"
    ):
        read_document(tmp_path / "studi.yaml")
    with pytest.raises(StudyError, match="is a directory; name the study file in it"):
        read_document(tmp_path)
    (tmp_path / "latin.yaml").write_bytes("a: 1\nb: caf\xe9\n".encode("latin-1"))
    with pytest.raises(StudyError, match=r"^latin.yaml, line 2: is not UTF-8 text: byte b'\\xe9'\. Save it as UTF-8"):
        read_document(tmp_path / "latin.yaml")
    monkeypatch.setattr(yaml_io, "_LARGEST_FILE", 3)
    with pytest.raises(StudyError, match="has more than 0 MB, too much for a study"):
        read_document(tmp_path / "study.yaml")


def test_a_byte_order_mark_is_not_part_of_the_first_key(tmp_path):
    (tmp_path / "study.yaml").write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    assert read_document(tmp_path / "study.yaml")[0] == {"a": 1, "b": 2}


TEXTS = st.one_of(
    st.text(),
    st.sampled_from(
        [
            "no",
            "Yes",
            "null",
            "~",
            "",
            "007",
            "1e5",
            "1:30",
            "2024-01-01",
            "=",
            "<<",
            "true",
            "a: b",
            "a #b",
            "- a",
            "[x]",
            "{x}",
            "'",
            '"',
            "*x",
            "&x",
            "!x",
            "%x",
            "@x",
            "`x",
            " lead",
            "trail ",
            "a\nb",
            "tab\t",
            "é",
            "基因",
            "😀",
            "0x1F",
            ".inf",
            "-",
            "?",
            "? x",
            ":",
            ",",
            "\\",
            "a" * 300,
            "word " * 60,
            "\x85",
            "\u2028",
            "\ufeff",
        ]
    ),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=9), st.dictionaries(TEXTS, inner, max_size=9)),
    max_leaves=15,
)


@settings(max_examples=examples(50))
@given(st.dictionaries(TEXTS, VALUES, max_size=5))
def test_what_is_written_is_read_again(value):
    text = dump_document(value)
    found, problems = parse(text)
    assert problems == []
    assert (found or {}) == value
    assert repr(found or {}) == repr(value)  # types too: 1 is not True, "1" not 1
    assert yaml.safe_load(text) == (value or None)  # other readers agree


@given(TEXTS)
def test_a_scalar_stays_in_its_line(text):
    written = dump_inline(text)
    assert len(written.splitlines()) <= 1
    assert parse(f"- {written}\n- [{written}, 1]\n- {{k: {written}}}") == ([text, [text, 1], {"k": text}], [])
    assert parse(f"a: 1  # {written}\nb: 2") == ({"a": 1, "b": 2}, [])


@pytest.mark.parametrize("kind", ["[{}]", "{{a: {}}}"])
def test_chains_of_aliases_are_too_deep_at_once(kind):
    links = "".join(f"x{i}: &x{i} {kind.format(f'*x{i - 1}')}\n" for i in range(1, 3000))
    with pytest.raises(StudyError, match="is nested more than 50 levels deep") as caught:
        parse_document("x0: &x0 [1]\n" + links, Problems())
    assert len(caught.value.problems) == 1


def test_long_names_make_short_problems():
    problems = Problems()
    problems(("x" * 10_000,), "y" * 10_000)
    with pytest.raises(StudyError) as caught:
        problems.raise_any()
    assert len(str(caught.value)) < 2000


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "study.yaml")
    with pytest.raises(StudyError, match="is not a file"):
        read_document(tmp_path / "study.yaml")
