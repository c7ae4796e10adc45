# SPDX-License-Identifier: Apache-2.0
"""``gangsched``: output, errors, Ctrl-C, help."""

import contextlib
import csv
import gzip
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

import pytest
from job_support import jobs_of

import gangsched as gs
from gangsched import cli
from gangsched.cli import commands
from gangsched.cli import help as cli_help
from gangsched.sim import options

JOBS = jobs_of(40)
TREE = {"a": {"weight": 2}, "top": {"queues": {"b": {"limit": {"gpu": 8}}}}}


@pytest.fixture
def there(tmp_path, monkeypatch):
    """The current folder, with a trace, a cluster, and a tree."""
    monkeypatch.chdir(tmp_path)
    gs.Trace(JOBS).write("jobs.csv")
    with gzip.open("jobs.csv.gz", "wb") as file:
        file.write((tmp_path / "jobs.csv").read_bytes())
    nodes = gs.Cluster.uniform(nodes=2, gpus=8, gpu_model="A100").to_dict()
    (tmp_path / "site.json").write_text(json.dumps({"nodes": nodes["nodes"]}))
    (tmp_path / "queues.json").write_text(json.dumps(TREE))
    return tmp_path


@pytest.fixture
def run(there, capsys):
    """Run a command line; returns its status, standard output and standard error."""

    def go(line):
        status = cli.main(line.split())
        said = capsys.readouterr()
        return status, said.out, said.err

    return go


def python(line, **more):
    command = [sys.executable, "-m", "gangsched", *line.split()]
    return subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        timeout=60,
        **more
    )


# ---- what it does ------------------------------------------------------------------------------


def test_simulate_reports_refused_jobs_with_reasons(run):
    why = "gpu is short (5000 milli-GPUs a task)"
    status, out, err = run("simulate jobs.csv --nodes 2 --gpus 4 --report page.html")
    assert status == 0 and re.search(r"^refused +20$", out, re.M)
    assert (
        err.startswith("note: 20 of 40 jobs refused; 'j4': ")
        and why in err
        and len(err.splitlines()) == 1
    )
    with open("page.html", encoding="utf-8") as file:
        page = file.read()
    assert "Refused jobs, with reasons" in page and why in page
    status, out, err = run("compare jobs.csv --nodes 2 --gpus 4 --policy fifo,sjf --jobs 2")
    assert (
        status == 0
        and re.match(r" +jobs +refused +unfinished ", out)
        and re.search(r"^sjf +20 +20 +0 ", out, re.M)
    )
    assert (
        err.startswith("note: fifo: 20 of 40 jobs refused; 'j4': ") and len(err.splitlines()) == 1
    )
    assert "refused" not in run("compare jobs.csv --nodes 2 --policy fifo")[1]


def test_a_trace_is_simulated(run):
    expected = gs.simulate(gs.Cluster.uniform(2), gs.Trace(JOBS), policy="sjf").summary()
    status, out, err = run("simulate jobs.csv.gz --nodes 2 --gpus 8 --policy sjf --json")
    found = json.loads(out)
    assert (
        (status, err) == (0, "")
        and found["summary"] == expected
        and found["policy"] == "sjf"
        and not found["interrupted"]
    )
    status, out, err = run("simulate jobs.csv --nodes 2 --policy sjf")
    assert (
        (status, err) == (0, "")
        and re.search(r"^jobs +40$", out, re.M)
        and re.search(r"^waiting time( +\S+ \w+){4}$", out, re.M)
    )


def test_simulate_reads_cluster_queues_and_options_from_files_and_arguments(run):
    line = "simulate jobs.csv --cluster site.json --queues queues.json --seed 3 --until 150 --set node_mtbf_s=400 --set loss=restart --json"
    status, out, _ = run(line + " --set checkpoint_s=inf")
    with gs.Cluster.from_json("site.json") as cluster:
        settings = {
            "node_mtbf_s": 400,
            "loss": "restart",
            "checkpoint_s": float("inf"),
            "seed": 3,
            "until_s": 150,
        }
        expected = gs.simulate(cluster, gs.Trace(JOBS), TREE, **settings)
    found = json.loads(out)
    assert status == 0 and found["summary"] == expected.summary() and found["info"]["now_s"] == 150
    assert found["summary"]["unfinished"] > 0 and set(found["summary"]["queues"]) == {
        "a", "top", "b",
    }


