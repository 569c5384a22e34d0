"""What a flow does to the clone it works in, in real repositories: nobody's work is lost."""

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
    """The bare repository, of which the folder that we are in is a clone."""
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
def test_a_branch_that_is_behind_comes_along(origin, revision):
    """The clone is on it afterwards, with everything as it was committed."""
    newest = pushed_elsewhere(origin, "More", code="2", params="seed: 2\n", lock="2")
    git("fetch", "--quiet")
    git("tag", "new", newest)
    clone.check_out(newest if revision == "full name" else revision)

    assert (newest, "main") == (head_commit(), current_branch())
    assert read_clone() == ["2", "seed: 2\n", "2"]
    assert git("status", "--porcelain") == ""


def test_what_is_not_on_the_branch_leaves_it_where_it_is(origin):
    """And the flow comes back to it, whether or not all went well."""
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


def test_what_is_not_pushed_or_not_committed_is_not_checked_out_over(origin):
    mine = commit("Add my corpus", params="seed: 3\n")
    with pytest.raises(NmtError, match=rf"{mine[:7]} \(Add my corpus\).* not pushed.*git push"):
        clone.check_out("origin/HEAD")

    assert (head_commit(), paths.PARAMS.read_text()) == (mine, "seed: 3\n")
    clone.check_out(mine)  # who names it knows what he wants
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


def test_parameters_edited_by_hand_are_the_basis_of_a_run_that_takes_all_as_it_lies(
    origin, monkeypatch
):
    """As after `make repro MODEL=...`; what comes of them is no less somebody's work."""
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


def test_parameters_that_a_flow_has_written_are_nobodys_work(origin):
    first = head_commit()
    clone.write_settings(first, "seed: 5\n")
    clone.write_settings(first, "seed: 6\n")
    newest = pushed_elsewhere(origin, "More", code="2", params="seed: 2\n")
    clone.write_settings(newest, "seed: 7\n")
    assert paths.PARAMS.read_text() == "seed: 7\n"
    for _ in range(2):
        clone.check_out("origin/HEAD")
        assert paths.PARAMS.read_text() == "seed: 2\n"
        paths.PARAMS.write_text("seed: 6\n")  # what any flow has written can be had again


def test_a_flow_that_is_cut_off_has_said_what_it_writes(origin, monkeypatch):
    """Or its own text would be taken for somebody's by every run after it."""
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
def test_a_file_that_git_does_not_know_is_not_written_over(origin, name, monkeypatch):
    """Nor is anything else changed; git's forced checkout would take it away."""
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
def test_a_lock_file_gives_way_to_that_of_the_commit_and_is_kept_otherwise(origin, staged):
    """DVC makes it again from what it has; an old one in its place is believed by nobody."""
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
def test_a_branch_of_ones_own_is_not_moved(origin, edited):
    """Nor does the clone come back to it where somebody has edited settings meanwhile."""
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


def test_it_is_told_what_the_clone_is_at(origin, tmp_path, monkeypatch):
    clean = f"commit {head_commit()[:7]} (Begin)"
    assert clone.describe_clone() == clean
    CODE.write_text("edited")
    assert clone.describe_clone() == f"{clean} with uncommitted changes"
    monkeypatch.chdir(tmp_path)
    assert clone.describe_clone() == "no commit"
    with clone.hold_clone(pytest.fail):
        pass
