//! A disk that is full, fails, tears and rots: what was acknowledged stays, what cannot be done is said, and nothing is
//! repaired behind anybody's back.

use std::path::{Path, PathBuf};
use std::process::Command;

use factum_testkit::{Client, Output, Server, eventually, run};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::*;

/// A turn that stays, in a session of its own, with so many bytes of input.
async fn write(client: &dyn Client, name: &str, bytes: usize) -> Result<Value, Value> {
    let filling = "x".repeat(bytes);
    client.call("submit_turn", json!({ "agent": "waiting", "turn_id": name, "input": text(&filling) })).await
}

/// Everything that was acknowledged is found, at the sequence it was acknowledged with.
async fn assert_kept(client: &dyn Client, acknowledged: &[Value]) {
    for answer in acknowledged {
        let events = all_events(client, &field(answer, "session_id")).await;
        assert_contiguous(&events);
        let at = answer["sequence"].as_u64().unwrap() as usize;
        assert_eq!(events.get(at - 1).map(|event| &event["turn_id"]), Some(&answer["turn_id"]), "{answer}");
    }
}

async fn verify(data: &Path) -> Output {
    run(BINARY, ["verify", "--data-dir", data.to_str().unwrap()]).await
}

async fn assert_sound(data: &Path) {
    let verified = verify(data).await;
    assert_eq!((verified.code, verified.stdout.lines().last()), (Some(0), Some("sound")), "{verified:?}");
}

/// A small file system of its own, as long as it is held.
struct Mount(PathBuf);

impl Mount {
    fn new(path: PathBuf, size: &str) -> Option<Self> {
        std::fs::create_dir_all(&path).unwrap();
        let option = format!("size={size}");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &option, "tmpfs"]).arg(&path).output();
        mounted.is_ok_and(|output| output.status.success()).then_some(Self(path))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(&self.0).output());
    }
}

#[tokio::test]
async fn a_full_disk_refuses_and_goes_on_when_there_is_room() {
    let dir = tempfile::tempdir().unwrap();
    let Some(mount) = Mount::new(dir.path().join("small"), "8m") else {
        eprintln!("skipped: no small file system can be mounted here");
        return;
    };
    let data = mount.0.join("data");
    let launch = factum_testkit::Launch::dev(BINARY, &data)
        .env("FACTUM_STORE_FIRST_SEGMENT_BYTES", 65_536)
        .env("FACTUM_STORE_SEGMENT_BYTES_MAX", 262_144)
        .env("FACTUM_STORE_INDEX_MAP_BYTES", 64 << 20);
    let mut server = launch.start().await;
    let http = server.http(None);
    let mut acknowledged = vec![write(&http, "before", 1_000).await.unwrap()];
    let ballast = mount.0.join("ballast");
    // As much as there is room for, and not a byte more.
    let filled = std::fs::write(&ballast, vec![1; 16 << 20]);
    assert_eq!(filled.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    let mut refused = None;
    for number in 0..200 {
        match write(&http, &format!("during-{number}"), 20_000).await {
            Ok(answer) => acknowledged.push(answer),
            Err(error) => {
                refused = Some(error);
                break;
            }
        }
    }
    let refused = refused.expect("a full disk refuses");
    assert_eq!(
        (&refused["code"], &refused["details"]["cause"]),
        (&json!("unavailable"), &json!("disk_full")),
        "{refused}"
    );
    assert_eq!(refused["retryable"], true);
    assert_kept(&http, &acknowledged).await;
    std::fs::remove_file(&ballast).unwrap();
    let after = eventually("room again", async || write(&http, "after", 20_000).await.ok()).await;
    acknowledged.push(after);
    server.kill_and_restart().await;
    assert_kept(&server.http(None), &acknowledged).await;
    server.term().await;
    assert_sound(&data).await;
}

/// Makes syncs fail as long as a file is there. Built here, because no kernel does it on demand.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
static int fails(void) {
    const char *trigger = getenv("SHIM_TRIGGER");
    return trigger && access(trigger, F_OK) == 0;
}
int fdatasync(int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    if (fails()) { errno = EIO; return -1; }
    return real(fd);
}
int fsync(int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    if (fails()) { errno = EIO; return -1; }
    return real(fd);
}
"#;

fn build_shim(dir: &TempDir) -> Option<PathBuf> {
    let (source, library) = (dir.path().join("shim.c"), dir.path().join("shim.so"));
    std::fs::write(&source, SHIM).unwrap();
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).arg("-ldl").output();
    built.is_ok_and(|output| output.status.success()).then_some(library)
}

