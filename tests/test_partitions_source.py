"""hoag.partitions: every format gives the rows that NumPy, pandas and scikit-learn read."""

from __future__ import annotations

import gc
import json
import pickle
import shutil
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import hoag
from hoag import data
from hoag._data.statistics import ColumnStatistics
from hoag.errors import InvalidInputError

pd = pytest.importorskip("pandas")

FEW = settings(max_examples=12, deadline=None)


def joined(source):
    """All rows of a source, dense, as (X, y, weight); a partition is the same when read again."""
    found = []
    for i in range(source.partitions):
        partition, again = source.read(i), source.read(i)
        dense = [p.X.toarray() if sparse.issparse(p.X) else p.X for p in (partition, again)]
        assert dense[0].tobytes() == dense[1].tobytes()
        assert partition.y.tobytes() == again.y.tobytes()
        assert source.read(i, rows=False).y.tobytes() == partition.y.tobytes()
        found.append((dense[0], partition.y, partition.weights))
    return [np.concatenate(parts) for parts in zip(*found, strict=True)]


def same(source, X, y, weight=None, rtol=0.0):
    found = joined(source)
    X = X.toarray() if sparse.issparse(X) else X
    np.testing.assert_allclose(found[0], X, rtol=rtol, atol=rtol)
    np.testing.assert_array_equal(found[1], y)
    np.testing.assert_array_equal(found[2], np.ones(len(y)) if weight is None else weight)
    assert source.features == X.shape[1]
    assert source.n in (None, len(y))


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(257, 5)), rng.integers(0, 3, 257), rng.uniform(0, 2, 257)


@pytest.fixture
def frame():
    rng = np.random.default_rng(1)
    n = 300
    table = pd.DataFrame(
        {
            "a": rng.normal(5, 2, n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "b": rng.integers(0, 100, n),
            "flag": rng.uniform(size=n) < 0.3,
            "w": rng.uniform(0.5, 2, n),
            "y": rng.choice(["no", "yes"], n),
        }
    )
    table.loc[::7, "a"] = np.nan
    table.loc[::11, "colour"] = None
    return table


def written(frame, path):
    pa = pytest.importorskip("pyarrow")
    kind = path.suffix.lstrip(".")
    table = pa.Table.from_pandas(frame, preserve_index=False)
    if kind == "parquet":
        import pyarrow.parquet as pq

        pq.write_table(table, path, row_group_size=77)
    elif kind in ("arrow", "feather"):
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table, max_chunksize=61)
    else:
        frame.to_csv(path, index=False, sep="\t" if ".tsv" in path.suffixes else ",")
    return path


TABLES = ("t.parquet", "t.arrow", "t.csv", "t.tsv", "t.csv.gz")


# ---- arrays


