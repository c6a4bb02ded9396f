"""Campaigns against files: kills, flipped bits and random mutations, with the outcome of each attempt counted.

    python -m benchmarks.campaigns kills --n 200 --seed 1
    python -m benchmarks.campaigns commands --n 40
    python -m benchmarks.campaigns flips --n 500
    python -m benchmarks.campaigns mutations --n 3000 --kind study

What may happen: a command succeeds or says what is wrong (exit codes 0 and 2). What may not: a traceback, more than
`LIMIT` seconds of processor time, a message of more than `LONGEST` characters, a report that changed without a word, a
result that is neither the old nor the new one. Inputs of bad outcomes are stored in ``campaign-failures``.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from ubayfs.cli.main import main as command
from ubayfs.exceptions import UBayFSError
from ubayfs.results import read_result
from ubayfs.results.file_set import FileSet, changed_files

LIMIT = 20  # seconds of processor time
LONGEST = 6000  # characters of a message
FAILURES = Path("campaign-failures")
STUDY = """\
data: {{path: cells.csv, target: ill, ignore: [id]}}
evidence: {{selector: fisher, n_models: 8, n_features_per_model: 2, seed: {seed}}}
prior: {{weights: {{features: {{A: likely, B: 3}}, default: 1.5}}}}
blocks: {{first: [A, B], second: [C, D]}}
constraints:
  - max_size: {{n: 2, rho: hard}}
  - cannot_link: [A, B]
decision: {{n_alternatives: 1, seed: 0, time_limit: 5}}
outputs: {{figures: [], n_draws: 2}}
"""
# What random bytes would hardly ever be.
NASTY = [
    "9" * 400, "1e999", "-1e999", ".nan", ".inf", "sNaN", "\0", "\x1b[31m", "\ud800", "=1+1", "@x", "x" * 5000,
    "[" * 300, "{a: " * 200, "&a [*a, *a]", "*a", "!!python/object:os.system x", "- " * 100, "0x10", "\t", "\r",
    '"', "'", ",,,,,,", "1,5", "-0", "1e-400", "true", "null", "~", "[]", "{}", "../" * 50, "a/\0", "-" * 3, "...",
]  # fmt: skip
VALUES = [
    10**400,
    -(10**400),
    1e308,
    -1,
    0,
    2**63,
    2**64,
    1.5,
    True,
    None,
    "",
    "\ud800",
    "\x1b[2J",
    "\0",
    [],
    {},
    [[]],
    "inf",
    "nan",
]


def run(*arguments: object) -> tuple[int, str, str]:
    """Run a command here; returns its code and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = command([str(argument) for argument in arguments])
    return code, out.getvalue(), err.getvalue()


class TimeoutReached(BaseException):
    """A command took too long."""


def outcome(*arguments: object) -> str:
    """Run a command and say how it ended; anything but "done" and "refused" is bad."""

    def stop(*_: object) -> None:
        raise TimeoutReached

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    try:
        code, out, err = run(*arguments)
    except TimeoutReached:
        return "TOO LONG"
    except BaseException as error:
        return f"ESCAPED {type(error).__name__}: {error}"[:200]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    if code not in (0, 2) or "Traceback" in err:
        return f"BUG {err.strip().splitlines()[-2] if len(err.splitlines()) > 1 else err}"[:200]
    if len(err) > LONGEST:
        return f"LONG MESSAGE ({len(err)})"
    if "\x1b" in out + err or "\0" in out + err:
        return "RAW CONTROL CHARACTER"
    return "done" if code == 0 else "refused"


