"""Which sources of a program of tests can be compiled as one: units.py SIZE SOURCE...

A line for each source: the number of its unit, and the source. Two sources share a unit where none of the names at the top of one is at
the top of the other; a unit has at most SIZE sources. Formatted sources are required, in which those names stand in lines that are not
indented. A name too many costs some seconds of compilation, a name too few an error.
"""

import re
import sys
from pathlib import Path

TYPE = re.compile(r"^(?:template <.*> )?(?:struct|class|enum class|enum|union) (\w+)")
ALIAS = re.compile(r"^(?:using|namespace) (\w+) = ")
MACRO = re.compile(r"^#define (\w+)")
OTHER = re.compile(r"^(?=[\w\[])(?!TEST_CASE|TEMPLATE_|namespace|using|template)[\w:<>,*&\[\] ]*?(\w+)(?:\(|\[| = |\{|;)")


def names_of(source: Path) -> set[str]:
    found = set()
    for line in source.read_text(encoding="utf-8").splitlines():
        for pattern in (TYPE, ALIAS, MACRO, OTHER):
            match = pattern.match(line)
            if match:
                found.add(match[1])
                break
    return found - {"fs"}  # everybody's namespace fs = std::filesystem


def main() -> None:
    size = int(sys.argv[1])
    units: list[tuple[set[str], list[str]]] = []
    for source in sys.argv[2:]:
        names = names_of(Path(source))
        unit = next((each for each in units if len(each[1]) < size and not each[0] & names), None)
        if unit is None:
            unit = (set(), [])
            units.append(unit)
        unit[0].update(names)
        unit[1].append(source)
    for number, (_, sources) in enumerate(units):
        for source in sources:
            print(number, source)


if __name__ == "__main__":
    main()