@FEW
@given(
    n=st.integers(1, 40),
    d=st.integers(1, 4),
    rows=st.integers(1, 17),
    dtype=st.sampled_from(["f8", "f4", "i4", "u1", "?", ">f8"]),
    order=st.sampled_from("CF"),
    seed=st.integers(0, 99),
)
def test_npy_files_and_arrays_give_their_rows(tmp_path_factory, n, d, rows, dtype, order, seed):
    folder = tmp_path_factory.mktemp("npy")
    rng = np.random.default_rng(seed)
    X = np.asarray(rng.integers(0, 9, (n, d)), dtype=dtype, order=order)
    y, weight = rng.normal(size=n), rng.uniform(size=n)
    paths = [folder / f"{name}.npy" for name in "Xyw"]
    for path, values in zip(paths, (X, y, weight), strict=True):
        np.save(path, values)
    np.savez(folder / "all.npz", X=X, y=y, weight=weight)
    kept = np.float32 if dtype == "f4" else np.float64
    for rows_given in (tuple(paths), (X, y, weight), (np.load(paths[0], mmap_mode="r"), y, weight)):
        source = hoag.partitions(rows_given, rows=rows)
        same(source, X, y, weight)
        assert source.read(0).X.dtype == kept
        assert source.partitions == -(-n // rows)
        assert source.cached is None
    same(hoag.partitions(folder / "all.npz", rows=rows), X, y, weight)
    same(hoag.partitions(paths[0], paths[1], weight=paths[2], rows=rows), X, y, weight)
    assert hoag.partitions(tuple(paths), dtype=np.float32).read(0).X.dtype == np.float32


def test_several_npy_files_follow_each_other(tmp_path, rows):
    X, y, _ = rows
    for k, part in enumerate((slice(0, 100), slice(100, 100), slice(100, 257))):
        np.save(tmp_path / f"X{k}.npy", X[part])
        np.save(tmp_path / f"y{k}.npy", y[part])
    source = hoag.partitions(tmp_path / "X*.npy", tmp_path / "y*.npy", rows=60)
    same(source, X, y)
    assert source.partitions == 2 + 3
    with pytest.raises(InvalidInputError, match="3 files of X and 1 of y"):
        hoag.partitions(tmp_path / "X*.npy", y)


def test_partitions_have_about_16_mb():
    X = np.zeros((10**6, 5))
    source = hoag.partitions((X, np.zeros(10**6)))
    assert source.read(0).X.nbytes == pytest.approx(16e6, rel=0.01)
    assert source.read(0).X.base is not None  # a view
    assert source.nbytes == X.nbytes + 8 * 10**6


@pytest.mark.parametrize("packed", [False, True])
def test_sparse_npz_by_its_rows(tmp_path, packed, rows, monkeypatch):
    X = sparse.random(200, 30, 0.1, format="csr", random_state=0)
    y = rows[1][:200]
    sparse.save_npz(tmp_path / "X.npz", X, compressed=packed)
    np.save(tmp_path / "y.npy", y)
    monkeypatch.setattr("hoag._data.matrices.PARTITION_BYTES", 1000)
    source = hoag.partitions(tmp_path / "X.npz", tmp_path / "y.npy")
    assert source.partitions > 5
    same(source, X, y)
    assert sparse.issparse(source.read(0).X)
    assert (source.cached is not None) == packed
    same(hoag.partitions((X, y), rows=33), X, y)
    sparse.save_npz(tmp_path / "C.npz", X.tocsc(), compressed=packed)
    with pytest.raises(InvalidInputError, match="csc"):
        hoag.partitions(tmp_path / "C.npz", y)


def test_compressed_npz_is_cached_or_parsed(tmp_path, rows):
    X, y, weight = rows
    np.savez_compressed(tmp_path / "all.npz", X=X, label=y, weight=weight)
    source = hoag.partitions(tmp_path / "all.npz", "label", rows=50)
    same(source, X, y, weight)
    assert source.cached.path.parent == tmp_path / ".hoag-blocks"
    source = hoag.partitions(tmp_path / "all.npz", "label", rows=50, cache=None)
    same(source, X, y, weight)
    assert source.cached is None
    assert "at every pass" in repr(source)


def test_npy_files_that_cannot_be_read(tmp_path, rows):
    X, y, _ = rows
    path = tmp_path / "X.npy"
    np.save(path, X)
    with pytest.raises(InvalidInputError, match="257 rows and y has the shape \\(3,\\)"):
        hoag.partitions(path, y[:3])
    with pytest.raises(InvalidInputError, match="y is missing"):
        hoag.partitions(path)
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(InvalidInputError, match="cut off"):
        hoag.partitions(path, y)
    path.write_bytes(b"nothing")
    with pytest.raises(InvalidInputError, match=r"X\.npy cannot be read"):
        hoag.partitions(path, y)
    np.save(path, np.array([["a"]]))
    with pytest.raises(InvalidInputError, match="needs numbers"):
        hoag.partitions(path, y[:1])
    with pytest.raises(InvalidInputError, match=r"no file .*Z\.npy.*Did you mean"):
        hoag.partitions(tmp_path / "Z.npy", y)


def test_numbers_that_are_not_finite_are_named(rows):
    X, y, weight = rows
    X[123, 2] = np.nan
    source = hoag.partitions((X, y), rows=50)
    source.read(0)
    with pytest.raises(InvalidInputError, match="X is nan in row 123 of X, column 2"):
        source.read(2)
    X[123, 2], target = 0.0, y.astype(float)
    target[7] = np.inf
    with pytest.raises(InvalidInputError, match="y is inf in row 7 of"):
        hoag.partitions((X, target)).read(0, rows=False)
    weight[1] = -1
    with pytest.raises(InvalidInputError, match="weight is -1 in row 1 of"):
        hoag.partitions((X, y, weight)).read(0)
    S = sparse.csr_matrix(np.eye(4))
    S.data[2] = np.inf
    with pytest.raises(InvalidInputError, match="X is inf in row 2 of X, column 2"):
        hoag.partitions((S, np.ones(4))).read(0)


# ---- partitions of one's own


def test_a_sequence_is_asked_for_what_is_needed(rows):
    X, y, weight = rows

    class Lazy:
        asked = ()

        def __len__(self):
            return 3

        def __getitem__(self, i):
            self.asked = (*self.asked, i)
            part = slice(100 * i, 100 * i + 100)
            return X[part], y[part], weight[part]

    lazy = Lazy()
    source = hoag.partitions(lazy)
    assert lazy.asked == (0,)
    same(source, X, y, weight)
    assert source.cached is None
    assert source.fingerprint() == hoag.partitions(Lazy()).fingerprint()
    whole = [(X[:100], y[:100]), (sparse.csr_matrix(X[100:]), y[100:])]
    same(hoag.partitions(whole[:1]), X[:100], y[:100])
    with pytest.raises(InvalidInputError, match="Partition 1 has 4 columns and partition 0 has 5"):
        hoag.partitions([(X, y), (X[:, :4], y)]).read(1)
    with pytest.raises(InvalidInputError, match="empty"):
        hoag.partitions([])


def test_iterables_are_kept_while_the_source_lives(rows):
    X, y, _ = rows
    calls = []

    def begin():
        calls.append(1)
        for start, stop in ((0, 3), (3, 3), (3, 200), (200, 257)):
            yield X[start:stop], y[start:stop]

    source = hoag.partitions(begin)
    same(source, X, y)
    assert len(calls) == 1
    assert source.partitions == 4
    assert "an iterable" in repr(source)
    assert source.fingerprint() == hoag.partitions(begin).fingerprint()
    folder = source.cached.path
    assert folder.exists()
    del source
    gc.collect()
    assert not folder.exists()
    source = hoag.partitions(begin, cache=None)
    same(source, X, y)
    assert len(calls) > 3


def test_what_is_used_up_is_refused(rows):
    X, y, _ = rows
    with pytest.raises(InvalidInputError, match="generator can be gone through only once"):
        hoag.partitions((X, y) for _ in range(3))
    once = iter([(X, y), (X, y)])
    source = hoag.partitions(lambda: once, cache=None)
    with pytest.raises(InvalidInputError, match="used up after one pass"):
        source.read(0)
    with pytest.raises(InvalidInputError, match="no rows"):
        hoag.partitions(lambda: once)
    with pytest.raises(InvalidInputError, match=r"Partition 0 is ndarray. Give \(X, y\)"):
        hoag.partitions(lambda: iter([X]))
    with pytest.raises(InvalidInputError, match="4 columns in row 0 of partition 1, and 5 before"):
        hoag.partitions(lambda: iter([(X, y), (X[:, :4], y)]))
    with pytest.raises(InvalidInputError, match="frame is in memory"):
        hoag.partitions(pd.DataFrame(X))
    with pytest.raises(InvalidInputError, match="int is nothing"):
        hoag.partitions(3)


# ---- svmlight


@FEW
@given(
    n=st.integers(1, 20), d=st.integers(1, 30), zero=st.booleans(), seed=st.integers(0, 99),
    size=st.sampled_from([100, 2**24]), packed=st.booleans(),
)  # fmt: skip
def test_svmlight_in_partitions(tmp_path_factory, n, d, zero, seed, size, packed):
    folder = tmp_path_factory.mktemp("svm")
    X = sparse.random(n, d, 0.3, format="csr", random_state=seed)
    y = np.random.default_rng(seed).integers(-1, 2, n).astype(float)
    path = folder / "t.svm"
    dump_svmlight_file(X, y, str(path), zero_based=zero)
    first = 1 if not zero or not X.nnz or X.indices.min() > 0 else 0
    expected, labels = load_svmlight_file(str(path), n_features=d + 1, zero_based=True)
    expected = expected[:, first : (expected.indices.max() + 1 if X.nnz else first)]
    if packed:
        import gzip

        path = folder / "t.svm.gz"
        path.write_bytes(gzip.compress((folder / "t.svm").read_bytes()))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("hoag._data.svmlight.PARTITION_BYTES", size)
        for cache in ("auto", None):
            source = hoag.partitions(path, cache=cache)
            same(source, expected, labels)
            same(source.like(path), expected, labels)
            wide = hoag.partitions(path, features=d + 5, cache=cache)
            assert wide.read(0).X.shape[1] == wide.features == d + 5


def test_svmlight_that_is_none(tmp_path):
    path = tmp_path / "t.svm"
    path.write_text("1 1:2\n# a line and no row\n1 1:2 3:1\n-1 abc\n")
    with pytest.raises(InvalidInputError, match="line 4 starts with '-1 abc'"):
        hoag.partitions(path)
    assert not list((tmp_path / ".hoag-blocks").glob("*/"))
    path.write_text("1 1:2\n1 1:2 3:1\n")
    with pytest.raises(InvalidInputError, match="features=2, and the files have 3"):
        hoag.partitions(path, features=2)
    source = hoag.partitions(path)
    (tmp_path / "new.svm").write_text("1 4:1\n")
    with pytest.raises(InvalidInputError, match="line 1 has the feature 4, and there are 3"):
        source.like(tmp_path / "new.svm")
    path.write_text("")
    with pytest.raises(InvalidInputError, match="no rows"):
        hoag.partitions(path)


# ---- tables


def as_the_command_line(frame, standardise):
    from hoag.cli import columns

    X = frame.drop(columns=["y", "w"])
    kinds = {name: columns.kind(name, values) for name, values in X.items()}
    kinds = {name: columns.CATEGORY if k == columns.TEXT else k for name, k in kinds.items()}
    lacking = set(X.columns[X.isna().any()])
    made = columns.transformer(kinds, lacking, standardise, dense=True)
    encoded = columns.fitted(made, columns.converted(X, kinds, {}, "t"))
    return encoded, [name for name, _ in columns.features(made)]


# Every format with one setting, and with the first format every setting.
@pytest.mark.parametrize(
    ("cache", "standardise", "name"),
    [
        pytest.param(
            *(cache, standardise, name),
            marks=[pytest.mark.slow] * (name != TABLES[0] and not (cache and standardise)),
        )
        for cache, standardise, name in product(["auto", None], [False, True], TABLES)
    ],
)
def test_tables_are_encoded_as_the_command_line_does(tmp_path, frame, name, standardise, cache):
    path = written(frame, tmp_path / name)
    X, names = as_the_command_line(frame, standardise)
    columns = ["a", "colour", "b", "flag"]
    source = hoag.partitions(
        path, "y", columns=columns, rows=64, cache=cache, standardise=standardise
    )
    assert source.names == names
    same(source, X, frame.y.to_numpy(str), rtol=1e-13)
    assert source.partitions == 5
    assert json.loads(json.dumps(source.encoding)) == source.encoding
    weighed = hoag.partitions(path, "y", weight="w", rows=64, cache=cache)
    assert weighed.names == names
    np.testing.assert_array_equal(joined(weighed)[2], frame.w)
    known = frame.a.notna()
    expected = np.average(frame.a[known], weights=frame.w[known])
    assert weighed.encoding["means"][0] == pytest.approx(expected, rel=1e-13)


@FEW
@given(
    n=st.integers(1, 50), rows=st.integers(1, 20), group=st.integers(1, 30), seed=st.integers(0, 9)
)
def test_row_groups_of_any_size_become_partitions(tmp_path_factory, n, rows, group, seed):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    folder = tmp_path_factory.mktemp("groups")
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"a": rng.normal(size=n).astype("f4"), "b": rng.integers(0, 9, n)})
    table["y"] = rng.normal(size=n)
    pq.write_table(pa.Table.from_pandas(table), folder / "t.parquet", row_group_size=group)
    source = hoag.partitions(folder / "t.parquet", "y", rows=rows)
    assert [source.read(i).rows for i in range(source.partitions - 1)] == [rows] * (
        source.partitions - 1
    )
    same(source, table[["a", "b"]].to_numpy(float), table.y.to_numpy())


