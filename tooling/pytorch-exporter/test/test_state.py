"""A policy never changes training: modules that change state as they run, in sixty ways, recorded, planned, verified and fitted."""

import json
import subprocess
import sys
import unittest
from collections import OrderedDict
from pathlib import Path
from unittest import mock

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import torch
import torch.nn.functional as F
from daily import AT_NIGHT
from recorded_files import CLI, Folder
from stateful_programs import BEYOND, PROGRAMS, SEEN_BY_COMPARISON, make, state_of

from torch import nn
from torch.ao.quantization import FusedMovingAvgObsFakeQuantize, MovingAverageMinMaxObserver

import remat
from remat.fitting import _why_left_out
from remat.verifying import Difference, Verifier

#: How many steps are compared.
STEPS = 3


def setUpModule():
    # Threads wait for each other longer than such small models compute.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    unittest.addModuleCleanup(torch.set_num_threads, threads)


def whole_blocks(model):
    """A policy that has each block run again, whatever that does."""
    units = {}
    for name, module in model.named_children():
        units[name] = {"type": type(module).__name__, "parameters": sorted(list(one.shape) for one in module.parameters()), "save": []}
    return {"format": "remat-pytorch-policy/4", "torch": torch.__version__, "model": "Sequential", "modules": units}


def trained(name, then=lambda model, step: None):
    """Losses and state after one step, `then`, and the steps that are compared."""
    model, optimizer, step = make(name)
    step()
    then(model, step)
    losses = [step() for _ in range(STEPS)]
    return losses, state_of(model), [value for state in optimizer.state.values() for value in state["momentum_buffer"].flatten().tolist()]


class State(Folder):
    def assertTrainedAlike(self, found, expected):
        self.assertEqual(found[0], expected[0], "losses")
        self.assertEqual([key for key in expected[1] if found[1].get(key) != expected[1][key]], [], "state")
        self.assertEqual(found[2], expected[2], "the optimizer's state")


class Blamed(State):
    """The module that changes training is named, and not the one whose gradient shows it."""

    def test_the_cause_is_found_inside_blocks(self):
        def of_closure():
            calls = 0

            class Counting(torch.nn.Module):
                def forward(self, x):
                    nonlocal calls
                    calls += 1
                    return x * (1 + 0.01 * (calls % 5))

            return Counting()

        class WithDefault(torch.nn.Module):
            def forward(self, x, memo=[0]):  # noqa: B006
                memo[0] += 1
                return x * (1 + 0.01 * (memo[0] % 5))

        for core in (of_closure, WithDefault):
            with self.subTest(core.__name__):
                blocks = [torch.nn.Sequential(OrderedDict(core=core(), a=torch.nn.Linear(8, 8), act=torch.nn.Tanh(), b=torch.nn.Linear(8, 8))) for _ in range(3)]
                model, x = torch.nn.Sequential(*blocks), torch.ones(4, 8)

                def step(model=model, x=x):
                    model.zero_grad()
                    model(x).square().mean().backward()

                policy = whole_blocks(model)
                verifier = Verifier(model, step)
                guilty = verifier.guilty(policy, verifier.difference(policy))
                self.assertTrue(guilty)
                self.assertLessEqual({one.owner for one in guilty}, {"0.core", "1.core", "2.core"})
                self.assertTrue(all(one.is_isolated and one.owner == f"{one.unit}.core" for one in guilty))

    def test_a_module_that_was_not_isolated_is_not_accused(self):
        model, _, step = make("no state")
        with mock.patch.object(Verifier, "_calls_that_change", return_value=[]):
            seen = Verifier(model, step)._blame("1", Difference("the gradient of '2.up.weight'", "2.up"))
        self.assertEqual((seen.owner, seen.is_isolated), ("1", False))
        told = _why_left_out(seen, whole_blocks(model))
        self.assertEqual(told, "training changes if module '1' runs again (the gradient of '2.up.weight' differs), and remat did not find the module that causes it")


