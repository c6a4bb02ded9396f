"""Record what users read of many small studies, and compare what they read today with the record.

``python -m benchmarks.golden`` compares, ``python -m benchmarks.golden --record`` records anew; names of studies limit
both. The studies are in golden_studies.txt, those with mistakes in golden_mistakes.txt; golden_tables.py makes their
data. Of each, the record has what the commands print, their exit codes, and what they write: summary (with the values
behind the figures), report, selected features and study. It is text, so that ``git diff`` shows what changed.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import io
import json
import os
import platform
import re
import shlex
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass, field
from html.parser import HTMLParser
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from threadpoolctl import threadpool_limits

import ubayfs
from ubayfs.cli.main import main as command_line

from .equivalence import PACKAGES
from .golden_tables import tables

HERE = Path(__file__).parent
RECORDS = HERE / "results" / "golden"
VERSIONS = {"python": platform.python_version(), **{name: version(name) for name in ("ubayfs", *PACKAGES)}}
# What a study says unless it has the key itself: little work. One with mistakes gets nothing but data.
DATA = "data: {path: genes.csv, samples: samples.csv, target: diagnosis}"
SMALL = {
    "data": DATA,
    "evidence": "evidence: {n_models: 10}",
    "constraints": "constraints: [max_size: 3]",
    "decision": "decision: {n_alternatives: 1}",
    "trust": "trust: {level: none}",
    "outputs": "outputs: {n_draws: 10}",
}
ADDED = {"studies": SMALL, "mistakes": {"data": DATA}}
FIRST = {"studies": ("check study.yaml", "select study.yaml -o out"), "mistakes": ("check study.yaml",)}
TEXTS = (".json", ".md", ".csv", ".yaml")
WRITTEN = ("*/summary.json", "*/selected_features.csv", "*/report.md", "*/study.yaml", "*.*")
WIDTH, DIGITS, SHOWN_LETTERS, MOST_LINES = 120, 6, 40, 30
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( UTC|\+00:00)")
_VERSION = re.compile(rf"(?<![\w.])({'|'.join(map(re.escape, VERSIONS.values()))})(?![\w.]*\w)")
_TRACEBACK = re.compile(r"! Traceback .*\n(!   .*\n)+")


@dataclass
class Study:
    """A study of one of the two files: the files that it brings along, and the commands that are run in turn."""

    kind: str
    name: str
    files: dict[str, str] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)


def read_studies(kind: str) -> Iterator[Study]:
    """Yield the studies of a kind: ``=== name``, the study line by line, ``> file`` with its text, ``$ command``."""
    for part in re.split(r"^=== ", (HERE / f"golden_{kind}.txt").read_text("utf-8"), flags=re.MULTILINE)[1:]:
        name, *lines = part.rstrip("\n").split("\n")
        study, file = Study(kind, name), "study.yaml"
        for line in lines:
            if line.startswith("$ "):
                study.commands.append(line[2:])
            elif line.startswith("> "):
                file = line[2:]
                study.files[file] = ""
            else:
                study.files[file] = study.files.get(file, "") + line + "\n"
        text = study.files.get("study.yaml", "")
        if text:
            study.commands[:0] = FIRST[kind]
        if text and not text.startswith("# alone"):
            study.files["study.yaml"] += "".join(
                f"{line}\n" for key, line in ADDED[kind].items() if not re.search(rf"^{key}:", text, re.MULTILINE)
            )
        yield study


# -- recording ---------------------------------------------------------------------------------------------------------


def record(study: Study) -> str:
    """Run the commands of a study in a directory of its own; return all that they print and write."""
    before = Path.cwd()
    lines: list[str] = []
    seen: dict[str, list[str]] = {}
    with TemporaryDirectory() as folder, threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other packages; commands show those of ubayfs
        os.chdir(folder)
        try:
            for name, content in {**tables(), **{name: text.encode() for name, text in study.files.items()}}.items():
                Path(name).write_bytes(content)
            given = set(os.listdir())
            for command in study.commands:
                lines += [f"$ ubayfs {command}", *_output(command)]
                for path in dict.fromkeys(path for pattern in WRITTEN for path in sorted(Path().glob(pattern))):
                    if path.is_file() and str(path) not in given:
                        lines += _file(path, seen)
            return steady("\n".join([*lines, ""]))
        finally:
            os.chdir(before)


def steady(text: str) -> str:
    """Return a text without what differs from run to run: the directory, times, versions, lines of the source."""
    text = _TRACEBACK.sub("! Traceback\n", text.replace(os.getcwd(), "FOLDER"))
    return _VERSION.sub("VERSION", _TIME.sub("TIME", text))


def read_json(text: str) -> Any:
    """Return values with few digits: the last ones are those of the machine."""
    return json.loads(text, parse_float=lambda number: float(f"{float(number):.{DIGITS}g}"))


def _output(command: str) -> list[str]:
    """Run a command; return its lines, those of stderr with "! ", and its exit code."""
    word, *arguments = shlex.split(command)
    if word in OTHER_STEPS:
        try:
            return OTHER_STEPS[word](*arguments)
        except Exception as mistake:
            return [f"! {type(mistake).__name__}: {mistake}"]
    out, error = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(error):
        code = command_line([word, *arguments])
    return [*out.getvalue().splitlines(), *(f"! {line}" for line in error.getvalue().splitlines()), f"exit {code}"]


def _file(path: Path, seen: dict[str, list[str]]) -> list[str]:
    """Return the lines of a file that is new or changed; only those that the last of its kind did not have."""
    text = steady(path.read_text("utf-8", errors="replace")) if path.suffix in TEXTS else ""
    now = (pretty(compact(read_json(text))) if path.suffix == ".json" else text).splitlines()
    if not text or seen.get(str(path)) == now:
        return []
    kind = path.suffix if path.suffix in (".json", ".md") else path.name
    earlier = seen.get(kind)
    seen[str(path)] = seen[kind] = now
    if earlier is None:
        return [f"--- {path}", *now]
    changes = list(difflib.unified_diff(earlier, now, n=0))[2:]
    gone = sum(line.startswith("-") for line in changes)
    return [f"--- {path}, in place of {gone} lines", *(line[1:] for line in changes if line.startswith("+"))]


def compact(value: Any) -> Any:
    """Return values with sorted keys; of long lists of values and of long texts the beginning and a checksum."""
    if isinstance(value, dict):
        return {key: compact(value[key]) for key in sorted(value)}
    text = json.dumps(value, ensure_ascii=False)
    if isinstance(value, list) and ("{" in text or len(text) <= WIDTH):
        return [compact(item) for item in value]
    if isinstance(value, list):
        return f"{text[:SHOWN_LETTERS]}... {len(value)}: {_checksum(text)}"
    return f"{value[:SHOWN_LETTERS]}... {_checksum(text)}" if len(text) > 2 * SHOWN_LETTERS else value


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def pretty(value: Any, indent: str = "") -> str:
    """Return JSON with as much on a line as fits."""
    text = json.dumps(value, ensure_ascii=False)
    if len(indent + text) <= WIDTH or not isinstance(value, dict | list):
        return text
    pairs = value.items() if isinstance(value, dict) else (("", item) for item in value)
    parts = [f"{key and json.dumps(key) + ': '}{pretty(item, indent + ' ')}" for key, item in pairs]
    lines = [""]
    for part in [f"{part}," for part in parts[:-1]] + parts[-1:]:
        if "\n" in part + lines[-1] or len(f"{indent} {lines[-1]} {part}") > WIDTH:
            lines.append("")
        lines[-1] = f"{lines[-1]} {part}".strip()
    return "\n".join([text[0], *(f"{indent} {line}" for line in lines if line), indent + text[-1]])


def _questions(directory: str) -> list[str]:
    """Return what an expert should be asked about a result: the command line does not have it."""
    result = ubayfs.results.read_result(directory)
    asked = ubayfs.questions(ubayfs.study.resolve_study(result.study).decide(result.evidence))
    return [json.dumps(compact(read_json(json.dumps(asdict(question))))) for question in asked]


class _Text(HTMLParser):
    """Collects what a page shows, one text per line, without styles and scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.hidden = False
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        self.hidden = tag in ("style", "script")

    def handle_data(self, data: str) -> None:
        if data.strip() and not self.hidden:
            self.lines.append(" ".join(data.split()))


