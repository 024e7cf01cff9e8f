//! The schema of events, which stand among the other fields of a fact.

use schemars::Schema;
use serde_json::{Value, json};

/// An event is one key of a fact, beside others. Serde writes one without fields as that key with
/// `null`; the generated schema would describe it as a plain string, and any other as an object
/// with no other keys.
pub(super) fn among_others(schema: &mut Schema) {
    let Some(Value::Array(kinds)) = schema.get_mut("oneOf") else { return };
    for kind in kinds {
        if let Some(whole) = kind.as_object_mut() {
            whole.remove("additionalProperties");
        }
        let Some(Value::String(word)) = kind.get("const").cloned() else { continue };
        let mut whole = json!({
            "type": "object",
            "properties": { word.as_str(): {"type": "null"} },
            "required": [word],
        });
        if let (Some(whole), Some(text)) = (whole.as_object_mut(), kind.get("description")) {
            whole.insert("description".to_owned(), text.clone());
        }
        *kind = whole;
    }
}