def test_a_run_may_end_at_a_date(run, there):
    line = "1 0 0 60 4 -1 -1 4 60 -1 1 1 1 1 1 -1 -1 -1\n"
    (there / "log.swf").write_text("; UnixStartTime: 1767603600\n" + line, encoding="utf-8")
    command = "simulate log.swf --nodes 2 --json --until "
    found = json.loads(run(command + "2026-01-05T09:00:30Z")[1])
    assert found["info"]["now_s"] == 30
    status, _, err = run(command + "2026-01-05T09:00:30")
    assert status == 1 and "until_s: 2026-01-05 09:00:30 has no time zone" in err
    status, _, err = run("simulate jobs.csv --nodes 2 --until 2026-01-05")
    assert status == 1 and "no epoch" in err
    status, _, err = run("simulate jobs.csv --nodes 2 --until soon")
    assert status == 1 and "until_s: expected a date with its year, not 'soon'" in err


def test_cluster_file_may_be_a_table_or_hold_the_queues(run, there):
    (there / "nodes.csv").write_text("name,cpus,mem_mib,gpus\nx,64,524288,8\ny,64,524288,8\n")
    plain = json.loads(run("simulate jobs.csv --nodes 2 --json")[1])["summary"]
    table = json.loads(run("simulate jobs.csv --cluster nodes.csv --json")[1])["summary"]
    assert table["wait_s"] == plain["wait_s"]
    case = {
        **json.loads((there / "site.json").read_text()),
        "queues": [{"name": "a"}, {"name": "b", "limit": {"gpu": 8}}],
    }
    with gzip.open(there / "case.json.gz", "wb") as file:
        file.write(json.dumps(case).encode())
    found = json.loads(run("simulate jobs.csv --cluster case.json.gz --json")[1])["summary"]
    assert set(found["queues"]) == {"a", "b"} and found["wait_s"] != plain["wait_s"]


def test_policies_are_compared(run, there):
    status, out, _ = run("compare jobs.csv --nodes 2 --json --out runs --report page.html")
    found = json.loads(out)["results"]
    assert (
        status == 0
        and list(found) == list(commands.POLICIES)
        and sorted(os.listdir("runs")) == sorted(commands.POLICIES)
    )
    expected = gs.compare(commands.POLICIES, gs.Cluster.uniform(2), gs.Trace(JOBS))
    assert {name: one["summary"] for name, one in found.items()} == {
        name: one.summary() for name, one in expected.items()
    }
    page = (there / "page.html").read_text(encoding="utf-8")
    assert "Comparison" in page and "gangsched compare jobs.csv" in page
    status, out, _ = run("compare jobs.csv --nodes 2 --policy sjf,fifo --policy srtf")
    assert status == 0 and [line.split()[0] for line in out.splitlines()[1:]] == [
        "sjf", "fifo", "srtf",
    ]


def test_tables_are_written(run, there):
    status, out, _ = run(
        "simulate jobs.csv --cluster site.json --queues queues.json --out deep/run --json"
    )
    assert status == 0 and sorted(os.listdir("deep/run")) == [
        "allocations.csv", "jobs.csv", "run.json", "summary.json", "timeline.csv",
    ]
    rows = list(csv.DictReader(open("deep/run/jobs.csv", newline="")))
    table = gs.simulate(gs.Cluster.from_json("site.json"), gs.Trace(JOBS), TREE).jobs
    assert [float(row["start_s"]) for row in rows] == table.start_s.tolist() and [
        row["job"] for row in rows
    ] == table.job.tolist()
    assert (
        json.loads((there / "deep/run/summary.json").read_text())["summary"]
        == json.loads(out)["summary"]
    )


def test_a_run_that_was_written_is_run_again(run, there):
    run("simulate jobs.csv.gz --cluster site.json --queues queues.json --seed 5 --set node_mtbf_s=500 --set checkpoint_s=inf --out run1")
    saved = json.loads((there / "run1" / "run.json").read_text())
    assert saved["options"]["checkpoint_s"] == "inf" and saved["trace"]["path"] == str(
        there / "jobs.csv.gz"
    )
    status, out, err = run("report run1 -o again.html --title Again")
    assert (status, out, err) == (0, "", "")
    run("report jobs.csv.gz --cluster site.json --queues queues.json --seed 5 --set node_mtbf_s=500 --set checkpoint_s=inf -o direct.html --title Again")
    again, direct = (
        (there / name).read_text(encoding="utf-8").split("It was made by")[0]
        for name in ("again.html", "direct.html")
    )
    assert again == direct and "<h1>Again</h1>" in again
    assert (
        run("report run1 --policy fifo,sjf -o two.html")[0] == 0
        and "Comparison" in (there / "two.html").read_text()
    )
    gs.Trace(JOBS[:-1]).write("jobs.csv.gz")
    status, _, err = run("report run1 -o again.html")
    assert status == 1 and "jobs.csv.gz: has changed since run1/run.json was written" in err


