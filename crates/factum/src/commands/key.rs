//! `factum key create|list|revoke`: API keys, on a data directory that nobody serves, or through a running server.
//!
//! Offline, the facts are written by the same runtime that a server runs, over a store that shows it no unfinished work:
//! issuing a key must not make agents act.

mod offline;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use factum_model::Timestamp;
use factum_model::commands::{ApiKeyInfo, CreateApiKey, ListApiKeys, ListApiKeysResult, RevokeApiKey};
use factum_model::registry::{Scope, Scopes};
use serde::Serialize;

use crate::cli::App;
use crate::client::{Client, Credential, Remote};
use crate::failure::{Exit, Problem};
use crate::table::Table;
use crate::when::{now, parse_span};
use offline::Offline;

#[derive(Debug, Args)]
pub(crate) struct Key {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Issue a key. It is printed once, on stdout, and kept nowhere.
    Create(Create),
    /// List the keys, without their secrets.
    List(List),
    /// Stop accepting a key.
    Revoke(Revoke),
}

/// Where the keys are: a directory, or a server that runs on it.
#[derive(Debug, Args)]
struct Place {
    /// The directory of the store [default: ./.factum]
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    data_dir: Option<PathBuf>,
    /// The account, offline [default: `default`; all of them for list]. Through a server it is the token's.
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// A running server; needs a token with the scope `admin`.
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    credential: Credential,
}

impl Place {
    /// Where one account is meant.
    fn account(&self) -> &str {
        self.account.as_deref().unwrap_or(DEFAULT_ACCOUNT)
    }
}

/// The account of keys that name none.
const DEFAULT_ACCOUNT: &str = "default";

/// A key, and whose it is where several accounts are looked at: a server shows the token's own only.
#[derive(Debug, Serialize)]
struct Listed {
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    #[serde(flatten)]
    key: ApiKeyInfo,
}

#[derive(Debug, Args)]
struct Create {
    /// Whom the key stands for, such as agent://assistant or user://me.
    #[arg(long, value_name = "NAME")]
    principal: String,
    /// What it may do; may be given several times [default: what a member may do]
    #[arg(long = "scope", value_name = "SCOPE", value_parser = parse_scope, conflicts_with = "admin")]
    scopes: Vec<Scope>,
    /// Everything, issuing keys included.
    #[arg(long)]
    admin: bool,
    /// What to call it in lists.
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// When it ends: a time such as 2030-01-01T00:00:00Z, or from now on: 90d, 12h.
    #[arg(long, value_name = "WHEN")]
    expires: Option<String>,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Args)]
struct List {
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Args)]
struct Revoke {
    /// The id of the key, from `factum key list`.
    #[arg(value_name = "KEY_ID")]
    key_id: String,
    /// Why, for the record.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(key: Key, app: &App) -> Result<Exit> {
    // One thread: see `offline` for why that matters.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match key.action {
            Action::Create(create) => self::create(create, app).await,
            Action::List(list) => self::list(&list, app).await,
            Action::Revoke(revoke) => self::revoke(revoke, app).await,
        }
    })
}

async fn create(create: Create, app: &App) -> Result<Exit> {
    let command = CreateApiKey {
        principal: create.principal,
        scopes: match (create.admin, create.scopes) {
            (true, _) => Some(Scopes::admin()),
            (false, scopes) if scopes.is_empty() => None,
            (false, scopes) => Some(scopes.into_iter().collect()),
        },
        name: create.name,
        expires_at: create.expires.map(|when| parse_expiry(&when, now())).transpose()?,
        idempotency_key: None,
    };
    let result = match remote(&create.place)? {
        Some(client) => client.run(&command).await?,
        None => Offline::open(&create.place, app)?.create(create.place.account(), command).await?,
    };
    if app.output.is_json() {
        app.output.json(&result)?;
        return Ok(Exit::Ok);
    }
    let Some(key) = &result.key else { bail!("the key was made, and its secret was not in the answer") };
    app.output.line(key)?;
    app.output.note(format_args!("{} issued. This is the only time its secret is shown.", result.key_id));
    Ok(Exit::Ok)
}

