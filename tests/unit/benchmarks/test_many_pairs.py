from benchmarks import many_pairs


def test_all_parts_are_measured(capsys):
    many_pairs.main(2000)
    shown = capsys.readouterr().out
    assert shown.startswith("2,000 pairs")
    for part in ("duplicates", "leaks", "plan of a group"):
        measured = shown.partition(f"\n{part}\n")[2].split()
        assert measured[0] == "seconds"
        assert float(measured[1]) < 60
        assert int(measured[3]) > 0
