"""Run every command in a document as written, in order, in one terminal.

A command that does not end gets its own terminal. Only sizes differ (``conf/`` of the clone has
small values), and names of the reader's own: ports, addresses, files. A block that cannot run has
its reason in a comment before it; ``text`` blocks have no commands, and ``python`` blocks are run
by Python.
"""

import ast
import gzip
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import httpx2
import yaml
from dotenv import dotenv_values
from omegaconf import OmegaConf

from stages.runtime.checkout import find_free_port
from tests.support.presets import shrunk
from tests.support.processes import marked, wait_for
from tests.support.projects import PROJECT, SMALL, a_users_environment, begin, overrides
from tests.support.served import lasting_client

BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<reason>.+) -->\n\n?)?^```(?P<kind>\w*)\n(?P<text>(?:.*\n)*?)```$",
    re.MULTILINE,
)
LASTING = ("make server", "make worker", "make mlflow", "make serve", ".venv/bin/nmt serve")
"""Commands that run until they are stopped."""

CLONE = "git clone REPOSITORY nmt && cd nmt"
READY = {"make worker": "started!", "make mlflow": r"runs of .+ are at (http\S+)"}
"""The output of such a command when it is ready, if the document has no addresses."""


class Block(NamedTuple):
    """The lines between two fences."""

    document: str
    number: int
    """Line number of the first line."""
    lines: list[str]
    kind: str
    reason: str | None
    """The reason why it cannot be run here."""

    def __str__(self):
        return f"{self.document}:{self.number}"


def blocks(document):
    """Return the blocks of a document, in order."""
    text = (PROJECT / document).read_text()
    fences = re.findall("^```", text, re.MULTILINE)
    assert len(fences) % 2 == 0, f"{document}: a fence that is not closed"
    return [
        Block(
            document,
            text.count("\n", 0, found.start("text")) + 1,
            found["text"].splitlines(),
            found["kind"],
            found["reason"],
        )
        for found in BLOCK.finditer(text)
    ]


def typed(document):
    """Return the blocks of a document with commands that can run here."""
    return [block for block in blocks(document) if block.kind != "text" and not block.reason]


EXAMPLE = re.compile(r"""(['"])([A-ZÄÖÜ<][^'"]*[.?!>])\1""")
"""A sentence, or HTML, in quotes."""


def list_examples(document):
    """Return the texts that a document translates, in order."""
    lines = [line for block in blocks(document) for line in block.lines]
    return [text for _, text in EXAMPLE.findall("\n".join(lines))]


SHORT = {
    "download.split.validation_per_10000": 500.0,
    "download.split.test_per_10000": 500.0,
    "train.batching.max_tokens": 256,
    "train.budget.steps": 20,
    "train.training.validate_every": 10,
}
SIZES = {
    "SECONDS=600": "SECONDS=1",
    "TIME=2h": "TIME=45s",
    "TIME=30m": "TIME=45s",
    '"transformer convs2s rnn_attention"': '"transformer rnn_attention"',
    "--length 500": "--length 50",
}


def shrink(conf):
    """Return settings that make everything small."""
    for path in (conf / "model").rglob("*.yaml"):
        head, settings = path.read_text().partition("\n")[0], yaml.safe_load(path.read_text())
        model = settings.get("train", {}).get("model", {})
        model |= shrunk(model)
        path.write_text(f"{head}\n{yaml.safe_dump(settings)}")
    small = OmegaConf.from_dotlist(overrides(**SMALL, **SHORT).split())
    corpus = {"download": {"corpora": small.download.pop("corpora")}}  # only for the demo's group
    demo = conf / "data/demo.yaml"
    for path, settings in (
        (demo, OmegaConf.merge(OmegaConf.load(demo), corpus)),
        (conf / "small.yaml", small),
    ):
        path.write_text(f"# @package _global_\n{OmegaConf.to_yaml(settings)}")
    config = conf / "config.yaml"
    [last] = re.findall("  - data: demo.*\n", config.read_text())
    config.write_text(config.read_text().replace(last, f"{last}  - small\n"))


TERMINAL = """\
set -o pipefail
git() {{  # the packages are in a new clone already, as after `make setup`
  command git "$@" || return
  [ "$1" = clone ] || return 0
  local packages="${{@: -1}}/.venv"
  mkdir "$packages" && ln -s {packages}/* "$packages" && rm -f "$packages/ready"
  touch "$packages/ready"
  mkdir -p "$packages/servers" && touch "$packages/servers/ready"
}}
{command}
ended=$?
pwd > {state}.pwd
env -0 > {state}.env
exit $ended
"""