#[tokio::test]
async fn a_failed_sync_ends_all_writing_and_nothing_that_was_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let Some(shim) = build_shim(&dir) else {
        eprintln!("skipped: no C compiler");
        return;
    };
    let trigger = dir.path().join("trigger");
    let launch = launch(&dir).env("LD_PRELOAD", shim.display()).env("SHIM_TRIGGER", trigger.display());
    let mut server = launch.start().await;
    let http = server.http(None);
    let mut acknowledged = Vec::new();
    for number in 0..5 {
        acknowledged.push(write(&http, &format!("before-{number}"), 100).await.unwrap());
    }
    assert_eq!(http.get("/readyz").send().await.unwrap().status(), 200);
    std::fs::write(&trigger, "").unwrap();
    let poisoned = |error: Value| {
        assert_eq!(
            (&error["code"], &error["details"]["cause"]),
            (&json!("unavailable"), &json!("store_poisoned")),
            "{error}"
        );
        assert_eq!(error["retryable"], false, "only a restart helps: {error}");
    };
    poisoned(write(&http, "during", 100).await.unwrap_err());
    // The disk is well again, and what it did in between is not known: no later acknowledgement could be trusted.
    std::fs::remove_file(&trigger).unwrap();
    for client in [&http as &dyn Client, &server.rpc(None), &server.grpc(None)] {
        poisoned(write(client, "after", 100).await.unwrap_err());
    }
    let ready = http.get("/readyz").send().await.unwrap();
    assert_eq!(ready.status(), 503);
    assert!(ready.text().await.unwrap().contains("does not accept writes"));
    assert_kept(&http, &acknowledged).await;
    let sessions = http.call("list_sessions", json!({})).await.unwrap();
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 5, "nobody sees what is not durable");
    assert!(server.stderr().contains("stopped accepting writes"), "{}", server.stderr());
    server.kill_and_restart().await;
    let http = server.http(None);
    assert_kept(&http, &acknowledged).await;
    acknowledged.push(write(&http, "during", 100).await.unwrap());
    acknowledged.push(write(&http, "after", 100).await.unwrap());
    assert_kept(&http, &acknowledged).await;
    server.term().await;
    assert_sound(&dir.path().join("data")).await;
}

/// A directory as `kill -9` leaves it after so many turns.
async fn killed(dir: &TempDir, turns: usize) -> (Server, Vec<Value>) {
    let mut server = launch(dir).start().await;
    let mut acknowledged = Vec::new();
    for number in 0..turns {
        acknowledged.push(write(&server.http(None), &format!("turn-{number}"), 700).await.unwrap());
    }
    server.kill().await;
    (server, acknowledged)
}

fn newest_segment(data: &Path) -> PathBuf {
    let names = std::fs::read_dir(data.join("log")).unwrap().map(|entry| entry.unwrap().path());
    let has_content = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "seg");
    names.filter(has_content).max().unwrap()
}