def test_many_categories_are_sparse(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=400), "city": rng.integers(0, 30, 400)})
    table["y"] = rng.integers(0, 2, 400)
    path = written(table, tmp_path / "t.csv")
    source = hoag.partitions(path, "y", categories=["city"], dtype=np.float32, rows=100)
    X = source.read(0).X
    assert sparse.issparse(X)
    assert X.dtype == np.float32
    assert X.has_sorted_indices
    same(source, np.c_[table.x.astype("f4"), pd.get_dummies(table.city.astype(str))], table.y)
    assert source.read(0).y.dtype == np.int64
    assert (
        source.encoding["counts"]["city"]
        == table.city.astype(str).value_counts().sort_index().tolist()
    )
    assert sum(source.read(i).X.nnz for i in range(4)) == 800


def test_new_rows_with_the_encoding_of_others(tmp_path, frame):
    path = written(frame, tmp_path / "t.parquet")
    source = hoag.partitions(path, "y", columns=["a", "colour", "b"], standardise=True)
    new = pd.DataFrame(
        {"colour": ["pink", "red", None], "b": [1, None, 3], "a": [5.0, 6.0, None], "z": [0, 0, 0]}
    )
    for name in ("new.csv", "new.parquet"):
        other = source.like(written(new, tmp_path / name))
        assert other.names == source.names
        partition = other.read(0)
        assert np.isnan(partition.y).all()
        mean, scale = (np.array(source.encoding[key]) for key in ("means", "scales"))
        dense = dict(zip(source.names, partition.X.T, strict=True))
        np.testing.assert_allclose(dense["a"], [*((new.a[:2] - mean[0]) / scale[0]), 0.0])
        np.testing.assert_allclose(dense["b"][1], 0.0, atol=1e-15)
        np.testing.assert_array_equal(dense["a missing"], [0, 0, 1])
        np.testing.assert_array_equal(dense["colour_red"], [0, 1, 0])
        np.testing.assert_array_equal(dense["colour missing"], [0, 0, 1])
        assert not any(dense[f"colour_{colour}"][0] for colour in ("red", "green", "blue"))
    assert other.fingerprint() != source.fingerprint()
    with pytest.raises(InvalidInputError, match="no column 'b'"):
        source.like(written(new.drop(columns="b"), tmp_path / "less.csv"))


