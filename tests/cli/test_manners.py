"""Manners of a Unix command: light help, exit codes, one line on standard error, pipes,
interruptions.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli.commands import here, several, tamis
from data.corpus import BAD
from processes import run_process, start_process

from tamis import FTRLClassifier, open_rows, save, train
from tamis.cli.data import INPUTS, OUTPUTS
from tamis.cli.parser import make_parser

COMMANDS = ["fit", "predict", "inspect", "compare", "check", "demo", "warm"]


@pytest.mark.own_seeds  # a process whose seeds are shifted has loaded NumPy for that
def test_help_is_light():
    loaded = run_process(
        "import sys\nfrom tamis.cli.main import main\ntry:\n    main(['--help'])\nexcept "
        "SystemExit:\n    print(*sys.modules)"
    ).split()
    assert not [
        name for name in ("numba", "sklearn", "scipy", "numpy", "rich", "pandas") if name in loaded
    ]
    assert all(command in loaded for command in ("fit", "compare")) or "usage:" in loaded


@pytest.mark.own_seeds
def test_a_command_loads_no_pandas(tmp_path):
    """60 MB; but whoever wants it later gets it."""
    (tmp_path / "a.csv").write_text("a,b,y\n" + "1,u,0\n2,v,1\n" * 9)
    loaded = run_process(
        """
        import sys
        from tamis.cli.main import main

        main(["fit", sys.argv[1], "--method", "ftrl"])
        print("pandas" in sys.modules, "sklearn" in sys.modules, end=" ")
        import pandas
        print(hasattr(pandas, "DataFrame"))
        """,
        tmp_path / "a.csv",
    )
    assert loaded.splitlines()[-1] == "False True True"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command, capsys):
    done = here(command, "--help", capsys=capsys)
    assert done.code == 0
    assert f"usage: tamis {command}" in done.out


@pytest.mark.parametrize(
    "line",
    [
        "fit a --method ftrl --loss hinge --passes 2 --test t --out o --report p --checkpoint c "
        "--every 5 --seed 1 --threads 2",
        "predict m f -o out --proba",
        "inspect m --top 30 --csv",
        "compare a --test t --runs 10",
        "check a --json",
        "demo --report p --json",
        "warm",
    ],
)
def test_promised_options_are_there(line):
    assert make_parser().parse_args(line.split()).command == line.split()[0]


@pytest.mark.parametrize("name", [name for k, name in enumerate(BAD) if k % 9 == 0])
@pytest.mark.parametrize("command", ["fit", "check"])
def test_bad_files_give_one_line(name, command, tmp_path, capsys):
    (tmp_path / name).write_bytes(BAD[name][0])
    done = here(
        command,
        tmp_path / name,
        *(["--method", "ftrl"] if command == "fit" else ["--on-bad", "error"]),
        capsys=capsys,
    )
    assert done.code == 1
    assert not done.out
    assert len(done.err.strip().splitlines()) == 1
    assert done.err.startswith(f"tamis {command}: ")
    assert BAD[name][1] in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["fit", "none.svm"], 1, "no such file"),
        (["fit", "a.svm", "--method", "none"], 2, "invalid choice"),
        (["fit", "a.svm", "--passes", "0"], 2, "must be 1 or more"),
        (["fit", "a.svm", "--out", "nowhere/m"], 2, "its folder does not exist"),
        (["fit", "a.svm", "--method", "ftrl", "--set", "alpha"], 2, "NAME=VALUE"),
        (["fit", "a.svm", "--method", "ftrl", "--set", "alpha=-1"], 1, "alpha"),
        (
            ["fit", "a.svm", "--method", "ftrl", "--loss", "none"],
            1,
            "'loss' parameter must be one of",
        ),
        (["fit", "a.svm", "-"], 2, "cannot be read together"),
        (["predict", "a.svm", "a.svm"], 1, "not a model file of tamis"),
        (["inspect", "none"], 1, "No such file"),
        (["compare", "a.svm", "--methods", "none"], 2, "is not among"),
        (["compare", "a.svm", "--runs", "1"], 2, "--runs must be 2 or more"),
        ([], 2, "COMMAND"),
    ],
)
def test_wrong_requests(arguments, code, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.svm").write_text("1 1:1\n-1 2:1\n" * 10)
    done = here(*arguments, capsys=capsys)
    assert done.code == code
    assert words in done.err
    assert not done.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.svm"]


def pairs():
    """Every option that names an output with every one that names an input, of every command."""
    commands = make_parser()._subparsers._group_actions[0].choices
    for command, parser in commands.items():
        actions = {action.dest: action for action in parser._actions}
        inputs = [actions[name] for name in INPUTS if name in actions]
        for output in (actions[name] for name in OUTPUTS if name in actions):
            line = [command]
            for action in inputs:
                line += [*action.option_strings[:1], action.dest]
            line += [*output.option_strings[-1:], "out"]
            for found in inputs:
                yield pytest.param(line, found.dest, id=f"{command}-{output.dest}-{found.dest}")


@pytest.mark.parametrize(("line", "name"), list(pairs()))
def test_no_output_replaces_an_input(line, name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for each in line[1:]:
        if not each.startswith("-") and each != "out":
            Path(each).write_text(f"{each}\n")
    Path("out").symlink_to(name)
    done = here(*line, capsys=capsys)
    assert done.code == 2
    assert "would replace an input" in done.err
    assert Path(name).read_text() == f"{name}\n"
    assert Path("out").is_symlink()


def test_every_option_is_known_as_an_input_an_output_or_neither():
    """An option that is new says here what it is."""
    neither = """
        as_ cluster command decimal delimiter encoding format hash_bits label loss max_line_bytes
        methods query set silence substitutes table target title weight kinds categorical ignore
        """
    commands = make_parser()._subparsers._group_actions[0].choices.values()
    words = {
        action.dest
        for parser in commands
        for action in parser._actions
        if action.type is None and action.choices is None and action.nargs != 0
    }
    assert words - set(neither.split()) == {*INPUTS, *OUTPUTS, "checkpoint"}


def test_inputs_that_are_not_named_as_such(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("a1.svm").write_text("1 1:1\n-1 2:1\n" * 10)
    Path("docword.x.txt").write_text("1\n1\n1\n1 1 1\n")
    Path("vocab.x.txt").write_text("sea\n")
    lines = [
        "fit a?.svm --out a1.svm",
        f"select file://{tmp_path}/a1.svm --out a1.svm",
        "associate docword.x.txt --query sea --page vocab.x.txt",
        "fit a1.svm --out same --report ./same",
        "fit a1.svm --out .",
        "fit a1.svm --stream --checkpoint . --out m",
    ]
    for line in lines:
        done = here(*line.split(), capsys=capsys)
        assert done.code == 2, (line, done.err)
    done = tamis("select", "-", "--out", "a1.svm", cwd=tmp_path, shell="< a1.svm")
    assert done.code == 2
    assert "standard input" in done.err
    done = tamis("check", "a1.svm", cwd=tmp_path, shell=">> a1.svm")
    assert done.code == 2
    assert "/dev/stdout" in done.err
    assert sorted(os.listdir()) == ["a1.svm", "docword.x.txt", "vocab.x.txt"]


def test_an_output_may_be_a_stream(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1\n-1 2:1\n" * 10)
    fit = ["fit", tmp_path / "a.svm", "--method", "ftrl", "--json"]
    predict = ["predict", tmp_path / "m", tmp_path / "a.svm"]
    code, said, errors = several(
        [*fit, "--out", tmp_path / "m"],
        [*predict, "-o", "/dev/stdout"],
        [*predict, "-o", os.devnull],
        [*fit, "--out", os.devnull],
    )
    assert code == 0, errors
    assert said[1] == "1\n-1\n" * 10


def test_a_reader_that_goes_away(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1\n-1 2:1\n" * 40_000)
    save(train(FTRLClassifier(), open_rows(tmp_path / "a.svm")), tmp_path / "m")
    command = (
        f"{sys.executable} -m tamis predict {tmp_path}/m {tmp_path}/a.svm | head -1; echo "
        f"${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout == "1\n141\n"
    assert "Traceback" not in done.stderr
    assert "Broken" not in done.stderr


SAID = {signal.SIGINT: (130, "interrupted"), signal.SIGTERM: (143, "terminated")}


@pytest.mark.parametrize("number", SAID)
def test_an_interruption_leaves_a_checkpoint_or_nothing(tmp_path, number):
    (tmp_path / "a.svm").write_text(
        "".join(f"{k % 2} {1 + k % 700}:1 {800 + k % 13}:0.5\n" for k in range(30_000))
    )
    arguments = [
        "fit",
        "a.svm",
        "--method",
        "ftrl",
        "--passes",
        "100000",
        "--chunk-rows",
        "500",
        "--every",
        "1000",
        "--checkpoint",
        "ck",
        "--out",
        "m",
    ]
    child = subprocess.Popen(
        [sys.executable, "-m", "tamis", *arguments],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    while not (tmp_path / "ck" / "checkpoint.json").exists():
        time.sleep(0.05)
        assert child.poll() is None, child.stderr.read()
    os.kill(child.pid, number)
    out, err = child.communicate(timeout=60)
    code, word = SAID[number]
    assert child.returncode == code
    assert not out
    assert err.splitlines()[-1] == f"tamis: {word}; the same command goes on from ck."
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.svm", "ck"]
    names = sorted(path.name for path in (tmp_path / "ck").iterdir())
    assert names[:2] == ["checkpoint.json", "checkpoint.lock"]
    assert {name[:6] for name in names[2:]} == {"model-"}


@pytest.mark.parametrize("number", SAID)
@pytest.mark.parametrize(
    "line",
    [
        "fit - --format svmlight --method ftrl --out old",
        "predict m - --format svmlight -o old",
        "select - --format svmlight --out old",
        "check - --format svmlight",
        "compare - --format svmlight --methods ftrl --report old",
    ],
)
def test_a_signal_ends_a_command_in_one_line(line, number, tmp_path):
    """Also one that waits for input in another thread; SIGTERM where SIGINT is ignored."""
    (tmp_path / "a.svm").write_text("1 1:1 2:1\n-1 2:1\n" * 10)
    save(train(FTRLClassifier(), open_rows(tmp_path / "a.svm")), tmp_path / "m")
    (tmp_path / "old").write_text("as it was")
    (tmp_path / "tmp").mkdir()
    background = 'trap "" INT; exec "$@"' if number == signal.SIGTERM else 'exec "$@"'
    child = subprocess.Popen(
        ["sh", "-c", background, "sh", sys.executable, "-m", "tamis", *line.split()],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    child.stdin.write(b"1 1:1 2:1\n-1 2:1\n" * 40_000)  # more than a pipe holds: it reads them
    child.stdin.flush()
    os.kill(child.pid, number)
    out, err = child.communicate(timeout=60)
    code, word = SAID[number]
    assert (child.returncode, out) == (code, b"")
    assert err.decode().splitlines()[-1:] == [f"tamis: {word}."]
    assert b"Traceback" not in err
    assert (tmp_path / "old").read_text() == "as it was"
    assert sorted(os.listdir(tmp_path)) == ["a.svm", "m", "old", "tmp"]
    assert not os.listdir(tmp_path / "tmp")


IN_A_DESTRUCTOR = """
    import os, signal, time
    from tamis.cli import main

    class Last:
        def __del__(self):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)

    main.make_parser = lambda: Last() and time.sleep(60)
    main.command()