def _page(path: str) -> list[str]:
    """Return the text of an HTML page."""
    return _Text(Path(path).read_text("utf-8")).lines


OTHER_STEPS = {"questions": _questions, "page": _page}


# -- comparing ---------------------------------------------------------------------------------------------------------


def compare(studies: Iterable[Study], texts: Iterable[str]) -> bool:
    """Print how records differ from those stored; return whether they are equal."""
    versions = RECORDS / "versions.json"
    recorded = json.loads(versions.read_text("utf-8")) if versions.exists() else {}
    for package, here in VERSIONS.items():
        if (there := recorded.get(package)) != here:
            print(f"{package} is {here} here and was {there}: numbers may differ for that alone.")
    total, unequal = Counter[str](), Counter[str]()
    for study, now in zip(studies, texts, strict=True):
        path, total[study.kind] = _path(study), total[study.kind] + 1
        before = path.read_text("utf-8") if path.exists() else ""
        if before == now:
            continue
        unequal[study.kind] += 1
        changes = list(difflib.unified_diff(before.splitlines(), now.splitlines(), lineterm="", n=1))[2:]
        print(f"\n{study.kind} '{study.name}'{'' if before else ', not recorded yet'}")
        print("\n".join(line[:400] for line in changes[:MOST_LINES]))
        if len(changes) > MOST_LINES:
            print(f"and {len(changes) - MOST_LINES} more lines")
    print(*(f"\n{kind}: {n - unequal[kind]} equal, {unequal[kind]} different" for kind, n in total.items()), sep="")
    return not unequal.total()


