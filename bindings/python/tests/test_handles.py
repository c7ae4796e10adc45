# SPDX-License-Identifier: Apache-2.0
"""Lifetimes: closed objects raise and never crash; threads; forks; the garbage collector."""

import gc
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import weakref

import pytest

import gangsched as gs
from gangsched.handle import Box


#: Arguments of methods that need some.
ARGUMENTS = {
    "add": ({"name": "x"},),
    "add_many": ([{"name": "x"}],),
    "change": ("n0",),
    "drain": ("n0",),
    "node": ("n0",),
    "node_id": ("n0",),
    "release": (1,),
    "remove": ("n0",),
    "resume": ("n0",),
    "set_gpu_healthy": ("n0", 0, True),
    "set_partition": ("p", "shared"), "set_mix": ([],),
    "set_state": ("n0", "up"),
}
#: Methods that need no object, and plain data.
OF_THE_CLASS = {"close", "closed", "uniform", "from_json", "from_hwloc", "from_csv"}


@pytest.mark.parametrize(
    "make", [lambda: gs.Cluster.uniform(2), lambda: gs.Cluster.uniform(2).snapshot()]
)
def test_every_call_on_a_closed_object_raises(make):
    thing = make()
    thing.close()
    thing.close()
    assert thing.closed and "closed" in repr(thing)
    names = {name for name in dir(type(thing)) if not name.startswith("_")} - OF_THE_CLASS
    for name in sorted(names):
        with pytest.raises(gs.Closed):
            value = getattr(thing, name)
            value(*ARGUMENTS.get(name, ()))
    assert len(names) >= 7
    for call in (len, thing.__enter__):
        with pytest.raises(gs.Closed):
            call(*([thing] if call is len else []))


def test_closed_is_a_value_error_and_names_the_object():
    made = gs.Cluster()
    made.close()
    with pytest.raises(ValueError, match="the cluster is closed"):
        len(made)


def test_objects_of_a_closed_cluster_raise_or_stay_valid():
    made = gs.Cluster.uniform(2)
    job, then = made.allocate(gpu=8), made.snapshot()
    made.close()
    for call in (job.info, job.release, job.grow, lambda: job.tasks, lambda: then.fits(gpu=1)):
        with pytest.raises(gs.Closed):
            call()
    assert then.totals()["gpu_free"] == 8.0  # a reader keeps the memory
    then.close()
    with made.__class__.uniform(1) as again:
        with again.allocate(gpu=1):
            again.close()


def test_a_box_frees_after_the_last_user_and_children_first():
    freed = []
    parent = Box("parent", freed.append)
    children = [Box(i, freed.append, parent) for i in range(2)]
    parent.release()
    children[1].release()
    assert freed == [1]
    children[0].release()
    assert freed == [1, 0, "parent"]


def test_objects_end_with_the_last_reference():
    made = gs.Cluster.uniform(1)
    box, gone = made._box, weakref.ref(made)
    request = gs.Request(gpu=1)
    made.allocate(request)
    then = made.snapshot()
    del made, then
    gc.collect()
    assert gone() is None and box._others == []
    assert request["tasks"]


def test_many_objects_are_made_and_freed():
    for i in range(200):
        made = gs.Cluster.uniform(3)
        made.snapshot().fits(gpu=1)
        if i % 3 == 0:
            made.me = made  # a cycle: only the collector frees it
    gc.collect()


# ---- threads -----------------------------------------------------------------------------------


def test_threads_share_a_cluster():
    errors = []

    with gs.Cluster.uniform(8) as made:

        def work():
            try:
                for _ in range(200):
                    try:
                        with made.allocate(count=2, gpu=3) as job:
                            assert len(job.tasks) == 2
                    except gs.DoesNotFit:
                        pass
                    made.totals()
            except BaseException as error:  # noqa: B902
                errors.append(error)

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == [] and made.totals()["gpu_free"] == 64.0
        made.check()


