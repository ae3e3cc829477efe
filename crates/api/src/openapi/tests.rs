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
    assert_eq!(posts, COMMANDS.len() + 5, "the five streams are there besides");
}

/// What stands in a `.route(` of the router, and what of it is gRPC's.
fn routes() -> Vec<&'static str> {
    let sources = [include_str!("../router.rs"), include_str!("../a2a/mod.rs")];
    let calls = sources.into_iter().flat_map(|source| source.split(".route(\"").skip(1));
    calls.filter_map(|rest| rest.split_once('"')).map(|(path, _)| path).collect()
}

/// Whether a path that is served covers one that is described.
fn covers(route: &str, described: &str) -> bool {
    let (mut route, mut described) = (route.split('/'), described.split('/'));
    loop {
        match (route.next(), described.next()) {
            (None, None) => return true,
            (Some(wanted), Some(_)) if wanted.starts_with("{*") => return true,
            (Some(wanted), Some(found)) if wanted.starts_with('{') || wanted == found => {}
            _ => return false,
        }
    }
}

/// Every path that is served is described, and none is described that is not served.
#[test]
fn the_description_has_the_paths_of_the_router() {
    let document = openapi(None);
    let described: Vec<&String> = document["paths"].as_object().unwrap().keys().collect();
    let routes = routes();
    assert!(routes.len() > 15, "routes were found at all: {routes:?}");
    for route in &routes {
        let exact = !route.contains("{command}") && !route.contains("{method}") && !route.contains("{*");
        let found = described.iter().any(|path| if exact { path == route } else { covers(route, path) });
        assert!(found, "{route} is served and not described");
    }
    for path in described {
        assert!(routes.iter().any(|route| covers(route, path)), "{path} is described and not served");
        if let Some(rest) = path.strip_prefix("/a2a/") {
            assert!(crate::a2a::is_served(rest), "{path} is described and nothing below /a2a/");
        }
    }
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
