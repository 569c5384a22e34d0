"""Jobs on a cluster, whose scheduler and workers are played: results in order, or one sentence."""

import sys
from concurrent.futures import CancelledError
from types import SimpleNamespace

import pytest

from nmt_core.base.errors import WorkersError
from nmt_core.base.parallel import cluster

ADDRESS = "tcp://there:1"


class KilledWorkerError(Exception):
    allowed_failures = 3
    last_worker = SimpleNamespace(address="tcp://worker:2")


def cannot_import():
    error = RuntimeError("cannot load")
    error.__cause__ = ImportError("no module")
    return error


class Dask:
    """A cluster of one worker, whose futures first end with given errors, if any."""

    KilledWorker = KilledWorkerError

    def __init__(self, *errors, workers=("one",), away=False):
        self.errors, self.workers, self.away = list(errors), workers, away
        self.scheduler = SimpleNamespace(address=ADDRESS)
        self.Client = self.connect

    def connect(self, address, *, timeout, set_as_default):
        assert (address, timeout, set_as_default) == (ADDRESS, cluster.CONNECT_SECONDS, False)
        if self.away:
            raise OSError("refused")
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def scheduler_info(self):
        return {"workers": self.workers}

    def submit(self, work, job, *, pure):
        assert not pure  # the same job may be wanted twice

        def result(*, timeout):
            assert timeout == cluster.WORKER_SECONDS
            if self.errors:
                raise self.errors.pop(0)
            return work(job)

        return SimpleNamespace(result=result)


@pytest.fixture
def run(monkeypatch):
    def start(dask, work=str.upper):
        monkeypatch.setitem(sys.modules, "distributed", dask)
        return [*cluster.run_on_cluster(work, ["a", "b", "c"], ADDRESS)]

    return start


@pytest.mark.parametrize("errors", [[], [TimeoutError()] * 3])
def test_results_come_in_order_however_long_a_busy_worker_takes(run, errors):
    assert run(Dask(*errors)) == ["A", "B", "C"]


@pytest.mark.parametrize(
    ("dask", "said"),
    [
        (Dask(away=True), rf"no Dask scheduler answers at {ADDRESS} \(refused\)"),
        (Dask(TimeoutError(), workers=()), f"{ADDRESS} has no worker, and none came in"),
        (Dask(CancelledError()), f"the Dask scheduler at {ADDRESS} was lost"),
        (
            Dask(KilledWorkerError()),
            "4 Dask workers died while working on a, the last at tcp://worker:",
        ),
        (Dask(cannot_import()), rf"{ADDRESS} cannot run this program \(no module\)"),
    ],
)
def test_a_cluster_that_fails_is_told_in_a_sentence(run, dask, said):
    with pytest.raises(WorkersError, match=said):
        run(dask)


def test_an_error_of_the_work_is_its_own(run):
    with pytest.raises(RuntimeError, match="mine"):
        run(Dask(RuntimeError("mine")))


def test_a_folder_that_a_worker_does_not_see_is_told(run):
    def work(_):
        raise OSError("no such file")

    with pytest.raises(WorkersError, match=r"cannot work on a \(no such file\); the project's"):
        run(Dask(), work)


def test_a_worker_with_other_code_is_refused(run, monkeypatch):
    codes = iter(["new", "old", "old"])
    monkeypatch.setattr(cluster, "identify_code", lambda: next(codes))

    with pytest.raises(WorkersError, match=r"runs other code than this program \(old; here new\)"):
        run(Dask())


def test_code_is_that_of_the_whole_library(tmp_path, monkeypatch):
    """Wherever in it a line has changed, or a file has another name."""
    own = tmp_path / "nmt_core/base/parallel/cluster.py"
    other = tmp_path / "nmt_core/text/tokenizer.py"
    for path in (own, other):
        path.parent.mkdir(parents=True)
        path.touch()
    monkeypatch.setattr(cluster, "__file__", str(own))
    found = [cluster.identify_code.__wrapped__() for _ in range(2)]
    other.write_text("1")
    found.append(cluster.identify_code.__wrapped__())
    other.rename(other.with_name("subwords.py"))
    found.append(cluster.identify_code.__wrapped__())

    assert found[0] == found[1]
    assert len({*found}) == 3
