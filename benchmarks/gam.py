"""Additive models beside pyGAM, statsmodels and R's mgcv: error to the truth, coverage, seconds.

    python benchmarks/gam.py truth            six known terms, ten seeds, three families; an hour
    python benchmarks/gam.py textbook         mgcv's own example, the same model in both
    python benchmarks/gam.py large            10⁵ × 8 terms; 2000 × 40 of which 30 are noise
    python benchmarks/gam.py --quick          small versions of all three, in five minutes
    python benchmarks/gam.py truth --store fits.jsonl --again hoag

Terms are those of `_gam_data.py`. The error is the root mean square of the linear predictor less
the true one on as many fresh rows; coverage the share of fresh rows at which a pointwise band of
95 % holds the truth (of terms: the truth less its mean over the rows fitted on, and the band is of
the term and the intercept together, ours and mgcv's "iterms"). A straight line's band holds it
nearly everywhere or nowhere, so that coverage by term is coarse in ten seeds. One thread each;
seconds are the processor's. R is as it is installed: with its reference BLAS it is slower than
with a fast one. --store keeps every fit's figures, and what it has is not run again, except those
methods whose names begin with what --again says.

Everybody has about 20 basis functions a term. mgcv's s(x, bs = "ps", k = K, m = c(2, 2)) is a
cubic B-spline with K coefficients and squared second differences of them; its K − 2 knots are
uniform from min x − r/1000 to max x + r/1000, r = max x − min x (three more follow on each side).
The same in ours is smooth(j, knots=<those K − 2 knots>, vanish=False). mgcv divides the penalty
matrix by S.scale = ‖S‖₁ / ‖X‖∞², so that the plain penalty is sp / S.scale.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _gam_data import EIGHT, FORTY, SIX, Rows, simulated, textbook
from _gam_rivals import LINKS, Band, Failed, Fit, Method, Mgcv, limited, pygam, statsmodels
from _measure import alone, say

from hoag._core.numeric import Array

FAMILIES = ["gaussian", "binomial", "poisson"]
KNOTS = 20  # of ours, both ends included: 22 basis functions
PS = f"s({{}}, bs = 'ps', k = {KNOTS + 2}, m = c(2, 2))"


def ours(
    rows: Rows,
    fresh: Array,
    family: str,
    cv: Any = "reml",
    knots: Any = KNOTS,
    tol: Any = "auto",
    **kinds: Any,
) -> Fit:
    """The one place that knows hoag's interface."""
    try:
        from hoag import GAMClassifierCV, GAMRegressorCV, gam
    except ImportError:
        raise Failed("hoag has no additive models") from None
    p = rows.X.shape[1]
    every = knots if isinstance(knots, list) else p * [knots]
    terms = [gam.smooth(j, knots=every[j], **kinds) for j in range(p)]
    start = time.process_time()
    if family == "binomial":
        model = GAMClassifierCV(terms, cv=cv, tol=tol).fit(rows.X, rows.y)
    else:
        model = GAMRegressorCV(terms, family=family, cv=cv, tol=tol).fit(rows.X, rows.y)
    seconds = time.process_time() - start
    if family == "binomial":
        bands = Band(*model.decision_function(fresh, terms=True, interval=0.95))
        whole = Band(*model.decision_function(fresh, interval=0.95))
    else:
        bands = Band(*model.predict(fresh, terms=True, interval=0.95))
        whole = Band(*(LINKS[family](end) for end in model.predict(fresh, interval=0.95)))
    score = model.intercept_ + bands.value.sum(axis=1)
    # The penalty of a sum over rows; alpha of counts is that of their mean, as scikit-learn's is.
    alpha = np.asarray(model.alpha_) * (len(rows.y) if family == "poisson" else 1)
    return Fit(
        seconds,
        np.asarray(score),
        whole,
        bands,
        np.asarray(model.edf_).tolist(),
        alpha.tolist(),
        [word == "gone" for word in model.plateaus_],
        {"names": list(model.result_.names)},
    )