def test_several_files_and_the_first_one_empty(tmp_path, frame):
    for k, part in enumerate((frame[:0], frame[:100], frame[100:])):
        written(part, tmp_path / f"part{k}.csv")
    source = hoag.partitions(str(tmp_path / "part*.csv"), "y", columns=["a", "b"])
    X = frame[["a", "b"]].assign(gap=frame.a.isna()).fillna({"a": frame.a.mean()})
    same(source, X.to_numpy(float), frame.y.to_numpy(str), rtol=1e-14)
    assert source.partitions == 2
    written(frame.assign(b="text"), tmp_path / "part3.csv")
    with pytest.raises(InvalidInputError, match=r"part3\.csv has 'text' in line 2, in column 2"):
        hoag.partitions(str(tmp_path / "part*.csv"), "y", columns=["a", "b"])
    for k in (1, 2):
        written(frame.assign(b="text" if k == 2 else 1), tmp_path / f"p{k}.parquet")
    with pytest.raises(InvalidInputError, match=r"'b' holds a number .* text in .*p2\.parquet"):
        hoag.partitions(str(tmp_path / "p*.parquet"), "y", columns=["a", "b"])


def test_csv_as_others_write_it(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.csv"
    path.write_bytes('größe;"y"\n1,5;ja\n?;nein\n2,5;"a\nb"\n'.encode("cp1252"))
    source = hoag.partitions(path, "y", dialect={"na": ["?"]})
    same(source, np.array([[1.5, 0], [2, 1], [2.5, 0]]), ["ja", "nein", "a\nb"])
    assert source.names == ["größe", "größe missing"]
    path.write_text("a,y\n1,2\n1,2,3\n")
    with pytest.raises(
        InvalidInputError, match=r"t\.csv cannot be read as CSV: line 3: Expected 2"
    ):
        hoag.partitions(path, "y")
    path.write_text("")
    with pytest.raises(InvalidInputError, match="is empty: the first line"):
        hoag.partitions(path, "y")
    path.write_text("a,y\n")
    with pytest.raises(InvalidInputError, match="no rows"):
        hoag.partitions(path, "y")


def test_a_whole_target_that_is_not_whole_later(tmp_path):
    pytest.importorskip("pyarrow")
    y = np.arange(100000.0)
    y[-1] = 0.5
    pd.DataFrame({"x": y, "y": [*map(str, range(99999)), "0.5"]}).to_csv(
        tmp_path / "t.csv", index=False
    )
    same(hoag.partitions(tmp_path / "t.csv", "y"), y[:, None], y)


def test_tables_that_cannot_be_used(tmp_path, frame):
    path = written(frame, tmp_path / "t.parquet")
    for call, told in (
        ({}, "Which column is the target.*'colour'"),
        ({"target": "colours"}, r"no column 'colours'\. Did you mean 'colour'\? Its"),
        ({"target": "y", "columns": ["a", "y"]}, "'y' cannot be the target"),
        ({"target": "y", "columns": "a"}, "give a list of columns"),
        ({"target": "y", "categories": "a"}, "give 'auto' or a list"),
        ({"target": "y", "dtype": int}, "np.float32 or np.float64"),
        ({"target": "y", "rows": 0}, "at least one"),
        ({"target": "y", "dialect": {"seperator": ","}}, "'seperator', and knows"),
        ({"target": "a"}, "target 'a' is missing in row 0 of"),
    ):
        with pytest.raises(InvalidInputError, match=told):
            hoag.partitions(path, **call)
    frame["b"] = np.where(np.arange(300) == 40, np.inf, 1.0)
    with pytest.raises(InvalidInputError, match=r"X is inf in row 40 of .*quet, column 1 \('b'\)"):
        hoag.partitions(written(frame, path), "y")
    frame["b"], frame["when"] = 1, pd.Timestamp("2020-01-01")
    with pytest.raises(InvalidInputError, match=r"'when' of .* holds timestamp"):
        hoag.partitions(written(frame, path), "y")
    many = pd.DataFrame({"id": [f"r{k}" for k in range(1200)], "y": 1})
    with pytest.raises(InvalidInputError, match="'id' has more than 1000 different values"):
        hoag.partitions(written(many, path), "y")
    assert hoag.partitions(path, "y", categories=["id"]).features == 1200
    path.write_bytes(b"PAR1 nothing")
    with pytest.raises(InvalidInputError, match=r"t\.parquet cannot be read as Parquet"):
        hoag.partitions(path, "y")
    (tmp_path / "t.xls").write_text("")
    with pytest.raises(InvalidInputError, match="not a kind of file"):
        hoag.partitions(tmp_path / "t.xls", "y")
    with pytest.raises(InvalidInputError, match="is a folder"):
        hoag.partitions(tmp_path, "y")
    (tmp_path / "t.svm").write_text("1 1:1")
    with pytest.raises(InvalidInputError, match="Files of one kind"):
        hoag.partitions([path, tmp_path / "t.svm"], "y")


# ---- the cache


@pytest.fixture
def counted(monkeypatch):
    """How often a partition was parsed."""
    from hoag._data.tables import Tables

    calls, before = [], Tables._raw

    def raw(self, *args):
        calls.append(1)
        return before(self, *args)

    monkeypatch.setattr(Tables, "_raw", raw)
    return calls


def test_a_cache_is_used_again_until_the_file_changes(tmp_path, frame, counted):
    path = written(frame, tmp_path / "t.csv")
    first = hoag.partitions(path, "y", rows=100)
    assert len(counted) == 3
    assert first.cached.path.is_dir()
    assert first.cached.bytes == sum(
        f.stat().st_size for f in first.cached.path.iterdir() if f.name != "manifest.json"
    )
    assert "parsed once from CSV" in repr(first)
    again = hoag.partitions(path, "y", rows=100, standardise=True)
    assert len(counted) == 3
    assert again.cached == first.cached
    assert again.encoding["means"] == first.encoding["means"]
    assert again.fingerprint() != first.fingerprint()
    assert hoag.partitions(path, "y", rows=100).fingerprint() == first.fingerprint()
    hoag.partitions(path, "y", rows=100, dtype=np.float32)
    assert len(counted) == 6
    written(frame[:250], path)
    assert hoag.partitions(path, "y", rows=100).n == 250
    assert len(counted) == 9


@pytest.mark.parametrize("harm", ["half", "cut", "manifest", "gone", "version", "stray"])
def test_a_damaged_cache_is_made_again(tmp_path, frame, counted, harm):
    path = written(frame, tmp_path / "t.csv")
    source = hoag.partitions(path, "y", rows=100, cache=tmp_path / "c")
    expected, folder = joined(source), source.cached.path
    manifest = folder / "manifest.json"
    if harm == "half":
        manifest.unlink()
        shutil.copytree(folder, folder.with_name(folder.name + ".part"))
    elif harm == "cut":
        (folder / "000001.X.npy").write_bytes(b"")
    elif harm == "manifest":
        manifest.write_text(manifest.read_text()[:50])
    elif harm == "gone":
        (folder / "000002.y.npy").unlink()
    elif harm == "version":
        manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"version": "0"}))
    else:
        (folder / "stray").write_text("")
    before = len(counted)
    found = joined(hoag.partitions(path, "y", rows=100, cache=tmp_path / "c"))
    assert len(counted) == before + 3
    for one, other in zip(found, expected, strict=True):
        assert one.tobytes() == other.tobytes()
    assert {p.suffix for p in (tmp_path / "c").iterdir()} == {"", ".lock"}


