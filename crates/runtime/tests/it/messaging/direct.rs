//! Seed 002 §5: direct channels, whose id follows from their two principals, which are there when they are first used, and
//! which nobody else is ever in.

use factum_runtime::{Agents, Runtime};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::*;
use crate::world::World;

/// The id as WIRE says it, worked out here once more.
fn derived(one: &str, other: &str) -> String {
    let mut both = [one, other];
    both.sort_unstable();
    let digest = Sha256::digest(both.join("\n"));
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("chan:direct:{}", &hex[..24])
}

#[tokio::test]
async fn the_id_is_the_derived_one_for_both() {
    let world = World::new().await;
    let (ann, bob) = (member("ann"), member("bob"));
    let of_ann = call(&world.runtime, &ann, "channels/get", json!({ "peer": "agent://bob" })).await.unwrap();
    let of_bob = call(&world.runtime, &bob, "channels/get", json!({ "peer": "agent://ann" })).await.unwrap();
    assert_eq!(of_ann, of_bob);
    let channel = &of_ann["channel"];
    assert_eq!(channel["id"], "chan:direct:4e8e287eb6778132586a3591");
    assert_eq!(channel["id"], derived("agent://bob", "agent://ann"));
    assert_eq!(
        (&channel["direct"], &channel["visibility"], &channel["version"]),
        (&json!(true), &json!("private"), &json!(1))
    );
    let roles: Vec<_> =
        channel["members"].as_array().unwrap().iter().map(|one| (&one["principalId"], &one["role"])).collect();
    assert_eq!(roles, [(&json!("agent://ann"), &json!("member")), (&json!("agent://bob"), &json!("member"))]);
}

