"""What was skipped is seen, whole and in part, and what the list does not name is refused. With a real ctest."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent
SOURCE = HERE.parents[1]
CTEST = sys.argv.pop(1) if len(sys.argv) > 1 else "ctest"

# Name, program, whether ctest hears of it.
TESTS = {
    "room: passes": "print('OK')",
    "room: has no disk": "print('no disk that can be filled'); raise SystemExit(77)",
    "room: has no frameworks": "print('skipped: nobody named one'); raise SystemExit(77)",
    "room: skips one of two":
        "import unittest\n"
        "class T(unittest.TestCase):\n"
        "    def test_a(self): pass\n"
        "    def test_b(self): self.skipTest('there is no GPU')\n"
        "unittest.main(argv=['t'], verbosity=2)",
    "room: skips a section": "print('...\\ntests/x.cpp:7: SKIPPED:\\nexplicitly with message:\\n  no runtime')",
}


class Skips(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        lines = []
        for number, (name, program) in enumerate(TESTS.items()):
            file = cls.folder / f"{number}.py"
            file.write_text(program)
            lines.append(f'add_test("{name}" "{sys.executable}" "{file}")\n'
                         f'set_tests_properties("{name}" PROPERTIES SKIP_RETURN_CODE 77)\n')
        (cls.folder / "CTestTestfile.cmake").write_text("".join(lines))
        cls.results = cls.folder / "results.xml"
        done = subprocess.run([CTEST, "--test-dir", cls.folder, "--output-junit", cls.results],
                              capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr  # to ctest all is well

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def judge(self, text=None, check=0, results=None):
        arguments = [sys.executable, HERE / "skips.py", results or self.results]
        if text is not None:
            (self.folder / "list.txt").write_text(text)
            arguments += ["--may-skip", self.folder / "list.txt"]
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, check, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_each_is_named_with_its_reason_and_where_there_is_no_list_nothing_is_refused(self):
        self.assertEqual(self.judge(),
                         "4 tests were skipped:\n"
                         "  room: has no disk: no disk that can be filled\n"
                         "  room: has no frameworks: nobody named one\n"
                         "  room: skips a section: no runtime\n"
                         "  room: skips one of two: there is no GPU\n")

    def test_what_the_list_does_not_name_is_refused(self):
        page = self.judge("# what CI lacks\nroom: skips .*\n    no GPU,\n    no runtime\n", check=1)
        self.assertIn("NOT ALLOWED  room: has no disk", page)
        self.assertEqual(page.count("NOT ALLOWED"), 2, page)
        self.assertIn("2 of them may not be skipped here", page)

    def test_a_pattern_must_match_the_whole_name(self):
        self.assertIn("NOT ALLOWED  room: has no disk", self.judge("room: has no\n  x\nroom: skips.*\n  y\n", check=1))
        self.judge("room: has no .*\n  x\nroom: skips.*\n  y\n")

    def test_a_list_that_cannot_be_read_is_refused_with_its_line(self):
        self.assertIn("list.txt:1: 'room: .*' has no reason", self.judge("room: .*\n", check=2))
        self.assertIn("list.txt:1: a reason without a test", self.judge("  because\n", check=2))
        self.assertIn("list.txt:2: 'room: (' is no regular", self.judge("\nroom: (\n  x\n", check=2))

    def test_results_that_are_missing_torn_or_empty_are_no_success(self):
        torn, empty = self.folder / "torn.xml", self.folder / "empty.xml"
        torn.write_bytes(self.results.read_bytes()[:200])
        empty.write_text("<testsuite/>")
        for results in (self.folder / "none.xml", torn, empty):
            self.assertIn(str(results), self.judge(check=2, results=results))

    def test_the_list_of_this_repository_can_be_read_and_each_entry_names_a_test_that_can_be_skipped(self):
        sys.path.insert(0, str(HERE))
        from skips import read_list  # pylint: disable=import-outside-toplevel
        entries = read_list(SOURCE / "tests" / "may_skip.txt")
        sentences = re.findall(r'TEST_CASE\(\s*"([^"]+)"', "".join(
            path.read_text() for path in (SOURCE / "tests").rglob("*.cpp")))
        programs = [path.name.removesuffix("_test.py") for path in (SOURCE / "tests").rglob("*_test.py")]
        for pattern, _ in entries:
            room, _, _ = pattern.pattern.partition(": ")
            names = [f"{room}: {each}" for each in sentences + programs]
            self.assertTrue(any(pattern.fullmatch(name) for name in names), pattern.pattern)


if __name__ == "__main__":
    unittest.main(verbosity=2)
