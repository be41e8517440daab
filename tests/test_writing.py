"""Files that commands write: refused before anything long begins, never put where no file is."""

import os
import sys

import numpy as np
import pytest

import spatialindex as si
from spatialindex.writing import check_target, replaced

needs_pipes = pytest.mark.skipif(sys.platform == "win32", reason="no pipes with names there")


@pytest.fixture
def pipe(tmp_path):
    path = tmp_path / "pipe.npz"
    os.mkfifo(path)
    return path


@needs_pipes
def test_a_pipe_or_a_device_is_refused_beforehand(pipe):
    for path in (pipe, os.devnull):
        with pytest.raises(si.InvalidArgumentError, match="it is a device or a pipe; name a file"):
            check_target(path)


@needs_pipes
def test_no_file_takes_the_place_of_a_pipe(pipe):
    refused = pytest.raises(si.InvalidArgumentError, match="it is a device or a pipe")
    with refused, replaced(pipe) as draft:
        draft.write_text("a page")
    with pytest.raises(si.RecordingError, match=r"pipe\.npz: cannot be written: it is a device"):
        si.Recording(np.zeros((1, 1, 4))).save(pipe)
    assert pipe.is_fifo()
    assert os.listdir(pipe.parent) == [pipe.name]


@needs_pipes
def test_a_link_to_a_pipe_is_refused_too(pipe, tmp_path):
    (tmp_path / "report.html").symlink_to(pipe)
    with pytest.raises(si.InvalidArgumentError, match="it is a device or a pipe"):
        check_target(tmp_path / "report.html")
    refused = pytest.raises(si.InvalidArgumentError, match="it is a device or a pipe")
    with refused, replaced(tmp_path / "report.html"):
        pass
    assert pipe.is_fifo()


def test_a_name_that_is_empty_is_refused():
    with pytest.raises(si.InvalidArgumentError, match="the file to write is empty; name one"):
        check_target("")


def test_a_folder_that_takes_no_files_is_refused_beforehand(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("spatialindex.writing.tempfile.TemporaryFile", refuse)
    with pytest.raises(si.InvalidArgumentError, match=r"a\.svg: cannot be written: Permission den"):
        check_target(tmp_path / "a.svg")


def test_looking_beforehand_leaves_nothing_behind(tmp_path):
    (tmp_path / "old.html").write_text("old")
    check_target(tmp_path / "old.html")
    check_target(tmp_path / "new.html")
    assert os.listdir(tmp_path) == ["old.html"]
    assert (tmp_path / "old.html").read_text() == "old"
