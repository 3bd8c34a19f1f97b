"""Files of rows that are damaged, or change while they are read: a sentence, no wrong number."""

from __future__ import annotations

import errno
import json
import os
import pickle
import zlib

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

import hoag
from hoag.errors import InvalidInputError

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "y"])
    return table.assign(kind=rng.choice(["u", "v", "w"], 60), weight=1.0)


def csv(frame, path):
    frame.to_csv(path, index=False)
    return path


def passes(source):
    return [source.read(i) for i in range(source.partitions)]


# ---------------------------------------------------------------- bits of a cache


def flipped(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def cached(frame, folder, sparse):
    """A source with a cache, which is used again when this is called again."""
    path = folder / ("t.svm" if sparse else "t.csv")
    if not path.exists() and sparse:
        dump_svmlight_file(frame[["a", "b"]].to_numpy(), frame["y"], str(path), zero_based=False)
    elif not path.exists():
        csv(frame, path)
    return hoag.partitions(path, **({} if sparse else {"target": "y", "weight": "weight"}), rows=25)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_flipped_bit_in_any_partition_is_told(sparse, frame, tmp_path):
    folder = cached(frame, tmp_path, sparse).cached.path
    parts = sorted(p for p in folder.iterdir() if p.name[0].isdigit())
    assert len(parts) == 3 * 4
    for path in parts:
        before = path.read_bytes()
        for at in (-1, len(before) // 2, 9, 20):  # numbers, and what says how to read them
            flipped(path, at)
            source = cached(frame, tmp_path, sparse)
            assert source.cached.path == folder
            with pytest.raises(InvalidInputError, match=f"{path.name}.* is not what was written"):
                passes(source)
            path.write_bytes(before)
    assert len(passes(cached(frame, tmp_path, sparse))) == 3


def test_a_bit_that_flips_between_passes_is_told(frame, tmp_path):
    source = cached(frame, tmp_path, sparse=False)
    passes(source)
    flipped(source.cached.path / "000001.X.npy", -1)
    for each in (source, pickle.loads(pickle.dumps(source))):
        with pytest.raises(InvalidInputError, match=r"000001\.X\.npy"):
            hoag.RidgeCV(cv=3).fit(each)


def test_a_verified_partition_is_not_summed_again(frame, tmp_path, monkeypatch):
    source = cached(frame, tmp_path, sparse=False)
    passes(source)
    monkeypatch.setattr(zlib, "crc32", lambda *data: pytest.fail("was summed again"))
    passes(source)


@pytest.mark.parametrize("harm", ["flip", "deep", "list", "word", "moments"])
def test_a_cache_whose_manifest_is_damaged_is_made_again(harm, frame, tmp_path):
    source = cached(frame, tmp_path, sparse=False)
    expected, manifest = passes(source), source.cached.path / "manifest.json"
    if harm == "flip":
        text = manifest.read_text()
        manifest.write_text(text.replace('"u"', '"t"'))
        assert manifest.read_text() != text
    elif harm == "moments":
        flipped(manifest.with_name("statistics.npy"), -1)
    else:
        deep = "[" * 100_000
        manifest.write_text({"deep": deep, "list": "[1]", "word": '{"checksum": 0}'}[harm])
    again = cached(frame, tmp_path, sparse=False)
    assert again.names == source.names
    for one, other in zip(passes(again), expected, strict=True):
        assert one.X.tobytes() == other.X.tobytes()


# ---------------------------------------------------------------- files that change


def sources(frame, folder):
    """Sources by name: the file that is changed, and the source."""
    X, y = frame[["a", "b"]].to_numpy().copy(order="C"), frame["y"].to_numpy()
    text, table = csv(frame, folder / "t.csv"), folder / "t.parquet"
    frame.to_parquet(table)
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    np.savez(folder / "a.npz", X=X, y=y)
    np.savez_compressed(folder / "c.npz", X=X, y=y)
    return {
        "csv, cached": (text, hoag.partitions(text, "y", rows=20)),
        "csv, parsed": (text, hoag.partitions(text, "y", rows=20, cache=None)),
        "parquet, parsed": (table, hoag.partitions(table, "y", rows=20, cache=None)),
        "npy": (folder / "X.npy", hoag.partitions((folder / "X.npy", y), rows=20)),
        "y of npy": (
            folder / "y.npy",
            hoag.partitions((folder / "X.npy", folder / "y.npy"), rows=20),
        ),
        "y beside X": (folder / "y.npy", hoag.partitions((X, folder / "y.npy"), rows=20)),
        "npz": (folder / "a.npz", hoag.partitions(folder / "a.npz", rows=20)),
        "packed": (folder / "c.npz", hoag.partitions(folder / "c.npz", rows=20, cache=None)),
    }


@pytest.mark.parametrize("change", ["append", "cut", "same size", "touched", "gone"])
def test_a_file_that_changes_between_passes_ends_the_fit_with_its_name(change, frame, tmp_path):
    for name in sources(frame, tmp_path):
        path, source = sources(frame, tmp_path)[name]
        passes(source)
        data = path.read_bytes()
        if change == "gone":
            path.unlink()
        elif change == "touched":
            os.utime(path, ns=(0, 0))
        else:
            cut = {"append": data + data[-40:], "cut": data[: len(data) // 2], "same size": data}
            path.write_bytes(cut[change])
            os.utime(path, ns=(1, 1))
        told = f"{path.name} (has changed since|is no longer there)"
        with pytest.raises(InvalidInputError, match=told):
            hoag.RidgeCV(cv=3).fit(source)
        with pytest.raises(InvalidInputError, match=told):
            source.fingerprint()


def test_a_file_that_changes_within_a_pass_is_told_at_its_end(frame, tmp_path):
    path, source = sources(frame, tmp_path)["npy"]
    source.read(0)
    os.utime(path, ns=(0, 0))
    source.read(1)
    with pytest.raises(InvalidInputError, match=r"X\.npy has changed"):
        source.read(2)


def test_a_file_that_changes_while_its_cache_is_written_leaves_none(frame, tmp_path, monkeypatch):
    from hoag._data.statistics import Tally

    path, add = csv(frame, tmp_path / "t.csv"), Tally.add

    def touch(self, raw):
        add(self, raw)
        os.utime(path, ns=(0, 0))

    monkeypatch.setattr(Tally, "add", touch)
    with pytest.raises(InvalidInputError, match=r"t\.csv has changed since it was opened"):
        hoag.partitions(path, "y")
    assert [p.suffix for p in (tmp_path / ".hoag-blocks").iterdir()] == [".lock"]


def test_the_file_of_y_is_told_by_what_it_holds(frame, tmp_path):
    before = sources(frame, tmp_path)["y beside X"][1].fingerprint()
    assert sources(frame, tmp_path)["y beside X"][1].fingerprint() != before  # another time
    source = sources(frame, tmp_path)["y beside X"][1]
    assert source.fingerprint() == source.fingerprint()


# ---------------------------------------------------------------- sentences


@pytest.mark.parametrize("known", [{"x": 1}, [], "words", {"numbers": []}, {"features": "many"}])
def test_an_encoding_that_is_none_is_refused(known, frame, tmp_path):
    X, y = frame[["a", "b"]].to_numpy(), frame["y"].to_numpy()
    for data in (csv(frame, tmp_path / "t.csv"), (X, y), [(X, y)]):
        with pytest.raises(InvalidInputError, match=r"encoding= is not that of partitions"):
            hoag.partitions(data, encoding=known)


def test_an_encoding_of_another_kind_of_data_is_refused(frame, tmp_path):
    X, y = frame[["a", "b"]].to_numpy(), frame["y"].to_numpy()
    table, numbers = hoag.partitions(csv(frame, tmp_path / "t.csv"), "y"), hoag.partitions((X, y))
    with pytest.raises(InvalidInputError, match="encoding= is that of a table, and the new"):
        table.like((X, y))
    with pytest.raises(InvalidInputError, match=r"of numbers without names, .* are a table"):
        numbers.like(tmp_path / "t.csv")
    again = hoag.partitions(tmp_path / "t.csv", encoding=json.loads(json.dumps(table.encoding)))
    assert again.read(0).X.tobytes() == table.read(0).X.tobytes()


@pytest.mark.parametrize("feature", [4 * 10**9, 10**30, -1])
def test_a_feature_that_cannot_be_is_told_with_its_line(feature, tmp_path):
    path = tmp_path / "t.svm"
    path.write_text(f"1 1:2 3:4\n0 2:1 {feature}:1\n")
    with pytest.raises(InvalidInputError, match=rf"t\.svm .* line 2 has the feature {feature}"):
        hoag.partitions(path)


def test_whole_numbers_past_the_floating_point_ones_are_told_with_column_and_row(frame, tmp_path):
    frame["id"] = np.arange(60) + 2**53
    path = tmp_path / "t.parquet"
    frame.to_parquet(path)
    for use in ({"target": "y"}, {"target": "y", "weight": "id", "columns": ["a"]}):
        with pytest.raises(InvalidInputError, match=r"Column 'id' .* in row 1 of .*2⁵³"):
            hoag.partitions(path, rows=30, **use)
    source = hoag.partitions(path, "y", columns=["a"])
    assert source.names == ["a"]


def test_arrays_that_are_cut_are_told_with_the_row(tmp_path):
    from hoag._data.arrays import OnDisk

    path = tmp_path / "X.npy"
    np.save(path, np.zeros((100, 3)))
    array, data = OnDisk(path, str(path)), path.read_bytes()
    path.write_bytes(data[: -24 * 10])
    assert array.take(0, 90).shape == (90, 3)
    with pytest.raises(InvalidInputError, match=r"X\.npy is cut off at row 90.* 100 rows"):
        array.take(50, 100)
    with pytest.raises(InvalidInputError, match=r"X\.npy is cut off"):
        hoag.partitions((path, np.zeros(100)))


def full(*arguments, **options):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def short(*arguments, **options):
    raise OSError("1000 requested and 12 written")  # as NumPy tells it


@pytest.mark.parametrize("what", ["np.save", "short", "manifest", "mkdir", "iterable"])
def test_a_full_disk_is_told_with_the_folder(what, frame, tmp_path, monkeypatch):
    path, data = csv(frame, tmp_path / "t.csv"), (frame[["a"]].to_numpy(), frame["y"].to_numpy())
    if what == "mkdir":
        monkeypatch.setattr("pathlib.Path.mkdir", full)
    elif what == "manifest":
        monkeypatch.setattr("pathlib.Path.write_text", full)
    else:
        monkeypatch.setattr("hoag._data.cache.np.save", short if what == "short" else full)
    given = (lambda: iter([data]),) if what == "iterable" else (path, "y")
    with pytest.raises(OSError, match=r"no room for the cache of partitions in .* Choose another"):
        hoag.partitions(*given, cache=tmp_path / "c")
    assert not [p for p in tmp_path.glob("c/*") if p.suffix != ".lock"]


def test_a_cache_where_no_folder_can_be_is_told(frame, tmp_path):
    path = csv(frame, tmp_path / "t.csv")
    for cache in (path, path / "below"):
        with pytest.raises(OSError, match=r"cannot be written to .*t\.csv.* Choose another"):
            hoag.partitions(path, "y", cache=cache)


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "t.csv")
    with pytest.raises(InvalidInputError, match="is not a regular file"):
        hoag.partitions(tmp_path / "t.csv", "y")


def test_arrow_files_whose_text_lies_outside_of_them_are_refused(tmp_path):
    """pyarrow believes the offsets of a file, and reads where they lead to."""
    pa, ipc = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.ipc")
    kinds = pa.array(["u", "v"] * 20)
    table = pa.table({"kind": kinds, "y": np.arange(40.0)})
    path = tmp_path / "t.arrow"
    with ipc.new_file(path, table.schema) as file:
        file.write_table(table)
    data, offsets = path.read_bytes(), np.arange(41, dtype=np.int32).tobytes()
    assert data.count(offsets) == 1
    wrong = np.where(np.arange(41) == 7, 2**30, np.arange(41)).astype(np.int32).tobytes()
    path.write_bytes(data.replace(offsets, wrong))
    with pytest.raises(InvalidInputError, match="cannot be read as Arrow"):
        hoag.partitions(path, "y", cache=None)
