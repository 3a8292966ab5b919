"""`predict` labels one's own photographs; what it cannot read it says in its row."""

import csv
import json
from pathlib import Path

import pytest
import torch
from PIL import Image

from codednet.cli.main import main
from codednet.data import open_data
from codednet.runs.folder import open_run


@pytest.fixture
def photographs(tmp_path: Path, pictures: Path) -> Path:
    """A folder as people have it: other sizes and modes, a folder inside, a text, a broken file."""
    folder = tmp_path / "photographs"
    (folder / "inside").mkdir(parents=True)
    whole = Image.open(pictures / "test" / "class3" / "0.png").resize((64, 48))
    whole.save(folder / "large.jpg")
    whole.convert("L").save(folder / "grey.png")
    whole.convert("CMYK").save(folder / "inside" / "print.tif")
    (folder / "notes.txt").write_text("no image")
    (folder / "broken.jpg").write_bytes((folder / "large.jpg").read_bytes()[:200])
    return folder


def test_a_folder_of_photographs_gets_a_row_each(finished_run: Path, photographs: Path, capsys) -> None:
    assert main(["predict", str(finished_run), str(photographs)]) == 0
    printed = capsys.readouterr()
    rows = {Path(row["path"]).name: row for row in csv.DictReader(printed.out.splitlines())}
    assert set(rows) == {"large.jpg", "grey.png", "print.tif", "broken.jpg"}
    for name in ("large.jpg", "grey.png", "print.tif"):
        assert rows[name]["label"].startswith("class")
        assert 0.1 <= float(rows[name]["confidence"]) <= 1
        assert rows[name]["error"] == ""
    assert (rows["broken.jpg"]["label"], rows["broken.jpg"]["confidence"]) == ("", "")
    assert rows["broken.jpg"]["error"]
    assert "1 of 4 images could not be read" in printed.err


def test_labels_are_those_of_the_network_on_the_test_split(finished_run: Path, pictures: Path, capsys) -> None:
    assert main(["predict", str(finished_run), str(pictures / "test"), "--json", "--batch=7"]) == 0
    rows = json.loads(capsys.readouterr().out)["predictions"]
    folder = open_run(finished_run)
    model = folder.load_model()
    (batch,) = open_data(folder.config().data, 3).eval_loader("test", 64)
    with torch.no_grad():
        best = model(batch.images).softmax(1).max(1)
    assert [row["label"] for row in rows] == [f"class{index}" for index in best.indices.tolist()]
    assert [row["confidence"] for row in rows] == pytest.approx(best.values.tolist(), abs=1e-5)


def test_a_csv_file_and_single_images(finished_run: Path, photographs: Path, tmp_path: Path, capsys) -> None:
    path = tmp_path / "labels.csv"
    image = str(photographs / "large.jpg")
    assert main(["predict", str(finished_run / "model"), image, image, "-o", str(path)]) == 0
    assert capsys.readouterr().out == ""
    header, *rows = path.read_text().splitlines()
    assert header.startswith("path,label,confidence")
    assert len(rows) == 2


def test_nothing_readable_is_a_failure(finished_run: Path, photographs: Path, capsys) -> None:
    assert main(["predict", str(finished_run), str(photographs / "broken.jpg")]) == 1
    assert main(["predict", str(finished_run), "nowhere.png"]) == 2
    assert "there is no file or folder 'nowhere.png'" in capsys.readouterr().err
    (photographs / "empty").mkdir()
    assert main(["predict", str(finished_run), str(photographs / "empty")]) == 2
    assert "there are no images in" in capsys.readouterr().err
