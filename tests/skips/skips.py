"""skips.py JUNIT [--may-skip FILE]: which tests of a run were skipped, whole or in part, and whether they may be.

JUNIT is what `ctest --output-junit` wrote. FILE says what may be skipped; without it anything may:

    end_to_end: frameworks
        Debian 12 has no Python with a shared library

A line that begins in the first column is a regular expression over the whole name of a test; the indented lines below it say why.
Ctest knows of a test that is skipped whole. That a part was skipped stands in its output alone: Catch2 writes SKIPPED:, Python's
unittest OK (skipped=1).

Exit code: 0 all may be, 1 some may not, 2 the list or the results cannot be read.
"""

import argparse
import re
import sys
import xml.etree.ElementTree as xml

UNKNOWN = "its output does not say why"
IN_PART = re.compile(r"^(?:\S+:[0-9]+: )?SKIPPED:|^(?:OK|FAILED) \(.*\bskipped=[0-9]+", re.MULTILINE)
REASONS = [re.compile(r"^(?:\S+:[0-9]+: )?SKIPPED:\s*(?:explicitly with message:\s*)?(\S.*)$", re.MULTILINE),  # Catch2
           re.compile(r"\.\.\. skipped '(.*)'$", re.MULTILINE),                               # unittest, verbose
           re.compile(r"^skipped: (.+)$|^((?:no|this Python) .+)$", re.MULTILINE)]            # a program's own sentence


class Unreadable(Exception):
    pass


def read_list(path):
    """[(pattern, reason)]"""
    entries = []
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"{path}: {error}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line[0].isspace():
            if not entries:
                raise Unreadable(f"{path}:{number}: a reason without a test: begin a test's line in the first column")
            entries[-1][1].append(line.strip())
            continue
        try:
            entries.append((re.compile(line.rstrip()), [], number))
        except re.error as error:
            raise Unreadable(f"{path}:{number}: '{line}' is no regular expression: {error}") from error
    for pattern, reasons, number in entries:
        if not reasons:
            raise Unreadable(f"{path}:{number}: '{pattern.pattern}' has no reason: write it below, indented")
    return [(pattern, " ".join(reasons)) for pattern, reasons, _ in entries]


def reason_of(output):
    for pattern in REASONS:
        found = pattern.search(output)
        if found:
            return " ".join(found.group(found.lastindex).split())
    return UNKNOWN


def skipped_tests(path):
    """{name: reason}"""
    try:
        cases = list(xml.parse(path).getroot().iter("testcase"))
    except (OSError, xml.ParseError) as error:
        raise Unreadable(f"{path}: {error}") from error
    if not cases:
        raise Unreadable(f"{path}: no test was run")
    skipped = {}
    for case in cases:
        output = case.findtext("system-out") or ""
        if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled") or IN_PART.search(output):
            skipped[case.get("name")] = reason_of(output)
    return skipped


def report(skipped, entries):
    """The page, and whether all of them may be skipped; entries: None where anything may."""
    refused = []
    lines = [f"{len(skipped)} tests were skipped" + (":" if skipped else "")]
    for name, reason in sorted(skipped.items()):
        if entries is not None and not any(pattern.fullmatch(name) for pattern, _ in entries):
            refused.append(name)
        lines.append(f"  {'NOT ALLOWED  ' if name in refused else ''}{name}: {reason}")
    if refused:
        lines.append(f"{len(refused)} of them may not be skipped here: make them run, or say why not in the list")
    return "\n".join(lines), not refused


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", metavar="JUNIT")
    parser.add_argument("--may-skip", metavar="FILE")
    options = parser.parse_args()
    try:
        entries = read_list(options.may_skip) if options.may_skip else None
        text, all_may = report(skipped_tests(options.results), entries)
    except Unreadable as error:
        print(error, file=sys.stderr)
        return 2
    print(text)
    return 0 if all_may else 1


if __name__ == "__main__":
    sys.exit(main())
