"""Smoke test of an installed ubayfs: `python smoke.py EXTRA` tries what that extra promises, "" the library alone.

Run by .ci/release-check in an environment that has the built package and nothing else of this repository.
"""

import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

import ubayfs

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1], 20)
X = pd.DataFrame(RNG.normal(size=(40, 12)), columns=[f"g{i}" for i in range(12)])
X["g3"] += 3 * Y


def decide() -> ubayfs.decision.Selection:
    """Run the method."""
    evidence = ubayfs.collect_evidence(X, Y, n_models=10, n_features_per_model=3, random_state=0)
    return ubayfs.decide(evidence, weights={"g3": "likely"}, constraints=ubayfs.max_size(1, rho=float("inf")))


def library() -> None:
    """Try ensemble, decision and estimator; what an extra would bring is refused by its name."""
    assert decide().features == ("g3",)
    selector = ubayfs.UBayFSSelector(max_features=1, n_models=10, random_state=0).fit(X, Y)
    assert selector.get_feature_names_out().tolist() == ["g3"]
    if find_spec("matplotlib") is None:
        try:
            plot(Path())
        except ubayfs.exceptions.MissingDependencyError as error:
            assert "ubayfs[plot]" in str(error)
        else:
            raise AssertionError("plotting without matplotlib")


def plot(folder: Path) -> None:
    """Draw a figure."""
    from ubayfs.plotting import EvidenceDisplay

    EvidenceDisplay.from_selection(decide()).save(folder / "votes.png")


def cli(folder: Path) -> None:
    """Run the demo as a user does."""
    program = Path(sys.executable).with_name("ubayfs")
    subprocess.run([program, "demo", "-o", folder / "demo", "--trust", "none"], check=True, stdout=subprocess.DEVNULL)
    assert (folder / "demo" / "results" / "report.html").stat().st_size > 10_000


def table(folder: Path, suffix: str) -> None:
    """Read a table in a format that needs a package of its own."""
    path = folder / f"cells{suffix}"
    frame = X.assign(status=Y)
    (frame.to_excel if suffix == ".xlsx" else frame.to_parquet)(path, index=False)
    data = ubayfs.read_data(path, target="status")
    assert data.feature_names.tolist() == list(X)


def anndata(folder: Path) -> None:
    """Take an AnnData object, and write the answer into it."""
    from anndata import AnnData

    adata = AnnData(X.to_numpy(), obs=pd.DataFrame({"status": Y}, index=[str(i) for i in range(len(Y))]))
    adata.var_names = list(X)
    evidence = ubayfs.collect_evidence(adata, target="status", n_models=10, n_features_per_model=3, random_state=0)
    ubayfs.annotate(adata, evidence)
    assert adata.var["ubayfs_votes"].sum() == evidence.counts.sum()


def dask(folder: Path) -> None:
    """Run an ensemble on a cluster of this machine."""
    from ubayfs.workers import on_cluster

    with on_cluster():
        assert decide().features == ("g3",)


def app(folder: Path) -> None:
    """Load what the app is made of."""
    import ubayfs.app.server  # noqa: F401


CHECKS = {
    "": (),
    "plot": (plot,),
    "cli": (plot, cli),
    "excel": (lambda folder: table(folder, ".xlsx"),),
    "parquet": (lambda folder: table(folder, ".parquet"),),
    "anndata": (anndata,),
    "dask": (dask,),
    "app": (plot, cli, app),
}
CHECKS["all"] = tuple(dict.fromkeys(check for checks in CHECKS.values() for check in checks))

if __name__ == "__main__":
    library()
    with tempfile.TemporaryDirectory() as name:
        for check in CHECKS[sys.argv[1]]:
            check(Path(name))
