#!/usr/bin/env python3
"""Every sample's JSON report, and those of the options that add to it, against docs/report.schema.json by python3-jsonschema: as it is
published, and closed, so that a key which it does not name is a mistake."""
import json
import sys

try:
    import jsonschema
except ImportError:
    print("# skipped: python3-jsonschema is not installed (./bootstrap.sh deps ci)")
    sys.exit(77)

import contract
import json_samples

schema = contract.read(json_samples.SOURCE / "docs/report.schema.json")
jsonschema.Draft202012Validator.check_schema(schema)
strict = jsonschema.Draft202012Validator(contract.closed(schema))
as_published = jsonschema.Draft202012Validator(schema)
n = failed = 0
first = None
for name, text in json_samples.reports():
    report = json.loads(text)
    first = first or report
    errors = [] if strict.is_valid(report) else list(strict.iter_errors(report))
    n += 1
    failed += bool(errors)
    for error in errors[:5]:
        print(f"not ok: {name}: {'/'.join(map(str, error.absolute_path))}: {error.message[:300]}")
# A validator that takes anything would prove nothing.
for change in ({"verdict": None}, {"schema_version": 2}, {"devices": [{}]}):
    if as_published.is_valid({**first, **change}):
        failed += 1
        print(f"not ok: the schema takes {change}")
if not as_published.is_valid({**first, "something_new": 1}):
    failed += 1
    print("not ok: the published schema refuses a key that a later version adds")
print(f"{n} reports, {failed} failed")
sys.exit(1 if failed or n < 100 else 0)