def project(folder: Path, seed: int = 0) -> Path:
    """Write a table and a study; returns the study."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    ill = np.arange(30) % 2
    frame = pd.DataFrame(rng.normal(size=(30, 6)) + np.outer(ill, [3, 2, 1, 0, 0, 0]), columns=list("ABCDEF")).round(3)
    frame.insert(0, "id", [f"p{i}" for i in range(30)])
    frame["ill"] = np.where(ill, "yes", "no")
    frame.to_csv(folder / "cells.csv", index=False)
    (folder / "study.yaml").write_text(STUDY.format(seed=seed))
    return folder / "study.yaml"


def contents(directory: Path) -> dict[str, bytes]:
    return {p.relative_to(directory).as_posix(): p.read_bytes() for p in sorted(directory.rglob("*")) if p.is_file()}


def reports(directory: Path, scratch: Path) -> object:
    """Return everything that commands make of a result; or None if they refuse it."""
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    targets = [scratch / f"r.{suffix}" for suffix in ("html", "md", "json")]
    made = [outcome("report", directory, *[word for target in targets for word in ("-o", target)])]
    made += [outcome("compare", directory, directory), outcome("decide", directory)]
    return {"outcomes": made, **contents(scratch)}


# -- campaigns ---------------------------------------------------------------------------------------------------------


def flips(n: int, rng: np.random.Generator, folder: Path) -> Counter[str]:
    """Flip single bits of every file of a result: it is refused, or what commands make of it is the same."""
    assert run("select", project(folder), "-o", folder / "out")[0] == 0
    good, expected = contents(folder / "out"), reports(folder / "out", folder / "scratch")
    found: Counter[str] = Counter()
    for name, content in good.items():
        for _ in range(n // len(good) + 1):
            position, bit = int(rng.integers(len(content))), int(rng.integers(8))
            damaged = bytearray(content)
            damaged[position] ^= 1 << bit
            (folder / "out" / name).write_bytes(damaged)
            made = reports(folder / "out", folder / "scratch")
            if all(word == "refused" for word in made["outcomes"]):
                found[f"{name}: refused"] += 1
            elif made == expected:
                found[f"{name}: the same reports"] += 1
            else:
                found[f"{name}: BAD {made['outcomes']}"] += 1
                keep(f"flip-{name.replace('/', '-')}-{position}-{bit}", bytes(damaged))
        (folder / "out" / name).write_bytes(content)
    return found


def kills(n: int, rng: np.random.Generator, folder: Path) -> Counter[str]:
    """Kill programs that replace one result by another again and again, at random moments."""
    results = []
    for seed in (0, 1):
        assert run("select", project(folder, seed), "-o", folder / f"r{seed}")[0] == 0
        results.append({name: text for name, text in contents(folder / f"r{seed}").items() if name != "manifest.json"})
    directory, notes = folder / "out", {"my notes.txt": b"mine", "figures/mine.png": b"mine"}
    files = FileSet(directory, tuple(sorted({*results[0], *results[1], "figures/evidence.png"})))
    results[1]["figures/evidence.png"] = b"figure"

    def write(result: dict[str, bytes]) -> None:
        with files.reserved(), files.staged() as new:
            (new / "figures").mkdir()
            for name, content in result.items():
                (new / name).write_bytes(content)

    write(results[0])
    (directory / "figures").mkdir()
    for name, content in notes.items():
        (directory / name).write_bytes(content)
    found: Counter[str] = Counter()
    for _ in range(n):
        child = os.fork()
        if child == 0:
            while True:
                for result in results:
                    write(result)
        time.sleep(float(rng.uniform(0.001, 0.05)))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        left = ", ".join(sorted(path.name for path in directory.iterdir() if path.name[:8] == ".ubayfs-")) or "nothing"
        try:
            files.settle()
            digests = files.manifest() or {}
            here = {name: content for name, content in contents(directory).items() if name in digests}
            whole = here in results and not changed_files(digests, here)
            write(results[0])  # whatever was left is gone then
            after = contents(directory)
            after.pop("manifest.json")
            found[f"left {left}: {'whole' if whole and after == results[0] | notes else 'BAD'}"] += 1
        except UBayFSError as error:
            found[f"left {left}: BAD {error}"[:200]] += 1
    return found


def commands(n: int, rng: np.random.Generator, folder: Path) -> Counter[str]:
    """Kill ``ubayfs select --force`` at random moments; the directory holds the earlier result or the new one."""
    study, directory = project(folder), folder / "out"
    for _ in range(2):  # the first time modules are imported
        start = time.perf_counter()
        assert run("select", study, "-o", directory, "--force", "--seed", 0)[0] == 0
    duration = time.perf_counter() - start
    (directory / "my notes.txt").write_text("mine")
    found: Counter[str] = Counter()
    earlier = 0
    for seed in range(1, n + 1):
        child = os.fork()
        if child == 0:
            os._exit(run("select", study, "-o", directory, "--force", "--seed", seed)[0])
        time.sleep(float(rng.uniform(0, 1.3 * duration)))
        os.kill(child, signal.SIGKILL)
        was_killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
        left = ", ".join(sorted(path.name for path in directory.iterdir() if path.name[:8] == ".ubayfs-"))
        label = f"{'killed' if was_killed else 'finished'}, left {left or 'nothing'}"
        try:
            now = read_result(directory).evidence.settings["seed"]["entropy"]
        except UBayFSError as error:
            found[f"{label}: BAD {error}"[:200]] += 1
            continue
        whole = now in (earlier, seed) and (directory / "my notes.txt").read_text() == "mine"
        found[f"{label}: {'whole' if whole else 'BAD'}"] += 1
        earlier = now
    return found


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """Return some bytes after a few random changes."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(data) + 1))
        to = min(len(data), at + int(rng.geometric(0.1)))
        kind = rng.integers(7)
        if kind == 0:
            data[at:to] = b""
        elif kind == 1:
            data[at:at] = rng.bytes(int(rng.integers(1, 5)))
        elif kind == 2 and at < len(data):
            data[at] ^= 1 << int(rng.integers(8))
        elif kind == 3:
            data[at:at] = data[at:to] * int(rng.integers(1, 50))
        elif kind == 4:
            other = int(rng.integers(len(data) + 1))
            data[at:to] = data[other : other + int(rng.integers(1, 60))]
        elif kind == 5 and rng.random() < 0.2:
            del data[at:]
        else:
            data[at:to] = str(rng.choice(NASTY)).encode("utf-8", "surrogatepass")
    return bytes(data)


