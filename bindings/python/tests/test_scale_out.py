# SPDX-License-Identifier: Apache-2.0
"""The same sweep on a process pool, on Dask distributed with a worker that dies, and on MPI."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import sweep_support
from sweep_support import AWKWARD, SEEDS, awkward, fail_at, line

import gangsched as gs

HERE = Path(__file__).resolve().parent

#: The environment of processes that this interpreter does not start itself.
ENV = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join([str(HERE), *(path for path in sys.path if path)]),
    "PYTHONWARNINGS": "ignore",
}


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    values = line(None, str(tmp_path_factory.mktemp("alone") / "log")).values
    assert [value["seed"] for value in values] == list(SEEDS) and len(
        {value["jct"] for value in values}
    ) > 12
    return values


def calls(log):
    """``(word, seed, process)`` of each note."""
    return [
        (word, int(seed), int(process))
        for word, seed, process in (row.split() for row in Path(log).read_text().splitlines())
    ]


def test_processes(expected, tmp_path):
    log = str(tmp_path / "log")
    assert line(2, log, 0.01).values == expected
    noted = calls(log)
    assert len({process for _, _, process in noted}) == 2 and os.getpid() not in {
        process for _, _, process in noted
    }
    assert sorted(seed for word, seed, _ in noted if word == "end") == list(SEEDS)
    assert gs.sweep(awkward, AWKWARD, executor=2).values == [list(one.values()) for one in AWKWARD]


@pytest.mark.parametrize("send", [os.killpg, os.kill])
def test_ctrl_c_ends_a_sweep_on_processes_and_begins_nothing_more(tmp_path, send):
    """A terminal sends Ctrl-C to all processes, an editor to one."""
    log = tmp_path / "log"
    log.touch()
    code = "import sys, sweep_support as s, gangsched as gs; gs.sweep(s.sleeps, {'log': [sys.argv[1]], 'seed': range(8)}, executor=2)"
    options = {
        "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": ENV,
        "start_new_session": True,
    }
    with subprocess.Popen([sys.executable, "-c", code, str(log)], **options) as process:
        wait_for(lambda: len(calls(log)) == 2, 30, process)
        time.sleep(0.2)
        send(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=120)  # without the signal: ten minutes
    # Both calls were cut off, and no other began.
    assert [word for word, _, _ in calls(log)] == ["begin", "begin"]
    assert said.rstrip().endswith("KeyboardInterrupt") and "Process " not in said


# ---- Dask ----------------------------------------------------------------------------------------


def wait_for(condition, seconds, process=None):
    stop = time.monotonic() + seconds
    while time.monotonic() < stop:
        found = condition()
        if found:
            return found
        assert process is None or process.poll() is None, (
            "it ended with status %s" % process.returncode
        )
        time.sleep(0.02)
    raise AssertionError("nothing came within %g s" % seconds)


@contextmanager
def dask(folder, workers=2):
    """Scheduler and workers on loopback, each in a process: the client, the worker processes."""
    distributed = pytest.importorskip(
        "distributed", reason="Dask distributed (python3-distributed) is not installed"
    )
    place, running = folder / "scheduler.json", []

    def start(program, *arguments):
        log = open(folder / ("%s-%d.log" % (program, len(running))), "wb")
        command = [
            sys.executable,
            "-m",
            "distributed.cli." + program,
            "--scheduler-file",
            str(place),
            "--host",
            "127.0.0.1",
            *arguments,
        ]
        running.append(subprocess.Popen(command, stdout=log, stderr=log, env=ENV, cwd=folder))
        return running[-1]

    try:
        first = start("dask_scheduler", "--port", "0", "--no-dashboard")
        # The workers wait for the file: all imports run at the same time.
        mine = [
            start(
                "dask_worker",
                "--no-nanny",
                "--nthreads",
                "1",
                "--memory-limit",
                "0",
                "--no-dashboard",
            )
            for _ in range(workers)
        ]
        wait_for(lambda: place.exists() and place.stat().st_size, 15, first)
        with distributed.Client(
            scheduler_file=str(place), timeout=15, set_as_default=False
        ) as client:
            client.wait_for_workers(workers, timeout=15)
            yield client, mine
    finally:
        for process in running:
            process.kill()
            process.wait()


class Killer(threading.Thread):
    """Kills a process in the middle of a call, after it has ended two calls."""

    def __init__(self, victim, log):
        super().__init__(daemon=True)
        self.victim, self.log, self.at = victim.pid, log, None

    def run(self):
        def busy():
            mine = (
                [call for call in calls(self.log) if call[2] == self.victim]
                if os.path.exists(self.log)
                else []
            )
            return len(mine) >= 5 and mine[-1][0] == "begin" and mine[-1]

        self.at = wait_for(busy, 15)[1]
        os.kill(self.victim, signal.SIGKILL)


def test_dask_with_a_worker_that_is_killed_in_the_middle(expected, tmp_path):
    log = str(tmp_path / "calls.log")
    with dask(tmp_path) as (client, workers):
        killer = Killer(workers[1], log)
        killer.start()
        found = line(client, log, 0.1)
        killer.join(10)
        assert workers[1].wait(5) == -signal.SIGKILL and workers[0].poll() is None
        # An exception of a call passes through, and the executor can be used again.
        with pytest.raises(KeyError, match="three"):
            gs.sweep(fail_at, {"x": range(6)}, executor=client)
        assert gs.sweep(awkward, AWKWARD, executor=client).values == [
            list(one.values()) for one in AWKWARD
        ]
    assert found.values == expected and [one["seed"] for one in found.params] == list(SEEDS)
    noted = calls(log)
    ended = [seed for word, seed, _ in noted if word == "end"]
    again = [process for word, seed, process in noted if word == "begin" and seed == killer.at]
    assert set(ended) == set(SEEDS) and again == [workers[1].pid, workers[0].pid]
    assert (
        0
        < sum(process == workers[1].pid for word, _, process in noted if word == "end")
        < len(SEEDS)
    )
    # Dask repeats the results that the dead worker had and that were not fetched; no others.
    dead = {seed for _, seed, process in noted if process == workers[1].pid}
    assert all(ended.count(seed) == 1 for seed in SEEDS if seed not in dead)


# ---- MPI -----------------------------------------------------------------------------------------


def test_mpi(expected, tmp_path):
    pytest.importorskip("mpi4py", reason="mpi4py (python3-mpi4py) is not installed")
    if shutil.which("mpirun") is None:
        pytest.skip("mpirun (openmpi-bin) is not installed")
    log = str(tmp_path / "calls.log")
    command = [
        "mpirun", "--oversubscribe", "--allow-run-as-root", "-n", "3", sys.executable, "-m",
        "mpi4py.futures", sweep_support.__file__, log,
    ]
    # One machine: neither ssh nor process_vm_readv, which containers forbid.
    env = {
        **ENV,
        "OMPI_MCA_plm_rsh_agent": "",
        "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
        "TMPDIR": str(tmp_path),
    }
    env["OMPI_MCA_btl"] = "self,vader"
    ran = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        timeout=30,
        env=env,
        cwd=tmp_path,
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["values"] == expected and found["raised"] == "three"
    assert found["awkward"] == [list(one.values()) for one in AWKWARD]
    noted = calls(log)
    processes = {process for _, _, process in noted}
    assert len(processes) == 2 and found["main"] not in processes
    assert sorted(seed for word, seed, _ in noted if word == "end") == list(SEEDS)