class Forced(State):
    """Each block runs again, which most programs cannot: the comparison has to say so, and to leave everything as it was."""

    def test_a_policy_is_applied_only_if_training_stays_the_same(self):
        refused = set()
        for name in PROGRAMS.keys() - BEYOND:
            with self.subTest(name):
                expected = trained(name)

                def force(model, step, name=name):
                    before = state_of(model)
                    try:
                        remat.apply(model, whole_blocks(model), verify=step)
                    except remat.TrainingDiffers as error:
                        refused.add(name)
                        self.assertRegex(str(error), "when module '[012]' runs again, .+ differs from a step without the policy")
                        self.assertFalse(any("_remat_unit" in vars(module) for module in model.modules()))
                    after = state_of(model)
                    self.assertEqual([key for key in before if after.get(key) != before[key]], [], "what the comparison changed")

                self.assertTrainedAlike(trained(name, force), expected)
        # A second run leaves normalisation and generators as they are, and so does what gives the same twice.
        # It starts from the weights and buffers of the first, and puts back those that it has replaced.
        twice = {"a custom op without its optional argument", "a custom op with two written arguments", "an out argument", "a slice", "scatter_"}
        self.assertEqual(PROGRAMS.keys() - refused, {"BatchNorm", "BatchNorm without momentum", "BatchNorm with a forward of its own", "averages that nothing reads", "InstanceNorm", "dropout", "no state", "a buffer that is replaced"} | twice | BEYOND)

    def test_the_comparison_is_needed(self):
        """Without it most programs train otherwise: the tests above can fail."""
        others = 0
        for name in ("a custom op", "a number", "a tensor in an attribute", "a global list", "batch_norm of a module's own"):
            others += trained(name, lambda model, step: remat.apply(model, whole_blocks(model)))[:2] != trained(name)[:2]
        self.assertEqual(others, 5)


class Recorded(State):
    """Running statistics do not keep a module from running again if nothing that is computed follows from them, whatever its class is."""

    def written(self, model, optimizer, step):
        """The recorded writes of the forward pass."""
        path = self.folder / "step.json"
        step()
        with remat.record(path, model, optimizer):
            step()
        file = json.loads(path.read_text())
        events = [event for event in file["events"] if event["e"] == "op" and not event.keys() & {"bw", "opt"}]
        before = {storage for event in file["events"] if event["e"] == "ref" for storage in event["s"]}
        names = {event["name"] for event in file["events"] if event["e"] == "mark"}
        return [event for event in events if not before.isdisjoint(event.get("w", ()))], names

    def test_statistics_that_nothing_follows_from_are_put_back(self):
        for name in ("BatchNorm", "BatchNorm without momentum", "BatchNorm with a forward of its own", "averages that nothing reads"):
            with self.subTest(name):
                model, optimizer, step = make(name)
                self.assertEqual(self.written(model, optimizer, step), ([], set()))

    def test_statistics_that_are_computed_with_are_writes_by_name(self):
        for name, buffer in (
            ("BatchNorm that computes with its statistics", "running_var"),
            ("BatchNorm that counts by itself", "running_mean"),
            ("BatchNorm that counts and decides", "num_batches_tracked"),
            ("averages that are read", "running_mean"),
            ("BatchNorm that keeps its average", "running_mean"),
        ):
            with self.subTest(name):
                written, names = self.written(*make(name))
                self.assertEqual(len(written), 6 if "itself" in name else 3)
                self.assertEqual(names, {f"stateWritten the buffer {block}.inner.{buffer}" for block in range(3)})

    def test_statistics_of_a_module_outside_of_the_unit_are_writes(self):
        class Reporting(torch.nn.Module):
            def __init__(self, norm):
                super().__init__()
                self.norm = [norm]

            def forward(self, x):
                self.norm[0].num_batches_tracked.add_(1)
                return x.tanh()

        norm = torch.nn.BatchNorm1d(8)
        model = torch.nn.Sequential(torch.nn.Linear(8, 8), norm, Reporting(norm))
        x = torch.randn(4, 8)
        written, _ = self.written(model, None, lambda: model(x).sum().backward())
        self.assertEqual(len(written), 1)


