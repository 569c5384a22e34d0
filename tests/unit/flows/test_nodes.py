"""Training on several machines: what a cluster is asked for, and what becomes of it when one dies.

Slurm is a stand-in, and so is Python: what a node would train by is a script of the test.
"""

import dataclasses
import json
import os
import shutil
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import kubernetes_validate
import pytest
import yaml
from torch.distributed.run import get_args_parser

from flows import dvc_program
from flows.dvc_program import StageError
from flows.nodes import job, kubernetes, slurm, ways
from flows.nodes.job import NodesConfig
from nmt_core.base.errors import NmtError
from nmt_core.training.settings import WorldConfig
from tests.support import slurm as stand_in
from tests.support.projects import PROJECT

TWO = NodesConfig(count=2, by="slurm", restarts=2)
WORLD = WorldConfig(processes=4, timeout_seconds=20.5)

TRAIN = """\
#!/bin/sh
printf '%s\\n' "$*" >> "asked-$SLURM_NODEID"
"""


def write_program(path, text):
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """A folder that the nodes of a cluster share, at a path that a shell would take apart."""
    folder = tmp_path / "it's a $HOME; of 2 %j"
    folder.mkdir()
    stand_in.install(tmp_path / "bin")
    (tmp_path / "state").mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(job, "TEMPLATES", PROJECT / "infra/nodes")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("STAND_IN", str(tmp_path / "state"))
    return tmp_path


def run_on_slurm(training=TRAIN, say=lambda _: None, nodes=TWO):
    """Run a job whose Python is a script."""
    python = Path("python of nodes").absolute()
    write_program(python, training)
    slurm.run_job(dataclasses.replace(job.make_job(nodes, WORLD), python=str(python)), say)


def read_asked(node):
    """What torchrun was told on a node, each time."""
    parser = get_args_parser()
    calls = Path(f"asked-{node}").read_text().splitlines()
    assert all(call.startswith("-m torch.distributed.run ") for call in calls)
    return [parser.parse_args(call.split()[2:]) for call in calls]


def test_each_node_starts_torchrun_and_all_meet_at_the_first(cluster):
    said = []
    run_on_slurm(say=said.append)
    [[first], [second]] = read_asked(0), read_asked(1)

    for one in (first, second):
        assert (one.nnodes, one.nproc_per_node, one.max_restarts) == ("2", "4", 0)
        assert (one.module, one.training_script) == (True, "stages.train")
        assert (one.rdzv_backend, one.shutdown_timeout) == ("c10d", 21)
        assert one.rdzv_endpoint.startswith(f"{first.local_addr}:")
    assert first.rdzv_id == second.rdzv_id
    assert (first.rdzv_conf, second.rdzv_conf) == ("is_host=1", "is_host=0")
    assert first.local_addr != second.local_addr
    [sentence] = said
    assert "of Slurm is to train on 2 nodes; " in sentence
    assert Path(sentence.rpartition(" ")[2]).exists()


@pytest.mark.parametrize("deaths", [0, 1, 2, 3])
def test_a_process_that_dies_is_started_again_as_often_as_is_said(cluster, deaths):
    """With all others, whose meeting is another one each time."""
    said = []
    training = TRAIN + f'test "$SLURM_NODEID" = 0 || test $(wc -l < asked-1) -gt {deaths}\n'
    training += 'code=$?; test $code = 0 || echo "rank 1 is dead" >&2; exit $code\n'
    if deaths > TWO.restarts:
        with pytest.raises(
            StageError, match=r"on 2 nodes ended: job \d+ of .* code 1, see .*log; "
        ):
            run_on_slurm(training, said.append)
        assert said[-1].count("rank 1 is dead") == deaths
    else:
        run_on_slurm(training, said.append)
        assert len(said) == 1
    meetings = [[(one.rdzv_id, one.rdzv_endpoint) for one in read_asked(node)] for node in (0, 1)]

    assert meetings[0] == meetings[1]
    for words in zip(*meetings[1], strict=True):  # who dies of a port that is taken finds another
        assert len(words) == len(set(words)) == min(deaths, TWO.restarts) + 1