def save(studies: Iterable[Study], texts: Iterable[str], everything: bool) -> None:
    """Write records; those of studies that are gone are removed."""
    stale = set(RECORDS.glob("*/*.txt")) if everything else set()
    for study, text in zip(studies, texts, strict=True):
        path = _path(study)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="\n")
        stale.discard(path)
    for path in stale:
        path.unlink()
    (RECORDS / "versions.json").write_text(json.dumps(VERSIONS, indent=2) + "\n", "utf-8", newline="\n")


def _path(study: Study) -> Path:
    return RECORDS / study.kind / f"{study.name}.txt"


def main(arguments: list[str] | None = None) -> int:
    """Record or compare; return 1 when anything differs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.golden", description=__doc__)
    parser.add_argument("names", nargs="*", help="studies; default all")
    parser.add_argument("--record", action="store_true", help="write the records anew instead of comparing")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes (default: 1)")
    asked = parser.parse_args(arguments)
    os.environ["COLUMNS"] = str(WIDTH)  # of help
    studies = [study for kind in ADDED for study in read_studies(kind)]
    if unknown := set(asked.names) - {study.name for study in studies}:
        parser.error(f"there are no studies {', '.join(sorted(unknown))}")
    studies = [study for study in studies if not asked.names or study.name in asked.names]
    start = time.perf_counter()
    if asked.workers > 1:
        with ProcessPoolExecutor(asked.workers, mp_context=get_context("spawn")) as pool:
            texts = list(pool.map(record, studies))
    else:
        texts = list(map(record, studies))
    size = sum(map(len, texts)) / 1e6
    print(f"{len(studies)} studies in {time.perf_counter() - start:.0f} s, {size:.2f} MB")
    if asked.record:
        save(studies, texts, not asked.names)
        return 0
    return 0 if compare(studies, texts) else 1


if __name__ == "__main__":
    sys.exit(main())
