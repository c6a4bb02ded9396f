"""What names, patterns and positions mean in a study."""

import pytest

from ubayfs.exceptions import InputError
from ubayfs.knowledge.patterns import Names

NAMES = ["radius_mean", "radius_worst", "area_mean", "area_worst", "texture", "a*b", "no", "7"]


@pytest.mark.parametrize(
    ("item", "found"),
    [
        ("texture", ["texture"]),
        ("radius*", ["radius_mean", "radius_worst"]),
        ("*_mean", ["radius_mean", "area_mean"]),
        ("a*b", ["a*b"]),  # a name that exists is that name
        ("a*", ["area_mean", "area_worst", "a*b"]),
        ("[at]*", ["area_mean", "area_worst", "texture", "a*b"]),
        ("tex?ure", ["texture"]),
        (4, ["texture"]),
    ],
)
def test_what_an_item_means(item, found):
    assert Names(NAMES).find(item) == found


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("textur", r"^'textur' is not a feature\. Did you mean 'texture'\?$"),
        ("Radius*", r"^'Radius\*' matches no feature\."),  # case counts
        ("raduis_mean*", r"^'raduis_mean\*' matches no feature\. Did you mean 'radius_mean'\?$"),
        ("zzz", r"^'zzz' is not a feature\. There are 8 features, 'radius_mean' first\.$"),
        (7, r"^7 is neither|^7 is a position"),
        (99, r"^99 is neither the name of a feature nor a position \(they count from 0 to 7\)\.$"),
        (-1, r"^-1 is neither the name of a feature nor a position"),
    ],
)
def test_what_means_nothing(item, message):
    names = Names(NAMES if item != 7 else [*NAMES[:-1], "x", "7", "y"])
    with pytest.raises(InputError, match=message):
        names.find(item)


def test_a_number_may_be_the_name_of_a_feature():
    assert Names(["a", "b", "12"]).find(12) == ["12"]
    with pytest.raises(
        InputError, match=r"^1 is a position here, that of feature 'b' .* also a feature called '1'\. Put it"
    ):
        Names(["a", "b", "1"]).find(1)
    assert Names(["0", "1", "2"]).find(1) == ["1"]


def test_a_date_is_explained():
    with pytest.raises(InputError, match=r"'2-Sep' is not a feature\. A spreadsheet may have .*: SEPT2 or SEPTIN2\?"):
        Names(["TP53", "SEPTIN2"]).find("2-Sep")
