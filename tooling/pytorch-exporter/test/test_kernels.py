"""Tests the memory of attention and dropout on a GPU, recorded on a machine without one."""

import json
import unittest

import torch
import torch.nn.functional as F
from recorded_files import Folder, held_at_most
from torch import nn

import remat
from remat.cuda_kernels import cuda_kernels
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode


class Ops(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def attention_ops(*, dtype=torch.float32, heads=4, of_keys=4, width=32, mask=None, **options):
    """The ops of attention and its gradients, whose tensors are (2, heads, 24, width), under CUDA's kernels."""
    with FakeTensorMode(), cuda_kernels():
        query = torch.randn(2, heads, 24, width, dtype=dtype, requires_grad=True)
        key, value = (torch.randn(2, of_keys, 24, width, dtype=dtype, requires_grad=True) for _ in range(2))
        if mask is not None:
            options["attn_mask"] = torch.ones(*mask[0], dtype=mask[1])
        with Ops() as ops:
            attended = F.scaled_dot_product_attention(query, key, value, **options)
            attended.sum().backward()
    assert attended.shape == query.shape
    return ops.names


class Kernels(Folder):
    def test_attention_is_the_kernel_that_cuda_would_choose(self):
        flash, efficient, products = "flash_attention", "efficient_attention", None
        half = {"dtype": torch.bfloat16}
        for asked, expected in [
            ({}, efficient),
            ({"dropout_p": 0.1, "is_causal": True}, efficient),
            (half, flash),
            ({**half, "dropout_p": 0.1, "is_causal": True}, flash),
            ({**half, "width": 20}, flash),
            ({**half, "width": 320}, efficient),
            ({**half, "mask": ((24, 24), torch.bool)}, efficient),
            ({"mask": ((2, 1, 24, 24), torch.float32)}, efficient),
            ({"mask": ((24, 24), torch.float32), "width": 30}, products),
            ({"dtype": torch.float64}, products),
            ({**half, "of_keys": 2, "enable_gqa": True}, flash),
            ({"of_keys": 2, "enable_gqa": True}, products),
        ]:
            with self.subTest(asked):
                names = [name for name in attention_ops(**asked) if "scaled_dot_product" in name]
                of = [] if expected is None else [f"aten._scaled_dot_product_{expected}.default", f"aten._scaled_dot_product_{expected}_backward.default"]
                self.assertEqual(names, of)

    def test_backends_that_are_switched_off_are_not_chosen(self):
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            self.assertIn("aten._safe_softmax.default", attention_ops(dtype=torch.bfloat16))

    def test_a_mask_is_read_in_whole_vectors(self):
        with FakeTensorMode(), cuda_kernels():
            query = torch.randn(2, 4, 30, 32, requires_grad=True)
            mask = torch.ones(30, 30, dtype=torch.bool)
            with Ops() as ops:
                F.scaled_dot_product_attention(query, query, query, attn_mask=mask)
        self.assertIn("aten.constant_pad_nd.default", ops.names)

    def test_steps_hold_no_square_of_the_length_and_masks_of_a_byte_an_element(self):
        def build():
            torch.manual_seed(0)
            model = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 128, dropout=0.1, batch_first=True), 2)
            x = torch.randn(4, 256, 64)

            def step():
                model(x).sum().backward()
                model.zero_grad()

            return model, step

        files = {}
        for kernels in ("cuda", "cpu"):
            remat.export(build, self.folder / f"{kernels}.json", kernels=kernels)
            files[kernels] = json.loads((self.folder / f"{kernels}.json").read_text())
        self.assertEqual([file["config"].get("kernels") for file in files.values()], ["cuda", None])
        names = {kernels: {op["name"] for op in file["funcs"]} for kernels, file in files.items()}
        self.assertIn("aten._scaled_dot_product_efficient_attention_backward.default", names["cuda"])
        self.assertIn("aten.native_dropout.default", names["cuda"])
        self.assertFalse({"aten._safe_softmax.default", "aten.bernoulli_.float"} & names["cuda"])
        self.assertIn("aten._safe_softmax.default", names["cpu"])
        self.assertLess(held_at_most(files["cuda"]), 0.5 * held_at_most(files["cpu"]))

    def test_a_step_in_a_lower_precision_has_weights_and_inputs_in_it(self):
        seen = []

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = nn.Linear(8, 8)

            def forward(self, x, scale):
                seen.append((x.dtype, scale.dtype))
                return self.linear(x * scale).float()

        def build():
            model = Model()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            x = torch.randn(4, 8)

            def step():
                model(x, scale=torch.ones(4, 1)).sum().backward()
                optimizer.step()
                optimizer.zero_grad()

            return model, optimizer, step

        remat.export(build, self.folder / "low.json", precision=torch.bfloat16)
        file = self.read("low.json")
        self.assertEqual(set(seen), {(torch.bfloat16, torch.bfloat16)})
        weights = [file["tensors"][tensor]["dt"] for module in file["module_tree"] for _, tensor in module["params"]]
        self.assertEqual(set(weights), {"bfloat16"})
        # Casts by the model's code are visible.
        self.assertIn("aten._to_copy.default", {func["name"] for func in file["funcs"]})

    def test_a_step_in_float32_is_recorded_in_bfloat16_too(self):
        built = []

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = nn.Linear(8, 8)

            def forward(self, x):
                return self.linear(x).float().softmax(-1).to(x.dtype)

        def build(dtype=None):
            model = Model().to(dtype)
            built.append(model)
            optimizer = torch.optim.Adam(model.parameters())
            x = torch.randn(4, 8, dtype=dtype)

            def step():
                model(x).sum().backward()
                optimizer.step()
                optimizer.zero_grad()

            return model, optimizer, step

        def recorded(build=build, **options):
            remat.export(build, self.folder / "step.json", **options)
            return self.read("step.json")

        def dtypes(file):
            return {file["tensors"][tensor]["dt"] for module in file["module_tree"] for _, tensor in module["params"]}

        def casts(file):
            return sum(event["e"] == "op" and file["funcs"][event["f"]]["name"] == "aten._to_copy.default" for event in file["events"])

        file = recorded()
        low = file.pop("recorded_in")["bfloat16"]
        self.assertEqual((dtypes(file), dtypes(low)), ({"float32"}, {"bfloat16"}))
        self.assertEqual(casts(file), 0)
        self.assertGreater(casts(low), 0)
        self.assertEqual(file, recorded(also_in=None))
        self.assertEqual(low, recorded(precision=torch.bfloat16))
        self.assertEqual(set(recorded(also_in=torch.float16)["recorded_in"]), {"float16"})
        self.assertEqual({parameter.dtype for model in built for parameter in model.parameters()}, {torch.float32})
        self.assertNotIn("recorded_in", recorded(lambda: build(torch.bfloat16)))

    def test_a_step_that_cannot_be_taken_in_bfloat16_is_recorded_in_float32(self):
        weight = nn.Linear(4, 4)

        def build():
            def step():
                if weight.weight.dtype != torch.float32:
                    raise TypeError("float32 alone")
                weight(torch.ones(2, 4)).sum().backward()

            return weight, step

        with self.assertWarnsRegex(UserWarning, "recording the step a second time in torch.bfloat16 failed: TypeError: float32 alone"):
            remat.export(build, self.folder / "step.json")
        self.assertNotIn("recorded_in", self.read("step.json"))
        self.assertEqual(weight.weight.dtype, torch.float32)

    def test_the_cpu_computes_as_before_when_a_recording_is_over(self):
        query = torch.randn(1, 2, 8, 16)
        torch.manual_seed(1)
        before = F.scaled_dot_product_attention(query, query, query), F.dropout(query, 0.5)
        with self.assertRaises(ZeroDivisionError), cuda_kernels():
            1 / 0
        torch.manual_seed(1)
        after = F.scaled_dot_product_attention(query, query, query), F.dropout(query, 0.5)
        for one, other in zip(before, after):
            self.assertTrue(torch.equal(one, other))

    def test_other_kernels_are_refused(self):
        with self.assertRaisesRegex(ValueError, "kernels='mps' is not supported; pass \"cuda\" or \"cpu\""):
            remat.export(lambda: None, self.folder / "step.json", kernels="mps")


if __name__ == "__main__":
    unittest.main()
