//! `types.md`: the shapes that several commands and events share.

use serde_json::Value;

use super::markdown::{Page, anchor, code};
use super::shapes::{Shapes, description, options};

const ABOUT: &str = "Shapes that commands and events share, by name. Ids are in [identities.md](identities.md).";

pub(super) fn page(shapes: &Shapes) -> String {
    let mut page = Page::new("Types", ABOUT);
    let names = shapes.shared();
    let contents: Vec<_> = names.iter().map(|name| format!("[{name}](#{})", anchor(name))).collect();
    page.text(&contents.join(", "));
    for name in names {
        let Some((_, schema)) = shapes.definitions().find(|(definition, _)| *definition == name) else { continue };
        page.heading(2, name);
        if let Some(text) = description(schema) {
            page.text(&text);
        }
        entry(&mut page, shapes, schema);
    }
    page.finish()
}

fn entry(page: &mut Page, shapes: &Shapes, schema: &Value) {
    let words = shapes.words(schema);
    if !words.is_empty() {
        return page.list(words.into_iter().map(|(word, meaning)| match meaning {
            Some(meaning) => format!("{}: {}", code(&word), meaning.replace('\n', " ")),
            None => code(&word),
        }));
    }
    if schema["properties"].is_object() {
        return shapes.write_fields(page, schema);
    }
    match options(schema) {
        Some(variants) => variants.for_each(|variant| {
            page.text(&format!("One form: {}", description(variant).unwrap_or_default()).trim_end().replace('\n', " "));
            if variant["properties"].is_object() {
                shapes.write_fields(page, variant)
            } else {
                page.text(&shapes.kind(variant))
            }
        }),
        None => page.text(&format!("A value of type {}.", shapes.kind(schema))),
    }
}