def test_closing_in_one_thread_raises_in_the_others():
    for _ in range(20):
        made, seen = gs.Cluster.uniform(4), []

        def work(made=made, seen=seen):
            try:
                while True:
                    made.allocate(gpu=1).release()
            except gs.Closed as error:
                seen.append(error)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        made.close()
        for thread in threads:
            thread.join()
        assert len(seen) == 3


# ---- fork --------------------------------------------------------------------------------------


def in_child(check):
    """Run a function in the child of a fork; its result is the exit status of the child."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(check() or 0)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(99)
    _, status = os.waitpid(child, 0)
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)


def test_a_child_process_continues_with_its_own_copy():
    made = gs.Cluster.uniform(2)
    job = made.allocate(gpu=8)

    def child():
        made.allocate(gpu=8)
        job.release()
        made.check()
        made.close()
        return 7

    assert in_child(child) == 7
    assert made.totals()["gpu_free"] == 8.0 and job.alive
    made.close()


def test_an_object_in_use_at_fork_is_closed_in_the_child():
    made = gs.Cluster.uniform(4)
    snapshots = [made.snapshot() for _ in range(3)]
    inside, go_on = threading.Event(), threading.Event()

    def score(group, candidates):
        inside.set()
        go_on.wait(30)
        return candidates["gpus_free"]

    def hold():
        with snapshots[0]._lock:
            made.allocate(gpu=1, score=score)

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait(30)

    def child():
        assert made.allocate(gpu=8).info()["gpus"] == 8.0  # the child makes a worker of its own
        try:
            snapshots[0].totals()
            return 1
        except gs.Closed as error:
            assert "fork" in str(error)
        assert snapshots[1].totals()["nodes"] == 4
        for snapshot in snapshots:
            snapshot.close()
        made.close()
        return 7

    status = in_child(child)
    go_on.set()
    thread.join()
    assert status == 7 and made.totals()["gpu_free"] == 31.0


def test_a_fork_from_inside_a_callback():
    made, statuses = gs.Cluster.uniform(2), []

    def score(group, candidates):
        statuses.append(in_child(lambda: 7 if len(made) == 2 else 1))
        return candidates["gpus_free"]

    made.allocate(gpu=1, score=score)
    assert statuses and set(statuses) == {7}


def test_a_callback_may_make_and_close_other_objects():
    """The garbage collector may do so, too: no call of the library waits for itself."""
    one_job = gs.Trace([{"submit_s": 0, "run_s": 1, "gpu": 1}])

    def others(*_):
        with gs.Cluster.uniform(2) as other:
            other.snapshot().close()
            other.allocate(gpu=1)
            gs.simulate(other, one_job, record=())

    def score(group, candidates):
        others()
        made.snapshot().close()
        return candidates["gpus_free"]

    with gs.Cluster.uniform(2) as made:
        made.allocate(gpu=1, score=score)
        result = gs.simulate(
            made, one_job, on_event=others, policy=gs.lowest_first(lambda view: others() or view.run_s)
        )
        assert result.info.ended == 1


def copies(cluster):
    return len(cluster), cluster.totals()["gpu_free"]


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_clusters_are_pickled_without_allocations(how):
    with gs.Cluster.uniform(3) as made:
        made.allocate(gpu=8)
        with multiprocessing.get_context(how).Pool(2) as pool:
            # machines, without allocations
            assert pool.map(copies, [made] * 4) == [(3, 24.0)] * 4


def test_errors_are_pickled_with_all_members():
    with gs.Cluster.uniform(1) as made:
        with pytest.raises(gs.NeverFits) as caught:
            made.allocate(gpu=9)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (
        type(again) is gs.NeverFits
        and again.__dict__ == caught.value.__dict__
        and str(again) == str(caught.value)
    )


def test_the_end_of_the_process_is_quiet_with_everything_open():
    code = (
        "import gangsched as gs, threading, time\n"
        "c = gs.Cluster.uniform(4); s = c.snapshot(); a = c.allocate(gpu=1)\n"
        "def work():\n    while True: c.allocate(gpu=1).release()\n"
        "for _ in range(3): threading.Thread(target=work, daemon=True).start()\n"
        "time.sleep(0.1)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