"""


def test_a_signal_where_python_can_only_print_the_exception():
    child = start_process(IN_A_DESTRUCTOR, stderr=subprocess.PIPE)
    assert child.communicate(timeout=60)[1] == "tamis: interrupted.\n"
    assert child.returncode == 130


def test_a_signal_before_the_options_are_read(monkeypatch, capsys):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr("tamis.cli.main.make_parser", interrupted)
    assert here("check", "a.svm", capsys=capsys) == (130, "", "tamis: interrupted.\n")


def test_streams_that_are_closed_or_empty(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1 2:1\n-1 2:1\n" * 10)
    save(train(FTRLClassifier(), open_rows(tmp_path / "a.svm")), tmp_path / "m")
    lines = [line.split() for line in ("fit -", "predict m -", "select -", "check -")]
    for closing in ("<&-", "</dev/null"):
        code, _, errors = several(*lines, ["explain", "m", "-"], cwd=tmp_path, shell=closing)
        assert code == 1, errors
        assert [line for line in errors.splitlines() if "standard input" not in line] == []
        assert len(errors.splitlines()) == 5
    predict, inspect = ["predict", "m", "a.svm", "-o", "out"], ["inspect", "m"]
    for closing in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        code, _, errors = several(predict, inspect, cwd=tmp_path, shell=closing)
        assert code == 0, (closing, errors)
        assert (tmp_path / "out").read_text() == "1\n-1\n" * 10
        (tmp_path / "out").unlink()


@pytest.mark.parametrize(
    "line",
    [
        "check ODD",
        "fit ODD --method ftrl --out ODD.m --report ODD.html",
        "predict ODD.m ODD -o ODD.out",
        "inspect ODD.m --json",
        "explain ODD.m ODD --class ODD",
        "export ODD.m --to sql --table ODD",
        "export ODD.m -o ODD.json",
        "fit ODD --target ODD --format csv",
        "fit ODD --format csv --delimiter ODD",
        "fit ODD --set ODD=1",
        "ODD",
    ],
)
def test_arguments_that_are_no_text(line, tmp_path, capsys, monkeypatch):
    """Bytes that are no UTF-8 come as lone surrogates."""
    monkeypatch.chdir(tmp_path)
    odd = os.fsdecode(b"a\xff.svm")
    Path(odd).write_text("1 1:1 2:1\n-1 2:1\n" * 10)
    save(train(FTRLClassifier(), open_rows(odd)), f"{odd}.m")
    done = here(*line.replace("ODD", odd).split(), capsys=capsys)
    assert done.code in (0, 1, 2)
    assert not any(word in done.err for word in ("codec", "TAMIS_DEBUG", "Error:"))
    (done.out + done.err).encode()


def test_tables_with_words_are_read_beside_pandas(tmp_path):
    """Without loading it; in a process of their own, since here it may be loaded already."""
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(
        arrow.table(
            {"a": ["u", "v", "w", None] * 9, "b": [1.0, 2.0] * 18, "y": ["no", "yes"] * 18}
        ),
        tmp_path / "a.parquet",
    )
    fit = ["fit", "a.parquet", "--method", "ftrl", "--missing", "zero", "--out", "m"]
    code, said, errors = several(fit, ["predict", "m", "a.parquet"], cwd=tmp_path)
    assert code == 0, errors
    assert said[1].split()[:2] == ["no", "yes"]


PLAIN = {"LC_ALL": "C", "PYTHONUTF8": "0"}


@pytest.mark.parametrize(
    ("locale", "encoding"),
    [
        (PLAIN, "utf-8"),
        ({**PLAIN, "PYTHONIOENCODING": "ascii"}, "ascii"),
        ({"PYTHONIOENCODING": "cp1252"}, "cp1252"),
    ],
    ids=["C", "ascii", "cp1252"],
)
def test_names_that_the_locale_cannot_write(tmp_path, locale, encoding):
    """Output in a file is UTF-8, as files are, where nobody asked for another encoding."""
    lines = [f"{k % 7 - 3},{k % 5},{'jä' if k % 7 > 2 else '否'}" for k in range(60)]
    text = "\n".join(["größe,中文,ziel€", *lines, ""])
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")

    fit = ["fit", "a.csv", "--method", "ftrl", "--target", "ziel€", "--as", "größe=number"]
    code, said, errors = several(
        [*fit, "--out", "m"],
        ["inspect", "m", "--json"],
        ["predict", "m", "a.csv"],
        ["inspect", "m"],
        ["check", "a.csv"],
        cwd=tmp_path,
        encoding=encoding,
        **locale,
    )
    assert code == 0, errors
    found, predicted = json.loads(said[1]), said[2].split()
    assert {line["name"] for line in found["top"]} >= {"größe", "中文"}
    assert found["classes"] == ["jä", "否"]
    escaped = {"jä", "否"} if encoding == "utf-8" else {"j\\xe4", "jä", "\\u5426"}
    assert set(predicted) <= escaped
    assert len(predicted) == 60


def test_memory_that_is_not_there_is_refused_with_one_way_out(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tamis.system.memory.free_memory", lambda: 1 << 29)
    rows = tmp_path / "wide.svm"
    rows.write_text("1 1:1\n-1 100000000:1\n")
    done = here("fit", rows, "--method", "fobos", "--passes", "1", capsys=capsys)
    assert done.code == 1
    assert "0.5 GiB that are free" in done.err
    assert done.err.count("Hash the columns") == 1