#[tokio::test]
async fn a_torn_last_write_is_dropped_and_said() {
    for sectors in [1, 2, 3] {
        let dir = tempfile::tempdir().unwrap();
        let (mut server, acknowledged) = killed(&dir, 10).await;
        let segment = newest_segment(&dir.path().join("data"));
        let mut bytes = std::fs::read(&segment).unwrap();
        let last = bytes.iter().rposition(|byte| *byte != 0).unwrap();
        let end = (last / 512 + 1) * 512;
        bytes[end - sectors * 512..end].fill(0);
        std::fs::write(&segment, bytes).unwrap();
        server.restart().await;
        assert!(server.stderr().contains("dropped what an interrupted write had left"), "{}", server.stderr());
        // The power went while the newest writes were on their way: what is well before them is there.
        assert_kept(&server.http(None), &acknowledged[..5]).await;
        write(&server.http(None), "goes-on", 100).await.unwrap();
        server.term().await;
        assert_sound(&dir.path().join("data")).await;
    }
}

#[tokio::test]
async fn a_flipped_byte_stops_the_start_and_is_repaired_only_on_request() {
    let dir = tempfile::tempdir().unwrap();
    let (_server, acknowledged) = killed(&dir, 10).await;
    let data = dir.path().join("data");
    let segment = newest_segment(&data);
    let mut bytes = std::fs::read(&segment).unwrap();
    let needle = field(&acknowledged[5], "turn_id");
    let at = bytes.windows(needle.len()).position(|window| window == needle.as_bytes()).unwrap();
    bytes[at] ^= 0x20;
    std::fs::write(&segment, &bytes).unwrap();
    let name = segment.file_name().unwrap().to_str().unwrap();

    let Err(refused) = launch(&dir).try_start().await else { panic!("started on a damaged log") };
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("the log is damaged in") && refused.stderr.contains(name), "{refused:?}");
    assert!(refused.stderr.contains("factum verify"), "{refused:?}");
    let verified = verify(&data).await;
    assert_eq!(verified.code, Some(1), "{verified:?}");
    assert!(verified.stdout.contains("flipped") && verified.stdout.contains(name), "{verified:?}");
    assert_eq!(std::fs::read(&segment).unwrap(), bytes, "nothing was changed");

    let repair = |word: &'static str| {
        run(BINARY, ["repair", "--truncate-tail", word, "--data-dir", data.to_str().unwrap()].map(str::to_owned))
    };
    let would = repair("--dry-run").await;
    assert_eq!((would.code, would.stdout.starts_with("would drop")), (Some(1), true), "{would:?}");
    assert_eq!(std::fs::read(&segment).unwrap(), bytes, "nothing was changed");
    let did = repair("--yes").await;
    assert_eq!(did.code, Some(0), "{did:?}");
    assert!(did.stdout.contains("the bytes are kept in log/"), "{did:?}");
    let mut server = launch(&dir).start().await;
    assert_kept(&server.http(None), &acknowledged[..5]).await;
    let lost = server.http(None).call("get_session", json!({ "session_id": acknowledged[6]["session_id"] })).await;
    assert_eq!(lost.unwrap_err()["code"], "not_found");
    server.term().await;
    assert_sound(&data).await;
}

#[tokio::test]
async fn a_lost_index_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = launch(&dir).start().await;
    let mut acknowledged = Vec::new();
    for number in 0..10 {
        acknowledged.push(write(&server.http(None), &format!("turn-{number}"), 700).await.unwrap());
    }
    server.term().await;
    std::fs::remove_dir_all(dir.path().join("data/index")).unwrap();
    server.restart().await;
    assert_kept(&server.http(None), &acknowledged).await;
    let again = write(&server.http(None), "turn-3", 700).await.unwrap();
    assert_eq!(again, acknowledged[3], "keys are found again too");
    server.term().await;
    assert_sound(&dir.path().join("data")).await;
}

#[tokio::test]
async fn two_servers_do_not_share_a_directory() {
    let (dir, server) = dev().await;
    let Err(refused) = launch(&dir).try_start().await else { panic!("started twice on one directory") };
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("is in use by another process"), "{refused:?}");
    write(&server.http(None), "unharmed", 10).await.unwrap();
}
