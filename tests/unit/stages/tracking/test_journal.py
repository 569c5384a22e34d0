from stages.tracking.journal import Journal


def test_the_last_number_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    journal = Journal("f")
    assert journal.last("train/seconds") is None
    for step, seconds in ((10, 1.0), (20, 2.0), (15, 1.75)):  # resumed from 10
        journal.append("metrics", values={"train/seconds": seconds}, step=step)
    journal.append("metrics", values={"train/loss": 3.0}, step=20)

    assert journal.last("train/seconds") == 1.75