def test_rows_below_a_header_are_counted_as_the_command_line_does(tmp_path, frame):
    pytest.importorskip("pyarrow")
    frame.loc[2, "y"] = None
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    with pytest.raises(InvalidInputError, match=r"missing in row 3 below the header of .*t\.csv"):
        hoag.partitions(path, "y")


def test_an_error_leaves_no_half_a_cache(tmp_path, frame):
    frame.loc[290, "y"] = None
    path = written(frame, tmp_path / "t.parquet")
    with pytest.raises(InvalidInputError, match="missing in row 290 of"):
        hoag.partitions(path, "y", rows=100)
    assert [p.suffix for p in (tmp_path / ".hoag-blocks").iterdir()] == [".lock"]


def test_where_a_cache_goes(tmp_path, frame, monkeypatch):
    path = written(frame, tmp_path / "t.csv")
    monkeypatch.setenv("HOAG_CACHE", str(tmp_path / "user"))
    monkeypatch.setattr("hoag._data.cache._writable", lambda folder: False)
    source = hoag.partitions(path, "y")
    assert source.cached.path.parent == tmp_path / "user" / "blocks"
    assert not (tmp_path / ".hoag-blocks").exists()


def test_no_package_no_table(tmp_path, frame, monkeypatch):
    path = written(frame, tmp_path / "t.parquet")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match="pip install pyarrow"):
        hoag.partitions(path, "y")