@unittest.skipUnless(CLI, "REMAT_CLI is not set")
class Planned(State):
    """Tests that a change that a recording shows is never planned to run again, so that a policy needs no comparison.
    """

    OFTEN = ["a fused observer", "a custom op", "batch_norm of a module's own", "a tensor in an attribute", "a number", "a hook that counts", "InstanceNorm", "statistics that another module reads", "BatchNorm with a forward of its own", "averages that nothing reads"]
    NAMES = list(PROGRAMS) if AT_NIGHT else OFTEN

    def plan(self, path, budget, seconds=1):
        policy = self.folder / "policy.json"
        policy.unlink(missing_ok=True)
        done = subprocess.run([*CLI, "plan", path, "--budget", budget, "--time", f"{seconds}s", "--pytorch-policy", policy], capture_output=True, text=True)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        return json.loads(policy.read_text()) if done.returncode == 0 else None

    def test_a_policy_for_a_recording_leaves_training_as_it_is(self):
        planned = 0
        for name in self.NAMES:
            with self.subTest(name):
                model, optimizer, step = make(name)
                step()
                path = self.folder / "step.json.gz"
                with remat.record(path, model, optimizer):
                    step()
                policy = self.plan(path, "75%")
                if policy is None:
                    continue
                planned += 1
                if name in SEEN_BY_COMPARISON:
                    continue
                self.assertTrainedAlike(trained(name, lambda model, step, policy=policy: remat.apply(model, policy)), trained(name))
        # Most find a plan, so that the loop above compares something; modules with observers and functional normalisation may not.
        self.assertGreater(planned, len(self.NAMES) / 2)


    def test_ops_with_effects_leave_the_rest_of_their_block_to_run_again(self):
        """Small budgets, so that parts are planned around these ops: what they return is kept, or they run on copies."""
        often = ("a fused observer", "batch normalisation of a module's own")
        for name, effect in EFFECTS.items():
            if not AT_NIGHT and name not in often:
                continue
            with self.subTest(name):

                def make_step(effect=effect):
                    torch.manual_seed(0)
                    blocks = [nn.Sequential(nn.LayerNorm(32), nn.Linear(32, 128), nn.GELU(), effect(), nn.Linear(128, 32)) for _ in range(6)]
                    model, x = nn.Sequential(*blocks), torch.randn(512, 32)
                    optimizer = torch.optim.SGD(model.parameters(), 0.1)

                    def step():
                        loss = (model(x) - x.flip(0)).square().mean()
                        loss.backward()
                        optimizer.step()
                        optimizer.zero_grad()
                        return loss.item()

                    step()
                    return model, optimizer, step

                def after(policy):
                    model, _, step = make_step()
                    if policy is not None:
                        remat.apply(model, policy)
                    return [step() for _ in range(STEPS)], [bits.numpy().tobytes() for bits in model.state_dict().values()]

                model, optimizer, step = make_step()
                path = self.folder / "step.json.gz"
                with remat.record(path, model, optimizer):
                    step()
                policy = self.plan(path, "60%", seconds=4)
                self.assertIsNotNone(policy, "no plan")
                self.assertEqual(after(policy), after(None))


class Codebook(nn.Module):
    """Reads a codebook, and writes into it afterwards."""

    def __init__(self):
        super().__init__()
        self.register_buffer("codes", torch.randn(16, 128))

    def forward(self, x):
        nearest = torch.cdist(x, self.codes).argmin(1)
        self.codes.data.mul_(0.9).add_(x.detach()[:16], alpha=0.1)
        return x + (self.codes[nearest] - x).detach()


class Tokens(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.InstanceNorm1d(128, track_running_stats=True)

    def forward(self, x):
        return self.norm(x.view(8, -1, 128).transpose(1, 2)).transpose(1, 2).reshape(-1, 128)


class OwnNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(128))
        self.register_buffer("var", torch.ones(128))

    def forward(self, x):
        return F.batch_norm(x, self.mean, self.var, training=True)