class Store:
    """Figures of fits by their keys, one JSON line each; without a path, for this run only."""

    def __init__(self, path: Path | None, again: str | None) -> None:
        self.path, self.again, self.kept = path, again, {}
        for line in path.read_text().splitlines() if path and path.exists() else []:
            found = json.loads(line)
            self.kept[found["key"]] = found

    def get(self, method: str, *where: Any) -> dict[str, Any] | None:
        stale = self.again and method.startswith(self.again)
        return None if stale else self.kept.get(_key(method, where))

    def put(self, found: dict[str, Any], method: str, *where: Any) -> dict[str, Any]:
        found = {"key": _key(method, where)} | found
        self.kept[found["key"]] = found
        if self.path and not (method.startswith("hoag") and "failed" in found):
            with self.path.open("a") as file:
                file.write(json.dumps(found) + "\n")
        return found


def _key(method: str, where: Sequence[Any]) -> str:
    return " / ".join(map(str, (*where, method)))


def fitted(
    method: Method, name: str, seen: Rows, fresh: Rows, family: str, limit: float
) -> dict[str, Any]:
    """A fit's figures, or the reason why there are none."""
    try:
        with alone(), limited(limit):
            fit = method(seen, fresh.X, family)
    except Failed as failed:
        return {"failed": str(failed)}
    except Exception as error:  # rivals fail in ways of their own; the table says how
        if name.startswith("hoag"):
            raise
        return {"failed": f"{type(error).__name__}: {error}"[:200]}
    found = {
        "seconds": fit.seconds,
        "error": float(np.sqrt(np.mean((fit.score - fresh.score) ** 2))),
        "edf": list(fit.edf),
        "penalties": list(fit.penalties),
        "gone": list(fit.gone),
    }
    if fit.score_band is not None:
        held = Band(*(np.reshape(side, -1) for side in fit.score_band)).holds(fresh.score)
        found["coverage"] = float(np.mean(held))
    if fit.terms is not None:
        centred = fresh.terms - seen.terms.mean(axis=0)
        found["term_coverage"] = fit.terms.holds(centred).mean(axis=0).tolist()
    return found | fit.more


def of_truth() -> Iterator[tuple[str, Method]]:
    yield "hoag, reml", ours
    yield "hoag, reml, vanish=False", partial(ours, vanish=False)
    yield "hoag, gcv", partial(ours, cv="gcv")
    yield "pyGAM, its grid of 11", pygam()
    yield "pyGAM, 50 random points", pygam(50)
    yield "mgcv gam, REML, ps", Mgcv(PS)
    yield "mgcv gam, REML", Mgcv()
    yield "mgcv bam, fREML", Mgcv(engine="bam", criterion="fREML")
    yield "mgcv bam, discrete", Mgcv(engine="discrete", criterion="fREML")
    yield "mgcv bam, discrete, select", Mgcv(engine="discrete", criterion="fREML", select=True)
    yield "statsmodels, AIC, BFGS", statsmodels()


def truth(args: argparse.Namespace, store: Store) -> None:
    """(1) six known terms: error beside everybody's, in how many seeds the lowest, coverage."""
    rows, seeds = (400, 2) if args.quick else (2000, args.seeds)
    terms = " | ".join(SIX)
    print(
        f"| family | covariates | method | error | lowest | seconds | coverage | {terms} | edf |\n"
        + "|---" * (8 + len(SIX))
        + "|"
    )
    for family in args.families:
        for correlated in args.covariates:
            where = (f"truth {rows}", family, "correlated" if correlated else "independent")
            found = _every_seed(args, store, where, rows, seeds, bool(correlated))
            least = [
                min((f["error"] for f in of_seed.values() if "error" in f), default=np.inf)
                for of_seed in _by_seed(found, seeds)
            ]
            for name, fits in found.items():
                print(f"| {where[1]} | {where[2]} | {name} | {_told(fits, least)} |", flush=True)


def _every_seed(
    args: argparse.Namespace,
    store: Store,
    where: tuple[Any, ...],
    rows: int,
    seeds: int,
    correlated: bool,
) -> dict[str, dict[int, dict[str, Any]]]:
    """Figures by method and seed; slow rivals have fewer seeds."""
    found: dict[str, dict[int, dict[str, Any]]] = {}
    for name, method in of_truth():
        if not _wanted(args, name):
            continue
        many = min(seeds, args.slow_seeds) if name.startswith("statsmodels") else seeds
        for seed in range(many):
            figures = store.get(name, *where, seed)
            if figures is None:
                say(f"    {name}, {' '.join(where)}, seed {seed}")
                seen, fresh = simulated(where[1], SIX, (rows, rows), correlated, seed)
                figures = fitted(method, name, seen, fresh, where[1], args.limit)
                figures = store.put(figures, name, *where, seed)
            found.setdefault(name, {})[seed] = figures
    return found