def test_a_node_that_dies_takes_the_job_along_and_the_job_begins_again(cluster):
    """However often, for it is no fault of the training."""
    dies = "if test $SLURM_NODEID = 1 -a $(wc -l < asked-1) -le 4; then kill -9 $$; fi\n"
    waits = "if test $(wc -l < asked-0) -le 4; then sleep 60; fi\n"
    run_on_slurm(TRAIN + "echo begun >&2\n" + dies + waits)
    [log] = job.JOBS.glob("*.log")
    asked = [[one.rdzv_id for one in read_asked(node)] for node in (0, 1)]

    assert asked[0] == asked[1]
    assert len(asked[1]) == len(set(asked[1])) == 5
    assert log.read_text().count("begun\n") == 10  # nothing of before is lost


def test_a_node_that_does_not_share_the_folder_trains_nothing(cluster):
    said = []
    run_on_slurm()
    Path("asked-0").unlink()
    other = cluster / "state/folder-1"
    shutil.copytree(job.JOBS, other / job.JOBS)  # as one whose clone is as old as ours
    with pytest.raises(
        StageError, match=r"2 nodes ended: not every node sees .*; put the clone in"
    ):
        run_on_slurm(say=said.append)

    assert "put the clone into a folder that all of them share" in said[-1]
    assert not Path("asked-0").exists()


def test_two_jobs_of_a_folder_take_turns(cluster):
    """Or both would write one another's checkpoints."""
    together = threading.Barrier(2)
    training = "#!/bin/sh\nmkdir busy-$SLURM_NODEID && sleep 0.2 && rmdir busy-$SLURM_NODEID\n"
    with ThreadPoolExecutor() as threads:

        def wait_for_the_other(_):
            together.wait(60)  # both are submitted

        once = NodesConfig(count=2, by="slurm", restarts=0)
        runs = [threads.submit(run_on_slurm, training, wait_for_the_other, once) for _ in range(2)]
    for run in runs:
        run.result()


def test_a_job_is_called_after_its_folder(tmp_path, monkeypatch):
    names = []
    for folder in ("a", "b", "a"):
        (tmp_path / folder).mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / folder)
        names.append(job.make_job(TWO, WORLD).name)

    assert names[0] == names[2] != names[1]
    assert all(len(name) < 60 and name.replace("-", "").isalnum() for name in names)


def test_who_dies_does_not_leave_the_others_waiting(cluster):
    """As they would for a process that hangs, for as long as training waits for one."""
    begun = time.monotonic()
    run_on_slurm(
        TRAIN + "test $(wc -l < asked-$SLURM_NODEID) -gt 1 && exit 0\n"
        "test $SLURM_NODEID = 1 && exit 1\nexec sleep 50\n"
    )

    assert time.monotonic() - begun < 40


def test_a_warning_of_slurm_is_no_number(cluster):
    program = cluster / "bin/sbatch"
    begin, command = program.read_text().splitlines()
    write_program(program, f"{begin}\necho 'sbatch: 2 nodes, 17 wanted' >&2\n{command}\n")
    said = []
    run_on_slurm(say=said.append)

    number = (cluster / "state/submitted").read_text().split()[0]
    assert said[0].startswith(f"job {number} of Slurm ")


def test_who_is_stopped_cancels_the_job_and_waits_while_it_saves(cluster):
    training = """\
#!/bin/sh
trap 'sleep 0.3; touch saved-$SLURM_NODEID; exit 1' TERM
touch begun-$SLURM_NODEID
while :; do sleep 0.1; done
"""

    def stop(_):
        while not all(Path(f"begun-{node}").exists() for node in (0, 1)):
            time.sleep(0.01)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_on_slurm(training, say=stop)
    assert {one.name for one in Path.cwd().glob("saved-*")} == {"saved-0", "saved-1"}
    number = (cluster / "state/submitted").read_text().split()[0]
    assert (cluster / "state/cancelled").read_text() == number


