"""What holds for every display."""

import json
import subprocess
import sys
from contextlib import contextmanager
from functools import cache
from itertools import combinations

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from trusts import made_trust
from ubayfs import Evidence, cannot_link, decide, exclude, max_size, maximize
from ubayfs.decision.selection import Selection
from ubayfs.exceptions import InputError, MissingDependencyError, UBayFSError, UBayFSWarning
from ubayfs.plotting import DISPLAYS, CorrelationDisplay, EvidenceDisplay, ReportData, SizeUtilityDisplay

NAMES = list(DISPLAYS)
OF_TRUST = ("comparison", "performance", "survival", "related", "halves", "gene_sets")


def make(name, selection, blocks=None):
    if name in OF_TRUST:
        return DISPLAYS[name].for_report(selection, ReportData(trust=made_trust(selection)))
    if name == "profile":
        rng = np.random.default_rng(0)
        X = rng.normal(size=(12, len(selection.feature_names)))
        return DISPLAYS[name].from_selection(selection, X, ["$a_1$", "b <i>"] * 6)
    some = {"first": [0], "all": range(len(selection.feature_names))} if blocks is None else blocks
    arguments = {
        "evidence": {"blocks": blocks},
        "blocks": {"blocks": some},
        "correlation": {"blocks": blocks},
        "sizes": {"sizes": range(6, 9)},
    }
    return DISPLAYS[name].from_selection(selection, **arguments.get(name, {}))


def words(figure):
    """All texts but numbers on axes: those beyond the limits of an axis exist, and are not drawn."""
    found = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    return [text for text in found if not text.get_text().strip("\N{MINUS SIGN}").replace(".", "").isdigit()]


def test_the_displays_go_by_their_names():
    of_ensemble = ["posterior", "penalty", "sizes", "front", "convergence"]
    assert ["evidence", "profile", *OF_TRUST, "blocks", *of_ensemble, "correlation"] == NAMES
    assert all(DISPLAYS[name].name == name for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_json_and_back_is_the_same_display(name, cancer_selection, cancer_blocks, ugly_selection, ugly_blocks):
    for selection, blocks in ((cancer_selection, cancer_blocks), (ugly_selection, ugly_blocks)):
        display = make(name, selection, blocks)
        text = json.dumps(display.to_dict(), allow_nan=False)
        assert DISPLAYS[name].from_dict(json.loads(text)) == display


@pytest.mark.parametrize("name", NAMES)
def test_damaged_content_is_refused(name, cancer_selection):
    content = make(name, cancer_selection).to_dict()
    first = next(key for key in content if key != "display")
    with pytest.raises(InputError, match=r"content must be what .*to_dict gave; got 'Selection'"):
        DISPLAYS[name].from_dict({**content, "display": "Selection"})
    with pytest.raises(InputError, match=f"must have the field {first!r}. Write it again with to_dict"):
        DISPLAYS[name].from_dict({key: value for key, value in content.items() if key != first})
    with pytest.raises(InputError, match="'surplus' is unknown"):
        DISPLAYS[name].from_dict({**content, "surplus": 1})
    with pytest.raises(InputError, match=rf"{first} must be a list; got 'x'"):
        DISPLAYS[name].from_dict({**content, first: "x"})
    with pytest.raises(InputError, match="got 'list'"):
        DISPLAYS[name].from_dict([content])


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("features", [1], r"features\[0\] must be str; got 1"),
        ("votes", [True], r"votes\[0\] must be float; got True"),
        ("n_features", 1.5, "n_features must be int; got 1.5"),
        ("links", [], r"links must be a mapping; got \[\]"),
    ],
)
def test_damage_is_named_by_its_place(cancer_selection, key, value, message):
    content = EvidenceDisplay.from_selection(cancer_selection).to_dict()
    with pytest.raises(InputError, match=message):
        EvidenceDisplay.from_dict({**content, key: value})