# ---- one pass


@FEW
@given(
    cuts=st.lists(st.integers(0, 500), max_size=6), offset=st.sampled_from([0.0, 1e8, -3e5]),
    weighted=st.booleans(), holes=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_streamed_moments_are_those_of_memory(cuts, offset, weighted, holes, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, 3)) * [1.0, 1e-3, 50.0] + offset
    X[:, 2] = np.where(seed % 2, X[:, 2], offset + 0.1)  # at times one value only
    weight = rng.uniform(0, 3, 500) if weighted else None
    if holes:
        X[rng.uniform(size=X.shape) < 0.2] = np.nan
        X[:50, 0] = np.nan
    moments = ColumnStatistics(3)
    ends = [0, *sorted(cuts), 500]
    for start, stop in pairwise(ends):
        moments.add(X[start:stop], None if weight is None else weight[start:stop])
    for j in range(3):
        known = ~np.isnan(X[:, j])
        w = np.ones(500) if weight is None else weight
        x0 = X[known, j][0]
        z = X[known, j] - x0  # exact: the mean of X itself would be off by its rounding
        mean = np.average(z, weights=w[known])
        deviation = np.sqrt(np.average((z - mean) ** 2, weights=w[known]))
        atol = 1e-12 * deviation  # of a mean near 0
        np.testing.assert_allclose(moments.means[j], x0 + mean, rtol=1e-12, atol=atol)
        constant = X[known, j].min() == X[known, j].max()
        np.testing.assert_allclose(moments.scales[j], 1 if constant else deviation, rtol=1e-12)
        assert (moments.columns.least[j], moments.columns.most[j]) == (
            X[known, j].min(),
            X[known, j].max(),
        )
        assert moments.missing[j] == (~known).sum()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_arrays_are_standardised(rows, dtype):
    X, y, weight = rows
    X = X + np.array([0, 1, 10, 100, 1000])
    centre = np.average(X, axis=0, weights=weight)
    scale = np.sqrt(np.average((X - centre) ** 2, axis=0, weights=weight))
    source = hoag.partitions((X.astype(dtype), y, weight), rows=50, standardise=True)
    tol = 1e-12 if dtype == np.float64 else 2e-4
    same(source, ((X - centre) / scale).astype(dtype), y, weight, rtol=tol)
    assert source.read(0).X.dtype == dtype
    S = sparse.random(257, 20, 0.2, format="csr", random_state=0)
    source = hoag.partitions((S, y), rows=50, standardise=True)
    same(source, S.toarray() / S.toarray().std(axis=0), y, rtol=1e-12)
    assert sparse.issparse(source.read(0).X)
    new = source.like((S[:10], y[:10]))
    np.testing.assert_array_equal(new.read(0).X.toarray(), source.read(0).X[:10].toarray())
    assert np.isnan(source.like((S[:10],)).read(0).y).all()
    with pytest.raises(InvalidInputError, match="X has 3 columns"):
        source.like((S[:, :3], y)).read(0)


