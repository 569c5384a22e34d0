"""Somebody who types every command that a document shows, as it stands there.

In order, as one reader types them into one terminal; what does not end gets a terminal of its own.
Only sizes differ (``conf/`` of the clone makes everything small), and names that stand for the
reader's own: ports, addresses, files. A block that cannot run says why, in a comment before it;
a block of ``text`` shows something else than commands, one of ``python`` is run by Python.
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

import httpx2
import yaml
from dotenv import dotenv_values
from omegaconf import OmegaConf

from infra.servers.server import find_free_port
from tests.support.presets import shrunk
from tests.support.processes import marked, wait_for
from tests.support.projects import PROJECT, SMALL, a_users_environment, begin, overrides
from tests.support.served import lasting_client

FENCE = re.compile(r"^```(\w*)$")
NOT_RUN = re.compile(r"^<!-- not run: (.+) -->$")
LASTING = ("make server", "make worker", "make mlflow", "make serve", ".venv/bin/nmt serve")
"""What runs until it is stopped, and so has a terminal of its own."""

SAYS = {"make worker": "started!", "make mlflow": r"runs of .+ are at (http\S+)"}
"""What it shows when it is ready, where the document does not name its addresses."""


@dataclass(frozen=True)
class Block:
    """What stands between two fences."""

    document: str
    number: int
    """Of its first line."""
    lines: tuple[str, ...]
    kind: str
    not_run: str | None
    """Why it cannot be run here."""

    def __str__(self):
        return f"{self.document}:{self.number}"


def blocks(document):
    """Return the blocks of a document, in order."""
    found, begun, before = [], None, ""
    for number, line in enumerate((PROJECT / document).read_text().splitlines(), start=1):
        fence = FENCE.match(line)
        if begun is None and fence:
            why = NOT_RUN.match(before)
            begun = (number + 1, [], fence[1], why and why[1])
        elif begun is not None and fence:
            first, lines, kind, why = begun
            found.append(Block(document, first, tuple(lines), kind, why))
            begun = None
        elif begun is not None:
            begun[1].append(line)
        before = line or before
    assert begun is None, f"{document}: a fence that is not closed"
    return found


def typed(document):
    """Return the blocks of a document that hold commands which can run here."""
    found = blocks(document)
    return [block for block in found if block.kind in ("", "python") and block.not_run is None]


EXAMPLE = re.compile(r"""(['"])([A-ZÄÖÜ<][^'"]*[.?!>])\1""")
"""What stands between quotes, and is a sentence or HTML."""


def list_examples(document):
    """Return the texts that commands and programs of a document translate, in order."""
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
    '"transformer convs2s rnn_attention"': '"transformer rnn_attention"',
    "--length 500": "--length 50",
}