EFFECTS = {
    "a fused observer": lambda: FusedMovingAvgObsFakeQuantize(observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255),
    "a codebook": Codebook,
    "instance normalisation with statistics": Tokens,
    "batch normalisation of a module's own": OwnNorm,
    "noise that is saved before it is drawn": nn.RReLU,
}


@unittest.skipUnless(CLI, "REMAT_CLI is not set")
class Fitted(State):
    NAMES = list(PROGRAMS) if AT_NIGHT else ["a fused observer", "a global list", "Python's generator", "BatchNorm that computes with its statistics"]

    def test_a_model_that_is_fitted_trains_as_before(self):
        fitted = 0
        for name in self.NAMES:
            with self.subTest(name):

                def fit(model, step, name=name):
                    nonlocal fitted
                    before = state_of(model)
                    try:
                        made = remat.fit(model, step, "80%", planner=CLI, seconds=1, repeats=1, verbose=False)
                        self.assertTrue(made.verified)
                        if name in SEEN_BY_COMPARISON and made.policy["modules"]:
                            fitted += 1
                    except remat.BudgetNotMet as error:
                        if name in SEEN_BY_COMPARISON:
                            self.assertRegex(str(error), "The plan leaves out the following: .*training")
                    after = state_of(model)
                    self.assertEqual([key for key in before if after.get(key) != before[key]], [], "what fitting changed")

                self.assertTrainedAlike(trained(name, fit), trained(name))
        self.assertGreater(fitted, 0)

    def test_a_step_that_differs_from_itself_is_told_of_and_no_module_is_blamed(self):
        model, _, _ = make("no state")
        batches = (batch for batch in torch.randn(100, 96, 32))

        def step():
            loss = model(next(batches)).square().mean()
            loss.backward()
            return loss.item()

        before = state_of(model)
        with self.assertRaisesRegex(remat.StepNotRepeatable, r"step\(\) is not repeatable.*differ in .* after 1 step\. remat cannot copy the generator in the variable 'batches', .*fixed batch") as raised:
            remat.fit(model, step, "95%", planner=CLI, seconds=3, repeats=1, verbose=False)
        self.assertNotIn("module '", str(raised.exception).replace("of module", ""))
        after = state_of(model)
        self.assertEqual({key for key in before if before[key] != after[key]}, set())
        self.assertFalse(any("_remat_unit" in vars(module) for module in model.modules()))

    def test_the_policy_before_comes_back_when_fitting_fails(self):
        model, _, step = make("a number")
        step()
        policy = {**whole_blocks(model), "modules": {}}
        policy["modules"]["0.up"] = {"type": "Linear", "parameters": [[32], [32, 32]], "save": []}
        remat.apply(model, policy)
        with mock.patch("remat.fitting.Verifier", side_effect=remat.StepNotRepeatable("no")), self.assertRaises(remat.StepNotRepeatable):
            remat.fit(model, step, "90%", planner=CLI, seconds=1, repeats=1, verbose=False)
        self.assertEqual([name for name, module in model.named_modules() if "_remat_unit" in vars(module)], ["0.up"])


