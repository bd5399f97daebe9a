"""Every class of `torch.nn` trains under random policies as it does without, or is refused by name."""

import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

from daily import AT_NIGHT, sampled
from module_cases import ALL, CASES, WITHOUT_FORWARD, Untrainable, try_case
from recorded_files import CLI
from torch import nn

#: A change tries a sample: some classes of each kind, and each that has state or saves what it writes later. The nightly run tries all.
SEEDS = range(2) if AT_NIGHT else range(1)
OFTEN = ["BatchNorm1d", "Bilinear", "InstanceNorm2d", "LSTM", "LazyConv2d", "RReLU", "MultiheadAttention", "F.batch_norm", "nn.Embedding max_norm", "spectral_norm", "fake quantization", "bernoulli_"]
NAMES = list(dict.fromkeys([*OFTEN, *sampled(ALL, 9)]))


class Modules(unittest.TestCase):
    def test_every_class_of_torch_nn_has_an_entry(self):
        # A new class needs a line in module_cases.py: how it is made, and what it is given.
        classes = {name for name, one in vars(nn).items() if isinstance(one, type) and issubclass(one, nn.Module)}
        self.assertEqual(classes - set(CASES), WITHOUT_FORWARD)
        self.assertEqual(set(CASES) - classes, set())

    @unittest.skipUnless(CLI, "REMAT_CLI is not set")
    def test_training_is_the_same_to_the_bit_or_refused_by_name(self):
        trained = dict.fromkeys(NAMES, 0)
        for name in NAMES:
            for seed in SEEDS:
                with self.subTest(f"python module_cases.py --once --seed {seed} --only '{name}'"):
                    try:
                        wrong = try_case(name, seed)
                    except Untrainable:
                        continue
                    self.assertTrue(wrong is None or wrong.startswith("refused"), wrong)
                    trained[name] += 1
        self.assertGreater(sum(trained.values()), 0.8 * len(SEEDS) * len(NAMES))


if __name__ == "__main__":
    unittest.main()
