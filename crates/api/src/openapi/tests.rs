//! The description holds together: every reference leads somewhere, every command is there once.

use std::collections::BTreeSet;

use factum_model::commands::COMMANDS;
use serde_json::Value;

use super::openapi;

#[test]
fn every_command_is_there_with_its_scope_and_schemas() {
    let document = openapi(None);
    for info in COMMANDS {
        let operation = &document["paths"][format!("/v1/{}", info.name)]["post"];
        assert_eq!(operation["x-scope"], info.scope.as_str(), "{}", info.name);
        assert_eq!(operation["tags"][0], info.family);
        assert!(operation["requestBody"]["content"]["application/json"]["schema"].is_object(), "{}", info.name);
        assert!(operation["responses"]["200"]["content"]["application/json"]["schema"].is_object(), "{}", info.name);
        assert!(operation["responses"]["404"]["$ref"].is_string());
    }
    let posts = document["paths"].as_object().unwrap().keys().filter(|path| path.starts_with("/v1/")).count();
    assert_eq!(posts, COMMANDS.len() + 3, "the three streams are there besides");
}

#[test]
fn every_reference_leads_somewhere() {
    let document = openapi(None);
    let mut targets = BTreeSet::new();
    walk(&document, &mut |key, value| {
        if key == "$ref" {
            targets.insert(value.as_str().unwrap().to_owned());
        }
    });
    assert!(targets.len() > 50, "references were found at all");
    for target in &targets {
        let pointer = target.strip_prefix('#').unwrap_or_else(|| panic!("{target} leads out of the document"));
        assert!(document.pointer(pointer).is_some(), "{target} leads nowhere");
        assert!(pointer.starts_with("/components/"), "{target} is not hoisted");
    }
}

#[test]
fn operation_ids_and_component_names_are_usable() {
    let document = openapi(None);
    let mut ids = BTreeSet::new();
    let mut tags = BTreeSet::new();
    walk(&document["paths"], &mut |key, value| match key {
        "operationId" => assert!(ids.insert(value.as_str().unwrap().to_owned()), "{value} is there twice"),
        "tags" => tags.extend(value.as_array().unwrap().iter().map(|tag| tag.as_str().unwrap().to_owned())),
        _ => {}
    });
    let declared: Vec<_> =
        document["tags"].as_array().unwrap().iter().map(|tag| tag["name"].as_str().unwrap()).collect();
    assert_eq!(declared.iter().collect::<BTreeSet<_>>().len(), declared.len(), "a tag is declared twice");
    assert_eq!(declared.into_iter().map(str::to_owned).collect::<BTreeSet<_>>(), tags);
    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)), "{name}");
    }
}

#[test]
fn the_document_is_the_same_every_time_and_knows_its_address() {
    assert_eq!(openapi(None).to_string(), openapi(None).to_string());
    assert_eq!(openapi(Some("http://127.0.0.1:7420/"))["servers"][0]["url"], "http://127.0.0.1:7420");
}

fn walk(value: &Value, see: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Object(members) => members.iter().for_each(|(key, member)| {
            see(key, member);
            walk(member, see);
        }),
        Value::Array(items) => items.iter().for_each(|item| walk(item, see)),
        _ => {}
    }
}
