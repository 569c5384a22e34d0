"""Jobs on a cluster: workers run the same code, and failures are explained."""

import pytest

from nmt_core.base import jobs
from nmt_core.base.errors import NmtError
from nmt_core.base.jobs import _run_on_worker, identify_code


def test_worker_with_other_code_is_refused():
    with pytest.raises(NmtError, match=r"other code than this program \(.*; here another day"):
        _run_on_worker("another day", str.upper, "a")


def test_a_worker_with_the_same_code_runs_jobs():
    assert _run_on_worker(identify_code(), str.upper, "a") == "A"


def test_code_is_that_of_the_whole_library(tmp_path, monkeypatch):
    own = tmp_path / "nmt_core/base/jobs.py"
    other = tmp_path / "nmt_core/text/tokenizer.py"
    for path in (own, other):
        path.parent.mkdir(parents=True)
        path.touch()
    monkeypatch.setattr(jobs, "__file__", str(own))
    digests = [identify_code.__wrapped__() for _ in range(2)]
    other.write_text("1")
    digests.append(identify_code.__wrapped__())
    other.rename(other.with_name("subwords.py"))
    digests.append(identify_code.__wrapped__())

    assert digests[0] == digests[1]
    assert len({*digests}) == 3