def test_why_slurm_takes_no_job_is_told_in_its_own_words(cluster):
    refuses = "#!/bin/sh\necho 'sbatch: error: invalid partition specified: gpu' >&2\nexit 1\n"
    write_program(cluster / "bin/sbatch", refuses)

    with pytest.raises(NmtError, match=r"^Slurm does not take the job: invalid partition spec"):
        run_on_slurm()


# Kubernetes


@pytest.fixture
def manifest(cluster):
    """The objects of a job, by kind."""
    asked = job.make_job(NodesConfig(count=3, by="kubernetes", restarts=5), WORLD)
    job.write_job(asked, kubernetes.TEMPLATE, json.dumps)
    return {one["kind"]: one for one in yaml.safe_load_all(Path(asked.file).read_text())}


@pytest.mark.parametrize("version", ["1.30", "1.37"])
def test_kubernetes_knows_every_field_of_a_job(manifest, version):
    assert set(manifest) == {"Service", "NetworkPolicy", "Job"}
    for resource in manifest.values():
        kubernetes_validate.validate(resource, version, strict=True)


def test_a_job_has_a_pod_for_each_node_and_makes_it_again(manifest):
    spec = manifest["Job"]["spec"]
    pod = spec["template"]["spec"]
    [container] = pod["containers"]

    assert spec["completionMode"] == "Indexed"
    assert spec["completions"] == spec["parallelism"] == 3
    assert spec["backoffLimitPerIndex"] == 5
    assert spec["maxFailedIndexes"] == 0  # a node alone would wait for ever
    assert pod["restartPolicy"] == "Never"  # or there is no limit per index
    for gone in ("unreachable", "not-ready"):
        [how] = [one for one in pod["tolerations"] if one["key"] == f"node.kubernetes.io/{gone}"]
        assert (how["effect"], how["tolerationSeconds"]) == ("NoExecute", 30)  # else 300
    assert container["resources"]["limits"]["nvidia.com/gpu"] == 4
    [volume] = [one for one in pod["volumes"] if "persistentVolumeClaim" in one]
    assert {"name": volume["name"], "mountPath": container["workingDir"]} in container[
        "volumeMounts"
    ]


def test_pods_find_each_other_and_nobody_else_may_call_them(manifest):
    name = manifest["Job"]["metadata"]["name"]
    ours = {"batch.kubernetes.io/job-name": name}  # which Kubernetes gives to pods of a job
    policy = manifest["NetworkPolicy"]["spec"]

    assert {one["metadata"]["name"] for one in manifest.values()} == {name}
    assert manifest["Job"]["spec"]["template"]["spec"]["subdomain"] == name
    assert manifest["Service"]["spec"]["clusterIP"] == "None"
    assert manifest["Service"]["spec"]["selector"] == ours
    assert manifest["Service"]["spec"]["publishNotReadyAddresses"]
    assert policy["podSelector"]["matchLabels"] == ours
    assert policy["ingress"] == [{"from": [{"podSelector": {"matchLabels": ours}}]}]


def test_a_pod_of_a_job_may_do_as_little_as_a_worker(manifest):
    worker = yaml.safe_load((PROJECT / "infra/kubernetes/worker-gpu.yaml").read_text())
    theirs = worker["spec"]["template"]["spec"]
    ours = manifest["Job"]["spec"]["template"]["spec"]

    for name in ("securityContext", "automountServiceAccountToken"):
        assert ours[name] == theirs[name]
    for name in ("securityContext", "image", "envFrom"):
        assert ours["containers"][0][name] == theirs["containers"][0][name]


