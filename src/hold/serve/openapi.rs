//! The description of the sidecar's interface, as OpenAPI 3.1.

use schemars::Schema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::answers::{EventBody, HealthBody, Leading, NotLeading, Problem};

/// The document: `deploy/schema/hold.openapi.json`, and what `GET /openapi.json` answers.
#[must_use]
pub fn openapi() -> Value {
    let settings = SchemaSettings::draft2020_12()
        .with(|settings| settings.definitions_path = "/components/schemas".into());
    let mut types = settings.into_generator();
    let problem = body(&types.subschema_for::<Problem>());
    let leading = body(&types.subschema_for::<Leading>());
    let not_leading = body(&types.subschema_for::<NotLeading>());
    let health = body(&types.subschema_for::<HealthBody>());
    let event = types.subschema_for::<EventBody>();
    let role = json!({
        "operationId": "role",
        "summary": "Whether the member leads a role, and for how long",
        "parameters": [{
            "name": "role", "in": "path", "required": true, "schema": {"type": "string"}
        }],
        "responses": {
            "200": answer("The member leads the role.", &leading),
            "409": answer("The member does not lead the role.", &not_leading),
            "404": answer("The topology has no such role.", &problem),
        },
    });
    let key = json!({
        "operationId": "key",
        "summary": "Whether the member leads the role of a key, and for how long",
        "parameters": [{
            "name": "key", "in": "path", "required": true, "schema": {"type": "string"}
        }],
        "responses": {
            "200": answer("The member leads the role of the key.", &leading),
            "409": answer("The member does not lead the role of the key.", &not_leading),
            "404": answer("The topology has no slots.", &problem),
        },
    });
    let events = json!({
        "operationId": "events",
        "summary": "What happens to the member, as server-sent events",
        "responses": {"200": {
            "description": "The name of each event is the key of its data.",
            "content": {"text/event-stream": {"schema": event}},
        }},
    });
    let put = json!({
        "operationId": "health",
        "summary": "Says whether the program can do the work of a leader",
        "security": [{}, {"token": []}],
        "requestBody": {"required": true, "content": health},
        "responses": {
            "200": answer("The health that counts from now on.", &health),
            "400": answer("The body is not a health.", &problem),
            "401": answer("The token is missing or wrong.", &problem),
            "403": answer("Another user of the machine asks.", &problem),
        },
    });
    json!({
        "openapi": "3.1.0",
        "info": {"title": "tandem hold --serve", "version": "1"},
        "paths": {
            "/v1/roles/{role}": {"get": role},
            "/v1/keys/{key}": {"get": key},
            "/v1/events": {"get": events},
            "/v1/health": {"put": put},
            "/livez": {"get": live()},
            "/readyz": {"get": ready(&problem)},
            "/metrics": {"get": metrics()},
        },
        "components": {
            "schemas": types.take_definitions(true),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    })
}

fn live() -> Value {
    json!({
        "operationId": "live",
        "summary": "Whether the process answers",
        "responses": {"200": text("The process answers.")},
    })
}

fn ready(problem: &Value) -> Value {
    let well = "The member is in its group, reaches its brokers, and the program is well.";
    json!({
        "operationId": "ready",
        "summary": "Whether the member can lead",
        "responses": {"200": text(well), "503": answer("It cannot.", problem)},
    })
}

fn metrics() -> Value {
    json!({
        "operationId": "metrics",
        "summary": "Numbers for Prometheus",
        "responses": {"200": text("The text format of Prometheus.")},
    })
}

fn body(schema: &Schema) -> Value {
    json!({"application/json": {"schema": schema}})
}

fn answer(what: &str, content: &Value) -> Value {
    json!({"description": what, "content": content})
}

fn text(what: &str) -> Value {
    json!({"description": what, "content": {"text/plain": {}}})
}