def _by_seed(
    found: dict[str, dict[int, dict[str, Any]]], seeds: int
) -> Iterator[dict[str, dict[str, Any]]]:
    for seed in range(seeds):
        yield {name: fits[seed] for name, fits in found.items() if seed in fits}


def _told(fits: dict[int, dict[str, Any]], least: Sequence[float]) -> str:
    good = {seed: f for seed, f in fits.items() if "error" in f}
    if not good:
        return next(iter(fits.values()))["failed"] + " |" * (5 + len(SIX))
    wins = sum(f["error"] <= least[seed] for seed, f in good.items())
    cells = [f"{np.mean([f['error'] for f in good.values()]):.4f}", f"{wins} of {len(fits)}"]
    cells += [f"{np.median([f['seconds'] for f in good.values()]):.3g}"]
    each = list(good.values())
    cells += [_share([f["coverage"] for f in each])] if "coverage" in each[0] else [""]
    if "term_coverage" in each[0]:
        cells += [_share(column) for column in zip(*(f["term_coverage"] for f in each))]
    else:
        cells += len(SIX) * [""]
    edf = np.mean([f["edf"] for f in each], axis=0)
    return " | ".join([*cells, " ".join(f"{e:.1f}" for e in edf)])


def _share(values: Sequence[float]) -> str:
    return f"{100 * np.mean(values):.1f} %"


def _wanted(args: argparse.Namespace, name: str) -> bool:
    return not args.only or any(name.startswith(start) for start in args.only)


def example(args: argparse.Namespace, store: Store) -> None:
    """(2) the same model in mgcv and in ours, on the same rows of its own example."""
    print(
        "| family | criterion | method | seconds | edf | penalties | fitted: most, rms | "
        "mgcv's score at these less at its own |\n|---|---|---|---|---|---|---|---|"
    )
    n = 200 if args.quick else 400
    for family in args.families:
        rows = textbook(family, n, args.seed)
        for criterion, cv in (("REML", "reml"), ("GCV.Cp", "gcv")):
            where = (f"textbook {n}", family, criterion, args.seed)
            usual = Mgcv("s({})", criterion=criterion)
            _line(where, "mgcv, s(x)", _figures(store, "mgcv, s(x)", usual, rows, family, where))
            equal = Mgcv(PS, criterion=criterion)
            theirs = _figures(store, "mgcv, ps", equal, rows, family, where)
            _line(where, "mgcv, ps", theirs)
            if "failed" in theirs:
                continue
            inner = [knots[3:-3] for knots in theirs["knots"]]
            knots = [np.array(k) for k in inner]
            method = partial(ours, cv=cv, knots=knots, tol=1e-8, vanish=False)  # the same optimum
            mine = _figures(store, "hoag, the same", method, rows, family, where)
            _line(where, "hoag, the same", _beside(mine, theirs, rows, family, equal))
            mine = _figures(store, "hoag", partial(ours, cv=cv), rows, family, where)
            _line(where, "hoag", mine)


def _figures(
    store: Store, name: str, method: Method, rows: Rows, family: str, where: tuple[Any, ...]
) -> dict[str, Any]:
    found = store.get(name, *where)
    if found is not None:
        return found
    try:
        with alone():
            fit = method(rows, rows.X, family)
    except Failed as failed:
        return {"failed": str(failed)}
    figures = {"seconds": fit.seconds, "edf": list(fit.edf), "penalties": list(fit.penalties)}
    return store.put(figures | {"fitted": fit.score.tolist()} | fit.more, name, *where)


def _beside(
    mine: dict[str, Any], theirs: dict[str, Any], rows: Rows, family: str, equal: Mgcv
) -> dict[str, Any]:
    """How far apart two fits of one model are; and what mgcv's criterion says of our penalties."""
    if "failed" in mine:
        return mine
    apart = np.subtract(mine["fitted"], theirs["fitted"]) / np.std(theirs["fitted"])
    sp = tuple(np.multiply(mine["penalties"], theirs["S.scale"]).tolist())
    there = equal._replace(sp=sp)(rows, rows.X, family).more["score"]
    apart = {"most": float(np.max(np.abs(apart))), "rms": float(np.sqrt(np.mean(apart**2)))}
    return mine | apart | {"gain": there - theirs["score"]}


