import json
import subprocess
import sys

import pytest

from codednet.cli.main import COMMANDS, main
from codednet.codes import Code


def run(capsys, *arguments):
    status = main(arguments)
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_help_lists_every_command(capsys):
    status, out, _ = run(capsys, "--help")
    assert status == 0
    assert all(command in out for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(capsys, command):
    status, out, err = run(capsys, command, "--help")
    assert (status, err) == (0, "")
    assert out.startswith(f"usage: codednet {command}")
    assert "null" not in out.split("options:")[0]


def test_design_prints_one_json_object_and_writes_the_code(capsys, tmp_path):
    path, figure = tmp_path / "code.txt", tmp_path / "code.svg"
    arguments = ["--classes", "20", "--branches=16", "--active", "4", "-o", str(path), "--plot", str(figure), "--json"]
    status, out, _ = run(capsys, "design", *arguments)
    found = json.loads(out)
    assert status == 0
    names = "classes branches active rate min_distance distance_bound is_optimal spread loads pairs_at_min seconds"
    assert set(names.split()) <= set(found)
    code = Code.load(path)
    assert (found["classes"], found["min_distance"], found["loads"]) == (20, code.min_distance, [5, 5])
    assert figure.read_text().lstrip().startswith("<?xml")


def test_check_certifies_an_existing_code(capsys, tmp_path):
    path = tmp_path / "code.txt"
    path.write_text("1100\n0011\n1010\n")
    status, out, _ = run(capsys, "design", "--check", str(path))
    assert status == 0
    assert "min_distance    2" in out
    assert "1 to 2 classes a branch" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["desing"], "unknown command 'desing': did you mean 'design'?"),
        (["design", "--clases", "3"], "unknown argument --clases: did you mean '--classes'?"),
        (["design", "--classes", "three"], "--classes must be a whole number, got 'three'"),
        (["design", "--seconds", "soon"], "--seconds must be a number, got 'soon'"),
        (["design", "three"], "unexpected argument 'three'"),
        (["info"], "MODEL is missing: codednet info MODEL"),
        (["info", "coded_resnext29", "more"], "unexpected argument 'more'"),
        (["info", "coded_resnext29"], "no model is called 'coded_resnext29': did you mean 'coded_resnext29_"),
        (["design", "--classes", "3"], "missing: --branches, --active"),
        (["design", "--classes", "121", "--branches", "10", "--active", "3"], "only 120 exist"),
        (["design", "--classes", "3", "--branches", "2", "--active", "3"], "active must be at most"),
        (["design", "--classes", "-3", "--branches", "2", "--active", "1"], "at least 1, got -3"),
        (
            ["design", "--classes", "100", "--branches", "10", "--active", "3", "--min-distance", "6"],
            "at most 3 exist (Johnson bound)",
        ),
        (["design", "--check", "nowhere.txt"], "no code can be read from 'nowhere.txt'"),
        (["design", "--check", "x", "-o", "no/such/folder/code.txt"], "make it first"),
    ],
)
def test_wrong_input_exits_with_2_and_one_sentence(capsys, arguments, message):
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_debug_shows_the_traceback():
    with pytest.raises(ValueError, match="at least 1"):
        main(["design", "--classes", "0", "--branches", "2", "--active", "1", "--debug"])


def test_demo_prints_the_paper_s_codes():
    done = subprocess.run(
        [sys.executable, "-m", "codednet.cli.main", "design", "--classes", "10", "--branches", "10", "--active", "5"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "min_distance    4" in done.stdout
    assert done.stderr == ""
