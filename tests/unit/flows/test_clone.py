"""What a flow does to its clone, in real repositories: nobody's work is lost."""

import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest

from flows import clone
from nmt_core.base.errors import NmtError
from stages import paths
from stages.runtime.git import current_branch, git, head_commit

CODE = Path("code.py")


def commit(subject, **content):
    """Commit text of the files named by their stem, and return the commit's full name."""
    names = {"code": CODE, "params": paths.PARAMS, "lock": paths.LOCK, "notes": Path("notes.txt")}
    for name, text in content.items():
        names[name].write_text(text)
        git("add", str(names[name]))
    git("commit", "--quiet", "-m", subject)
    return head_commit()


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A bare repository with one commit, and a clone of it."""
    folder = tmp_path_factory.mktemp("begun")
    with pytest.MonkeyPatch.context() as patch:
        for person in ("AUTHOR", "COMMITTER"):
            patch.setenv(f"GIT_{person}_NAME", "Tester")
            patch.setenv(f"GIT_{person}_EMAIL", "tester@localhost")
        patch.chdir(folder)
        git("init", "--quiet", "--bare", "--initial-branch", "main", "origin")
        git("clone", "--quiet", "origin", "clone")
        patch.chdir(folder / "clone")
        Path(".dvc/tmp").mkdir(parents=True)
        Path(".git/info/exclude").write_text("/.dvc\n")
        commit("Begin", code="1", params="seed: 1\n")
        git("push", "--quiet", "--set-upstream", "origin", "HEAD")
        git("remote", "set-head", "origin", "main")
        yield folder


@pytest.fixture
def origin(begun, tmp_path, monkeypatch):
    """The bare repository; the working folder is a clone of it."""
    shutil.copytree(begun, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path / "clone")
    git("remote", "set-url", "origin", str(tmp_path / "origin"))
    return tmp_path / "origin"


def pushed_elsewhere(origin, subject, **content):
    """Push a commit from another clone, and return its full name."""
    other = origin.parent / "other"
    if not other.exists():
        git("clone", "--quiet", str(origin), str(other))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(other)
        made = commit(subject, **content)
        git("push", "--quiet")
        return made


def read_clone():
    """Return the text of code, settings and lock file."""
    return [path.read_text() for path in (CODE, paths.PARAMS, paths.LOCK)]


@pytest.mark.parametrize("revision", ["origin/HEAD", "origin/main", "new", "full name"])
def test_a_branch_that_is_behind_is_updated(origin, revision):
    """The clone is on the branch afterwards, with everything as committed."""
    newest = pushed_elsewhere(origin, "More", code="2", params="seed: 2\n", lock="2")
    git("fetch", "--quiet")
    git("tag", "new", newest)
    clone.check_out(newest if revision == "full name" else revision)

    assert (newest, "main") == (head_commit(), current_branch())
    assert read_clone() == ["2", "seed: 2\n", "2"]
    assert git("status", "--porcelain") == ""


def test_a_commit_off_the_branch_moves_no_branch(origin):
    """The flow returns to the branch, whether or not it succeeded."""
    first = head_commit()
    git("tag", "old")
    newest = pushed_elsewhere(origin, "More", code="2", params="seed: 2\n")
    clone.check_out("origin/HEAD")
    for ending in (nullcontext(), pytest.raises(ZeroDivisionError)):
        with ending, clone.hold_clone(pytest.fail):
            clone.check_out("old")
            assert (head_commit(), current_branch(), CODE.read_text()) == (first, "", "1")
            assert paths.PARAMS.read_text() == "seed: 1\n"
            1 / int(isinstance(ending, nullcontext))

        assert (head_commit(), current_branch(), CODE.read_text()) == (newest, "main", "2")
        assert paths.PARAMS.read_text() == "seed: 2\n"


def test_unpushed_and_uncommitted_work_is_not_overwritten(origin):
    mine = commit("Add my corpus", params="seed: 3\n")
    with pytest.raises(NmtError, match=rf"{mine[:7]} \(Add my corpus\).* not pushed.*git push"):
        clone.check_out("origin/HEAD")

    assert (head_commit(), paths.PARAMS.read_text()) == (mine, "seed: 3\n")
    clone.check_out(mine)  # who names a commit wants that commit
    git("push", "--quiet")
    clone.check_out("origin/HEAD")
    assert head_commit() == mine
    CODE.write_text("edited")
    with pytest.raises(NmtError, match=r"(?s)code\.py.* commit"):
        clone.check_out("origin/HEAD")
    assert CODE.read_text() == "edited"


@pytest.mark.parametrize("staged", [False, True])
def test_parameters_edited_by_hand_are_refused_and_kept(origin, staged):
    newest = pushed_elsewhere(origin, "More", code="2", params="seed: 2\n")
    paths.PARAMS.write_text("seed: 4\n")
    if staged:
        git("add", str(paths.PARAMS))
    calls = (
        lambda: clone.check_out("origin/HEAD"),
        lambda: clone.write_settings(newest, "seed: 5\n"),
        lambda: clone.write_settings(head_commit(), "seed: 5\n"),
    )
    before = head_commit()
    for call in calls:
        with pytest.raises(NmtError, match=r"params\.yaml was changed in .*git checkout HEAD"):
            call()

        assert (head_commit(), paths.PARAMS.read_text()) == (before, "seed: 4\n")
    clone.write_settings(before, "seed: 4\n")  # nothing is lost


def test_edited_parameters_are_kept_without_a_checkout(origin, monkeypatch):
    """As after `make repro MODEL=...`; the results belong to somebody, too."""
    paths.PARAMS.write_text("seed: 4\n")
    monkeypatch.setattr(clone.request, "compose_settings", lambda _: paths.PARAMS.read_text())
    monkeypatch.setattr(clone, "build_all", lambda text, **_: text)
    monkeypatch.setattr(clone.compose, "pin_all", str)
    monkeypatch.setattr(clone.compose, "render_params", lambda text: f"{text}more: 1\n")

    with pytest.raises(NmtError, match=r"params\.yaml was changed in"):
        clone.prepare_clone("origin/HEAD", [], renew=False, say=pytest.fail)
    prepared = clone.prepare_clone(None, [], renew=False, say=pytest.fail)

    assert prepared == (head_commit(), "seed: 4\nmore: 1\n")
    assert paths.PARAMS.read_text() == prepared[1]
    with pytest.raises(NmtError, match=r"params\.yaml was changed in"):
        clone.check_out("origin/HEAD")


def test_parameters_written_by_a_flow_are_replaced(origin):
    first = head_commit()
    clone.write_settings(first, "seed: 5\n")
    clone.write_settings(first, "seed: 6\n")
    newest = pushed_elsewhere(origin, "More", code="2", params="seed: 2\n")
    clone.write_settings(newest, "seed: 7\n")
    assert paths.PARAMS.read_text() == "seed: 7\n"
    for _ in range(2):
        clone.check_out("origin/HEAD")
        assert paths.PARAMS.read_text() == "seed: 2\n"
        paths.PARAMS.write_text("seed: 6\n")  # what a flow wrote can be made again


def test_an_interrupted_flow_has_recorded_its_changes(origin, monkeypatch):
    """Otherwise every later run would take its text for somebody's work."""
    write = clone.files.write_text

    def cut_off(path, text):
        write(path, text)
        raise KeyboardInterrupt

    monkeypatch.setattr(clone.files, "write_text", cut_off)
    with pytest.raises(KeyboardInterrupt):
        clone.write_settings(head_commit(), "seed: 5\n")
    monkeypatch.undo()

    clone.check_params()