def mutated_json(content: bytes, rng: np.random.Generator) -> bytes:
    """Return JSON of which one value, anywhere, is another one."""
    value = json.loads(content)
    node, places = value, []
    while isinstance(node, dict | list) and node:
        key = list(node)[int(rng.integers(len(node)))] if isinstance(node, dict) else int(rng.integers(len(node)))
        places.append((node, key))
        node = node[key]
    holder, key = places[int(rng.integers(len(places)))]
    if isinstance(holder, dict) and rng.random() < 0.2:
        del holder[key]
    else:
        holder[key] = VALUES[int(rng.integers(len(VALUES)))]
    return json.dumps(value).encode("utf-8", "surrogatepass")


def mutations(n: int, rng: np.random.Generator, folder: Path, kind: str = "all") -> Counter[str]:
    """Change files at random and use them."""
    study = project(folder)
    assert run("select", study, "-o", folder / "out")[0] == 0
    good = contents(folder)
    aims = {
        "study": ("study.yaml", ("check", study)),
        "table": ("cells.csv", ("check", study)),
        "select": ("cells.csv", ("select", study, "-o", folder / "new", "--force")),
        "init": ("cells.csv", ("init", folder / "cells.csv", "-o", folder / "new.yaml", "--force")),
        "used study": ("out/study.yaml", ("decide", folder / "out")),
        "evidence": ("out/evidence.npz", ("decide", folder / "out")),
        "selection": ("out/result.json", ("compare", folder / "out", folder / "out")),
        "summary": (
            "out/summary.json",
            ("report", folder / "out", "-o", folder / "r.html", "-o", folder / "r.md", "--force"),
        ),
        "summary again": ("out/summary.json", ("decide", folder / "out", "-o", folder / "again", "--force")),
        "manifest": ("out/manifest.json", ("decide", folder / "out")),
    }
    found: Counter[str] = Counter()
    chosen = [name for name in aims if kind in ("all", name)]
    for number in range(n):
        name = chosen[number % len(chosen)]
        file, arguments = aims[name]
        change = mutated_json if file.endswith("json") and rng.random() < 0.7 else mutated
        content = change(good[file], rng)
        (folder / file).write_bytes(content)
        if file.startswith("out/") and file != "out/manifest.json":
            (folder / "out/manifest.json").unlink(missing_ok=True)  # else nothing is read that was changed
        found[f"{name}: {(what := outcome(*arguments))}"] += 1
        if what not in ("done", "refused"):
            keep(f"{name}-{number}{Path(file).suffix}", content)
        (folder / file).write_bytes(good[file])
        (folder / "out/manifest.json").write_bytes(good["out/manifest.json"])
    return found


def keep(name: str, content: bytes) -> None:
    print(f"bad: {name}", flush=True)
    FAILURES.mkdir(exist_ok=True)
    (FAILURES / name).write_bytes(content)


def main() -> int:
    """Run a campaign and print how often each outcome was seen; 1 if any was bad."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("campaign", choices=["kills", "commands", "flips", "mutations"])
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", default="all")
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    warnings.simplefilter("ignore")
    more = {"kind": arguments.kind} if arguments.campaign == "mutations" else {}
    with tempfile.TemporaryDirectory() as folder:
        found = globals()[arguments.campaign](arguments.n, rng, Path(folder), **more)
    for what, times in sorted(found.items()):
        print(f"{times:6}  {what}")
    fine = ("done", "refused", "the same reports", "whole")
    return int(not all(what.endswith(fine) for what in found))


if __name__ == "__main__":
    sys.exit(main())
