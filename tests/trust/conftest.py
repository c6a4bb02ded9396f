import pytest


@pytest.fixture(scope="module", autouse=True)
def small_forests():
    """Predictors of a hundred trees predict as well, ten times as slowly."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ubayfs.trust.predictors.N_TREES", 10)
        yield
