"""State that no module registers: modules and optimizers in lists, objects, closures and globals, defaults and attributes of functions, iterators."""

import copy
import itertools
import sys
import unittest
from pathlib import Path
from types import SimpleNamespace

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import torch
from recorded_files import CLI, Folder
from torch import nn

import remat
from remat.restoring import as_before
from remat.verifying import StepNotRepeatable, Verifier

WIDTH = 32
_global_teacher = None


def setUpModule():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    unittest.addModuleCleanup(torch.set_num_threads, threads)


class Teacher(nn.Module):
    """Follows a layer by an exponential average, and is kept where `hide` puts it."""

    def __init__(self, hide):
        super().__init__()
        self.layer = nn.Linear(WIDTH, WIDTH)
        teacher = nn.Sequential(nn.Sequential(copy.deepcopy(self.layer), nn.BatchNorm1d(WIDTH)))
        self.find = hide(self, teacher)

    def forward(self, x):
        teacher = self.find()
        teacher.calls = getattr(teacher, "calls", 0) + 1
        with torch.no_grad():
            for mine, its in zip(teacher[0][0].parameters(), self.layer.parameters()):
                mine.lerp_(its, 0.1)
            aim = teacher(x)
        return torch.tanh(self.layer(x) + 0.1 * aim)


def in_list(module, teacher):
    module.hidden = [teacher]
    return lambda: module.hidden[0]


def in_object(module, teacher):
    module.hidden = SimpleNamespace(inner={"teacher": (teacher,)})
    return lambda: module.hidden.inner["teacher"][0]


def in_closure(module, teacher):
    return lambda: teacher


def in_global(module, teacher):
    global _global_teacher
    _global_teacher = teacher
    return lambda: _global_teacher


PLACES = {"a list": in_list, "an object": in_object, "a closure": in_closure, "a global": in_global}


def teaching(hide):
    torch.manual_seed(0)
    model = nn.Sequential(Teacher(hide), nn.Linear(WIDTH, WIDTH))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(48, WIDTH)

    def step():
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.item()

    step()
    return model, step


def state_of(teacher):
    return {name: one.clone() for name, one in teacher.state_dict().items()}, teacher.calls


