"""The data sets: readers on small files, where files come from, and `hoag data`."""

import bz2
import gzip
import hashlib
import io
import json
import lzma
import os
import socket
import struct
import tarfile
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from quick import quick

from hoag import cli, datasets, errors
from hoag._core import writing
from hoag.cli.data import _digest
from hoag.datasets import CATALOGUE, Entry, File
from hoag.errors import InvalidInputError

REAL = os.environ.get("HOAG_DATA")
CONTENT = np.random.default_rng(0).bytes(300_000)


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    """HOAG_DATA and the cache are two new folders, and nothing waits."""
    for name, folder in (("HOAG_DATA", "data"), ("HOAG_CACHE", "cache")):
        (tmp_path / folder).mkdir()
        monkeypatch.setenv(name, str(tmp_path / folder))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    return tmp_path / "data", tmp_path / "cache"


class Server:
    """Serves CONTENT at every address, and counts how often it was asked.

    `cut`: close the connection after so many bytes, so many times.
    """

    def __init__(self):
        self.cut, self.times, self.content, self.status = 0, 1, CONTENT, 200
        self.asked = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args):
                pass

            def do_GET(self):
                outer.asked += 1
                if outer.status != 200:
                    self.send_error(outer.status)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(outer.content)))
                self.end_headers()
                cut = outer.cut if outer.times else 0
                outer.times -= bool(cut)
                self.wfile.write(outer.content[:cut] if cut else outer.content)

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,))
        self.thread.start()

    def file(self, name="tiny.bin", content=CONTENT, **changes):
        address = f"http://127.0.0.1:{self.http.server_port}/{name}"
        digest = hashlib.sha256(content).hexdigest()
        return replace(File({name: digest}, len(content), (address,)), **changes)

    def close(self):
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


@pytest.fixture
def server():
    server = Server()
    yield server
    server.close()


