"""Writes the answers of Keras for small models: one for each layer and function that the loader supports, and common
architectures.

    pip install tensorflow-cpu tf_keras
    python write_cases.py 2 > keras-2.json   # tf_keras
    python write_cases.py 3 > keras-3.json   # Keras 3, on TensorFlow

A case is a topology as written by `to_json`. The gradients are those of the sum of the outputs, each multiplied by a
different number.
"""

import json

from keras_answers import L, cases, keras, version
import layer_cases
import function_cases
import architecture_cases
from loss_cases import loss_cases, optimizer_cases

# Every layer of Keras's reference, so that none is missed
base = keras.layers.Layer
of_base = {each for each in vars(L).values() if isinstance(each, type) and issubclass(each, base)}
names = sorted({"GroupQueryAttention" if each.__name__ == "GroupedQueryAttention" else each.__name__ for each in of_base})
print(json.dumps({"keras": version, "layers": names, "cases": cases, "losses": loss_cases, "optimizers": optimizer_cases}, separators=(",", ":")))