class Hidden(Folder):
    def assertAsBefore(self, teacher, before):
        values, calls = state_of(teacher)
        self.assertEqual([name for name in values if not torch.equal(values[name], before[0][name])], [])
        self.assertEqual(calls, before[1])

    def test_hidden_modules_are_restored_and_compared(self):
        for name, hide in PLACES.items():
            with self.subTest(name):
                model, step = teaching(hide)
                teacher = model[0].find()
                before = state_of(teacher)
                with as_before(model, step):
                    step()
                    self.assertFalse(torch.equal(before[0]["0.0.weight"], teacher[0][0].weight))
                self.assertAsBefore(teacher, before)
                verifier = Verifier(model, step)
                self.assertTrue(any("0.0.weight" in label for label, _, _ in verifier._plain.values()))
                self.assertAsBefore(teacher, before)

    def test_a_difference_in_a_hidden_module_names_it(self):
        model, step = teaching(in_list)
        policy = {"type": "Teacher", "parameters": sorted(list(one.shape) for one in model[0].parameters()), "save": []}
        policy = {"format": "remat-pytorch-policy/3", "torch": torch.__version__, "model": "Sequential", "modules": {"0": policy}}
        with self.assertRaisesRegex(remat.TrainingDiffers, r"when module '0' runs again, the (attribute|buffer|parameter) '0\.hidden\.0\."):
            remat.apply(model, policy, verify=step)

    def test_a_recording_shows_that_a_hidden_module_changes(self):
        class Counts(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(WIDTH, WIDTH)
                self.hidden = [nn.Identity()]
                self.hidden[0].calls = 0

            def forward(self, x):
                self.hidden[0].calls += 1
                return self.layer(x)

        model = nn.Sequential(Counts(), nn.Linear(WIDTH, WIDTH))
        with remat.record(self.folder / "step.json", model):
            model(torch.randn(4, WIDTH)).sum().backward()
        self.assertIn("stateChanged", [event.get("name") for event in self.read("step.json")["events"]])

    def test_an_optimizer_that_a_module_steps_is_restored(self):
        class Inner(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(WIDTH, WIDTH)
                self.weight = [torch.ones(WIDTH, requires_grad=True)]
                self.inner = SimpleNamespace(optimizer=torch.optim.Adam(self.weight, lr=0.1))

            def forward(self, x):
                with torch.enable_grad():
                    self.weight[0].square().sum().backward()
                self.inner.optimizer.step()
                return self.layer(x) * self.weight[0].detach()

        model = nn.Sequential(Inner())
        step = lambda: model(torch.ones(4, WIDTH)).sum().backward()  # noqa: E731
        step()
        weight, optimizer = model[0].weight[0], model[0].inner.optimizer
        before = weight.detach().clone(), copy.deepcopy(optimizer.state_dict())
        Verifier(model, step)
        self.assertTrue(torch.equal(weight, before[0]))
        now = optimizer.state_dict()["state"][0]
        for name, value in before[1]["state"][0].items():
            self.assertTrue(torch.equal(now[name], value), name)

    def test_what_functions_and_iterators_keep_is_restored(self):
        def with_default(x, memo=[0], *, other={"n": 0}):  # noqa: B006
            memo[0] += 1
            other["n"] += 1
            with_default.calls = getattr(with_default, "calls", 0) + 1
            return x * (1 + 0.01 * (memo[0] + other["n"] + with_default.calls))

        class Uses(nn.Module):
            def __init__(self):
                super().__init__()
                self.count, self.turns, self.pairs = itertools.count(3), [itertools.cycle([1, 2, 3])], zip(range(1000), itertools.count())

            def inner(self, x):
                return with_default(x)

            def forward(self, x):
                return self.inner(x) * next(self.count) * next(self.turns[0]) * next(self.pairs)[1]

        model = nn.Sequential(nn.Linear(4, 4), Uses())

        def step():
            loss = model(torch.ones(2, 4)).sum()
            loss.backward()
            return loss.item()

        step()
        with as_before(model, step):
            step()
        first = Verifier(model, step)._plain
        self.assertEqual((with_default.__defaults__, with_default.__kwdefaults__, with_default.calls), (([1],), {"other": {"n": 1}}, 1))
        self.assertEqual((next(model[1].count), next(model[1].turns[0]), next(model[1].pairs)), (4, 2, (1, 1)))
        self.assertTrue(first)

    def test_a_generator_that_cannot_be_copied_is_named(self):
        class Core(nn.Module):
            def __init__(self):
                super().__init__()
                self.it = (1 + 0.1 * number for number in range(10**6))

            def forward(self, x):
                return x * next(self.it)

        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.up, self.core = nn.Linear(4, 4), Core()

            def forward(self, x):
                return self.core(self.up(x))

        model = nn.Sequential(Block())
        with self.assertRaisesRegex(StepNotRepeatable, r"remat cannot copy the generator in 0\.core\.it,"):
            Verifier(model, lambda: model(torch.ones(2, 4)).sum().backward())

    @unittest.skipUnless(CLI, "REMAT_CLI is not set")
    def test_fitting_leaves_hidden_modules_as_they_were(self):
        model, step = teaching(in_list)
        teacher = model[0].hidden[0]
        before = state_of(teacher)
        for budget in ("95%", "5%"):
            try:
                remat.fit(model, step, budget, planner=CLI, seconds=1, repeats=1, verbose=False)
            except remat.BudgetNotMet:
                pass
            remat.remove(model)
            self.assertAsBefore(teacher, before)


if __name__ == "__main__":
    unittest.main()