class Schemas(unittest.TestCase):
    """Tests that the remaining lists of names agree with all schemas of the installed PyTorch."""

    def overloads(self):
        for schema in torch._C._jit_get_all_schemas():
            namespace, packet = schema.name.split("::")
            try:
                yield schema, getattr(getattr(getattr(torch.ops, namespace), packet), schema.overload_name or "default")
            except (AttributeError, RuntimeError):
                pass  # an op of TorchScript alone

    def test_ops_that_write_statistics_without_declaring_it(self):
        from remat.schemas import UNDECLARED_STATISTICS

        found = set()
        for schema, _ in self.overloads():
            statistics = [one for one in schema.arguments if one.name in ("running_mean", "running_var")]
            names = {one.name for one in schema.arguments}
            packet = schema.name.split("::")[1]
            writes = {"momentum", "exponential_average_factor"} & names and not packet.endswith(("_no_training", "_no_update", "_functional", "_backward"))
            if statistics and writes and not any(one.alias_info is not None for one in statistics):
                found.add(schema.name.replace("::", "."))
        self.assertEqual(found, UNDECLARED_STATISTICS)

    def test_namespaces_that_do_more_than_compute(self):
        import torch.distributed._functional_collectives  # which makes some of them

        from remat.schemas import EFFECTFUL_NAMESPACES

        namespaces = {schema.name.split("::")[0] for schema, _ in self.overloads()}
        communicate = {schema.name.split("::")[0] for schema, _ in self.overloads() if any(one.name in ("group_name", "process_group") or "ProcessGroup" in str(one.type) for one in schema.arguments)}
        self.assertLessEqual(communicate, EFFECTFUL_NAMESPACES)
        self.assertLessEqual(EFFECTFUL_NAMESPACES, namespaces)

    def test_each_written_argument_is_seen(self):
        from remat.schemas import declared

        hidden = set()
        for schema, op in self.overloads():
            expected = [one.name for one in schema.arguments if one.alias_info is not None and one.alias_info.is_write]
            says = declared(op)
            found = [one.name for one in says.writes]
            self.assertLessEqual(set(expected), set(found), str(schema))
            self.assertEqual(set(found) - set(expected), {one.name for one in says.statistics} - set(expected) if set(found) - set(expected) else set(), str(schema))
            packet = schema.name.split("::")[1]
            if expected and not packet.endswith("_") and not all(one.is_out for one in schema.arguments if one.name in expected):
                hidden.add(schema.name)
        # Writers that no name shows; without a schema they were not known.
        self.assertLessEqual({"aten::_fused_moving_avg_obs_fq_helper", "aten::_native_batch_norm_legit", "aten::rrelu_with_noise", "aten::_batch_norm_with_update", "aten::_cummax_helper"}, hidden)

    def test_names_in_the_reader_of_older_recordings(self):
        """Its lists serve recordings without schemas: each name is an op of PyTorch that is what the list says, and none is missing."""
        source = (Path(__file__).parents[3] / "packages/pytorch/src/aten-names.ts").read_text()

        def names(variable):
            body = source[source.index(f"const {variable}") :]
            body = body[: body.index(';')]
            return set("".join(part for part in body.split('"')[1:-2:2] if not part.isspace()).split())

        seeded = {schema.name.split("::")[1] for schema, op in self.overloads() if torch.Tag.nondeterministic_seeded in op.tags and schema.name.startswith("aten::")}
        rngprims = {"philox_rand"}
        self.assertEqual(names("seededPackets") - rngprims, seeded)
        from torch.testing._internal.composite_compliance import is_inplace_view_fn, is_view_fn

        packets = {schema.name.split("::")[1]: op for schema, op in self.overloads() if schema.name.startswith("aten::")}
        views = {packet for packet, op in packets.items() if is_view_fn(op) or is_inplace_view_fn(op)}
        self.assertEqual(names("viewPackets") & packets.keys(), views)

    def test_what_selective_checkpointing_skips(self):
        from torch.distributed._tools.sac_estimator import OPS_TO_ALWAYS_SKIP

        source = (Path(__file__).parents[3] / "packages/pytorch/src/aten-flags.ts").read_text()
        body = source[source.index("const skippedOps") :]
        self.assertEqual({str(op) for op in OPS_TO_ALWAYS_SKIP}, set(body[: body.index("]);")].split('"')[1::2]))

    def test_queries_compute_nothing(self):
        from remat.queries import QUERIES

        found = {}
        for schema, op in self.overloads():
            found.setdefault(schema.name.replace("::", "."), []).append((schema, op))
        for name in QUERIES - {"aten.detach"}:
            for schema, op in found.get(name, []):
                self.assertFalse(any("Tensor" in str(one.type) for one in schema.returns), name)
                self.assertNotIn(torch.Tag.data_dependent_output, op.tags, name)
            self.assertIn(name, found)


if __name__ == "__main__":
    unittest.main()