@pytest.mark.parametrize("index", [0, 1])
def test_a_pod_starts_torchrun_in_the_folder_of_the_job_alone(manifest, cluster, index):
    [container] = manifest["Job"]["spec"]["template"]["spec"]["containers"]
    write_program(cluster / "bin/torchrun", TRAIN)
    known = {one["name"]: one.get("value", "10.0.0.1") for one in container["env"]}
    environment = os.environ | known | {"JOB_COMPLETION_INDEX": str(index), "SLURM_NODEID": "0"}
    command = [*container["command"], *container["args"]]
    subprocess.run(command, env=environment, check=True)
    elsewhere = subprocess.run(
        command, env=environment, cwd=cluster, capture_output=True, text=True, check=False
    )

    [call] = Path("asked-0").read_text().splitlines()
    asked = get_args_parser().parse_args(call.split())
    name = manifest["Job"]["metadata"]["name"]
    assert asked.rdzv_endpoint == f"{name}-0.{name}:29500"
    assert asked.rdzv_conf == f"is_host={1 - index},join_timeout=3600"
    assert (asked.nnodes, asked.nproc_per_node, asked.max_restarts) == ("3", "4", 0)
    assert (asked.training_script, asked.local_addr) == ("stages.train", "10.0.0.1")
    assert elsewhere.returncode == 1
    assert "is not the folder that this job was made in" in elsewhere.stderr
    assert not (cluster / "asked-0").exists()


LOGS = "[pod/a-0/train] nmt_core.base.errors.TrainingError: rank 1 is dead"

KUBECTL = """\
#!{python}
import json, sys
from pathlib import Path
with Path("kubectl").open("a") as asked:
    print(*sys.argv[1:], file=asked)
if sys.argv[1] == "delete" and Path("stuck").exists() and "create" in Path("kubectl").read_text():
    sys.exit("no answer")
if sys.argv[1] != "get":
    print({logs!r} if sys.argv[1] == "logs" else "")
    sys.exit()
answers = Path("answers")
[now, *later] = json.loads(answers.read_text())
answers.write_text(json.dumps(later or [now]))
if isinstance(now, str):
    sys.exit(now)
job = {{"kind": "Job", "metadata": {{"namespace": "nmt"}}, "status": now}}
print(json.dumps({{"items": [{{"kind": "Service"}}, job]}}))
"""


def end(kind, **why):
    return {"conditions": [{"type": kind, "status": "True", **why}]}


@pytest.fixture
def kubectl(cluster, monkeypatch):
    """Run a job on a Kubernetes that gives answers; return what it was asked, and what was said."""
    monkeypatch.setattr(kubernetes, "POLL_SECONDS", 0)

    def run(*answers, say=None):
        text = KUBECTL.format(python=sys.executable, logs=LOGS)
        write_program(cluster / "bin/kubectl", text)
        Path("answers").write_text(json.dumps(answers))
        kubernetes.run_job(job.make_job(NodesConfig(count=2, by="kubernetes"), WORLD), say)

    return run


def read_kubectl():
    """The verbs that kubectl was given."""
    return [line.split()[0] for line in Path("kubectl").read_text().splitlines()]


def test_a_job_is_waited_for_and_nothing_is_left_of_it(kubectl):
    """Nor of one that an earlier command left when it was killed."""
    said = []
    waiting = {"conditions": [{"type": t, "status": "False"} for t in ("Complete", "Failed")]}
    other = end("SuccessCriteriaMet")
    kubectl({}, {"ready": 2}, {"ready": 2}, waiting, other, end("Complete"), say=said.append)

    assert read_kubectl() == ["delete", "create", *["get"] * 6, "delete"]
    assert "--cascade foreground" in Path("kubectl").read_text()  # or its pods would write on
    assert said[0].endswith("of Kubernetes is to train on 2 nodes")
    assert said[1:] == ["2 of 2 nodes are at work", "0 of 2 nodes are at work"]


def test_a_job_that_fails_says_why_and_what_its_nodes_said(kubectl):
    said = []
    with pytest.raises(
        StageError,
        match=r"ended: rank 1 is dead; job .*has failed \(FailedIndexes: too many\); ",
    ):
        kubectl({}, end("Failed", reason="FailedIndexes", message="too many"), say=said.append)

    assert said[-1].strip() == LOGS
    assert read_kubectl()[-3:] == ["get", "logs", "delete"]
    asked = next(line for line in Path("kubectl").read_text().splitlines() if "logs" in line)
    assert asked.startswith("logs --namespace nmt --selector batch.kubernetes.io/job-name=")


