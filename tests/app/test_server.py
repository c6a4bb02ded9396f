"""The command `ubayfs app` before its server runs, and what it finds out about files."""

import asyncio
import subprocess
import sys
from itertools import permutations

import pytest

from ubayfs import max_size
from ubayfs.app.guard import Access
from ubayfs.app.intake import begin, inspect
from ubayfs.app.server import bound_socket, impatient
from ubayfs.app.state import State
from ubayfs.app.workbench import Workbench
from ubayfs.cli.main import main
from ubayfs.exceptions import InputError
from ubayfs.study import Study
from ubayfs.study.schema import DataSection


def test_the_next_free_port_is_taken_and_a_given_one_must_be_free():
    with bound_socket("127.0.0.1", None) as first, bound_socket("127.0.0.1", None) as second:
        ports = [each.getsockname()[1] for each in (first, second)]
        assert Access().port <= ports[0] < ports[1] < Access().port + 20
        with pytest.raises(InputError, match=f"port {ports[0]}"):
            bound_socket("127.0.0.1", ports[0])
    with pytest.raises(InputError, match="--host"):
        bound_socket("192.0.2.1", 0)  # an address of nobody


@pytest.mark.parametrize("source", ["missing.yaml", "missing.csv"])
def test_a_source_that_is_not_there_is_reported(tmp_path, capsys, source, monkeypatch):
    pytest.importorskip("nicegui")
    monkeypatch.chdir(tmp_path)
    assert main(["app", source, "--no-browser", "--port", "0"]) == 2
    assert source in capsys.readouterr().err


def test_without_nicegui_the_line_that_installs_it_is_shown(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "nicegui", None)
    assert main(["app", "--no-browser"]) == 2
    assert 'pip install "ubayfs[app]"' in capsys.readouterr().err


BEGUN = b"GET / HTTP/1.1\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "answered"),
    [
        (b"", b""), (b"GET / HT", b""), (b"GET / HTTP/1.1\r\nHost: x\r\n", b""),
        (BEGUN, b"204"), (BEGUN + b"GET", b"204"),
        (b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nhalf", b""),
        (b"POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody", b"204"),
    ],
)  # fmt: skip
def test_a_request_that_is_not_sent_completely_is_given_up(sent, answered):
    uvicorn = pytest.importorskip("uvicorn")

    async def app(scope, receive, send):
        while (message := await receive()).get("more_body"):
            pass
        if message["type"] == "http.request":
            await asyncio.sleep(0.1)  # longer than two looks
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body"})

    async def visit():
        config = uvicorn.Config(app, log_level="critical", lifespan="off", timeout_keep_alive=1000)
        state = uvicorn.server.ServerState()
        server = await asyncio.get_running_loop().create_server(lambda: impatient(0.01)(config, state, {}), "127.0.0.1")
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(sent)
            got = await asyncio.wait_for(reader.read(), 60)  # until it is closed
            writer.close()
        return got

    assert asyncio.run(visit())[9:12] == answered


def test_nothing_else_imports_nicegui():
    code = "import sys, ubayfs, ubayfs.app.library, ubayfs.app.intake; from ubayfs.cli.main import main; "
    code += "main(['app', '--help']); assert 'nicegui' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert done.returncode == 0, done.stderr


def write_cohort(folder):
    """Write two tables of the same samples, genes in rows, and a sample sheet."""
    samples = [f"s{i}" for i in range(12)]
    for name, genes in (("mirna", 20), ("rppa", 15)):
        rows = [",".join([f"{name}{g}", *(str((g * 7 + i * 13) % 10 / 3) for i in range(12))]) for g in range(genes)]
        (folder / f"{name}.csv").write_text("\n".join([",".join(["gene", *samples]), *rows]))
    sheet = ["sample,outcome", *(f"{name},{'case' if i % 2 else 'control'}" for i, name in enumerate(samples))]
    (folder / "clinical.csv").write_text("\n".join(sheet))


def test_what_init_would_write_is_found_out(tmp_path):
    write_cohort(tmp_path)
    found = inspect(["mirna.csv", "rppa.csv"], "clinical.csv", str(tmp_path))
    data = found.study["data"]
    assert data["path"] == {"mirna": "mirna.csv", "rppa": "rppa.csv"}
    assert (data["samples"], data["features_in"], data["target"]) == ("clinical.csv", "rows", "outcome")
    assert found.columns[0] == "outcome"
    assert not found.is_undecided


@pytest.mark.parametrize("order", list(permutations(["mirna.csv", "rppa.csv", "people.csv"])))
def test_files_in_any_order_make_the_same_study_with_the_table_of_text_as_sample_sheet(tmp_path, order):
    write_cohort(tmp_path)
    (tmp_path / "clinical.csv").rename(tmp_path / "people.csv")
    bench = Workbench.create(tmp_path / "a.app", State.of("a", Study(DataSection(""))), None)
    for path in order:
        paths, samples = bench.state.study.data.path, bench.state.study.data.samples
        tables = paths.values() if isinstance(paths, dict) else filter(None, [paths])
        found = inspect([*tables, path], samples, str(tmp_path), propose=True)
        begin(bench, found)
        sheet = found.proposed_sheet
    data, rules = bench.state.study.data, bench.state.rules
    assert (data.path, data.samples, data.target) == (
        {"mirna": "mirna.csv", "rppa": "rppa.csv"}, "people.csv", "outcome"
    )  # fmt: skip
    assert [rule.constraint for rule in rules] == [max_size(10)]
    assert sheet == (None if "people.csv" in order[:2] else "people.csv")
    assert inspect(["rppa.csv", "people.csv"], None, str(tmp_path), propose=True).proposed_sheet == "people.csv"
    assert inspect(["rppa.csv", "mirna.csv"], None, str(tmp_path), propose=True).proposed_sheet is None
    bench.close()


def test_a_target_that_is_gone_is_looked_for_anew(tmp_path):
    write_cohort(tmp_path)
    found = inspect(["mirna.csv"], "clinical.csv", str(tmp_path), "survival")
    assert found.study["data"]["target"] == "outcome"