def _line(where: tuple[Any, ...], name: str, found: dict[str, Any]) -> None:
    start = f"| {where[1]} | {where[2]} | {name} |"
    if "failed" in found:
        print(f"{start} {found['failed']} | | | | |", flush=True)
        return
    edf = " ".join(f"{e:.3f}" for e in found["edf"])
    penalties = " ".join(f"{a:.4g}" for a in found["penalties"])
    apart = f"{found['most']:.1e}, {found['rms']:.1e}" if "most" in found else ""
    gain = f"{found['gain']:.1e}" if "gain" in found else ""
    print(f"{start} {found['seconds']:.3g} | {edf} | {penalties} | {apart} | {gain} |", flush=True)


def of_large(limit: float) -> Iterator[tuple[str, Method]]:
    yield "hoag, reml", ours
    yield "hoag, gcv", partial(ours, cv="gcv")
    for engine, name in (("discrete", "bam, discrete"), ("bam", "bam")):
        for select in (False, True):
            method = Mgcv(engine=engine, criterion="fREML", select=select, limit=limit)
            yield f"mgcv {name}" + (", select" if select else ""), method
    yield "pyGAM, its grid of 11", pygam()


def large(args: argparse.Namespace, store: Store) -> None:
    """(3) many rows, and many terms of which most are noise."""
    print(
        "| data | family | method | seconds | error | coverage | noise terms gone | others gone |\n"
        "|---|---|---|---|---|---|---|---|"
    )
    rows, fresh_rows = (2000, 500) if args.quick else (100_000, 10_000)
    few = 300 if args.quick else 2000
    cases = [
        (EIGHT, rows, fresh_rows, ["gaussian", "poisson"]),
        (FORTY[:12] if args.quick else FORTY, few, few, ["gaussian", "binomial"]),
    ]
    for shapes, many, unseen, families in cases:
        for family in (f for f in families if f in args.families):
            data = f"{many} × {len(shapes)}"
            for name, method in of_large(args.limit):
                if not _wanted(args, name):
                    continue
                figures = store.get(name, "large", data, family, args.seed)
                if figures is None:
                    say(f"    {name}, {data}, {family}")
                    sets = simulated(family, shapes, (many, unseen), False, args.seed)
                    figures = fitted(method, name, *sets, family, args.limit)
                    figures = store.put(figures, name, "large", data, family, args.seed)
                print(f"| {data} | {family} | {name} | {_size(figures, shapes)} |", flush=True)


def _size(found: dict[str, Any], shapes: Sequence[str]) -> str:
    if "failed" in found:
        return found["failed"] + " | | | |"
    cells = [f"{found['seconds']:.3g}", f"{found['error']:.4f}"]
    cells += [_share([found["coverage"]]) if "coverage" in found else ""]
    for noise in (True, False):
        of_kind = [j for j, name in enumerate(shapes) if (name == "nothing") == noise]
        gone = sum(found["gone"][j] for j in of_kind) if found["gone"] else None
        cells += ["" if gone is None else f"{gone} of {len(of_kind)}"]
    return " | ".join(cells)


PARTS = {"truth": truth, "textbook": example, "large": large}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []])
    parser.add_argument("--quick", action="store_true", help="small versions, for a test")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--slow-seeds", type=int, default=3, help="of statsmodels")
    parser.add_argument("--seed", type=int, default=0, help="of the example and the large data")
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=FAMILIES)
    parser.add_argument(
        "--covariates", nargs="+", type=int, choices=[0, 1], default=[0, 1], help="1: correlated"
    )
    parser.add_argument("--only", nargs="+", help="methods whose names begin so")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for one fit")
    parser.add_argument("--store", type=Path, help="figures of fits, kept for another run")
    parser.add_argument("--again", help="methods whose names begin so are run even if stored")
    args = parser.parse_args()
    store = Store(args.store, args.again)
    for part in args.parts or PARTS:
        print(f"\n{(PARTS[part].__doc__ or '').strip()}\n")
        PARTS[part](args, store)


if __name__ == "__main__":
    main()
