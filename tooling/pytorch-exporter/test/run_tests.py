"""Runs the given test files, `python run_tests.py test_steps test_fit`, and prints a line for each test: `ok` or `not ok`,
with the failure indented below.
"""

import sys
import textwrap
import time
import unittest


class Lines(unittest.TestResult):
    def startTest(self, test):
        super().startTest(test)
        self.broken = False
        self.start = time.perf_counter()

    def stopTest(self, test):
        super().stopTest(test)
        if self.broken:
            return
        reason = dict(self.skipped).get(test)
        seconds = time.perf_counter() - self.start
        took = f" ({seconds:.1f} s)" if seconds >= 1 else ""
        self.tell("ok", test, took if reason is None else f" # skipped: {reason}")

    def addError(self, test, error):
        super().addError(test, error)
        self.fail(test, self.errors[-1][1])

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.fail(test, self.failures[-1][1])

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self.fail(subtest, "".join(self._exc_info_to_string(error, test)))

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.fail(test, "expected a failure")

    def fail(self, test, text):
        self.broken = True
        self.tell("not ok", test, "\n" + textwrap.indent(text, "  "))

    def tell(self, outcome, test, more):
        # A failure outside of a test, as in setUpClass, has no method.
        name = test.id().rsplit(".", 1)[-1] if hasattr(test, "_testMethodName") or hasattr(test, "test_case") else str(test)
        print(outcome, name.replace("_", " ") + more.rstrip(), flush=True)


if __name__ == "__main__":
    result = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:]).run(Lines())
    if result.testsRun == 0:
        sys.exit("no test ran")
    sys.exit(0 if result.wasSuccessful() else 1)