async fn list(list: &List, app: &App) -> Result<Exit> {
    let keys: Vec<Listed> = match remote(&list.place)? {
        Some(client) => all_keys(&client).await?.into_iter().map(|key| Listed { account: None, key }).collect(),
        None => Offline::open(&list.place, app)?.list(list.place.account.as_deref()).await?,
    };
    if app.output.is_json() {
        app.output.rows(&keys)?;
        return Ok(Exit::Ok);
    }
    let mut table = Table::default();
    keys.iter().for_each(|listed| table.row(row(listed, now())));
    table.lines().iter().try_for_each(|line| app.output.line(line))?;
    if keys.is_empty() {
        app.output.note("no keys; `factum key create` makes one");
    }
    Ok(Exit::Ok)
}

async fn revoke(revoke: Revoke, app: &App) -> Result<Exit> {
    let key_id =
        revoke.key_id.parse().map_err(|_| Problem::cannot_run(format!("{:?} is not a key's id", revoke.key_id)))?;
    let command = RevokeApiKey { key_id, reason: revoke.reason, idempotency_key: None };
    let result = match remote(&revoke.place)? {
        Some(client) => client.run(&command).await?,
        None => Offline::open(&revoke.place, app)?.revoke(revoke.place.account(), command).await?,
    };
    if app.output.is_json() {
        app.output.json(&result)?;
    } else {
        app.output.note(format_args!("{} is no longer accepted", result.key_id));
    }
    Ok(Exit::Ok)
}

fn remote(place: &Place) -> Result<Option<Client>> {
    let remote = |url: &String| Remote { url: url.clone(), credential: place.credential.clone() };
    place.url.as_ref().map(|url| Client::new(&remote(url))).transpose()
}

async fn all_keys(client: &Client) -> Result<Vec<ApiKeyInfo>> {
    let (mut keys, mut cursor) = (Vec::new(), None);
    loop {
        let page: ListApiKeysResult = client.run(&ListApiKeys { limit: None, cursor }).await?;
        keys.extend(page.keys);
        match page.next_cursor {
            Some(next) => cursor = Some(next),
            None => return Ok(keys),
        }
    }
}

fn row(listed: &Listed, now: Timestamp) -> [String; 6] {
    let Listed { account, key } = listed;
    let state = match key.expires_at {
        _ if key.revoked => "revoked".to_owned(),
        Some(at) if at <= now => "expired".to_owned(),
        Some(at) => format!("until {at}"),
        None => "active".to_owned(),
    };
    let scopes: Vec<&str> = key.scopes.iter().map(Scope::as_str).collect();
    [
        key.key_id.to_string(),
        state,
        account.clone().unwrap_or_default(),
        key.principal.clone(),
        key.name.clone().unwrap_or_else(|| "-".to_owned()),
        scopes.join(" "),
    ]
}

fn parse_scope(text: &str) -> Result<Scope, String> {
    let known = || Scope::ALL.map(Scope::as_str);
    Scope::parse(text).ok_or_else(|| {
        let hint = crate::nearest::did_you_mean(text, known());
        format!("there is no such scope{hint}; known: {}", known().join(", "))
    })
}

fn parse_expiry(when: &str, now: Timestamp) -> Result<Timestamp> {
    if let Ok(at) = when.parse::<Timestamp>() {
        return Ok(at);
    }
    let at = parse_span(when).and_then(|span| now.checked_add(span).ok());
    at.ok_or_else(|| {
        Problem::cannot_run(format!("{when:?} is not a time")).advice("write 90d, 12h or 2030-01-01T00:00:00Z").into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expiry_is_a_time_or_a_span() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let at = |when: &str| parse_expiry(when, now).map(|at| at.to_string()).ok();
        assert_eq!(at("2d").as_deref(), Some("2026-01-03T00:00:00Z"));
        assert_eq!(at("12h").as_deref(), Some("2026-01-01T12:00:00Z"));
        assert_eq!(at("2030-01-01T00:00:00Z").as_deref(), Some("2030-01-01T00:00:00Z"));
        assert_eq!(at("soon"), None);
        assert_eq!(at("99999999999999999d"), None);
    }

    #[test]
    fn an_unknown_scope_names_the_nearest() {
        assert!(parse_scope("session:read").unwrap_err().contains("did you mean \"sessions:read\"?"));
        assert_eq!(parse_scope("admin"), Ok(Scope::Admin));
    }
}
