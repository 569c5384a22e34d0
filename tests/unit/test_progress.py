import io

from rich.console import Console

from nmt_core.progress import bytes_bar


def test_no_speed_is_shown_before_it_is_known():
    now = [0.0]
    console = Console(file=io.StringIO(), width=100, get_time=lambda: now[0])
    bar = bytes_bar(console)
    task = bar.add_task("numbering", total=10_000_000)

    def shown():
        console.print(bar.get_renderable())
        return console.file.getvalue().splitlines()[-1]

    assert "?" not in shown()
    for _ in range(3):
        now[0] += 1.0
        bar.advance(task, 1_000_000)

    assert "1.0 MB/s" in shown()