def shrink(conf):
    """Make all that can be composed small."""
    for path in (conf / "model").rglob("*.yaml"):
        head, settings = path.read_text().partition("\n")[0], yaml.safe_load(path.read_text())
        model = settings.get("train", {}).get("model", {})
        model |= shrunk(model)
        path.write_text(f"{head}\n{yaml.safe_dump(settings)}")
    small = OmegaConf.from_dotlist(overrides(**SMALL, **SHORT).split())
    corpus = {"download": {"corpora": small.download.pop("corpora")}}  # of the demo's group alone
    demo = conf / "data/demo.yaml"
    for path, settings in (
        (demo, OmegaConf.merge(OmegaConf.load(demo), corpus)),
        (conf / "small.yaml", small),
    ):
        path.write_text(f"# @package _global_\n{OmegaConf.to_yaml(settings)}")
    config = conf / "config.yaml"
    last = "  - data: demo # on which text; may choose another train group\n"
    assert last in config.read_text()
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
    """Somebody who types what is written, in a terminal that remembers."""

    place: Path
    environment: dict[str, str]
    names: dict[str, str]
    """What stands for the reader's own, and what it is."""
    terminals: dict[str, subprocess.Popen] = field(default_factory=dict)
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self):
        self.folder = self.place
        self.goes_elsewhere()

    def goes_elsewhere(self):
        """Go to an empty folder; what servers left in the one before is to be copied from there."""
        self.names["/path/to/environment"] = str(self.folder / "servers/environment")
        self.folder = Path(tempfile.mkdtemp(dir=self.place))

    def types(self, line):
        """Type a line, wait until it has done what it says, and return what it showed."""
        command, _, comment = line.partition("  # ")
        for name, own in (self.names | SIZES).items():
            command, comment = command.replace(name, own), comment.replace(name, own)
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
        """Open a terminal for a command, and wait until all answers that its comment names."""
        log = self.place / f"{'-'.join(command.split()[:2]).replace('/', '-')}.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                shlex.split(command),
                cwd=self.folder,
                env=self.environment | {"READER": self.mark},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        self.terminals[command] = process
        wanted = [words for start, words in SAYS.items() if command.startswith(start)]
        addresses = re.findall(r"http://[\w.:/]+", comment)
        assert wanted or addresses, f"nothing says when this is ready: {command}"

        def ready():
            assert process.poll() is None, f"{command}\n{log.read_text()}"
            said = log.read_text(errors="replace")
            found = [re.search(words, said) for words in wanted]
            told = [address for one in found if one for address in one.groups()]
            return all(found) and all(answers(client, one) for one in [*addresses, *told])

        with lasting_client() as client:
            assert wait_for(ready, seconds=240), f"{command}\n{log.read_text()}"
        return log.read_text()

    def leaves(self):
        """Press Ctrl-C in every terminal, the last one first; nothing is left of any."""
        for command, process in reversed(self.terminals.items()):
            os.killpg(process.pid, signal.SIGINT)
            process.wait(60)
            assert process.returncode in (0, 1, 2, 130, -signal.SIGINT), command
        self.terminals.clear()
        assert wait_for(lambda: not marked("READER", self.mark), seconds=20)


def answers(client, address):
    """Whether a page is there; one that asks for a password first is."""
    try:
        found = client.get(address, follow_redirects=True, timeout=5)
    except httpx2.HTTPError:
        return False
    return found.status_code in (200, 401, 405)


def without_packages(path):
    """Return a PATH without this virtual environment, which nobody has activated yet."""
    ours = str(Path(sys.executable).parent)
    return os.pathsep.join(part for part in path.split(os.pathsep) if part != ours)


def prepare(repository, ports):
    """Make a project in miniature of all that the documents speak of, and commit it."""
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
    """Lay down the files that a reader has: text of the demo, which the first block has made."""
    if (folder / "my").exists() or not (folder / "data/corpus").exists():
        return
    (folder / "my").mkdir()
    source, target = (folder / f"data/corpus/train.{side}" for side in ("source", "target"))
    shutil.copy(source, folder / "my/train.de")
    (folder / "my/train.en.gz").write_bytes(gzip.compress(target.read_bytes()))
    for name, lines, side in (("novel.txt", 50, target), ("in.txt", 2, source)):
        (folder / name).write_text("".join(side.read_text().splitlines(keepends=True)[:lines]))
    units = "".join(  # so short that none is near another
        f"<tu><tuv xml:lang='de'><seg>Eulen lesen {number}.</seg></tuv>"
        f"<tuv xml:lang='en'><seg>Owls read {number}.</seg></tuv></tu>"
        for number in range(20)
    )
    memory = f"<tmx version='1.4'><header/><body>{units}</body></tmx>"
    (folder / "my/memory.tmx").write_text(memory)
    shutil.copy(folder / "in.txt", folder / "other.txt")
    (folder / "terms.tsv").write_text("Ausschuss\tpanel\n")


def shows(*words):
    """Return what makes sure that a command has shown all of some patterns."""

    def check(_, said):
        assert all(re.search(word, said) for word in words), said

    return check


def leaves_files(*paths):
    """Return what makes sure that there are files."""

    def check(reader, _):
        assert [] == [path for path in paths if not (reader.folder / path).exists()]

    return check


