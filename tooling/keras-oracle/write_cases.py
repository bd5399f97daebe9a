"""Writes the answers of Keras for small models: one for each layer and function that the loader supports, and common
architectures.

    pip install tensorflow-cpu tf_keras
    python write_cases.py 2 keras-2-cases.json.gz   # tf_keras
    python write_cases.py 3 keras-3-cases.json.gz   # Keras 3, on TensorFlow
    python write_cases.py 3 keras-3-cases.json.gz "math.abs" "Conv3D"   # only these cases, the others stay

A case is a topology as written by `to_json`. The gradients are those of the sum of the outputs, each multiplied by a
different number.
"""

import gzip
import json
import sys

from keras_answers import L, cases, chosen, keras, version
import layer_cases
import function_cases
import kink_cases
import architecture_cases
from loss_cases import loss_cases, optimizer_cases

# Every layer of Keras's reference, so that none is missed
base = keras.layers.Layer
of_base = {each for each in vars(L).values() if isinstance(each, type) and issubclass(each, base)}
names = sorted({"GroupQueryAttention" if each.__name__ == "GroupedQueryAttention" else each.__name__ for each in of_base})
written = {"keras": version, "layers": names, "cases": cases, "losses": loss_cases, "optimizers": optimizer_cases}
if chosen:
    with gzip.open(sys.argv[2], "rt") as file:
        kept = json.load(file)
    if kept["keras"] != version:
        sys.exit(f"{sys.argv[2]} is of Keras {kept['keras']}, and this is {version}: install that version, or write all cases")
    kinds = ("cases", "losses", "optimizers")
    unknown = [name for name in chosen if not any(name in written[kind] or name in kept[kind] for kind in kinds)]
    if unknown:
        sys.exit(f"there are no cases with these names: {', '.join(sorted(unknown))}")
    for kind in kinds:
        others = {name: value for name, value in kept[kind].items() if name not in chosen}
        # A case that no longer exists is removed.
        kept[kind] = others | {name: value for name, value in written[kind].items() if name in chosen}
    written = {**kept, "layers": names}
with open(sys.argv[2], "wb") as file:
    # Without the date, so that the same answers give the same file
    file.write(gzip.compress(json.dumps(written, separators=(",", ":")).encode(), 9, mtime=0))