@pytest.mark.parametrize("failed", [True, False])
def test_what_cannot_be_deleted_is_told_and_hides_no_failure(kubectl, failed):
    said = []
    Path("stuck").touch()
    if failed:
        with pytest.raises(StageError, match="rank 1 is dead"):
            kubectl(end("Failed"), say=said.append)
    else:
        kubectl(end("Complete"), say=said.append)

    assert said[-1].startswith("kubectl delete failed: no answer; delete it by: kubectl delete --")


def test_a_cluster_that_does_not_answer_for_a_while_ends_nothing(kubectl, monkeypatch):
    monkeypatch.setattr(kubernetes, "PATIENCE", 3)
    kubectl("refused", "refused", {}, "refused", "refused", end("Complete"), say=[].append)
    with pytest.raises(NmtError, match=r"^kubectl get failed: refused$"):
        kubectl("refused", "refused", "refused", say=[].append)


def test_a_job_that_somebody_has_deleted_is_not_waited_for(kubectl):
    with pytest.raises(NmtError, match="NotFound"):
        kubectl({}, 'Error from server (NotFound): jobs "a" not found', say=[].append)
    assert read_kubectl() == ["delete", "create", "get", "get", "delete"]


def test_who_is_stopped_deletes_the_job(kubectl):
    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kubectl({}, say=stop)
    assert read_kubectl() == ["delete", "create", "delete"]


# what both have in common


KILLED = "  traceback : Signal 9 (SIGKILL) received by PID 2572\n"
LOST = "  nmt_core.training.distributed.PeerError: rank 0 has lost another process\n"
WRONG = "  nmt_core.base.errors.ConfigError: there is no device 'cuda' here\n"
NOISE = (
    "MLflow is lost (ImportError: there is none); all is in a journal\n"
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
)


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        (WRONG + LOST, "there is no device 'cuda' here"),
        (LOST + "[pod/a-0/train] " + WRONG, "there is no device 'cuda' here"),
        (KILLED + LOST, "a process was ended by Signal 9 (SIGKILL)"),
        (KILLED + WRONG, "there is no device 'cuda' here"),
        (LOST, "rank 0 has lost another process"),
        ("error: not every node sees it\n", "not every node sees it"),
        ("", ""),
    ],
)
def test_of_all_that_nodes_say_the_cause_is_told(said, cause):
    """And not what others make of it, nor what torchrun writes around it."""
    told = str(job.make_failure(job.make_job(TWO, WORLD), "job 17 failed", NOISE + said + NOISE))

    reason = f"{cause}; job 17 failed" if cause else "job 17 failed"
    assert told == (
        f"training on 2 nodes ended: {reason}; the same command continues from the last checkpoint"
    )


def test_no_nodes_are_asked_for_where_nobody_asks():
    assert ways.read_nodes(None, None) is None
    assert ways.check_nodes(None, across_pools=True) is None
    assert ways.read_nodes(2, "kubernetes") == NodesConfig(count=2, by="kubernetes")


@pytest.mark.parametrize("trained", [True, False])
def test_a_model_of_before_is_not_taken_for_what_was_trained(tmp_path, monkeypatch, trained):
    """Whatever has ended well: Slurm says so of a job that is cancelled before it begins."""
    monkeypatch.chdir(tmp_path)
    model = Path("models/trained")
    (model / "old").mkdir(parents=True)
    asked = []

    def run_job(wanted, say):
        asked.append((wanted.nodes, wanted.processes))
        if trained:
            model.mkdir()

    monkeypatch.setattr(slurm, "run_job", run_job)
    section = type("Section", (), {"compute": WORLD})
    monkeypatch.setattr(ways, "load", lambda kind, name: section)
    if trained:
        ways.train_on_nodes(TWO, print)
        assert list(model.iterdir()) == []
    else:
        with pytest.raises(StageError, match="for there is no models/trained; the same command"):
            ways.train_on_nodes(TWO, print)
    assert asked == [(2, 4)]


def test_dvc_takes_what_lies_here_for_what_the_stage_made(asked):
    calls = asked(("done", 0))
    dvc_program.commit("train", log=print)

    assert calls() == ["commit --force train"]