def is_completed(reader, said):
    """Make sure that a run which was asked for comes to its end, and shows what it made."""
    [run] = re.findall(r"/runs/flow-run/([0-9a-f-]+)", said)
    told = dotenv_values(reader.folder / ".env")
    login = tuple(told["PREFECT_API_AUTH_STRING"].split(":"))

    def asked(route, **body):
        address = told["PREFECT_API_URL"] + route
        answer = client.post(address, json=body, auth=login)
        return answer.raise_for_status().json()

    def ended():
        [found] = asked("/flow_runs/filter", flow_runs={"id": {"any_": [run]}})
        assert found["state_type"] not in ("FAILED", "CRASHED", "CANCELLED"), found["state"]
        return found["state_type"] == "COMPLETED"

    with lasting_client() as client:
        assert wait_for(ended, seconds=300)
        artifacts = asked("/artifacts/filter", artifacts={"flow_run_id": {"any_": [run]}})
    assert "report" in {artifact["key"] for artifact in artifacts}


def finds_both_servers(reader, said):
    """Make sure that a worker has found Prefect, and an MLflow that asks for a password."""
    told = dotenv_values(reader.folder / ".env")
    assert f"MLflow at {told['MLFLOW_TRACKING_URI']}" in said
    refused = httpx2.get(f"{told['MLFLOW_TRACKING_URI']}/api/2.0/mlflow/experiments/get")
    assert 401 == refused.status_code
    reader.types(".venv/bin/python -m stages.registry show")


CHECKS = {
    ".venv/bin/nmt translate": shows(r"\S"),
    "curl http://127.0.0.1": shows('"translatedText":"'),
    "make repro": shows("BLEU", "models/export"),
    "make compare": leaves_files("reports/comparison/comparison.md"),
    "make flow": shows("BLEU"),
    "dvc exp show": shows("workspace"),
    "make deploy": shows("train-on-pools", "retrain-on-pools"),
    "make retrain": shows("first"),
    "make champion": shows("champion"),
    "make rollback": shows("version 1 of nmt-de-en is the champion again"),
    "make run": is_completed,
    "make worker POOL=cpu": finds_both_servers,
    "nmt explain --model models/export --n-best 3": shows(r"^1\t1\t"),
    "nmt translate --model models/export <": leaves_files("out.txt"),
    "nmt translate-file --model models/export letter.txt": leaves_files(
        "letter.en.txt", "page.en.html"
    ),
    ".venv/bin/python -c 'from nmt_core import Translator\ntranslator": shows(
        r"\[[-\d, ]*\]", r"\(\d\.\d+, .*\)$"
    ),
    ".venv/bin/python -c 'from nmt_core import Translator\nfrom": shows("<p>.*</p>"),
    "nmt next": shows(r"\d"),
    "nmt learn --text novel.txt": leaves_files("models/novel"),
    "nmt generate": shows(r"\w"),
    "nmt score": shows(r"\d"),
}
"""What a command must have done, by how it begins."""

BEFORE = {
    "make rollback": (
        'make retrain SET="export.golden_sentences=2"',
        "make promote VERSION=2 REASON=better",
    ),
}
"""What a reader has done before, who needs a command that begins so."""


def joined(lines):
    """Yield commands with their comments, which may go on, or stand, in the next line."""
    line = ""
    for more in lines:
        if re.match(r"\s+# ", more):
            comment = more.strip().removeprefix("# ")
            line = f"{line} {comment}" if "  # " in line else f"{line}  # {comment}"
        else:
            if line:
                yield line
            line = more
    yield line


@contextmanager
def open_reader():
    """Yield one at a machine with a repository to clone, and nothing else but what is written."""
    place = Path(tempfile.mkdtemp(prefix="nmt-reader-"))
    ports = {str(port): str(find_free_port("127.0.0.1")) for port in (4200, 5000, 5001)}
    begun = begin(place / "repository", place)
    prepare(begun, ports)
    environment = a_users_environment() | {
        "PATH": without_packages(os.environ["PATH"]),
        "PREFECT_HOME": str(place / "prefect"),
        "DVC_SITE_CACHE_DIR": str(place / "dvc"),
        "XDG_CONFIG_HOME": str(place / "config"),
    }
    identity = place / "config/git/config"  # which experiments of DVC require
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


def type_block(reader, block):
    """Type the commands of a block, and check what they must have done."""
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
        for earlier in next((BEFORE[one] for one in BEFORE if command.startswith(one)), ()):
            reader.types(earlier)
        said = reader.types(line)
        for beginning, check in CHECKS.items():
            if command.startswith(beginning):
                check(reader, said)