@dataclass
class Reader:
    """Runs commands in a terminal that keeps its folder and its variables."""

    place: Path
    environment: dict[str, str]
    names: dict[str, str]
    """Names of the reader's own in documents, and their values here."""
    terminals: dict[str, subprocess.Popen] = field(default_factory=dict)
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self):
        self.folder = self.place
        self.goes_elsewhere()

    def goes_elsewhere(self):
        """Change to an empty folder; the servers' file in the previous one will be copied."""
        self.names["/path/to/environment"] = str(self.folder / "servers/environment")
        self.folder = Path(tempfile.mkdtemp(dir=self.place))

    def types(self, line):
        """Run a line, wait until it has ended or is ready, and return its output."""
        for name, own in (self.names | SIZES).items():
            line = line.replace(name, own)
        command, _, comment = line.partition("  # ")
        command = command.strip()
        if command.startswith(LASTING):
            return self.opens(command, comment)
        state = self.place / "state"
        done = subprocess.run(
            ["bash", "-c", TERMINAL.format(command=command, state=state, packages=sys.prefix)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        self.folder = Path(Path(f"{state}.pwd").read_text().strip())
        entries = Path(f"{state}.env").read_text().split("\0")[:-1]
        self.environment = dict(entry.split("=", 1) for entry in entries)
        return done.stdout + done.stderr

    def opens(self, command, comment):
        """Open a terminal for a command; wait until all addresses in its output answer."""
        log = self.place / f"{'-'.join(command.split()[:2]).replace('/', '-')}.log"
        with log.open("wb") as file:
            process = self.terminals[command] = subprocess.Popen(
                shlex.split(command),
                cwd=self.folder,
                env=self.environment | {"READER": self.mark},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        pattern = find_for(command, READY, "")
        addresses = re.findall(r"http://[\w.:/]+", comment)
        assert pattern or addresses, f"nothing says when this is ready: {command}"

        def is_ready():
            assert process.poll() is None, f"{command}\n{log.read_text()}"
            printed = re.search(pattern, log.read_text(errors="replace"))
            return printed and all(answers(client, url) for url in (*addresses, *printed.groups()))

        with lasting_client() as client:
            assert wait_for(is_ready, seconds=240), f"{command}\n{log.read_text()}"
        return log.read_text()

    def leaves(self):
        """Press Ctrl-C in every terminal, the last one first; no process is left."""
        for command, process in reversed(self.terminals.items()):
            os.killpg(process.pid, signal.SIGINT)
            process.wait(60)
            assert process.returncode in (0, 1, 2, 130, -signal.SIGINT), command
        self.terminals.clear()
        assert wait_for(lambda: not marked("READER", self.mark), seconds=20)


def answers(client, address):
    """Tell whether a page answers, or requires a password."""
    try:
        answer = client.get(address, follow_redirects=True, timeout=5)
    except httpx2.HTTPError:
        return False
    return answer.status_code in (200, 401, 405)


def prepare(repository, ports):
    """Make the project small, with the reader's ports, and commit that."""
    folder = repository.folder
    shutil.copy(PROJECT / "pyproject.toml", folder)
    for part in ("benchmarks", "requirements"):
        shutil.copytree(PROJECT / part, folder / part, dirs_exist_ok=True)
    shrink(folder / "conf")
    for name in ("infra/servers", "stages/tracking", "stages/registry"):
        program = folder / name / "__main__.py"
        text = program.read_text()
        for port, own in ports.items():
            text = re.sub(rf"\b{port}\b", own, text)
        program.write_text(text)
    repository.run("python -m stages.configure data=demo model=transformer")
    repository.run("git add --all")
    repository.run("git -c user.name=T -c user.email=t@localhost commit --quiet -m Shrink")


def bring(folder):
    """Write the reader's files: text of the demo, which the first block has made."""
    if (folder / "my").exists() or not (folder / "data/corpus").exists():
        return
    (folder / "my").mkdir()
    source, target = (folder / f"data/corpus/train.{side}" for side in ("source", "target"))
    shutil.copy(source, folder / "my/train.de")
    (folder / "my/train.en.gz").write_bytes(gzip.compress(target.read_bytes()))
    for name, lines, side in (
        ("novel.txt", 50, target),
        ("in.txt", 2, source),
        ("other.txt", 2, source),
    ):
        (folder / name).write_text("".join(side.read_text().splitlines(keepends=True)[:lines]))
    units = "".join(  # so short that none is near another
        f"<tu><tuv xml:lang='de'><seg>Eulen lesen {number}.</seg></tuv>"
        f"<tuv xml:lang='en'><seg>Owls read {number}.</seg></tuv></tu>"
        for number in range(20)
    )
    memory = f"<tmx version='1.4'><header/><body>{units}</body></tmx>"
    (folder / "my/memory.tmx").write_text(memory)
    (folder / "terms.tsv").write_text("Ausschuss\tpanel\n")
    for side, code in ((source, "de"), (target, "en")):
        shutil.copy(side.with_name(f"test{side.suffix}"), folder / f"my/test.{code}")
    [project] = [block for block in blocks("docs/your-text.md") if "corpora:" in block.lines]
    (folder / "my/project.yaml").write_text("\n".join(project.lines))


def is_completed(reader, output):
    """Check that a requested run ends and has its report."""
    [run] = re.findall(r"/runs/flow-run/([0-9a-f-]+)", output)
    values = dotenv_values(reader.folder / ".env")
    login = tuple(values["PREFECT_API_AUTH_STRING"].split(":"))

    def list_rows(route, **body):
        answer = client.post(values["PREFECT_API_URL"] + route, json=body, auth=login)
        return answer.raise_for_status().json()

    def has_ended():
        [row] = list_rows("/flow_runs/filter", flow_runs={"id": {"any_": [run]}})
        assert row["state_type"] not in ("FAILED", "CRASHED", "CANCELLED"), row["state"]
        return row["state_type"] == "COMPLETED"

    with lasting_client() as client:
        assert wait_for(has_ended, seconds=300)
        artifacts = list_rows("/artifacts/filter", artifacts={"flow_run_id": {"any_": [run]}})
    assert "report" in {artifact["key"] for artifact in artifacts}


def finds_both_servers(reader, output):
    """Check that a worker has found Prefect, and an MLflow with a password."""
    address = dotenv_values(reader.folder / ".env")["MLFLOW_TRACKING_URI"]
    assert f"MLflow at {address}" in output
    assert 401 == httpx2.get(f"{address}/api/2.0/mlflow/experiments/get").status_code
    reader.types(".venv/bin/python -m stages.registry show")


CHECKS = {"make run": is_completed, "make worker POOL=cpu": finds_both_servers}
"""Checks after a command, by its beginning."""

OUTPUTS = {
    ".venv/bin/nmt translate": r"\S",
    "curl http://127.0.0.1": '"translatedText":"',
    "make repro": r"(?s)(?=.*BLEU).*models/export",
    "make compare": "written to reports/comparison",
    "make flow": "BLEU",
    "dvc exp show": "workspace",
    "make deploy": "retrain-on-pools.*train-on-pools",
    "make retrain": "first",
    "make champion": "champion",
    "make rollback": "version 1 of nmt-de-en is the champion again",
    "nmt explain --model models/export --n-best 3": r"^1\t1\t",
    ".venv/bin/python -c 'from nmt_core import Translator\n": r"\(.*\)$",
    ".venv/bin/python -c 'from nmt_core import Translator, translate_document": "<p>.*</p>",
    "nmt next": r"\d",
    "nmt generate": r"\w",
    "nmt score": r"\d",
}
"""Patterns of the output of a command, by its beginning."""

BEFORE = {
    "make rollback": (
        'make retrain SET="export.golden_sentences=2"',
        "make promote VERSION=2 REASON=better",
    )
}
"""Commands that must have run before, by the beginning of the dependent command."""


def joined(lines):
    """Yield commands with their comments, which may continue in the next line."""
    text = "\n".join(lines)
    text = re.sub(r"(  # .*)\n\s+# ", r"\1 ", text)
    yield from re.sub(r"\n\s+# ", "  # ", text).split("\n")


@contextmanager
def open_reader():
    """Yield a reader at a machine with only a repository to clone."""
    place = Path(tempfile.mkdtemp(prefix="nmt-reader-"))
    ports = {str(port): str(find_free_port("127.0.0.1")) for port in (4200, 5000, 5001)}
    begun = begin(place / "repository", place)
    prepare(begun, ports)
    ours = str(Path(sys.executable).parent)  # a virtual environment that is not activated
    path = [part for part in os.environ["PATH"].split(os.pathsep) if part != ours]
    environment = a_users_environment() | {
        "PATH": os.pathsep.join(path),
        "PREFECT_HOME": str(place / "prefect"),
        "DVC_SITE_CACHE_DIR": str(place / "dvc"),
        "XDG_CONFIG_HOME": str(place / "config"),
    }
    identity = place / "config/git/config"  # required by experiments of DVC
    identity.parent.mkdir(parents=True)
    identity.write_text("[user]\nname = Tester\nemail = tester@localhost\n")
    names = ports | {
        "THIS-REPOSITORY": str(begun.folder),
        "REPOSITORY": str(begun.folder),
        "10.0.0.1": "127.0.0.2",
        "/mnt/shared/dvc": str(place / "remote"),
    }
    reader = Reader(place, environment, names)
    try:
        yield reader
    finally:
        for process in marked("READER", reader.mark):
            process.kill()
        for process in reader.terminals.values():
            process.wait()
        shutil.rmtree(place)


def find_for(command, table, default=None):
    """Return the value of a table whose key is the beginning of a command."""
    return next((value for start, value in table.items() if command.startswith(start)), default)


def type_block(reader, block):
    """Run the commands of a block, and check their output and effects."""
    if any(line.startswith(("make server", "make mlflow")) for line in block.lines):
        reader.leaves()
    if block.lines[0].startswith("git clone"):
        reader.goes_elsewhere()
    lines = joined(block.lines)
    if block.kind == "python":
        code = ast.unparse(ast.parse("\n".join(block.lines)))  # without comments
        lines = [f".venv/bin/python -c {shlex.quote(code)}"]
    for line in lines:
        bring(reader.folder)
        command = line.partition("  # ")[0].strip()
        for earlier in find_for(command, BEFORE, ()):
            reader.types(earlier)
        output = reader.types(line)
        assert re.search(find_for(command, OUTPUTS, ""), output, re.MULTILINE), output
        find_for(command, CHECKS, lambda *_: None)(reader, output)
