"""make_wheel.py FOLDER NAME VERSION [TEXT-OF-MODULE [REQUIREMENT]]: writes a wheel of one module (a wheel is a zip)."""

import base64
import hashlib
import os
import sys
import zipfile

folder, name, version = sys.argv[1:4]
module = sys.argv[4] if len(sys.argv) > 4 else ""
requirement = sys.argv[5] if len(sys.argv) > 5 else ""
info = "%s-%s.dist-info" % (name, version)
files = {
    "%s.py" % name: "version = '%s'\n%s\n" % (version, module),
    info + "/METADATA": "Metadata-Version: 2.1\nName: %s\nVersion: %s\n" % (name, version)
                        + ("Requires-Dist: %s\n" % requirement if requirement else ""),
    info + "/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}
record = ""
os.makedirs(folder, exist_ok=True)
with zipfile.ZipFile(os.path.join(folder, "%s-%s-py3-none-any.whl" % (name, version)), "w") as wheel:
    for path, text in files.items():
        wheel.writestr(path, text)
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
        record += "%s,sha256=%s,%d\n" % (path, digest, len(text))
    wheel.writestr(info + "/RECORD", record + info + "/RECORD,,\n")
