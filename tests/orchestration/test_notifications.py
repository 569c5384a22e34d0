"""Notifications of the real Prefect server about failed and late scheduled runs."""

import json
import threading
from contextlib import contextmanager
from wsgiref.simple_server import WSGIRequestHandler, make_server

from tests.support.processes import wait_for


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


@contextmanager
def receiving():
    """Yield the address of a webhook, and the bodies of its requests."""
    bodies = []

    def answer(environ, start_response):
        length = int(environ["CONTENT_LENGTH"])
        bodies.append(json.loads(environ["wsgi.input"].read(length)))
        start_response("204 No Content", [])
        return []

    with make_server("127.0.0.1", 0, answer, handler_class=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/canary", bodies
        finally:
            server.shutdown()
            thread.join()


def end(fleet, name, kind, *, tags, state=None):
    """Let a run come to a state as its engine would."""
    flow = fleet.api("POST", "/flows/", name="retrain")
    run = fleet.api("POST", "/flow_runs/", flow_id=flow["id"], name=name, tags=tags)
    ended = {"type": kind, "name": state or kind.capitalize(), "message": "the disk is full"}
    fleet.api("POST", f"/flow_runs/{run['id']}/set_state", state=ended, force=True)


def test_failed_scheduled_run_is_reported(fleet):
    with receiving() as (address, bodies):
        shown = fleet.deploy(NOTIFY=address)
        end(fleet, "by hand", "FAILED", tags=[])
        end(fleet, "done", "COMPLETED", tags=["auto-scheduled"])
        end(fleet, "weekly", "CRASHED", tags=["auto-scheduled"])
        assert wait_for(lambda: bodies, seconds=60)
        [told] = bodies
        end(fleet, "nightly", "SCHEDULED", tags=["auto-scheduled"], state="Late")
        assert wait_for(lambda: len(bodies) > 1, seconds=60)
        assert "nightly: Late" in bodies[1]["text"]
        fleet.deploy(NOTIFY="off")
        end(fleet, "later", "FAILED", tags=["auto-scheduled"])
        assert not wait_for(lambda: bodies[2:], seconds=5)

    assert told["text"].startswith("weekly: Crashed\nweekly is Crashed: the disk is full\nhttp")
    assert "canary" not in shown
    assert "canary" not in str(fleet.api("POST", "/block_documents/filter"))
