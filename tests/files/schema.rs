//! The JSON schemas come from the types; UPDATE=1 rewrites them.

use std::{env, fs};

use schemars::transform::transform_subschemas;
use schemars::{JsonSchema, Schema, schema_for};
use serde_json::Value;
use tandem::cli::summary_schema;
use tandem::journal::Header;
use tandem::live_view::{Event, Picture};
use tandem::observation::Fact;
use tandem::verdict::{Difference, Report};
use tandem::{chaos, topology};

/// A line of a journal.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is of use")]
#[schemars(untagged)]
enum Line {
    /// The first line.
    Header(Box<Header>),
    /// Every other.
    Fact(Box<Fact>),
}

/// To leave a key out is not the same as to leave it empty: our files have no nulls.
fn without_null(mut schema: Schema) -> Schema {
    never_null(&mut schema);
    schema
}

fn never_null(schema: &mut Schema) {
    transform_subschemas(&mut never_null, schema);
    if let Some(types) = schema.get_mut("type")
        && let Value::Array(names) = types
    {
        names.retain(|name| name != "null");
        if let [only] = names.as_slice() {
            *types = only.clone();
        }
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        choices.retain(|choice| choice != &serde_json::json!({"type": "null"}));
        if let [Value::Object(only)] = choices.as_slice() {
            let only = only.clone();
            schema.remove("anyOf");
            for (key, value) in only {
                schema.insert(key, value);
            }
        }
    }
}

fn kept(name: &str, schema: &Schema) {
    let path = format!("deploy/schema/{name}.json");
    let text = serde_json::to_string_pretty(schema).unwrap() + "\n";
    if env::var_os("UPDATE").is_some() {
        fs::create_dir_all("deploy/schema").unwrap();
        fs::write(&path, &text).unwrap();
    }
    let known = fs::read_to_string(&path).unwrap_or_default();
    assert!(known == text, "{path} is not what the types say: UPDATE=1 rewrites it");
}

#[test]
fn the_schemas_are_those_of_the_types() {
    kept("topology", &without_null(schema_for!(topology::Spec)));
    kept("experiment", &without_null(schema_for!(chaos::Spec)));
    kept("suite", &without_null(schema_for!(chaos::Suite)));
    kept("journal", &schema_for!(Line));
    kept("result", &schema_for!(Report));
    kept("suite-summary", &summary_schema());
    kept("plan", &schema_for!(topology::Plan));
    kept("dry-run", &schema_for!(chaos::Preview));
    kept("comparison", &schema_for!(Difference));
    kept("status", &schema_for!(Picture));
    kept("event", &schema_for!(Event));
    let openapi = Schema::try_from(tandem::hold::serve::openapi()).unwrap();
    kept("hold.openapi", &openapi);
}