def closed():
    """An address where nobody answers."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return f"http://127.0.0.1:{taken.getsockname()[1]}/tiny.bin"


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


# Readers


def write_idx(path, values):
    header = struct.pack(f">I{values.ndim}I", 0x800 + values.ndim, *values.shape)
    path.write_bytes(gzip.compress(header + values.astype(np.uint8).tobytes()))


def write_mnist(folder, n=5):
    pixels = np.random.default_rng(1).integers(0, 256, size=(n, 28, 28))
    write_idx(folder / "train-images-idx3-ubyte.gz", pixels)
    write_idx(folder / "train-labels-idx1-ubyte.gz", np.arange(n))
    return pixels


PARKINSONS = (
    "subject#,age,sex,test_time,motor_UPDRS,total_UPDRS,Jitter(%),Jitter(Abs),Jitter:RAP,"
    "Jitter:PPQ5,Jitter:DDP,Shimmer,Shimmer(dB),Shimmer:APQ3,Shimmer:APQ5,Shimmer:APQ11,"
    "Shimmer:DDA,NHR,HNR,RPDE,DFA,PPE"
)


def write_parkinsons(folder, rows=4):
    table = np.arange(rows * 22).reshape(rows, 22)
    lines = [PARKINSONS, *(",".join(map(str, row)) for row in table)]
    path = folder / "parkinsons_updrs.data"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_mnist_is_cropped_averaged_and_scaled(folders):
    pixels = write_mnist(folders[0])
    found = datasets.load("mnist")
    assert found.X.shape == (5, 144)
    assert found.X[3, 0] == pytest.approx(pixels[3, 2:4, 2:4].mean() / 255)
    assert found.X[3, 13] == pytest.approx(pixels[3, 4:6, 4:6].mean() / 255)
    assert found.X[4, 143] == pytest.approx(pixels[4, 24:26, 24:26].mean() / 255)
    assert found.y.tolist() == [0, 1, 2, 3, 4]
    assert found.kind == "multiclass"


def test_parkinsons_predicts_the_total_score_from_the_other_columns(folders):
    path = write_parkinsons(folders[0])
    found = datasets.load("parkinsons")
    assert found.X[0].tolist() == [1, 2, 3, *range(6, 22)]
    assert found.y.tolist() == [5, 27, 49, 71]
    assert found.source == str(path)


SVMLIGHT = b"+1 1:0.5 3:1\n-1 2:2\n+1 3:-1\n"


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)],
)
@pytest.mark.parametrize("name", ["real-sim", "imdb"])
def test_svmlight_files_are_read_however_they_are_packed(folders, name, suffix, pack):
    stem = {"real-sim": "real-sim", "imdb": "imdb_tfidf.svm"}[name]
    (folders[0] / (stem + suffix)).write_bytes(pack(SVMLIGHT))
    found = datasets.load(name)
    assert found.X.toarray().tolist() == [[0.5, 0, 1], [0, 2, 0], [0, 0, -1]]
    assert found.y.tolist() == [1, -1, 1]
    assert found.y.dtype == int


POSTS = [  # in the order of the file of lines
    ("train", "alt.atheism", "1002", "first caf\xe9"),
    ("train", "alt.atheism", "999", "second\r\nwords"),
    ("train", "sci.space", "5", "third moon"),
    ("test", "alt.atheism", "1", "fourth"),
    ("test", "sci.space", "10", "fifth moon"),
    ("test", "sci.space", "9", "sixth moon"),
]
LABELS = [0, 0, 1, 0, 1, 1]


def write_lines(path):
    with gzip.open(path, "wt", encoding="utf-8") as out:
        for (split, group, number, text), label in zip(POSTS, LABELS):
            row = {"split": split, "label": label, "group": group, "id": number, "text": text}
            out.write(json.dumps(row) + "\n")


def write_archive(path):
    """The posts in another order, among members that are no posts."""
    with tarfile.open(path, "w:gz") as out:

        def add(name, content=b"bait", **changes):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            for key, value in changes.items():
                setattr(info, key, value)
            out.addfile(info, io.BytesIO(content))

        add("20news-bydate-train/alt.atheism/", b"", type=tarfile.DIRTYPE)
        for split, group, number, text in reversed(POSTS):
            add(f"20news-bydate-{split}/{group}/{number}", text.encode("latin-1"))
        add("20news-bydate-train/alt.atheism/README")
        add("20news-bydate-train/alt.atheism/../../7")
        add("/20news-bydate-train/alt.atheism/8")
        add("20news-bydate-other/alt.atheism/9")
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
            link = "20news-bydate-test/sci.space/9"
            add("20news-bydate-train/sci.space/77", b"", type=kind, linkname=link)


def test_the_archive_gives_the_same_rows_as_the_file_of_lines(folders):
    lines, archive = folders[0] / "20news-bydate.jsonl.gz", folders[0] / "20news-bydate.tar.gz"
    write_lines(lines)
    write_archive(archive)
    before = names_in(folders[0])
    assert datasets.posts(archive) == ([text for *_, text in POSTS], LABELS)
    assert datasets.posts(lines) == datasets.posts(archive)
    assert names_in(folders[0]) == before


@pytest.mark.parametrize("write", [write_lines, write_archive])
def test_the_seed_chooses_the_positive_groups(folders, write):
    suffix = {write_lines: "jsonl.gz", write_archive: "tar.gz"}[write]
    write(folders[0] / f"20news-bydate.{suffix}")
    seen = set()
    for seed in range(8):
        positive = np.random.default_rng(seed).permutation(20)[:10]
        found = datasets.load("20news", seed=seed)
        assert found.y.tolist() == [1 if label in positive else -1 for label in LABELS]
        seen.add(tuple(found.y))
    assert len(seen) > 2
    assert found.X.shape[0] == len(POSTS)


@pytest.mark.parametrize("name", [n for n, e in CATALOGUE.items() if not e.files])
def test_bundled_sets_need_no_file(name):
    found, entry = datasets.load(name, download=False), datasets.describe(name)
    assert found.X.shape == (entry.rows, entry.columns)
    assert found.y.shape == (entry.rows,)
    assert found.source == "bundled with scikit-learn"
    classes = {"binary": [2], "multiclass": range(3, 11), "regression": range(50, 500)}
    assert len(np.unique(found.y)) in classes[found.kind]


def test_imdb_says_that_it_stands_in_for_real_sim():
    assert "stands in for real-sim" in datasets.describe("imdb").description


# Damaged files


def damaged_gzip(folder):
    write_lines(folder / "20news-bydate.jsonl.gz")
    return "20news", "20news-bydate.jsonl.gz", -20


def damaged_archive(folder):
    write_archive(folder / "20news-bydate.tar.gz")
    return "20news", "20news-bydate.tar.gz", -60


def damaged_bz2(folder):
    (folder / "real-sim.bz2").write_bytes(bz2.compress(SVMLIGHT))
    return "real-sim", "real-sim.bz2", -8


def damaged_xz(folder):
    (folder / "real-sim.xz").write_bytes(lzma.compress(SVMLIGHT))
    return "real-sim", "real-sim.xz", -8


def damaged_table(folder):
    write_parkinsons(folder)
    return "parkinsons", "parkinsons_updrs.data", -20


def damaged_images(folder):
    write_mnist(folder)
    return "mnist", "train-images-idx3-ubyte.gz", -20


@pytest.mark.parametrize(
    "damage",
    [damaged_gzip, damaged_archive, damaged_bz2, damaged_xz, damaged_table, damaged_images],
)
def test_a_truncated_file_is_named(folders, damage):
    name, file, end = damage(folders[0])
    path = folders[0] / file
    path.write_bytes(path.read_bytes()[:end])
    with pytest.raises(errors.DataDamagedError, match=r"is damaged: .*Delete it") as caught:
        datasets.load(name)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("file", "values", "sentence"),
    [
        ("train-images-idx3-ubyte.gz", np.zeros(50), "header is of 2049"),
        ("train-images-idx3-ubyte.gz", np.zeros((5, 8, 8)), r"\[8, 8\], not \(28, 28\) bytes"),
        ("train-labels-idx1-ubyte.gz", np.zeros(4), "has 5 images, and .* 4 labels"),
    ],
)
def test_idx_headers_are_checked(folders, file, values, sentence):
    write_mnist(folders[0])
    write_idx(folders[0] / file, values)
    with pytest.raises(errors.DataDamagedError, match=sentence):
        datasets.load("mnist")


def test_an_idx_file_that_is_shorter_than_its_header_says(folders):
    write_mnist(folders[0])
    path = folders[0] / "train-labels-idx1-ubyte.gz"
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes())[:-2]))
    with pytest.raises(errors.DataDamagedError, match="promises 5 items, and 3 bytes follow"):
        datasets.load("mnist")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "is damaged"),
        (PARKINSONS, "is damaged"),
        (PARKINSONS.replace("total_UPDRS", "other") + "\n" + ",".join("1" * 22), "no 22 columns"),
        (PARKINSONS + "\n" + ",".join("1" * 21), "no 22 columns"),
    ],
)
def test_the_columns_of_the_table_are_checked(folders, content, sentence):
    (folders[0] / "parkinsons_updrs.data").write_text(content)
    with pytest.raises(errors.DataDamagedError, match=sentence):
        datasets.load("parkinsons")


def test_a_file_that_may_not_be_opened_is_not_called_damaged(folders, monkeypatch):
    write_parkinsons(folders[0])

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(PermissionError):
        datasets.load("parkinsons")


# Where files come from


def test_the_folder_comes_before_the_cache_and_the_cache_before_a_download(folders, server):
    data, cache = folders
    file = server.file()
    assert datasets._get(file) == cache / file.name
    assert (cache / file.name).read_bytes() == CONTENT
    assert datasets._get(file) == cache / file.name
    assert server.asked == 1
    (data / file.name).write_bytes(b"mine")
    assert datasets._get(file) == data / file.name


def test_the_cache_follows_the_platform(monkeypatch, tmp_path):
    monkeypatch.delenv("HOAG_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    found = {}
    for platform in ("linux", "darwin", "win32"):
        monkeypatch.setattr(writing.sys, "platform", platform)
        found[platform] = writing.cache_folder().relative_to(tmp_path)
    monkeypatch.setattr(writing.sys, "platform", "linux")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert found["linux"] == Path("xdg/hoag")
    assert found["darwin"] == Path("Library/Caches/hoag")
    assert found["win32"] == Path("local/hoag")
    assert writing.cache_folder() == tmp_path / ".cache" / "hoag"


def test_an_empty_variable_counts_as_unset(monkeypatch, folders):
    monkeypatch.setenv("HOAG_DATA", "")
    assert datasets.folders() == (folders[1],)


@pytest.mark.parametrize(("times", "whole"), [(1, True), (9, False)])
def test_a_broken_download_is_tried_again_and_leaves_nothing_behind(folders, server, times, whole):
    server.cut, server.times = 120_000, times
    if whole:
        assert datasets._get(server.file()).read_bytes() == CONTENT
    else:
        with pytest.raises(errors.DataNotFoundError, match="120000 out of 300000 bytes"):
            datasets._get(server.file())
    assert server.asked == 2
    assert names_in(folders[1]) == (["tiny.bin"] if whole else [])


def test_a_wrong_checksum_leaves_no_file(folders, server):
    server.content = CONTENT[::-1]
    with pytest.raises(errors.DataNotFoundError, match=r"SHA256 checksum of tiny.bin .* differs"):
        datasets._get(server.file())
    assert names_in(folders[1]) == []
    assert server.asked == 1


def test_the_next_address_is_tried(folders, server):
    good = server.file()
    file = replace(good, addresses=(closed(), *good.addresses))
    assert datasets._get(file).read_bytes() == CONTENT


@pytest.mark.parametrize("status", [404, 503])
def test_what_a_server_answers_is_told(folders, server, status):
    server.status = status
    with pytest.raises(errors.DataNotFoundError, match=f"{server.file().addresses[0]}: .*{status}"):
        datasets._get(server.file())


def test_without_a_network_the_sentence_says_everything(folders):
    address = closed()
    with pytest.raises(errors.DataNotFoundError) as caught:
        datasets._get(File({"tiny.bin": "0", "tiny.txt": ""}, 1, (address,)))
    said = str(caught.value)
    for part in ("tiny.bin or tiny.txt", *map(str, folders), address, "refused", "HOAG_DATA"):
        assert part in said
    assert isinstance(caught.value, FileNotFoundError)


def test_without_download_nothing_is_asked_for(folders, server):
    file = server.file()
    with pytest.raises(errors.DataNotFoundError, match="download=True") as caught:
        datasets._get(file, download=False)
    assert file.addresses[0] in str(caught.value)
    assert server.asked == 0


def test_a_set_without_a_home_says_where_to_put_the_file(folders, monkeypatch):
    monkeypatch.delenv("HOAG_DATA")
    with pytest.raises(
        errors.DataNotFoundError, match=r"not distributed anywhere\. Put imdb_tfidf"
    ) as e:
        datasets.load("imdb")
    assert "HOAG_DATA is not set" in str(e.value)


def test_a_cache_that_cannot_be_written_is_named(folders, server, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(errors.DataNotFoundError, match="Set HOAG_CACHE to a folder") as caught:
        datasets._get(server.file())
    assert str(folders[1]) in str(caught.value)


def test_several_that_fetch_at_once_all_have_the_whole_file(folders, server):
    file, found = server.file(), []
    threads = [
        threading.Thread(target=lambda: found.append(datasets._get(file).read_bytes() == CONTENT))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4
    assert names_in(folders[1]) == ["tiny.bin"]


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(InvalidInputError, match=r"20news, real-sim.*Did you mean 'mnist'"):
        datasets.load("minst")


# The command


@pytest.fixture
def tiny(server, monkeypatch):
    """A data set of three rows, in a catalogue with imdb and iris."""
    server.content = SVMLIGHT
    file = server.file("tiny.svm", SVMLIGHT)
    entry = Entry("Tiny", "Made up.", "binary", 3, 3, datasets._svmlight, (file,))
    few = {"tiny": entry, "imdb": CATALOGUE["imdb"], "iris": CATALOGUE["iris"]}
    monkeypatch.setattr(datasets, "CATALOGUE", few)
    return entry


def test_list_reads_nothing(tiny, folders, capsys):
    (folders[0] / "imdb_tfidf.svm.bz2").write_bytes(b"x" * 200_000)
    assert cli.main(["data", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["name", "rows", "×", "columns", "kind", "size", "where"]
    assert lines[1].endswith("not here: hoag data fetch tiny")
    assert lines[2].split() == f"imdb 50000 × 21043 binary 0.2 MB {folders[0]}".split()
    assert lines[3].endswith("bundled with scikit-learn")
    assert all(str(folder) in lines[-1] for folder in folders)


def test_list_as_json(tiny, folders, capsys):
    assert cli.main(["data", "list", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert list(rows) == ["tiny", "imdb", "iris"]
    assert [row["here"] for row in rows.values()] == [False, False, True]
    assert rows["imdb"]["where"] == "put imdb_tfidf.svm.bz2 into the folder HOAG_DATA"
    assert rows["tiny"]["rows"] == 3


def test_fetch_downloads_then_finds(tiny, folders, server, capsys):
    assert cli.main(["data", "fetch", "tiny", "iris"]) == 0
    out = capsys.readouterr()
    assert out.out == f"tiny: {folders[1] / 'tiny.svm'}\niris: bundled with scikit-learn\n"
    assert out.err == ""
    assert cli.main(["data", "fetch", "tiny"]) == 0
    assert server.asked == 1
    assert datasets.load("tiny").X.shape == (3, 3)


def test_fetch_all_leaves_out_what_has_no_home(tiny, folders, capsys):
    assert cli.main(["data", "fetch", "--all"]) == 0
    assert names_in(folders[1]) == ["tiny.svm"]
    assert "imdb: not distributed anywhere" in capsys.readouterr().err


def test_fetch_goes_on_after_a_failure(tiny, folders, capsys):
    assert cli.main(["data", "fetch", "imdb", "tiny"]) == 1
    assert names_in(folders[1]) == ["tiny.svm"]
    assert "Put imdb_tfidf.svm.bz2" in capsys.readouterr().err


def test_fetch_says_what_it_does_on_a_terminal(tiny, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert cli.main(["data", "fetch", "tiny"]) == 0
    err = capsys.readouterr().err
    assert "tiny: looking for its files" in err
    assert err.endswith("\r\033[K")


@pytest.mark.parametrize("arguments", [["fetch"], ["fetch", "tiny", "--all"], []])
def test_wrong_usage(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main(["data", *arguments])
    assert caught.value.code == cli.USAGE
    assert "usage: hoag data" in capsys.readouterr().err


def test_check_says_ok_wrong_and_not_here(tiny, folders, capsys):
    assert cli.main(["data", "check"]) == 0
    assert capsys.readouterr().out == "tiny: not here\nimdb: not here\niris: ok\n"
    assert cli.main(["data", "check", "iris", "tiny"]) == 1
    assert "tiny: not here: tiny.svm is not in" in capsys.readouterr().out
    path = folders[0] / "tiny.svm"
    path.write_bytes(SVMLIGHT)
    assert cli.main(["data", "check", "tiny"]) == 0
    assert capsys.readouterr().out == "tiny: ok\n"
    path.write_bytes(SVMLIGHT.replace(b"0.5", b"0.6"))
    assert cli.main(["data", "check"]) == 1
    assert f"tiny: wrong: {path} has the wrong checksum" in capsys.readouterr().out


def test_check_reads_the_file(tiny, folders, capsys, monkeypatch):
    path = folders[0] / "tiny.svm"
    for content, sentence in (
        (b"+1 1:0.5\n", "has the shape (1, 1) in place of (3, 3)"),
        (b"no numbers\n", f"{path} is damaged"),
    ):
        path.write_bytes(content)
        assert cli.main(["data", "check", "tiny", "--json"]) == 1
        (row,) = json.loads(capsys.readouterr().out)
        assert row["status"] == "wrong"
        assert "wrong checksum" in row["wrong"][0]
        assert sentence in row["wrong"][1]


def test_an_unknown_name_is_one_line(capsys):
    assert cli.main(["data", "check", "minst"]) == 1
    assert capsys.readouterr().err.startswith("hoag: error: There is no data set 'minst'")


# The real files


@pytest.fixture
def real(monkeypatch):
    if not REAL:
        pytest.skip("HOAG_DATA is not set")
    monkeypatch.setenv("HOAG_DATA", REAL)

    def here(name):
        if not datasets.present(name):
            pytest.skip(f"{name} is not in HOAG_DATA")
        return datasets.describe(name)

    return here


@pytest.mark.parametrize("name", ["20news", "imdb", "parkinsons", "mnist"])
def test_the_checksums_of_the_real_files(real, name):
    for file in real(name).files:
        path = file.here()
        assert _digest(path) == file.forms[path.name]
        assert path.name != file.name or path.stat().st_size == file.size


# imdb takes ten seconds to read; tests/test_real_data.py does.
@pytest.mark.parametrize("name", quick(["20news", "parkinsons", "mnist"], ["parkinsons", "mnist"]))
def test_the_shapes_of_the_real_files(real, name):
    entry, found = real(name), datasets.load(name, download=False)
    assert found.X.shape == (entry.rows, entry.columns)
    assert found.y.shape == (entry.rows,)
    classes = {"binary": 2, "multiclass": 10, "regression": 1129}
    assert len(np.unique(found.y)) == classes[found.kind]
