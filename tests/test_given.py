"""What would be dropped silently is refused where data enter: masks, imaginary parts, columns."""

from __future__ import annotations

import numpy as np
import pytest

import hoag
from hoag import models
from hoag.cli import main
from hoag.errors import InvalidInputError

RNG = np.random.default_rng(0)
N = 30
X, POSITIVE = RNG.normal(size=(N, 3)), RNG.exponential(size=N) + 0.1
LABELS, RANKS = (X[:, 0] > 0).astype(int), np.digitize(X[:, 0], [-0.5, 0.5])
TIMES = np.zeros(N, dtype=[("event", bool), ("time", float)])
TIMES["event"], TIMES["time"] = True, POSITIVE
WEIGHT = np.ones(N)

# Estimators with targets that they take.
ESTIMATORS = {
    hoag.RidgeCV: POSITIVE,
    hoag.KernelRidgeCV: POSITIVE,
    hoag.HuberRegressorCV: POSITIVE,
    hoag.QuantileRegressorCV: POSITIVE,
    hoag.PoissonRegressorCV: POSITIVE,
    hoag.GammaRegressorCV: POSITIVE,
    hoag.TweedieRegressorCV: POSITIVE,
    hoag.GAMRegressorCV: POSITIVE,
    hoag.LogisticRegressionCV: LABELS,
    hoag.LinearSVCCV: LABELS,
    hoag.RidgeClassifierCV: LABELS,
    hoag.GAMClassifierCV: LABELS,
    hoag.OrdinalLogisticCV: RANKS,
    hoag.CoxRegressionCV: TIMES,
}


def masked(values):
    """The last value, or row, hidden."""
    found = np.ma.masked_array(values)
    found[-1] = np.ma.masked
    return found


def changed(values, which, how):
    return [how(value) if k == which else value for k, value in enumerate(values)]


def imaginary(values):
    return values * (1 + 1j)


CALLED = ("X", "y", "sample_weight")
CASES = [(k, masked, "masked value") for k in range(3)]
CASES += [(k, imaginary, "[Cc]omplex") for k in range(3)]


def test_every_estimator_is_here():
    all_of_them = {getattr(hoag, name) for name in hoag.__all__ if name.endswith("CV")}
    assert all_of_them == set(ESTIMATORS)


@pytest.mark.parametrize(("which", "how", "told"), CASES)
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_no_estimator_ignores_them(kind, which, how, told):
    if how is imaginary and which == 1 and ESTIMATORS[kind].dtype.names:
        pytest.skip("records are no numbers")
    rows = changed((X, ESTIMATORS[kind], WEIGHT), which, how)
    with pytest.raises(ValueError, match=rf"{CALLED[which]} .*{told}|{told}"):
        kind().fit(rows[0], rows[1], sample_weight=rows[2])


@pytest.mark.parametrize("kind", [hoag.RidgeCV, hoag.KernelRidgeCV, hoag.GAMRegressorCV])
def test_predictions_and_scores_do_not_ignore_them(kind):
    fitted = kind().fit(X, POSITIVE)
    with pytest.raises(InvalidInputError, match="X has 3 masked values"):
        fitted.predict(masked(X))
    for which in range(3):
        rows = changed((X, POSITIVE, WEIGHT), which, masked)
        with pytest.raises(InvalidInputError, match=f"{CALLED[which]} has .* masked value"):
            fitted.score(*rows)


@pytest.mark.parametrize("given", ["offset", "exposure"])
def test_nor_do_offsets(given):
    for kind in (hoag.PoissonRegressorCV, hoag.GAMRegressorCV):
        model = kind(family="poisson") if kind is hoag.GAMRegressorCV else kind()
        with pytest.raises(InvalidInputError, match=f"{given} has 1 masked value,"):
            model.fit(X, POSITIVE, **{given: masked(WEIGHT)})


def test_a_mask_that_hides_nothing_is_none():
    plain = hoag.RidgeCV().fit(X, POSITIVE).coef_
    found = hoag.RidgeCV().fit(np.ma.masked_array(X), np.ma.masked_array(POSITIVE)).coef_
    assert found.tobytes() == plain.tobytes()


MAKERS = {
    models.ridge: POSITIVE,
    models.huber: POSITIVE,
    models.kernel_ridge: POSITIVE,
    models.logistic: LABELS,
    models.multinomial: RANKS,
    models.ordinal: RANKS,
    models.cox: TIMES,
}


