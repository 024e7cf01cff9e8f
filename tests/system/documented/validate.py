"""Validates files against schemas: a question a line of JSON, a list of errors a line."""

import json
import sys

import yaml
from jsonschema import Draft202012Validator


def instances(file, form):
    text = open(file, encoding="utf-8").read()
    if form == "yaml":
        return [yaml.safe_load(text)]
    if form == "lines":
        return [json.loads(line) for line in text.splitlines()]
    return [json.loads(text)]


validators = {}
for line in sys.stdin:
    asked = json.loads(line)
    if asked["schema"] not in validators:
        schema = json.load(open(asked["schema"], encoding="utf-8"))
        Draft202012Validator.check_schema(schema)
        validators[asked["schema"]] = Draft202012Validator(schema)
    errors = []
    for number, instance in enumerate(instances(asked["file"], asked["form"]), 1):
        for error in validators[asked["schema"]].iter_errors(instance):
            errors.append(f"{number}: {error.json_path}: {error.message[:300]}")
    print(json.dumps(errors[:10]))