def test_nothing_is_read_that_need_not_be(tmp_path, rows, monkeypatch):
    X, y, _ = rows
    np.save(tmp_path / "X.npy", X)
    monkeypatch.setattr("hoag._data.arrays.OnDisk.take", lambda *args: pytest.fail("was read"))
    source = hoag.partitions(tmp_path / "X.npy", y, rows=10)
    assert (source.partitions, source.n, source.features) == (26, 257, 5)


def test_fingerprints_tell_data_apart(tmp_path, rows):
    X, y, _ = rows
    told = {hoag.partitions((X, y)).fingerprint(), hoag.partitions((X + 1, y)).fingerprint()}
    told |= {
        hoag.partitions((X, y + 1)).fingerprint(),
        hoag.partitions((X, y), rows=9).fingerprint(),
    }
    assert len(told) == 4
    big = np.zeros((3 * 10**6, 4))
    before = hoag.partitions((big, big[:, 0])).fingerprint()
    big[-1] = 1
    assert hoag.partitions((big, big[:, 0])).fingerprint() != before


@pytest.mark.parametrize("name", ["t.parquet", "t.csv"])
def test_sources_go_to_other_processes(tmp_path, frame, rows, name):
    path = written(frame, tmp_path / name)
    X, y, _ = rows
    np.save(tmp_path / "X.npy", X)
    for source in (
        hoag.partitions(path, "y", rows=90),
        hoag.partitions(path, "y", rows=90, cache=None),
        hoag.partitions(tmp_path / "X.npy", y),
        hoag.partitions((X, y)),
    ):
        other = pickle.loads(pickle.dumps(source))
        assert other.fingerprint() == source.fingerprint()
        for one, two in zip(joined(source), joined(other), strict=True):
            np.testing.assert_array_equal(one, two)


