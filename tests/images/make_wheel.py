"""Writes a wheel with one module: make_wheel.py FOLDER NAME VERSION. The module has the constant VERSION."""

import sys
import zipfile
from pathlib import Path

folder, name, version = sys.argv[1:]
module = name.replace("-", "_")
about = f"{module}-{version}.dist-info"
files = {
    f"{module}.py": f'VERSION = "{version}"\n',
    f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
    f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}
record = f"{about}/RECORD"
files[record] = "".join(f"{path},,\n" for path in [*files, record])
with zipfile.ZipFile(Path(folder) / f"{module}-{version}-py3-none-any.whl", "w") as wheel:
    for path, text in files.items():
        wheel.writestr(path, text)