@pytest.mark.parametrize("how", [masked, imaginary])
@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("make", MAKERS)
def test_no_maker_of_problems_ignores_them(make, which, how):
    y = MAKERS[make]
    if how is imaginary and which % 2 and y.dtype.names:
        pytest.skip("records are no numbers")
    with pytest.raises(ValueError, match=r"masked value|[Cc]omplex"):
        make(*changed((X, y, X, y), which, how))
    with pytest.raises(ValueError, match=r"masked value|[Cc]omplex"):
        models.folds(make, *changed((X, y), which % 2, how), cv=2)


@pytest.mark.parametrize("how", [masked, imaginary])
@pytest.mark.parametrize("which", range(3))
def test_blocks_do_not_ignore_them(which, how, tmp_path):
    rows = tuple(changed((X, POSITIVE, WEIGHT), which, how))
    sources = [rows, [rows], lambda: iter([rows])]
    if how is imaginary:
        paths = [tmp_path / f"{k}.npy" for k in range(3)]
        for path, values in zip(paths, rows, strict=True):
            np.save(path, values)
        np.savez(tmp_path / "a.npz", X=rows[0], y=rows[1], weight=rows[2])
        sources += [tuple(paths), tmp_path / "a.npz"]
    for source in sources:
        with pytest.raises(InvalidInputError, match=r"masked value|complex"):
            hoag.partitions(source)


@pytest.mark.parametrize("how", [masked, imaginary])
@pytest.mark.parametrize("which", range(3))
def test_blocks_on_workers_do_not_ignore_them(which, how):
    pytest.importorskip("distributed")
    import dask
    import dask.array as da

    from hoag.dask._recipes import recipes

    rows = [
        da.from_array(values, chunks=15, asarray=False)
        for values in changed((X, POSITIVE, WEIGHT), which, how)
    ]
    told = f"{CALLED[which]} h.*(masked|complex)"
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(InvalidInputError, match=told),
    ):
        recipes(*rows, dask.compute).partition(1).compute()


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "arrow"])
def test_columns_of_one_name_are_refused_in_every_file(suffix, tmp_path):
    pa = pytest.importorskip("pyarrow")
    tables = [pa.table([[1.0, 2.0], [3.0, 1.0], [0.0, 1.0]], names) for names in ("aby", "aay")]
    paths = [written(tmp_path / f"{k}.{suffix}", table) for k, table in enumerate(tables)]
    for given in (paths[1], paths):  # the first file of several, and another
        with pytest.raises(InvalidInputError, match=r"1\..* has the column 'a' more than once"):
            hoag.partitions(given, "y", columns=["a"])


def written(path, table):
    import pyarrow.csv
    import pyarrow.feather
    import pyarrow.parquet

    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    elif path.suffix == ".arrow":
        pyarrow.feather.write_feather(table, path)
    else:
        sep = "," if path.suffix == ".csv" else "\t"
        pyarrow.csv.write_csv(table, path, pyarrow.csv.WriteOptions(delimiter=sep))
    return path


@pytest.mark.parametrize("header", ["a,a,y", "a, a,y", '"a",a,y', ",,y"])
def test_columns_of_one_name_are_refused_however_it_is_written(header, tmp_path, capsys):
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.csv"
    path.write_text(header + "\n" + "".join(f"{i % 7},{i * i % 5},{i % 3}\n" for i in range(60)))
    with pytest.raises(InvalidInputError, match=r"more than once|without a name"):
        hoag.partitions(path, "y")
    # pandas has names for columns that have none.
    for way in ("--blocks", "--no-blocks") if "a" in header else ("--blocks",):
        assert main(["tune", str(path), "--target", "y", way]) == 1
        said = capsys.readouterr().err
        assert "'a' more than once" in said or "without a name" in said


def test_columns_of_one_name_are_refused_in_frames():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "a", "b"])
    for model in (hoag.GAMRegressorCV(), hoag.GAMRegressorCV("y ~ s(a) + b")):
        with pytest.raises(InvalidInputError, match="X has the column 'a' more than once"):
            model.fit(frame, POSITIVE)
    dd = pytest.importorskip("dask.dataframe")
    from hoag.dask._recipes import recipes

    far = dd.from_pandas(frame.set_axis(["a", "c", "b"], axis=1), npartitions=2)
    far.columns = ["a", "a", "b"]
    with pytest.raises(InvalidInputError, match="X has the column 'a' more than once"):
        recipes(far, None, None, None)