@pytest.mark.parametrize("name", ["notes.txt", "ignored.txt"])
def test_a_file_unknown_to_git_is_not_overwritten(origin, name, monkeypatch):
    """Nothing else changes either; a forced checkout by git would remove the file."""
    Path("notes.txt").write_text("mine")
    clone.write_settings(head_commit(), "seed: 5\n")
    paths.LOCK.write_text("lock")
    if name == "ignored.txt":
        Path(".git/info/exclude").write_text("/.dvc\n/notes.txt\n/dvc.lock\n")
    pushed_elsewhere(origin, "Notes", notes="theirs", lock="theirs", params="seed: 2\n")
    before = head_commit()

    with pytest.raises(NmtError, match=r"untracked .*notes\.txt"):
        clone.check_out("origin/HEAD")
    assert Path("notes.txt").read_text() == "mine"
    assert (head_commit(), current_branch()) == (before, "main")
    assert [path.read_text() for path in (paths.PARAMS, paths.LOCK)] == ["seed: 5\n", "lock"]


@pytest.mark.parametrize("staged", [False, True])
def test_a_lock_file_yields_only_to_the_commits(origin, staged):
    """DVC writes it again from its cache; an old file in its place has no effect."""
    paths.LOCK.write_text("mine")
    if staged:
        git("add", str(paths.LOCK))
    newest = pushed_elsewhere(origin, "More", code="2")
    clone.check_out("origin/HEAD")
    assert (head_commit(), paths.LOCK.read_text()) == (newest, "mine")
    pushed_elsewhere(origin, "Lock", lock="theirs")
    clone.check_out("origin/HEAD")

    assert paths.LOCK.read_text() == "theirs"
    assert git("status", "--porcelain") == ""


@pytest.mark.parametrize("edited", [False, True])
def test_an_own_branch_is_not_moved(origin, edited):
    """The clone does not return to it either if somebody has edited settings meanwhile."""
    said = []
    git("checkout", "--quiet", "-b", "mine")
    newest = pushed_elsewhere(origin, "More", code="2", params="seed: 2\n")
    with clone.hold_clone(said.append):
        clone.check_out("origin/main")
        assert (newest, "") == (head_commit(), current_branch())
        if edited:
            paths.PARAMS.write_text("seed: 9\n")

    expected = ("", "2", "seed: 9\n") if edited else ("mine", "1", "seed: 1\n")
    assert (current_branch(), CODE.read_text(), paths.PARAMS.read_text()) == expected
    assert ["branch mine: params.yaml was changed" in sentence for sentence in said] == [
        True
    ] * edited


def test_the_state_of_the_clone_is_reported(origin, tmp_path, monkeypatch):
    clean = f"commit {head_commit()[:7]} (Begin)"
    assert clone.describe_clone() == clean
    CODE.write_text("edited")
    assert clone.describe_clone() == f"{clean} with uncommitted changes"
    monkeypatch.chdir(tmp_path)
    assert clone.describe_clone() == "no commit"
    with clone.hold_clone(pytest.fail):
        pass
