"""Times torch's MemTracker on two steps of a model of the oracle, whose folder is the first argument. The model's case is
the second.

Prints JSON: milliseconds of the whole process except the interpreter's start, and the part after the imports: model,
optimizer, two steps and the display of the peak.
"""
import json
import sys
import time

start = time.perf_counter()
sys.path.insert(0, sys.argv[1])
from ocommon import DEV, FakeTensorMode, torch
from models import CASES
from torch.distributed._tools.mem_tracker import MemTracker

build, make_input, _ = CASES[sys.argv[2]]


def track():
    began = time.perf_counter()
    with FakeTensorMode():
        with torch.device(DEV):
            model = build()
        optimizer = torch.optim.Adam(model.parameters(), foreach=True)
        x = make_input(DEV)
        tracker = MemTracker()
        tracker.track_external(model, optimizer, x)
        with tracker:
            for step in range(2):
                if step > 0:
                    tracker.reset_mod_stats()
                model(x).sum().backward()
                optimizer.step()
                optimizer.zero_grad()
        tracker.display_snapshot("peak")
    return (time.perf_counter() - began) * 1e3


# Its display is not needed.
printed, sys.stdout = sys.stdout, open("/dev/null", "w")
answer = track()
json.dump({"coldMs": (time.perf_counter() - start) * 1e3, "afterStartMs": answer}, printed)
