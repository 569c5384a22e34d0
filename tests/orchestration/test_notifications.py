"""Notifications of the real Prefect server about failed and late scheduled runs."""

import json

from tests.support.processes import wait_for
from tests.support.web_server import serving


def end(fleet, name, kind, *, tags, state=None):
    """Set the state of a run, like its engine."""
    flow = fleet.api("POST", "/flows/", name="retrain")
    run = fleet.api("POST", "/flow_runs/", flow_id=flow["id"], name=name, tags=tags)
    ended = {"type": kind, "name": state or kind.capitalize(), "message": "the disk is full"}
    fleet.api("POST", f"/flow_runs/{run['id']}/set_state", state=ended, force=True)


def test_failed_scheduled_run_is_reported(fleet):
    bodies = []

    def keep(handler):
        length = int(handler.headers["Content-Length"])
        bodies.append(json.loads(handler.rfile.read(length)))
        handler.answer(204)

    with serving() as site:
        shown = fleet.deploy(NOTIFY=site.put("/canary", keep))
        end(fleet, "by hand", "FAILED", tags=[])
        end(fleet, "done", "COMPLETED", tags=["auto-scheduled"])
        end(fleet, "weekly", "CRASHED", tags=["auto-scheduled"])
        assert wait_for(lambda: bodies, seconds=60)
        [first] = bodies
        end(fleet, "nightly", "SCHEDULED", tags=["auto-scheduled"], state="Late")
        assert wait_for(lambda: len(bodies) > 1, seconds=60)
        assert "nightly: Late" in bodies[1]["text"]
        fleet.deploy(NOTIFY="off")
        end(fleet, "later", "FAILED", tags=["auto-scheduled"])
        assert not wait_for(lambda: bodies[2:], seconds=5)

    assert first["text"].startswith("weekly: Crashed\nweekly is Crashed: the disk is full\nhttp")
    assert first["content"] == first["text"]
    assert "canary" not in shown
    assert "canary" not in str(fleet.api("POST", "/block_documents/filter"))
