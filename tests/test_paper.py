"""The experiments: what is measured, when a claim holds, and that nothing is run twice."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from _data import standardised_by, thirds
from quick import quick

import hoag
from hoag import cli, models
from hoag.errors import SingularProblemError

pd = pytest.importorskip("pandas")
pytest.importorskip("matplotlib")
pytest.importorskip("threadpoolctl")
pytest.importorskip("bayes_opt")
pytest.importorskip("optuna")

from paper import cases, claims, figures, methods, page, rows, runs, truth  # noqa: E402
from paper.reproduce import main  # noqa: E402
from paper.sheets import Markdown, Sheet  # noqa: E402

# What suboptimality is measured with.


@pytest.fixture(scope="module")
def cancer():
    return cases.case("breast_cancer").make(0)


def test_the_curve_is_f_at_points_that_are_no_knots(cancer):
    lams = np.random.default_rng(0).uniform(-6, 3, size=(12, 1))
    criterion = hoag.criteria.Implicit(cancer.problem, certificate=False)
    exact = [criterion.evaluate(lam, 1e-8).value for lam in lams]
    knots = cancer.truth.knots()
    least = knots[:, 1].min()
    off = np.abs(cancer.truth.f(lams) - exact)
    assert np.all(off <= 2e-7 * least + 2e-3 * (np.array(exact) - least))
    near = np.abs(lams[:, 0] - knots[np.argmin(knots[:, 1]), 0]) < 0.5
    assert np.all(off[near] <= 1e-6 * least)


def test_a_restored_curve_is_the_same_and_solves_nothing(cancer, monkeypatch):
    lams = np.array([[-2.2], [0.4]])
    known = cancer.truth.f(lams)
    other = truth.Curve(cancer.problem, cancer.domain)
    other.restore(cancer.truth.knots())
    monkeypatch.setattr(hoag.criteria.Implicit, "evaluate", None)
    assert np.array_equal(other.f(lams), known)


def test_the_paper_has_no_half_before_its_penalty(cancer):
    A, y, *_ = thirds(*hoag.datasets.load("breast_cancer").X_y, 0)
    A = standardised_by(A)[0]
    x, lam = np.full(A.shape[1], 0.1), np.array([0.7])
    ours = models.logistic(A, y, A, y)
    plain = ours.at(x, np.array([-700.0])).h
    assert cancer.problem.at(x, lam).h == pytest.approx(plain + np.exp(0.7) * x @ x)


# Reading rows.


def test_the_answer_is_the_best_by_the_methods_own_account():
    assert rows.best_so_far(np.array([3.0, 1.0, 2.0, 0.5])).tolist() == [0, 1, 1, 3]
    assert rows.first_below([10, 20, 30], [1.0, 0.1, 0.2], 0.15) == 20
    assert rows.first_below([10, 20, 30], [1.0, 0.1, 0.2], 0.05) == np.inf


def test_rises_are_seen_above_the_floor_only():
    assert rows.rises([1.0, 0.1, 0.2, 0.01, 0.0101]) == 1
    assert rows.rises([1e-7, 5e-7, 1e-8, 9e-7]) == 0


def test_the_rate_of_a_geometric_sequence_is_its_factor():
    k = np.arange(1, 40)
    run = pd.DataFrame({"k": k, "passes": 7 * k, "suboptimality": 0.5 * 0.6**k})
    step, tenth = rows.rate(run)
    assert step == pytest.approx(0.6)
    assert tenth == pytest.approx(7 / -np.log10(0.6))
    assert np.isnan(rows.rate(run[:3])[0])


# Claims, on rows made up so that each holds, and then so that it does not.

FASTER = {"hoag-exponential": 1.0, "hoag-quadratic": 2.0, "hoag-cubic": 2.0, "hoag-exact": 9.0,
          "grid": 6.0, "random": 8.0, "smbo": 5.0, "iterdiff": 4.0}  # fmt: skip


SLOW_CUBIC = {"hoag-cubic": 10.0}
WIGGLE = ("hoag-quadratic", "hoag-cubic")


def made_up(seconds=FASTER, wiggle=(), at_end=1e-8, validation_end=1.0, smbo_stays=True):
    """Runs on the small cases whose suboptimality falls geometrically at the given speeds."""
    frames = []
    for name in ("breast_cancer", "odd-digits", "diabetes"):
        for method, time in seconds.items():
            k = np.arange(1, 41)
            sub = np.maximum(at_end, 0.7 ** (k - 1.0))
            if method in wiggle:
                sub[10::5] *= 3
            if method == "smbo" and name == "diabetes":
                sub = np.where(k < 3, 1.0, 1e-2 if smbo_stays else 1e-2 * 0.5**k)
            validation = np.where(sub <= 1e-4, validation_end, 1.0 + 0.5 * sub)
            # Splits differ by more than the last 1e-2 of the way, and by less than 0.1.
            frame = pd.DataFrame({"k": k, "seconds": time * k, "passes": 10 * time * k,
                                  "corrected": sub, "value": sub, "f_error": 0.0,
                                  "validation": validation, "f": 1 + sub})  # fmt: skip
            if method == "smbo" and name == "diabetes":
                frame["seconds"] = 0.3 * k
            frame["lam_0"], frame["lam_1"], frame["grad_0"] = 0.0, 0.0, 0.0
            for seed in (0, 1, 2) if method in methods.COMPARED else (0,):
                split = {"seed": seed, "validation": (1 + 0.02 * seed) * validation}
                frames.append(frame.assign(case=name, method=method, **split))
        star = pd.DataFrame({"f": [1.0], "lam_0": [0.0], "lam_1": [0.0], "grad_0": [0.0]})
        frames += [star.assign(case=name, method="curve", seed=seed) for seed in (0, 1, 2)]
    frame = pd.concat(frames, ignore_index=True)
    return rows.Rows(frame.assign(start=-1, version="0", machine="none", budget=1.0))


def verdicts(found, figure):
    return {claim.says[:30]: claim.holds for claim in claims.check(found, [figure])}


@pytest.mark.parametrize(
    ("claim", "figure", "good", "bad"),
    [
        ("Sequences that are not exact h", "tolerance", {}, {"seconds": FASTER | SLOW_CUBIC}),
        ("The quadratic sequence, and to", "tolerance", {"wiggle": WIGGLE}, {"wiggle": WIGGLE[:1]}),
        ("HOAG is the first to come clos", "methods", {}, {"seconds": {**FASTER, "grid": 0.5}}),
        ("A step of HOAG is cheaper than", "methods", {}, {"seconds": {**FASTER, "iterdiff": 0.5}}),
        ("On Parkinsons SMBO, which begi", "methods", {}, {"smbo_stays": False}),
        ("On Parkinsons the methods have", "methods", {"at_end": 6e-3}, {}),
        ("Beyond a suboptimality of 1e-2", "methods", {}, {"validation_end": 0.9}),
        ("By the validation loss HOAG is", "methods", {}, {"seconds": {**FASTER, "random": 0.5}}),
    ],
)  # fmt: skip
def test_a_claim_holds_or_not_by_the_rows(claim, figure, good, bad):
    assert verdicts(made_up(**good), figure)[claim] is True
    assert verdicts(made_up(**bad), figure)[claim] is False


def test_a_method_that_was_run_on_one_split_only_is_judged_by_that():
    found = made_up()
    assert found.seeds("diabetes") == [0, 1, 2]
    assert found.first("diabetes", "hoag-exact", 1e-3, "passes") < np.inf
    assert np.isnan(found.first("diabetes", "tpe", 1e-3, "passes"))


def test_rows_that_cannot_tell_decide_nothing():
    late = made_up(at_end=0.5)
    assert verdicts(late, "tolerance")["Sequences that are not exact h"] is None
    assert verdicts(late, "methods")["HOAG is the first to come clos"] is None
    alone = made_up(seconds={"hoag-exponential": 1.0}, at_end=0.5)
    assert verdicts(alone, "methods")["On Parkinsons the methods have"] is None


def pixels(hoag_end, iterdiff_end, random_end, validation_end):
    frames = []
    for method, end in (("hoag-exponential", hoag_end), ("iterdiff", iterdiff_end),
                        ("random", random_end)):  # fmt: skip
        k = np.arange(1, 21)
        value = np.linspace(100, end, 20)
        dip = np.r_[np.linspace(110, 90, 10), np.linspace(90, validation_end, 10)]
        frame = pd.DataFrame({"k": k, "seconds": 1.0 * k, "passes": 1.0 * k, "corrected": value,
                              "value": value, "f_error": 0.0, "validation": dip,
                              "f": np.nan})  # fmt: skip
        frames.append(frame.assign(case="digits", method=method, seed=0, start=-1))
    return rows.Rows(pd.concat(frames, ignore_index=True))


def test_the_claims_about_many_penalties():
    assert list(verdicts(pixels(50, 80, 98, 99), "many").values()) == [True, True, True]
    assert list(verdicts(pixels(50, 40, 60, 90.1), "many").values()) == [False, False, False]
    assert list(verdicts(pixels(50, 40, 60, 89), "many").values())[2] is None  # it may rise yet


# Runs: kept, resumed, and not made twice.


@pytest.fixture
def store(tmp_path):
    return runs.Store(tmp_path / "rows", "csv")


def test_what_is_wanted_for_a_figure():
    small = runs.jobs(["tolerance"], ["breast_cancer"], 2)
    names = {job.method for job in small if job.seed == 0 and job.start < 0}
    assert names == {"curve", *methods.SEQUENCES}
    assert sum(job.start >= 0 for job in small) == methods.STARTS
    assert [job.method for job in small if job.seed == 1] == ["curve"]
    many = runs.jobs(["many"], ["digits"], 3)
    assert {job.method for job in many} == set(methods.COMPARED) - {"grid", "hoag-secant"}
    assert {job.seed for job in many} == {0}
    assert len(set(small)) == len(small)


def test_finished_runs_are_not_run_again_and_an_interrupted_command_goes_on(store, monkeypatch):
    wanted = [runs.Job("breast_cancer", name, 0) for name in ("curve", "grid", "default")]
    ran = []
    search = runs._searched

    def interrupted(job, *rest):
        if job.method == "default" and not ran:
            ran.append(job)
            raise KeyboardInterrupt
        return search(job, *rest)

    monkeypatch.setattr(runs, "_searched", interrupted)
    with pytest.raises(KeyboardInterrupt):
        runs.run(wanted, store, 5.0, lambda job: None)
    left = [job for job in wanted if not store.finished(job, 5.0)]
    assert left == wanted[2:]
    told = []
    assert runs.run(left, store, 5.0, told.append) == {}
    assert told == left
    assert all(store.finished(job, 5.0) for job in wanted)
    assert not list(store.folder.rglob("*.part"))
    found = store.load(wanted[1])
    assert len(found) == 10
    assert found.f.notna().all()
    assert found.lam_0.to_numpy() == pytest.approx(np.linspace(-12, 12, 10))


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_longer_budget_or_another_version_runs_again(tmp_path, monkeypatch, form):
    pytest.importorskip("pyarrow")
    store, job = runs.Store(tmp_path, form), runs.Job("diabetes", "random", 0)
    assert not store.finished(job, 0.05)
    runs.run([job], store, 0.05, lambda job: None)
    assert store.finished(job, 0.05)
    assert not store.finished(job, 0.1)
    runs.run([job], store, 0.1, lambda job: None)
    assert store.finished(job, 0.05)
    monkeypatch.setattr(hoag, "__version__", "1.0")
    assert not store.finished(job, 0.05)
    runs.run([job], store, 0.05, lambda job: None)
    assert store.finished(job, 0.05)


def test_a_curve_of_another_version_is_not_measured_with(store, monkeypatch):
    curve, grid = (runs.Job("breast_cancer", name, 0) for name in ("curve", "grid"))
    runs.run([curve], store, 5.0, lambda job: None)
    wrong = store.load(curve)
    wrong["f"] = 7.0
    store.save(curve, wrong)
    runs._setting.cache_clear()
    runs.run([grid], store, 5.0, lambda job: None)
    assert store.load(grid).f.to_numpy() == pytest.approx(7.0, abs=3.0)  # it is restored from
    monkeypatch.setattr(hoag, "__version__", "9")
    runs._setting.cache_clear()
    runs.run([curve, grid], store, 5.0, lambda job: None)
    assert store.load(curve).f.min() > 12
    assert store.load(grid).f.min() > 12


def test_a_run_that_fails_does_not_stop_the_others(store, monkeypatch):
    wanted = [runs.Job("breast_cancer", name, 0) for name in ("grid", "default")]

    evaluate = hoag.criteria.Implicit._evaluate

    def fails(self, lam, ask, warm):
        if not ask.gradient:
            raise SingularProblemError("no solution at all")
        return evaluate(self, lam, ask, warm)

    monkeypatch.setattr(hoag.criteria.Implicit, "_evaluate", fails)
    assert runs.run(wanted, store, 5.0, lambda job: None) == {wanted[0]: "no solution at all"}
    assert store.load(wanted[0]) is None
    assert store.finished(wanted[1], 5.0)


def test_measuring_is_not_the_searchs_time():
    setting = cases.case("breast_cancer").make(0)

    def slow(x, lam):
        import time

        time.sleep(0.05)
        return 1.0

    job, slowed = runs.Job("breast_cancer", "grid", 0), replace(setting, validation=slow)
    found = runs._searched(job, slowed, 0.4)
    assert len(found) == 10
    assert found.seconds.iloc[-1] < 0.4
    assert np.all(np.diff(found.seconds) > 0)


def test_parquet_and_csv_hold_the_same(tmp_path):
    pytest.importorskip("pyarrow")
    job = runs.Job("breast_cancer", "grid", 0)
    frame = pd.DataFrame({"k": [1, 2], "f": [0.1, np.nan], "case": "breast_cancer"})
    for form in ("csv", "parquet"):
        kept = runs.Store(tmp_path, form)
        kept.save(job, frame)
        pd.testing.assert_frame_equal(kept.load(job), frame)


# The command, once for all that follow.


def reproduced(tmp_path_factory, *options):
    out = tmp_path_factory.mktemp("reproduction")
    assert main([*options, "--budget", "0.04s", "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Of all small data."""
    return reproduced(tmp_path_factory)


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Of as few as give every figure."""
    return reproduced(tmp_path_factory, "--data", "breast_cancer,digits")


@pytest.mark.parametrize("name", quick(["two", "made"], ["two"]))
def test_the_page_is_one_file_with_every_figure(name, request):
    made = request.getfixturevalue(name)
    text = (made / "reproduction.html").read_text()
    assert text.count("data:image/png;base64,") == len(figures.FIGURES)
    for outside in ("http:", "https:", "file:", "<script", "<link", "@import"):
        assert outside not in text
    for title in figures.TITLES.values():
        assert title in text
    assert "Other data stand in" in text
    markdown = (made / "reproduction.md").read_text()
    pictures = made / "reproduction"
    assert all((pictures / f"{name}.png").stat().st_size > 10_000 for name in figures.FIGURES)
    assert all(f"(reproduction/{name}.png)" in markdown for name in figures.FIGURES)


@pytest.mark.slow
def test_drawing_computes_nothing(made, tmp_path, monkeypatch, capsys):
    copy = tmp_path / "copy"
    shutil.copytree(made, copy)
    picture = "reproduction/tolerance.png"
    before = (made / picture).read_bytes()
    (copy / picture).unlink()
    for name in ("evaluate", "value"):
        monkeypatch.setattr(hoag.criteria.Implicit, name, None)
        monkeypatch.setattr(hoag.criteria.Unrolled, name, None)
    monkeypatch.setattr(runs, "_setting", None)
    assert main(["--draw", "--json", "--out", str(copy)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {claim["figure"] for claim in found} == set(figures.FIGURES)
    assert (copy / picture).read_bytes() == before


@pytest.mark.slow
def test_what_was_not_run_is_not_drawn(made, tmp_path, capsys):
    copy = tmp_path / "copy"
    shutil.copytree(made / "rows", copy / "rows")
    shutil.rmtree(copy / "rows" / "digits")
    shutil.rmtree(copy / "rows" / "breast_cancer")
    assert main(["--draw", "--out", str(copy)]) == 0
    assert "No rows for the figure gradient, many." in capsys.readouterr().err
    text = (copy / "reproduction.html").read_text()
    assert text.count("data:image/png;base64,") == 3


@pytest.mark.slow
def test_a_second_run_runs_nothing(made, monkeypatch, capsys):
    monkeypatch.setattr(runs, "_setting", None)
    arguments = ["--budget", "0.04s", "--out", str(made), "--figure", "methods"]
    assert main(arguments) == 0
    assert "HOAG is the first" in capsys.readouterr().out
    assert main(["--budget", "0.04s", "--out", str(made)]) == 0  # all figures again


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--data", "nothing"], "There is no case 'nothing': choose from 20news"),
        (["--data", "digits", "--figure", "costs"], "cannot give the figure costs"),
        (["--data", "diabetes", "--figure", "gradient"], "cannot give the figure gradient"),
        (["--draw"], "There are no rows of breast_cancer"),
    ],
)
def test_mistakes_are_told_in_one_line(arguments, sentence, tmp_path, capsys):
    assert main([*arguments, "--out", str(tmp_path)]) == 1
    told = capsys.readouterr().err
    assert sentence in told
    assert told.count("\n") == 1


def test_a_file_is_no_folder(tmp_path, capsys):
    (tmp_path / "out").write_text("mine")
    assert main(["--out", str(tmp_path / "out"), "--draw"]) == 1
    assert f"--out {tmp_path / 'out'} is not a folder" in capsys.readouterr().err


def test_the_old_command_says_where_it_is_now(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["reproduce", "--data", "paper"])
    assert stop.value.code == cli.USAGE
    assert "make reproduce" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["soon", "0s", "-3"])
def test_a_budget_that_is_no_time_is_wrong_usage(text, capsys):
    with pytest.raises(SystemExit) as stop:
        main([f"--budget={text}"])
    assert stop.value.code == 2
    assert "is no time" in capsys.readouterr().err


PROBE = """<script>
addEventListener("load", () => {
  const images = [...document.images];
  const root = document.documentElement;
  const broken = [...document.querySelectorAll("nav a")].filter(
    a => !document.querySelector(a.getAttribute("href")));
  const overlong = [...document.querySelectorAll("h1,h2,p,figure")].filter(
    e => e.getBoundingClientRect().right > innerWidth + 1);
  const outside = performance.getEntriesByType("resource").filter(e => !e.name.startsWith("data:"));
  document.title = JSON.stringify({
    images: images.filter(i => i.complete && i.naturalWidth > 400).length,
    wide: root.scrollWidth > innerWidth + 1, broken: broken.length, overlong: overlong.length,
    outside: outside.length, rows: document.querySelectorAll("tbody tr").length});
});
</script></head>"""


@pytest.mark.parametrize("width", [1200, 420])
def test_a_browser_shows_the_page(two, tmp_path, width):
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium is installed")
    copy = tmp_path / "probe.html"
    text = (two / "reproduction.html").read_text()
    copy.write_text(text.replace("</head>", PROBE))
    run = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000",
         f"--user-data-dir={tmp_path / 'profile'}", f"--window-size={width},900",
         "--dump-dom", copy.as_uri()],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    title = run.stdout.split("<title>")[1].split("</title>")[0]
    seen = json.loads(title.replace("&quot;", '"'))
    assert seen["images"] == len(figures.FIGURES)
    assert seen["rows"] > 20
    assert (seen["broken"], seen["overlong"], seen["outside"]) == (0, 0, 0)
    assert not seen["wide"]


def test_both_kinds_of_page_take_the_same_words():
    found = made_up()
    claimed, picture = claims.check(found, ["tolerance"]), {"tolerance": b"png"}
    for kind in (Sheet, Markdown):
        sheet = kind("Title <b>", "Lead & more")
        page.write(sheet, found, ["tolerance"], claimed, picture)
        text = sheet.html() if kind is Sheet else "\n".join(sheet._parts)
        assert "Verdicts" in text
        assert "This run agrees." in text
        assert ("Title &lt;b&gt;" in text) == (kind is Sheet)


def test_a_gradient_under_its_bound_and_one_that_is_not():
    k = np.arange(1, 21)
    error = 10.0 * 0.5**k
    frame = pd.DataFrame({"k": k, "seconds": 1.0 * k, "passes": k, "corrected": 1.0, "value": 1.0,
                          "f_error": 0.0, "validation": 1.0, "f": 1.0, "grad_0": error,
                          "true_slope": 0.0, "error": error, "bound": 2 * error})  # fmt: skip
    frame = frame.assign(case="breast_cancer", method="certified", seed=0, start=-1)
    for change, holds in (({}, True), ({"bound": 0.5 * error}, False), ({"bound": np.inf}, False),
                          ({"bound": 20.0}, False)):  # fmt: skip
        found = claims.check(rows.Rows(frame.assign(**change)), ["gradient"])
        assert [claim.holds for claim in found] == [holds]
    assert claims.check(rows.Rows(frame[:5]), ["gradient"])[0].holds is None


def test_cost_functions_with_one_minimum_and_flat_ones():
    lam = np.linspace(-12, 12, 49)
    one = pd.DataFrame({"lam_0": lam, "f": 10 + lam**2, "grad_0": 2 * lam})
    two = one.assign(f=10 + np.cos(lam))
    x, y = np.meshgrid(np.linspace(-12, 12, 21), np.linspace(-12, 12, 21))
    flat = pd.DataFrame({"lam_0": x.ravel(), "lam_1": y.ravel(), "f": 1 + 1e-3 * x.ravel() ** 2})
    steep = flat.assign(f=1 + x.ravel() ** 2 + y.ravel() ** 2)
    # Far away lies a second place as low, which is no part of the first.
    steep.loc[0, "f"] = 1.0
    for curve, surface, holds in ((one, flat, [True, True]), (two, steep, [False, False])):
        curve = curve.assign(case="breast_cancer", method="curve", seed=0, start=-1)
        surface = surface.assign(case="diabetes", method="surface", seed=0, start=-1)
        found = rows.Rows(pd.concat([curve, surface], ignore_index=True))
        assert [claim.holds for claim in claims.check(found, ["costs"])] == holds
