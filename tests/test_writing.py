"""Nothing is lost by writing: links, pipes, permissions, full disks, outputs that are inputs."""

from __future__ import annotations

import errno
import itertools
import os
import stat

import numpy as np
import pytest

import hoag
from hoag._core.writing import locked, write_atomically
from hoag.cli import main
from hoag.cli.report import Page
from hoag.errors import InvalidInputError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, pipes and modes of POSIX")

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 3)), RNG.normal(size=40)


def checkpoint(path):
    hoag.RidgeCV(cv=3, checkpoint=path).fit(X, Y)


def page(path):
    Page("Title").write(path)


def plain(path):
    write_atomically(path, b"after")


WRITERS = (plain, page, checkpoint)


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("there", [False, True])
def test_what_a_link_leads_to_is_written_and_the_link_stays(write, there, tmp_path):
    target, first, second = (tmp_path / name for name in ("real", "first", "second"))
    if there and write is not checkpoint:
        target.write_bytes(b"before")
    first.symlink_to(target)
    second.symlink_to("first")
    write(second)
    assert second.is_symlink()
    assert first.is_symlink()
    assert target.read_bytes() not in (b"", b"before")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["first", "real", "second"]


@pytest.mark.parametrize("write", WRITERS)
def test_no_file_that_was_there_is_opened(write, tmp_path):
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    planted = [f"run{end}" for end in (".tmp", ".part")] + [f".run.{os.getpid()}.part"]
    for name in planted:
        (tmp_path / name).symlink_to(victim)
    write(tmp_path / "run")
    assert victim.read_bytes() == b"mine"
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([*planted, "run", "victim"])


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("what", ["pipe", "link", "device", "folder", "loop", "below"])
def test_what_is_no_regular_file_is_left_alone(write, what, tmp_path):
    path = tmp_path / "run"
    if what in ("pipe", "link"):
        os.mkfifo(path if what == "pipe" else tmp_path / "pipe")
    if what == "link":
        path.symlink_to(tmp_path / "pipe")
    elif what == "device":
        path.symlink_to("/dev/null")
    elif what == "folder":
        path.mkdir()
    elif what == "loop":
        path.symlink_to(path)
    elif what == "below":
        path.write_bytes(b"mine")
        path = path / "run"
    with pytest.raises((InvalidInputError, OSError), match=f"{tmp_path}.*(regular|folder|written)"):
        write(path)
    assert len(list(tmp_path.iterdir())) == 1 + (what == "link")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_permissions_stay_as_they_were(mode, tmp_path):
    path = tmp_path / "run"
    path.write_bytes(b"before")
    path.chmod(mode)
    plain(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    (tmp_path / "usual").write_bytes(b"")
    plain(tmp_path / "new")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_write_protected_file_is_kept(tmp_path, monkeypatch):
    path = tmp_path / "run"
    path.write_bytes(b"before")
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)  # root may do anything
    with pytest.raises(OSError, match=r"run could not be written .it is write-protected"):
        plain(path)
    assert path.read_bytes() == b"before"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_the_last_file_and_no_other(step, tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "run"
    path.write_bytes(b"before")
    monkeypatch.setattr(os, step, full)
    with pytest.raises(OSError, match=r"run could not be written .No space left"):
        plain(path)
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_lock_goes_through_no_link_and_waits_for_no_pipe(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe"):
        with pytest.raises(OSError, match=name), locked(tmp_path / name):
            pass
    assert not (tmp_path / "victim").exists()


# ---------------------------------------------------------------- outputs that are inputs

TUNE = ("FILE", "--save", "--report", "--checkpoint", "--cache")
PREDICT = ("MODEL", "FILE", "--out")
PAIRS = [
    (command, *pair)
    for command, names in (("tune", TUNE), ("predict", PREDICT))
    for pair in itertools.combinations(names, 2)
    if pair != ("MODEL", "FILE")  # both are read
]


def called(command, given):
    """The command with these paths; others are left out, or are what they should be."""
    places = {"tune": ["FILE"], "predict": ["MODEL", "FILE"]}[command]
    options = [part for name in given if name.startswith("--") for part in (name, given[name])]
    more = ["--target", "y"] if command == "tune" else []
    return main([command, *(str(given[name]) for name in places), *map(str, options), *more])


@pytest.mark.parametrize("named", ["same", "dots", "symbolic", "hard"])
@pytest.mark.parametrize(("command", "one", "other"), PAIRS)
def test_no_output_is_an_input_or_another_output(command, one, other, named, tmp_path, capsys):
    pytest.importorskip("pandas")
    pytest.importorskip("skops.io")
    pytest.importorskip("matplotlib")
    table = tmp_path / "t.csv"
    table.write_text("a,y\n" + "".join(f"{i % 7},{i % 3}\n" for i in range(60)))
    given = {"FILE": table, "MODEL": tmp_path / "model.skops"}
    (tmp_path / "model.skops").write_bytes(b"model")
    shared = given.get(one, tmp_path / "out.csv")
    again = tmp_path / "again.csv"
    if named == "same":
        again = shared
    elif named == "dots":
        again = tmp_path / "x" / ".." / shared.name
        (tmp_path / "x").mkdir()
    elif named == "symbolic":
        again.symlink_to(shared)
    elif shared.exists():
        again.hardlink_to(shared)
    else:
        pytest.skip("a hard link needs a file")
    given |= {one: shared, other: again}
    before = {p: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}
    assert called(command, given) == 1
    said = capsys.readouterr().err
    assert other in said
    assert "give the name of one" in said if other == "--cache" and shared.exists() else one in said
    assert {p: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()} == before


def test_standard_input_is_an_input(tmp_path, capsys, monkeypatch):
    table = tmp_path / "t.csv"
    table.write_text("a,y\n1,2\n")
    with open(table) as file:
        monkeypatch.setattr("sys.stdin", file)
        assert main(["tune", "-", "--target", "y", "--checkpoint", str(table)]) == 1
    assert "is the file of FILE, which is read" in capsys.readouterr().err
    assert table.read_text() == "a,y\n1,2\n"


def test_a_bundled_name_is_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["tune", "iris", "--checkpoint", "iris", "-q"]) == 0
    assert (tmp_path / "iris").exists()
