"""Studies of several sites are decided on by the command line; the app says so before it reads any data."""

import pytest

from ubayfs.app.stages import Stages
from ubayfs.app.state import State
from ubayfs.study import DataSection, Study
from ubayfs.study.schema import Cohorts

STUDIES = {
    "data.sites": Study(DataSection("nowhere.csv", target="status", sites="hospital")),
    "cohorts": Study(DataSection(""), cohorts=Cohorts({"Oslo": "oslo", "Graz": "graz"})),
}


@pytest.mark.parametrize("key", STUDIES)
def test_a_study_of_several_sites_is_refused_with_its_key(tmp_path, key):
    stages = Stages(tmp_path)
    facts, problems = stages.set_state(State("sites", STUDIES[key]))
    assert facts.data is None
    (problem,) = problems.entries
    assert ".".join(map(str, problem.path)) == key
    assert "ubayfs select" in problem.message
