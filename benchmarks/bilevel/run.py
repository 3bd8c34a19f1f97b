"""Run benchopt's bilevel benchmark with hoag among its solvers, and print its table.

    git clone https://github.com/benchopt/benchmark_bilevel
    python benchmarks/bilevel/run.py benchmark_bilevel quadratics

Each solver has a process of its own, for what JAX has compiled is never given back; at the end
benchopt collects what it has cached. Why its clock is not used as it is: see timed.py.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

import yaml
from benchopt.plotting.default_plots import TablePlot
from benchopt.results import read_results

HERE = Path(__file__).parent


def run(benchmark: Path, name: str) -> Path:
    """All solvers of a configuration, one by one; the file that benchopt writes."""
    shutil.copy(HERE / "solvers" / "hoag.py", benchmark / "solvers" / "hoag.py")
    config = HERE / f"{name}.yml"
    output = benchmark / "outputs" / f"{name}.parquet"
    output.unlink(missing_ok=True)
    for solver in yaml.safe_load(config.read_text())["solver"]:
        _benchopt(benchmark, config, "--output", "one", "-s", solver)
        (benchmark / "outputs" / "one.parquet").unlink(missing_ok=True)
    _benchopt(benchmark, config, "--collect", "--output", name)
    return output


def _benchopt(benchmark: Path, config: Path, *more: str) -> None:
    timed, config = (HERE / "timed.py").resolve(), config.resolve()
    command = [sys.executable, str(timed), "run", ".", "--config", str(config), *more]
    subprocess.run(command, cwd=benchmark, check=False)


def table(output: Path) -> str:
    """benchopt's own table of the last point of every solver, in Markdown."""
    found = read_results(output)
    lines = []
    for dataset in found.dataset_name.unique():
        for objective in found.objective_name.unique():
            columns = TablePlot().get_metadata(found, dataset, objective)["columns"]
            rows = TablePlot().plot(found, dataset, objective)
            lines += [f"{objective}, {dataset}", "", _line(columns), _line("---" for _ in columns)]
            lines += [_line(f"{v:.3g}" if isinstance(v, float) else v for v in row) for row in rows]
    return "\n".join(lines)


def _line(cells) -> str:  # type: ignore[no-untyped-def]
    return "| " + " | ".join(map(str, cells)) + " |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("benchmark", type=Path, help="a checkout of benchopt/benchmark_bilevel")
    parser.add_argument("config", choices=("quadratics", "datacleaning"))
    asked = parser.parse_args()
    print(table(run(asked.benchmark, asked.config)))
