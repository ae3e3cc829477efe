//! `events.md`: every event class with its payload.

use factum_model::events::{EVENTS, Family};

use super::markdown::{Page, anchor, code};
use super::shapes::{Shapes, description};

const ABOUT: &str = "\
What a session's stream, the feed and a subscription carry. Every event has the envelope below; `payload` is by class.
Sequences are contiguous from 1 in each stream: no gap, no reuse. Field names are snake_case; `?casing=camel` gives the
camelCase form of the published schemas. `GET /schemas/events/{type}` is the JSON Schema of a class.";

/// The families with what the seeds call them.
const FAMILIES: [(Family, &str, &str); 4] = [
    (Family::Standard, "Standard", "The standard event classes of the Agent Runtime specification."),
    (Family::Expanded, "Expanded", "Its expanded event families."),
    (Family::Channel, "Channel", "Facts about tasks at peers, from the remote channels document."),
    (Family::Vendor, "Vendor", "Ours. The published schemas do not know them."),
];

pub(super) fn page(shapes: &Shapes) -> String {
    let mut page = Page::new("Events", ABOUT);
    page.heading(2, "Envelope");
    if let Some((_, envelope)) = shapes.definitions().find(|(name, _)| *name == "Envelope") {
        shapes.write_fields(&mut page, envelope);
    }
    page.heading(2, "Classes");
    page.list(FAMILIES.map(|(family, name, _)| {
        let links: Vec<_> = classes(family).map(|class| format!("[{}](#{})", code(class), anchor(class))).collect();
        format!("{name}: {}", links.join(", "))
    }));
    for (family, name, about) in FAMILIES {
        page.heading(2, name);
        page.text(about);
        for class in classes(family) {
            let payload = shapes.payload(class);
            page.heading(3, class);
            if let Some(text) = description(payload) {
                page.text(&text);
            }
            shapes.write_fields(&mut page, payload);
        }
    }
    page.finish()
}

fn classes(family: Family) -> impl Iterator<Item = &'static str> {
    EVENTS.iter().filter(move |info| info.family == family).map(|info| info.type_name)
}