#[tokio::test]
async fn the_first_use_makes_it_whatever_that_is() {
    let mut world = World::new().await;
    let uses = [
        ("channels/get", json!({})),
        ("channels/publish", json!({ "parts": parts("hi") })),
        ("channels/history", json!({})),
        ("channels/markRead", json!({ "sequence": 0 })),
        ("channels/presence", json!({})),
        ("channels/stream", json!({})),
    ];
    for (number, (method, mut params)) in uses.into_iter().enumerate() {
        let (ann, peer) = (member("ann"), format!("agent://peer-{number}"));
        let by_id = json!({ "channelId": derived("agent://ann", &peer) });
        assert_eq!(
            code(call(&world.runtime, &ann, "channels/get", by_id.clone()).await),
            ErrorCode::NotFound,
            "{method}"
        );
        params["peer"] = json!(peer);
        for _ in 0..2 {
            if method == "channels/stream" {
                stream(&world.runtime, &ann, params.clone()).await.unwrap();
            } else {
                call(&world.runtime, &ann, method, params.clone()).await.unwrap();
            }
        }
        let peer = Caller::new(&peer, "acme", Scopes::member());
        let theirs = call(&world.runtime, &peer, "channels/get", by_id.clone()).await.unwrap();
        world.restart(Agents::demo()).await;
        assert_eq!(call(&world.runtime, &peer, "channels/get", by_id).await.unwrap(), theirs, "{method}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_at_once_make_one() {
    let world = World::new().await;
    for round in 0..30 {
        let (ann, bob) = (member(&format!("ann-{round}")), member(&format!("bob-{round}")));
        let tasks = (0..8).map(|number| {
            let (me, you) = if number % 2 == 0 { (ann.clone(), bob.clone()) } else { (bob.clone(), ann.clone()) };
            let runtime = world.runtime.clone();
            tokio::spawn(async move {
                let params = json!({ "peer": &*you.principal, "parts": parts(&number.to_string()) });
                call(&runtime, &me, "channels/publish", params).await.unwrap()["event"].clone()
            })
        });
        let mut told: Vec<Value> = Vec::new();
        for task in tasks.collect::<Vec<_>>() {
            told.push(task.await.unwrap());
        }
        told.sort_by_key(sequence);
        assert_eq!(sequences(&told), (1..=8).collect::<Vec<_>>());
        let history = json!({ "peer": &*bob.principal });
        assert_eq!(pages(&world.runtime, &ann, &history).await, told);
    }
}

/// Who is refused on the first use leaves nothing behind that others stumble over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_first_use_disturbs_nobody() {
    let world = World::new().await;
    for round in 0..300 {
        let (ann, bob) = (member(&format!("ann-{round}")), member(&format!("bob-{round}")));
        let tasks = (0..8).map(|number| {
            let (runtime, ann, bob) = (world.runtime.clone(), ann.clone(), bob.clone());
            let content = if number % 2 == 0 { json!([]) } else { parts("x") };
            tokio::spawn(async move {
                let params = json!({ "peer": &*bob.principal, "parts": content });
                (number, call(&runtime, &ann, "channels/publish", params).await)
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            let (number, outcome) = task.await.unwrap();
            match number % 2 {
                0 => assert_eq!(code(outcome), ErrorCode::InvalidParams, "round {round}"),
                _ => assert!(outcome.is_ok(), "round {round}: {outcome:?}"),
            }
        }
        assert_eq!(pages(&world.runtime, &bob, &json!({ "peer": &*ann.principal })).await.len(), 4);
    }
}

#[tokio::test]
async fn nobody_else_gets_in_and_nobody_lists_it() {
    let world = World::new().await;
    let (ann, bob, eve) = (member("ann"), member("bob"), member("eve"));
    let event =
        call(&world.runtime, &ann, "channels/publish", json!({ "peer": "agent://bob", "parts": parts("hi") })).await;
    let id = event.unwrap()["event"]["channelId"].clone();
    let manage = [
        ("channels/addMember", json!({ "channelId": id, "principalId": "agent://eve" })),
        ("channels/addMember", json!({ "channelId": id, "principalId": "agent://bob", "role": "owner" })),
        ("channels/removeMember", json!({ "channelId": id, "principalId": "agent://bob" })),
        ("channels/update", json!({ "channelId": id, "expectedVersion": 1, "name": "ours" })),
        ("channels/delete", json!({ "channelId": id })),
    ];
    for (method, params) in manage {
        for caller in [&ann, &bob] {
            let outcome = call(&world.runtime, caller, method, params.clone()).await;
            assert_eq!(code(outcome), ErrorCode::PermissionDenied, "{method}");
        }
        let outcome = call(&world.runtime, &eve, method, params).await;
        assert_eq!(outcome.unwrap_err(), Refusal::not_found(), "{method}");
    }
    for method in ["channels/get", "channels/history", "channels/presence"] {
        let outcome = call(&world.runtime, &eve, method, json!({ "channelId": id })).await;
        assert_eq!(outcome.unwrap_err(), Refusal::not_found(), "{method}");
    }
    let create = json!({ "visibility": "public" });
    let listed = call(&world.runtime, &eve, "channels/create", create).await.unwrap()["channel"]["id"].clone();
    for caller in [&ann, &bob] {
        let list = call(&world.runtime, caller, "channels/list", json!({})).await.unwrap();
        assert_eq!(list["channels"].as_array().unwrap().iter().map(|one| &one["id"]).collect::<Vec<_>>(), [&listed]);
    }
    let members = call(&world.runtime, &ann, "channels/get", json!({ "channelId": id })).await.unwrap();
    assert_eq!(members["channel"]["members"].as_array().unwrap().len(), 2);
}

/// Many direct channels fill no list, and do not hide what is behind them.
#[tokio::test]
async fn a_list_passes_over_any_number_of_direct_channels() {
    let world = World::new().await;
    let ann = member("ann");
    for number in 0..150 {
        call(&world.runtime, &ann, "channels/get", json!({ "peer": format!("agent://p{number}") })).await.unwrap();
    }
    let own = channel(&world.runtime, &ann, &[]).await;
    let (mut found, mut params) = (Vec::new(), json!({ "pageSize": 3 }));
    loop {
        let page = call(&world.runtime, &ann, "channels/list", params.clone()).await.unwrap();
        found.extend(page["channels"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()));
        match page.get("nextPageToken") {
            Some(token) => params["pageToken"] = token.clone(),
            None => break,
        }
    }
    assert_eq!(found, [own]);
}

#[tokio::test]
async fn who_is_meant_has_to_be_clear() {
    let world = World::new().await;
    let ann = member("ann");
    for params in [
        json!({ "peer": "agent://ann" }),
        json!({ "peer": "" }),
        json!({ "peer": "x".repeat(201) }),
        json!({ "peer": "agent://b\nob" }),
        json!({ "peer": "agent://bob", "channelId": "chan_x" }),
        json!({}),
    ] {
        let refused = call(&world.runtime, &ann, "channels/get", params.clone()).await.expect_err(&params.to_string());
        assert!(matches!(refused.code, ErrorCode::InvalidParams | ErrorCode::LimitExceeded), "{params}: {refused:?}");
    }
}

/// Reading makes a direct channel, and making one is writing.
#[tokio::test]
async fn who_may_only_read_makes_none() {
    let world = World::new().await;
    let reads = [factum_model::registry::Scope::MessagingRead].into_iter().collect();
    let reader = Caller::new("agent://ann", "acme", reads);
    let params = json!({ "peer": "agent://bob" });
    for method in ["channels/get", "channels/history", "channels/presence"] {
        let refused = call(&world.runtime, &reader, method, params.clone()).await.unwrap_err();
        assert_eq!(
            (refused.code, &refused.details["required_scope"]),
            (ErrorCode::PermissionDenied, &json!("messaging:write"))
        );
    }
    assert_eq!(stream(&world.runtime, &reader, params.clone()).await.err().unwrap().code, ErrorCode::PermissionDenied);
    let said = json!({ "peer": "agent://ann", "parts": parts("hi") });
    let event = call(&world.runtime, &member("bob"), "channels/publish", said).await.unwrap()["event"].clone();
    assert_eq!(pages(&world.runtime, &reader, &params).await, [event], "what is there may be read");
}

/// Seed 002 §5: the id follows from who the two are, so who knows both can use it without having been told it.
#[tokio::test]
async fn the_first_use_may_be_by_the_id_alone() {
    let mut world = World::new().await;
    let uses = [
        ("channels/get", json!({})),
        ("channels/publish", json!({ "parts": parts("hi"), "idempotencyKey": "k" })),
        ("channels/history", json!({})),
        ("channels/markRead", json!({ "sequence": 0 })),
        ("channels/presence", json!({})),
        ("channels/stream", json!({})),
    ];
    for (number, (method, mut params)) in uses.into_iter().enumerate() {
        let (ann, peer) = (member("ann"), member(&format!("peer-{number}")));
        let id = derived("agent://ann", &peer.principal);
        params["channelId"] = json!(id);
        let first = async |runtime: &Runtime| match method {
            "channels/stream" => stream(runtime, &ann, params.clone()).await.map(|_| json!(null)),
            _ => call(runtime, &ann, method, params.clone()).await,
        };
        assert_eq!(first(&world.runtime).await.unwrap_err(), Refusal::not_found(), "{method}: nobody knows the peer");
        world.runtime.meet(&peer);
        let answer = first(&world.runtime).await.unwrap();
        assert_eq!(first(&world.runtime).await.unwrap(), answer, "{method}");
        let theirs = call(&world.runtime, &peer, "channels/get", json!({ "channelId": id })).await.unwrap();
        let of_peer = call(&world.runtime, &peer, "channels/get", json!({ "peer": "agent://ann" })).await.unwrap();
        assert_eq!((&theirs["channel"]["id"], &theirs), (&json!(id), &of_peer), "{method}");
        assert_eq!(theirs["channel"]["messageCount"], u64::from(method == "channels/publish"), "{method}");
        world.restart(Agents::demo()).await;
        assert_eq!(call(&world.runtime, &peer, "channels/get", json!({ "channelId": id })).await.unwrap(), theirs);
    }
}

/// Members of channels and holders of keys are in the index.
#[tokio::test]
async fn whom_the_index_knows_is_known_after_a_restart() {
    let mut world = World::new().await;
    let (ann, admin) = (member("ann"), Caller::new("agent://admin", "acme", Scopes::admin()));
    for number in 0..600 {
        channel(&world.runtime, &member(&format!("aa-{number}")), &[&member("ab")]).await;
    }
    channel(&world.runtime, &member("owner"), &[&member("bob")]).await;
    let key = json!({ "principal": "agent://keeper" });
    call(&world.runtime, &admin, "create_api_key", key).await.unwrap();
    world.runtime.meet(&member("caller"));
    world.restart(Agents::demo()).await;
    for (peer, known) in
        [("ab", true), ("aa-599", true), ("bob", true), ("owner", true), ("keeper", true), ("caller", false)]
    {
        let id = derived("agent://ann", &format!("agent://{peer}"));
        let got = call(&world.runtime, &ann, "channels/get", json!({ "channelId": id })).await;
        assert_eq!(got.is_ok(), known, "{peer}: {got:?}");
    }
    // Whoever comes to be known from then on is, too.
    channel(&world.runtime, &member("owner"), &[&member("late")]).await;
    let added = channel(&world.runtime, &member("owner"), &[]).await;
    let add = json!({ "channelId": added, "principalId": "agent://added" });
    call(&world.runtime, &member("owner"), "channels/addMember", add).await.unwrap();
    call(&world.runtime, &admin, "create_api_key", json!({ "principal": "agent://new-key" })).await.unwrap();
    for peer in ["late", "added", "new-key"] {
        let id = derived("agent://ann", &format!("agent://{peer}"));
        call(&world.runtime, &ann, "channels/get", json!({ "channelId": id })).await.expect(peer);
    }
}

/// However well everybody is known, an id of two others, of oneself, of another account or of nobody is not found.
#[tokio::test]
async fn an_id_of_others_stays_not_found() {
    let world = World::new().await;
    let (ann, bob, eve) = (member("ann"), member("bob"), member("eve"));
    for caller in [&ann, &bob, &eve, &Caller::new("agent://far", "other", Scopes::member())] {
        world.runtime.meet(caller);
    }
    let of_two = derived("agent://ann", "agent://bob");
    let ids = [
        of_two.clone(),
        of_two.to_uppercase().replace("CHAN:DIRECT:", "chan:direct:"),
        derived("agent://eve", "agent://eve"),
        derived("agent://eve", "agent://far"),
        "chan:direct:000000000000000000000000".to_owned(),
        "chan:direct:0".to_owned(),
        "chan:direct:".to_owned(),
    ];
    let methods =
        ["get", "publish", "history", "markRead", "presence", "update", "delete", "addMember", "removeMember"];
    for exists in [false, true] {
        if exists {
            call(&world.runtime, &ann, "channels/get", json!({ "channelId": of_two })).await.unwrap();
        }
        for (id, method) in ids.iter().flat_map(|id| methods.map(|method| (id, method))) {
            let params = json!({
                "channelId": id, "parts": parts("x"), "sequence": 0, "expectedVersion": 1, "principalId": "agent://x",
            });
            let refused = call(&world.runtime, &eve, &format!("channels/{method}"), params).await.unwrap_err();
            assert_eq!(refused, Refusal::not_found(), "{method} {id}");
            let streamed = stream(&world.runtime, &eve, json!({ "channelId": id })).await.err();
            assert_eq!(streamed, Some(Refusal::not_found()), "{id}");
        }
    }
    // What changes a channel itself makes none.
    let id = derived("agent://ann", "agent://eve");
    for method in ["update", "delete", "addMember", "removeMember"] {
        let params = json!({ "channelId": id, "expectedVersion": 1, "principalId": "agent://bob" });
        let refused = call(&world.runtime, &ann, &format!("channels/{method}"), params).await.unwrap_err();
        assert_eq!(refused, Refusal::not_found(), "{method}");
    }
}

/// A message that is refused leaves no channel, as with `peer`; and who may only read makes none.
#[tokio::test]
async fn by_id_as_by_peer_a_refused_first_use_makes_nothing() {
    let world = World::new().await;
    let ann = member("ann");
    world.runtime.meet(&member("bob"));
    let id = derived("agent://ann", "agent://bob");
    let empty = json!({ "channelId": id, "parts": [] });
    assert_eq!(code(call(&world.runtime, &ann, "channels/publish", empty).await), ErrorCode::InvalidParams);
    let reads = [factum_model::registry::Scope::MessagingRead].into_iter().collect();
    let reader = Caller::new("agent://ann", "acme", reads);
    let refused = call(&world.runtime, &reader, "channels/get", json!({ "channelId": id })).await;
    assert_eq!(code(refused), ErrorCode::PermissionDenied);
    let admin = Caller::new("agent://admin", "acme", Scopes::admin());
    let audit = call(&world.runtime, &admin, "channels/audit", json!({ "channelId": id })).await;
    assert_eq!(code(audit), ErrorCode::NotFound);
}