def test_an_engine_reads_ahead(tmp_path, frame):
    path = written(frame, tmp_path / "t.parquet")
    source = hoag.partitions(path, "y", rows=32, standardise=True)
    engine = data.LocalEngine(source)
    total = engine.total(lambda partition: partition.X.sum(axis=0))
    assert total[0] == pytest.approx(0, abs=1e-10)
    assert engine.names[0] == "a"


def test_an_encoding_that_was_saved_reads_new_rows(tmp_path, frame):
    source = hoag.partitions(written(frame, tmp_path / "t.parquet"), "y", standardise=True)
    saved = json.loads(json.dumps(source.encoding))
    gone = frame.assign(flag=None).drop(columns="y")[:20]
    new = hoag.partitions(written(gone, tmp_path / "new.csv"), encoding=saved)
    assert new.names == source.names
    expected = source.read(0).X[:20].copy()
    expected[:, source.names.index("flag")] = round(frame.flag.mean())
    np.testing.assert_allclose(new.read(0).X, expected, rtol=1e-12, atol=1e-12)
    path = written(frame.assign(b="text"), tmp_path / "bad.csv")
    with pytest.raises(InvalidInputError, match=r"'b' holds a number .* text in .*bad\.csv"):
        hoag.partitions(path, encoding=saved)


def test_names_that_would_be_alike_are_told_apart(tmp_path):
    table = pd.DataFrame({"a_b": [1.0, 2.0], "a": ["b", "c"], "y": [0, 1]})
    source = hoag.partitions(written(table, tmp_path / "t.parquet"), "y")
    assert source.names == ["numbers__a_b", "categories__a_b", "categories__a_c"]


def test_more_features_than_were_seen_have_a_cache_of_their_own(tmp_path):
    path = tmp_path / "t.svm"
    path.write_text("1 1:2 3:1\n0 2:1\n")
    for features in (None, 7, None, 3):
        assert hoag.partitions(path, features=features).features == (features or 3)
    with pytest.raises(InvalidInputError, match="features=4, and X has 3 columns"):
        hoag.partitions((np.eye(3), [0, 1, 1]), features=4)


def test_new_rows_of_an_archive_without_y(tmp_path, rows):
    X, y, _ = rows
    np.savez_compressed(tmp_path / "all.npz", X=X, y=y)
    np.savez_compressed(tmp_path / "new.npz", X=X[:9])
    source = hoag.partitions(tmp_path / "all.npz", standardise=True)
    new = source.like(tmp_path / "new.npz").read(0)
    np.testing.assert_array_equal(new.X, source.read(0).X[:9])
    assert np.isnan(new.y).all()


def test_a_full_disk_is_said(tmp_path, frame, monkeypatch):
    import errno

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    path = written(frame, tmp_path / "t.csv")
    monkeypatch.setattr("hoag._data.cache.np.save", full)
    with pytest.raises(OSError, match=r"no room for the cache .* cache=None"):
        hoag.partitions(path, "y")
    assert [p.suffix for p in (tmp_path / ".hoag-blocks").iterdir()] == [".lock"]


def test_standardising_leaves_the_array_of_somebody_as_it_was(rows):
    X, y, _ = rows
    before = X.copy()
    for source in (
        hoag.partitions((X, y), standardise=True),
        hoag.partitions([(X, y)], standardise=True),
        hoag.partitions(lambda: iter([(X, y)]), standardise=True, cache=None),
    ):
        for _ in range(2):
            np.testing.assert_allclose(source.read(0).X.std(axis=0), 1)
        np.testing.assert_array_equal(X, before)


def test_another_folder_is_no_matter(tmp_path, rows, monkeypatch):
    X, y, _ = rows
    np.save(tmp_path / "X.npy", X)
    np.savez_compressed(tmp_path / "all.npz", X=X, y=y)
    monkeypatch.chdir(tmp_path)
    sources = hoag.partitions("X.npy", y), hoag.partitions("all.npz", cache="c")
    monkeypatch.chdir(tmp_path.parent)
    for source in sources:
        same(source, X, y)
