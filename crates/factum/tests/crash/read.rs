//! Reading everything a server has, page by page.

use factum_testkit::Client;
use factum_testkit::clients::Http;
use serde_json::{Value, json};

/// All pages of a list.
pub(crate) async fn pages(http: &Http, method: &str, mut params: Value, name: &str) -> Vec<Value> {
    let mut all = Vec::new();
    loop {
        let page = http.call(method, params.clone()).await.unwrap();
        all.extend(page[name].as_array().unwrap().iter().cloned());
        match page.get("next_cursor").filter(|cursor| !cursor.is_null()) {
            Some(cursor) => params["cursor"] = cursor.clone(),
            None => return all,
        }
    }
}

/// All events of a session.
pub(crate) async fn events(http: &Http, session_id: &str) -> Vec<Value> {
    let (mut all, mut after) = (Vec::new(), 0);
    loop {
        let params = json!({ "session_id": session_id, "after": after, "limit": 1000 });
        let page = http.call("read_events", params).await.unwrap();
        all.extend(page["events"].as_array().unwrap().iter().cloned());
        after = page["next_after"].as_u64().unwrap();
        if page["has_more"] == false {
            return all;
        }
    }
}