def test_files_are_of_the_kind_that_their_suffix_says_and_hold_no_date(cancer_selection, tmp_path):
    display = make("penalty", cancer_selection)
    drawings = [display.plot() for _ in range(2)]
    for suffix, head in (("PNG", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
        first, second = (drawing.save(tmp_path / f"{i}.{suffix}").read_bytes() for i, drawing in enumerate(drawings))
        assert first == second
        assert first.startswith(head)
        assert b"Date" not in first
        if suffix == "PNG":  # printed at 300 dots per inch on 16 centimeters
            assert int.from_bytes(first[16:20], "big") == pytest.approx(16 / 2.54 * 300, rel=0.001)


def test_paths_that_cannot_be_written_are_refused(cancer_selection, tmp_path, monkeypatch):
    display = make("penalty", cancer_selection)
    with pytest.raises(InputError, match=r"path must end in .png, .svg or .pdf; got '.*figure.jpg'"):
        display.save(tmp_path / "figure.jpg")
    with pytest.raises(InputError, match="must lie in a directory that exists"):
        display.save(tmp_path / "nowhere" / "figure.png")
    with pytest.raises(InputError, match="format must be one of"):
        display.plot().render("gif")

    def full(path, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ubayfs._files.write_atomically", full)
    with pytest.raises(UBayFSError, match=r"figure.svg could not be written \(No space left on device\)"):
        display.save(tmp_path / "figure.svg")
    assert list(tmp_path.iterdir()) == []


@contextmanager
def without_pyplot():
    """Let an import of pyplot fail, which keeps figures until they are closed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "matplotlib.pyplot", None)
        patch.delattr(matplotlib, "pyplot", raising=False)
        yield


@pytest.fixture(scope="module")
def drawn(ugly_selection, ugly_blocks, large_selection):
    """Function (name, which) -> a drawing that is on its page, "ugly", with its SVG, or "large"; made once."""

    @cache
    @without_pyplot()
    def draw(name, which):
        selection, blocks = (ugly_selection, ugly_blocks) if which == "ugly" else (large_selection, None)
        drawing = make(name, selection, blocks).plot()
        drawing.figure.dpi = 72  # that of SVG, by which texts have their places afterwards
        if which == "ugly":
            return drawing, drawing.render("svg")
        drawing.figure.draw_without_rendering()  # what is drawn has its place; nobody looks at the dots
        return drawing, None

    return draw


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("which", ["ugly", "large"])
def test_no_text_is_parsed_clipped_or_hidden(name, which, drawn):
    figure = drawn(name, which)[0].figure
    page = figure.bbox
    for text in words(figure):
        box = text.get_window_extent()
        assert not text.get_usetex()
        assert not text.get_parse_math()
        assert box.x0 >= -1, text
        assert box.y0 >= -1, text
        assert box.x1 <= page.x1 + 1, text
        assert box.y1 <= page.y1 + 1, text


@pytest.mark.parametrize("name", ["evidence", "related", "posterior", "correlation", "convergence"])
def test_names_do_not_overlap(name, drawn):
    for drawing, _ in (drawn(name, "ugly"), drawn(name, "large")):
        labels = [text for text in drawing.ax.texts if name == "convergence" or text.get_gid() == "feature"]
        # Ink of upright text is at most as high as its size; the extent also has room for accents and tails.
        boxes = [label.get_window_extent() for label in labels if not label.get_rotation()]
        assert len(boxes) >= 3
        for first, second in combinations(boxes, 2):
            if first.x0 < second.x1 and second.x0 < first.x1:
                assert abs(first.y0 + first.y1 - second.y0 - second.y1) / 2 >= 0.75 * first.height


@pytest.mark.parametrize("name", NAMES)
def test_a_given_axes_is_drawn_into(name, ugly_selection, ugly_blocks):
    page = Figure(layout="constrained", figsize=(12, 9))
    figure = page.subfigures(1, 2)[1]
    with matplotlib.rc_context({"text.parse_math": True}):
        ax = figure.subplots(2, 1)[1]
        ax.set_yticks([0, 1], ["made", "before"])
        with without_pyplot():
            drawing = make(name, ugly_selection, ugly_blocks).plot(ax)
        page.draw_without_rendering()  # a name that were parsed would raise here
    assert drawing.ax is ax
    assert drawing.figure is figure
    assert ax.get_title(loc="left")
    assert figure.axes[0].get_title(loc="left") == ""


@pytest.mark.parametrize("name", NAMES)
def test_settings_of_the_user_change_nothing_and_stay(name, drawn, ugly_selection, ugly_blocks):
    display, (_, expected) = make(name, ugly_selection, ugly_blocks), drawn(name, "ugly")
    with matplotlib.rc_context({"font.size": 20, "axes.facecolor": "black", "savefig.bbox": "tight"}):
        before = dict(matplotlib.rcParams)
        assert display.plot().render("svg") == expected
        assert dict(matplotlib.rcParams) == before


def test_matplotlib_is_imported_late():
    code = """
import sys
from ubayfs import Evidence, decide, max_size
from ubayfs.plotting import DISPLAYS
X = [[1, 2, 3], [4, 6, 5], [0, 0, 1]]
selection = decide(Evidence.from_sets([[1, 1, 0], [1, 0, 0]]), constraints=max_size(2), X=X)
of_trust = ("comparison", "performance", "survival", "related", "halves", "gene_sets")
alone = [display for name, display in DISPLAYS.items() if name not in (*of_trust, "blocks", "profile")]
displays = [display.from_selection(selection) for display in alone]
displays.append(DISPLAYS["profile"].from_selection(selection, X, [0, 1, 1]))
assert "matplotlib" not in sys.modules
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_without_matplotlib_the_data_are_there_and_the_message_says_what_to_install(cancer_selection, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    display = make("evidence", cancer_selection)
    assert display.n_features == 30
    with pytest.raises(
        MissingDependencyError, match=r'figures need the package matplotlib .*pip install "ubayfs\[plot\]"'
    ):
        display.plot()


def test_a_selection_read_from_a_file_is_drawn_as_far_as_it_goes(cancer_selection, cancer):
    read = Selection.from_dict(json.loads(json.dumps(cancer_selection.to_dict())))
    display = EvidenceDisplay.from_selection(read)
    assert display.features == EvidenceDisplay.from_selection(cancer_selection, constraints=()).features
    assert display.n_models is None
    assert display.links.drawn == ()
    display.plot()
    for name in ("penalty", "sizes"):
        with pytest.raises(
            UBayFSError, match="needs the constraints, which a selection read from a file does not have"
        ):
            DISPLAYS[name].from_selection(read)
    with pytest.raises(InputError, match="selection must have a posterior"):
        DISPLAYS["posterior"].from_selection(read)
    with pytest.raises(InputError, match="X must be given, the data of the fit"):
        DISPLAYS["correlation"].from_selection(read)
    with pytest.raises(InputError, match="evidence must be the Evidence that the selection was made from"):
        DISPLAYS["convergence"].from_selection(read)
    given = DISPLAYS["correlation"].from_selection(read, cancer[0])
    assert given == DISPLAYS["correlation"].from_selection(cancer_selection)
    evidence = cancer_selection.posterior.evidence
    again = DISPLAYS["convergence"].from_selection(read, evidence)
    assert again == DISPLAYS["convergence"].from_selection(cancer_selection)


@pytest.mark.filterwarnings("ignore:No constraint limits")
def test_importances_without_ensemble_and_constraints_are_drawn():
    selection = maximize([0.4, 0.0, 0.2], feature_names=["a", "b", "c"])
    display = EvidenceDisplay.from_selection(selection)
    assert display.votes == (0.4, 0.2)  # nothing speaks for the third
    drawing = display.plot()
    assert drawing.ax.get_xlabel() == "importance"
    penalty = DISPLAYS["penalty"].from_selection(selection)
    assert penalty.curves == ()
    assert "no constraints" in penalty.plot().figure.get_suptitle()
    assert [point.size for point in SizeUtilityDisplay.from_selection(selection).points] == [1, 2, 3]


@pytest.mark.parametrize("name", ["penalty", "sizes"])
def test_something_else_than_a_selection_is_refused(name):
    with pytest.raises(InputError, match="selection must be a Selection, as decide"):
        DISPLAYS[name].from_selection({"features": []})


def test_letters_that_no_font_has_are_a_value(monkeypatch, tmp_path):
    monkeypatch.setattr("ubayfs.plotting.style._fonts_of_other_scripts", tuple)
    selection = maximize([0.4, 0.2], max_size(1), feature_names=["\u6e29\u5ea6", "\u5727\u529b"])
    drawing = EvidenceDisplay.from_selection(selection).plot()
    assert drawing.missing_letters == "\u529b\u5727\u5ea6\u6e29"
    drawing.render(dpi=50)  # without a warning
    with pytest.warns(UBayFSWarning, match="some letters are drawn as boxes") as caught:
        drawing.save(tmp_path / "figure.svg")
    assert len(caught) == 1


def test_a_block_has_the_same_color_in_all_figures():
    names = [f"f{i}" for i in range(8)]
    counts = np.arange(8, 0, -1)
    evidence = Evidence.from_sets(np.arange(10)[:, None] < counts, names)
    # The feature with most votes is excluded; the order of the blocks is not that of importance.
    blocks = {"rest": names[4:], "late": names[2:4], "early": names[1:2], "first": names[:1]}
    constraints = [max_size(4), exclude("f0")]
    X = np.random.default_rng(0).normal(size=(20, 8))
    selection = decide(evidence, constraints=constraints, X=pd.DataFrame(X, columns=names))
    colors = []
    for kind in (EvidenceDisplay, CorrelationDisplay):
        display = kind.from_selection(selection, blocks=blocks)
        cells = [patch for patch in display.plot().ax.patches if patch.get_gid() == "block"]
        found = zip(display.blocks, cells, strict=True)
        colors.append({block: cell.get_facecolor() for (block,), cell in found})
    assert colors[1].keys() == {"early", "late", "rest"}
    assert colors[1].items() <= colors[0].items()
    assert len(set(colors[0].values())) == 4


def test_displays_stored_before_a_field_was_added_are_still_drawn(cancer_selection, cancer_blocks):
    for name, field in (("evidence", "relation"), ("correlation", "palette")):
        content = make(name, cancer_selection, cancer_blocks).to_dict()
        for record in content["links"]["drawn"] if name == "evidence" else [content]:
            del record[field]
        DISPLAYS[name].from_dict(content).plot()


def test_bars_keep_their_room_beside_wide_names_blocks_and_many_constraints():
    names = [f"{'W' * 40}{i}" for i in range(12)]
    blocks = {"M" * 30: names}
    links = [cannot_link([first, second]) for first, second in combinations(names, 2)]
    evidence = Evidence.from_sets([[1] * 12], names)
    selection = decide(evidence, constraints=[max_size(3), *links], blocks=blocks)
    drawing = EvidenceDisplay.from_selection(selection, blocks).plot()
    drawing.figure.draw_without_rendering()
    assert drawing.ax.get_window_extent().width > 1.2 * drawing.figure.dpi
