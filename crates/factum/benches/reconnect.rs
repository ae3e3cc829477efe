//! `cargo bench -p factum --bench reconnect`: the same as `factum bench reconnect`.

mod shim;

fn main() -> std::process::ExitCode {
    shim::run("reconnect")
}