def test_configuration_is_converted_and_used(there):
    (there / "slurm.conf").write_text("ClusterName=x\nNodeName=n[1-2] CPUs=64 RealMemory=524288 Gres=gpu:8\nPartitionName=a Nodes=n[1-2]\n")
    made = python("convert slurm.conf -q", cwd=there)
    assert made.returncode == 0, made.stderr
    ran = python(
        "simulate jobs.csv --cluster - --default-queue a --json", cwd=there, input=made.stdout
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["summary"]["jobs"] == 40


def test_a_trace_comes_from_standard_input(there):
    ran = subprocess.run(
        [sys.executable, "-m", "gangsched", "simulate", "-", "--nodes", "2", "--json"],
        stdin=open("jobs.csv.gz", "rb"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["summary"]["jobs"] == 40


# ---- what is wrong -----------------------------------------------------------------------------

WRONG = {
    "simulate none.csv --nodes 2": (1, "none.csv: No such file or directory"),
    "simulate . --nodes 2": (1, ".: Is a directory"),
    "simulate torn.csv.gz --nodes 2": (1, "torn.csv.gz: cannot be decompressed"),
    "simulate bad.csv --nodes 2": (1, "bad.csv: line 3: run_s: not a number"),
    "simulate queues.json --nodes 2": (1, "queues.json: the first lines"),
    "simulate jobs.csv --nodes 2 --format nothing": (1, "there is no format 'nothing'"),
    "simulate jobs.csv": (2, "--cluster FILE, or --nodes N"),
    "simulate jobs.csv --nodes -1": (2, "--nodes: must be 0 or more"),
    "simulate jobs.csv --cluster site.json --gpus 4": (2, "--gpus contradicts it"),
    "simulate jobs.csv --cluster queues.json": (1, "queues.json: there are no nodes"),
    "simulate jobs.csv --cluster torn.json": (1, "torn.json:"),
    "simulate jobs.csv --cluster latin.json": (1, "latin.json: byte 14 is not UTF-8"),
    "simulate jobs.csv --cluster wrong.json": (1, "wrong.json: nodes[0].gpus"),
    "simulate jobs.csv --nodes 2 --queues wrongtree.json": (
        1,
        "wrongtree.json: top.queues.b.limit.gpu",
    ),
    "simulate jobs.csv --nodes 2 --queues nobody.json": (1, "nobody.json: there are no queues"),
    "simulate jobs.csv --nodes 2 --queues site.json": (1, "site.json: nodes: expected a dict, not list"),
    "simulate jobs.csv --nodes 2 --queues cd.json": (
        1,
        'jobs.csv: jobs[0].queue: no queue is called "a"',
    ),
    "simulate jobs.csv --nodes 2 --queues queues.json --default-queue c": (1, "c"),
    "simulate jobs.csv --nodes 2 --policy best": (2, "--policy: there is no policy 'best'"),
    "simulate jobs.csv --nodes 2 --set speed": (2, "--set speed: expected NAME=VALUE"),
    "simulate jobs.csv --nodes 2 --set colour=red": (2, "there is no option 'colour'"),
    "simulate jobs.csv --nodes 2 --set runtime_estimates=all": (1, "runtime_estimates"),
    "simulate jobs.csv --nodes 2 --set node_mtbf_s=-1": (1, "node_mtbf"),
    "simulate jobs.csv --nodes 2 --out jobs.csv": (1, "jobs.csv: File exists"),
    "simulate jobs.csv --nodes 2 --report no/such.html": (1, "no: No such file or directory"),
    "report jobs.csv --nodes 2 -o .": (1, ".: Is a directory"),
    "report empty": (1, "empty/run.json: No such file"),
    "report other": (1, "other/run.json: not a folder of --out"),
    "report other --nodes 2": (2, "other/run.json has the run: --nodes contradicts it"),
    "report other --seed 4": (2, "--seed contradicts it"),
    "simulate - --cluster -": (2, "standard input"),
    "convert none.xml": (1, "none.xml"),
    "": (2, "COMMAND"),
    "dance": (2, "dance"),
}


@pytest.mark.parametrize("line", WRONG)
def test_wrong_input_is_reported_in_one_line_with_its_place(run, there, line):
    (there / "torn.csv.gz").write_bytes((there / "jobs.csv.gz").read_bytes()[:-20])
    (there / "bad.csv").write_text("job,submit_s,run_s\na,0,5\nb,0,soon\n")
    (there / "torn.json").write_text('{"nodes": [')
    (there / "latin.json").write_bytes(b'{"nodes": [{"\xe4": 1}]}'.replace(b'"\xe4', b'" \xe4'))
    (there / "wrong.json").write_text('{"nodes": [{"name": "a", "gpus": "many"}]}')
    (there / "wrongtree.json").write_text('{"top": {"queues": {"b": {"limit": {"gpu": "many"}}}}}')
    (there / "nobody.json").write_text('{"nodes": [], "queues": []}')
    (there / "cd.json").write_text('{"c": {}, "d": {}}')
    for name in ("empty", "other"):
        (there / name).mkdir()
    (there / "other" / "run.json").write_text('{"trace": 5}')
    expected, words = WRONG[line]
    status, out, err = run(line)
    assert (status, out) == (expected, ""), err
    last = err.splitlines()[-1]
    assert "error: " in last and words in last, err
    assert expected == 2 or len(err.splitlines()) == 1, err


def test_an_internal_error_keeps_its_traceback(run, monkeypatch):
    monkeypatch.setattr(commands, "_results", lambda run, arguments: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        run("simulate jobs.csv --nodes 2")


def test_a_closed_pipe_ends_the_command_quietly(there):
    command = (
        "%s -m gangsched simulate jobs.csv --nodes 2 | true; echo ${PIPESTATUS[0]}" % sys.executable
    )
    ran = subprocess.run(
        ["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60
    )
    assert (ran.stdout, ran.stderr) == (b"0\n", b"")


# ---- a terminal, Ctrl-C ------------------------------------------------------------------------


def test_ctrl_c_prints_the_results_so_far(there):
    """The job never ends, as failures destroy its work; the progress bar shows that it runs."""
    gs.Trace(
        [
            {"job": "short", "submit_s": 0, "run_s": 1},
            {"job": "sisyphus", "submit_s": 0, "run_s": 1e6},
        ]
    ).write("hard.csv")
    line = "simulate hard.csv --nodes 1 --json --out part --set task_mtbf_s=100 --set loss=restart --set max_restarts=1000000000 --set checkpoint_s=inf"
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "gangsched", *line.split()], stdout=subprocess.PIPE, stderr=slave
    )
    os.close(slave)
    said, stop, sent = b"", time.monotonic() + 200, False
    try:
        while time.monotonic() < stop:
            if select.select([master], [], [], 0.2)[0]:
                try:
                    piece = os.read(master, 4096)
                except OSError:  # the other end is closed
                    break
                said += piece
            if b"1/2" in said and not sent:
                process.send_signal(signal.SIGINT)
                sent = True
        out = process.communicate(timeout=100)[0]
    finally:
        process.kill()
        process.wait()
        os.close(master)
    assert sent and process.returncode == 130, (process.returncode, said)
    found = json.loads(out)
    assert (
        found["interrupted"]
        and found["summary"]["jobs"] == 1
        and found["summary"]["unfinished"] == 1
    )
    assert (
        b"1 of 2 jobs had ended" in said
        and len((there / "part" / "jobs.csv").read_text().splitlines()) == 3
    )


def test_ctrl_c_skips_policies_that_have_not_begun(run, monkeypatch):
    from gangsched.cli import input as cli_input

    play, calls = cli_input.simulate, []

    def interrupted(*arguments, **options):
        made = play(*arguments, **options)
        calls.append(arguments[3])
        if len(calls) < 2:
            return made
        made.interrupted = True
        stop = KeyboardInterrupt()
        stop.partial_result = made
        raise stop

    monkeypatch.setattr(cli_input, "simulate", interrupted)
    status, out, err = run("compare jobs.csv --nodes 2 --json")
    assert (
        status == 130
        and list(json.loads(out)["results"]) == ["fifo", "sjf"] == calls
        and err.startswith("interrupted at ")
    )
    monkeypatch.setattr(
        cli_input, "simulate", lambda *arguments, **options: exec("raise KeyboardInterrupt")
    )
    assert run("simulate jobs.csv --nodes 2") == (130, "", "interrupted\n")


def test_policies_are_compared_in_processes(run):
    line = (
        "compare jobs.csv --cluster site.json --queues queues.json --policy fifo,queues,sjf --json"
    )
    alone, several = run(line), run(line + " --jobs 2")
    assert (
        alone[0] == 0
        and several == alone
        and list(json.loads(several[1])["results"]) == ["fifo", "queues", "sjf"]
    )
    assert run(line + " --jobs 9") == alone
    for wrong in ("0", "-1", "many"):
        status, out, err = run(line + " --jobs " + wrong)
        assert (status, out) == (2, "") and "--jobs" in err
    status, out, err = run(
        "compare jobs.csv --nodes 2 --queues queues.json --default-queue nobody --jobs 2"
    )
    assert (status, out) == (1, "") and "default_queue" in err and len(err.splitlines()) == 1


def cpu_of_children(process):
    """Seconds of CPU time that each child of a process has used."""
    with contextlib.suppress(OSError):
        children = open("/proc/%d/task/%d/children" % (process, process)).read().split()
        stats = [
            open("/proc/%s/stat" % child).read().rsplit(")", 1)[1].split() for child in children
        ]
        return [int(stat[11]) / os.sysconf("SC_CLK_TCK") for stat in stats]
    return []


def test_ctrl_c_stops_all_processes(there):
    """All processes get the signal, as from a terminal.

    One policy has ended by then, one runs, others have not begun.
    """
    gs.Trace([{"job": "sisyphus", "submit_s": 0, "run_s": 1e6}]).write("hard.csv")
    hard = "--set task_mtbf_s=100 --set loss=restart --set max_restarts=1000000000 --set checkpoint_s=inf"
    line = "compare hard.csv --nodes 1 --json --jobs 2 --policy fifo,sjf,srtf,las " + hard
    command = [sys.executable, "-m", "gangsched", *line.split()]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        stop = time.monotonic() + 60
        while (
            time.monotonic() < stop and sum(used > 0.3 for used in cpu_of_children(process.pid)) < 2
        ):
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=30)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert process.returncode == 130, err
    found = json.loads(out)["results"]
    assert (
        list(found)[:2] == ["fifo", "sjf"]
        and all(one["interrupted"] for one in found.values())
        and len(found) < 4
    )
    assert err.decode().startswith("interrupted") and len(err.splitlines()) == 1


def test_no_progress_bar_without_a_terminal(run):
    assert run("simulate jobs.csv --nodes 2 --json")[2] == ""


# ---- help --------------------------------------------------------------------------------------


def test_help_texts_have_examples_and_definitions(run):
    status, out, _ = run("--help")
    assert status == 0 and all(
        name in out
        for name in ("simulate", "compare", "convert", "report", "exit status", "submit_s")
    )
    for name in ("simulate", "compare", "report"):
        status, out, _ = run(name + " --help")
        assert status == 0 and "examples:" in out and "exit status:" in out
        assert all(re.search(r"^  %s " % option, out, re.M) for option in options.NAMES), name
    assert set(cli_help.OPTIONS) == options.NAMES
    assert (
        run("convert --help")[0] == 0
        and run("--version")[1].strip() == "gangsched " + gs.__version__
    )


def test_the_examples_of_the_help_run(run, there):
    """The examples run with the files that the help shows."""
    for name, content in re.findall(
        r"^(site|queues)\.json is (\{.*?\})[;.]$", cli_help.SIMULATE, re.M
    ):
        more = "".join(
            ', {"name": "n%d", "cpus": 64, "mem_mib": 524288, "gpus": 8}' % i for i in range(1, 9)
        )
        (there / (name + ".json")).write_text(content.replace(", ...]", more + "]"))
    jobs = re.search(r"^  (job,.*\n(?:  .*\n)+)", cli_help.ABOUT, re.M).group(1)
    (there / "jobs.csv").write_text(jobs.replace("\n  ", "\n"))
    (there / "jobs.csv.gz").write_bytes(gzip.compress((there / "jobs.csv").read_bytes()))
    (there / "philly.csv").write_bytes((there / "jobs.csv").read_bytes())
    lines = re.findall(
        r"^  gangsched (.*?)(?:  +\(.*)?$",
        "\n".join(vars(cli_help)[name] for name in ("ABOUT", "SIMULATE", "COMPARE", "REPORT")),
        re.M,
    )
    assert len(lines) >= 10
    for line in lines:
        if "|" in line:
            continue
        status, out, err = run(line)
        assert (status, err) == (0, ""), line


def test_the_command_line_without_the_extension_still_converts(there):
    """Conversion needs nothing but Python."""
    code = "import sys; sys.modules['gangsched._gangsched'] = None; sys.modules['numpy'] = None\n"
    code += "from gangsched.cli import main; sys.exit(main(['convert', '-q', 'fair.xml']))"
    (there / "fair.xml").write_text(
        "<allocations><queue name='a'><weight>2</weight></queue></allocations>"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60
    )
    assert ran.returncode == 0 and json.loads(ran.stdout)["queues"], ran.stderr


# ---- names of now, names before ------------------------------------------------------------------


def test_rows_are_skipped_and_bounded(run, there):
    (there / "bad.csv").write_text("job,submit_s,run_s\na,0,5\nb,0,soon\nc,0,5\nd,0,5\n")
    line = "simulate bad.csv --nodes 2 --json"
    assert run(line)[0] == 1 and run(line + " --on-error raise")[0] == 1
    status, out, err = run(line + " --on-error skip --max-jobs 2")
    assert (status, err) == (0, "") and json.loads(out)["summary"]["jobs"] == 2
    status, old, err = run(line + " --lenient --most 2")
    assert (status, json.loads(old)) == (0, json.loads(out))
    assert err.splitlines() == [
        "note: --lenient is now --on-error skip; the old name goes in the next version",
        "note: --most is now --max-jobs; the old name goes in the next version",
    ]
    assert "lenient" not in run("simulate --help")[1] and "--most" not in run("simulate --help")[1]


def test_old_names_in_a_trace_are_noted(run, there):
    (there / "old.csv").write_text("job,submit_s,run_s,tasks,gpus,limit_s\na,0,5,2,1,9\n")
    status, out, err = run("simulate old.csv --nodes 2 --json")
    assert status == 0 and json.loads(out)["summary"]["jobs"] == 1
    assert err.splitlines() == [
        "note: old.csv: the member %s of a job is now %s; the old name goes in the next version" % pair
        for pair in (("gpus", "gpu"), ("limit_s", "time_limit_s"), ("tasks", "count"))
    ]


def test_an_unknown_name_is_answered_with_the_closest_known_one(run, there):
    for line, meant in (
        ("simulate jobs.csv --nodes 2 --policy srft", "srtf"),
        ("simulate jobs.csv --nodes 2 --set node_mtbf=1", "node_mtbf_s"),
        ("simulate jobs.csv --nodes 2 --format cvs", "csv"),
    ):
        status, _, err = run(line)
        assert status in (1, 2) and "did you mean '%s'?" % meant in err


def test_commands_of_the_c_program_go_on_to_it(there, tmp_path):
    """One name for both: what the Python program does not do, the C program does."""
    program = tmp_path / "bin" / "gangsched"
    program.parent.mkdir()
    environment = {**os.environ, "PATH": str(program.parent)}
    environment.pop("GANGSCHED_CLI", None)

    def ran(*words, **more):
        return subprocess.run(
            [sys.executable, "-m", "gangsched", *words], env={**environment, **more},
            capture_output=True, text=True, timeout=60,
        )

    program.write_text("#!/bin/sh\nexit 9\n")
    program.chmod(0o755)
    none = ran("validate", "site.json")  # a script is not the C program
    assert none.returncode == 1 and "GANGSCHED_CLI may name it" in none.stderr
    cli_program = os.environ.get("GANGSCHED_CLI")
    if not cli_program:
        pytest.skip("no C program: set GANGSCHED_CLI to it")
    named = ran("validate", "site.json", GANGSCHED_CLI=cli_program)
    assert (named.returncode, named.stderr) == (0, "")
    program.unlink()
    program.symlink_to(os.path.abspath(cli_program))
    found = ran("validate", "site.json")
    assert (found.returncode, found.stdout) == (0, named.stdout)
    assert ran("topo", "--colour").returncode == 2
    assert set(cli_help.OF_C) == set(re.findall(r"^  (\w+) +", ran_help(cli_program), re.M))


def ran_help(program):
    return subprocess.run([program, "--help"], capture_output=True, text=True, timeout=60).stdout


def test_the_c_program_says_where_the_commands_of_python_are():
    program = os.environ.get("GANGSCHED_CLI")
    if not program:
        pytest.skip("no C program: set GANGSCHED_CLI to it")
    for name in ("simulate", "compare", "convert", "report"):
        ran = subprocess.run([program, name], capture_output=True, text=True, timeout=60)
        assert ran.returncode == 2 and "python3 -m gangsched %s" % name in ran.stderr
