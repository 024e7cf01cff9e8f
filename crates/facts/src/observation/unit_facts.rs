//! The schema of facts that have no fields.

use schemars::Schema;
use serde_json::{Value, json};

/// Serde writes a variant without fields as a key with `null` in a flattened object; the generated
/// schema would describe it as a plain string.
pub(super) fn with_null(schema: &mut Schema) {
    let Some(Value::Array(kinds)) = schema.get_mut("oneOf") else { return };
    for kind in kinds {
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
