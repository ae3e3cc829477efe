//! `cargo bench -p factum --bench a2a`: the same as `factum bench a2a`.

mod shim;

fn main() -> std::process::ExitCode {
    shim::run("a2a")
}
